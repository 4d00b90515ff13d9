//! The `setters!` macro for `with_*` methods of options.

/// Defines a setter for each field: `field(argument: type) = expression`.
macro_rules! setters {
    ($options:ty { $($setter:ident => $field:ident($value:ident: $given:ty) = $set:expr;)* }) => {
        impl $options {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub fn $setter(mut self, $value: $given) -> Self {
                    self.$field = $set;
                    self
                }
            )*
        }
    };
}

pub(crate) use setters;

/// Converts items to owned strings.
pub(crate) fn texts<T: Into<String>>(all: impl IntoIterator<Item = T>) -> Vec<String> {
    all.into_iter().map(Into::into).collect()
}
