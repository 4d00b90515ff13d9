//! Generates setters for option structs.

/// Generates setters from `name => field: type`. The type is that of the field or `impl Into` of it.
macro_rules! setters {
    ($options:ident { $($(#[$attribute:meta])* $setter:ident => $field:ident: $type:ty,)* }) => {
        impl $options {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                $(#[$attribute])*
                #[must_use]
                pub fn $setter(mut self, $field: $type) -> Self {
                    self.$field = $field.into();
                    self
                }
            )*
        }
    };
}
pub(crate) use setters;
