//! Writes an object member by member as text.

use serde::Serialize;

use super::{error::ShapeError, parse::skip, raw::RawJson};

/// Writes a JSON object without building it in memory first.
///
/// ```
/// use mcp_jsonrpc::{ObjectWriter, RawJson};
///
/// let always = RawJson::parse(r#"{"version":"1"}"#)?;
/// let mut params = ObjectWriter::new();
/// params.object("_meta", |meta| meta.splice(&always).integer("token", 7));
/// params.member("name", "echo")?.raw("arguments", &RawJson::empty_object());
/// assert_eq!(
///     params.finish().as_str(),
///     r#"{"_meta":{"version":"1","token":7},"name":"echo","arguments":{}}"#,
/// );
/// # Ok::<(), mcp_jsonrpc::ShapeError>(())
/// ```
#[derive(Debug)]
pub struct ObjectWriter {
    text: Vec<u8>,
    /// The next member is the first of the innermost open object.
    first: bool,
}

impl Default for ObjectWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl ObjectWriter {
    /// An empty object.
    pub fn new() -> Self {
        Self::with_capacity(128)
    }

    /// An empty object that will grow to about `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut text = Vec::with_capacity(capacity);
        text.push(b'{');
        Self { text, first: true }
    }

    /// Adds a member and serializes its value with serde. On an error nothing is added.
    pub fn member<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<&mut Self, ShapeError> {
        let (length, first) = (self.text.len(), self.first);
        self.name(name);
        if let Err(error) = serde_json::to_writer(&mut self.text, value) {
            self.text.truncate(length);
            self.first = first;
            return Err(ShapeError::new(error).inside_member(name));
        }
        Ok(self)
    }

    /// Adds a member with a value that is JSON text already.
    pub fn raw(&mut self, name: &str, value: &RawJson) -> &mut Self {
        self.name(name);
        self.text.extend_from_slice(value.as_bytes());
        self
    }

    /// Adds a string.
    pub fn string(&mut self, name: &str, value: &str) -> &mut Self {
        self.name(name);
        write_string(value, &mut self.text);
        self
    }

    /// Adds a whole number.
    pub fn integer(&mut self, name: &str, value: i64) -> &mut Self {
        self.name(name);
        write_integer(value, &mut self.text);
        self
    }

    /// Adds a truth value.
    pub fn boolean(&mut self, name: &str, value: bool) -> &mut Self {
        self.name(name);
        self.text.extend_from_slice(if value { b"true" } else { b"false" });
        self
    }

    /// Adds all members of `object`. Anything but an object adds nothing.
    pub fn splice(&mut self, object: &RawJson) -> &mut Self {
        let inner = object
            .as_bytes()
            .strip_prefix(b"{")
            .and_then(|rest| rest.strip_suffix(b"}"))
            .map_or(&[][..], <[u8]>::trim_ascii);
        if !inner.is_empty() {
            self.separate();
            self.text.extend_from_slice(inner);
        }
        self
    }

    /// Adds a member that is an object itself, written by `fill`.
    pub fn object(&mut self, name: &str, fill: impl FnOnce(&mut Self) -> &mut Self) -> &mut Self {
        self.name(name);
        self.text.push(b'{');
        self.first = true;
        fill(self);
        self.text.push(b'}');
        self.first = false;
        self
    }

    /// The finished object.
    pub fn finish(mut self) -> RawJson {
        self.text.push(b'}');
        RawJson::trusted(self.text)
    }

    fn name(&mut self, name: &str) {
        self.separate();
        write_string(name, &mut self.text);
        self.text.push(b':');
    }

    fn separate(&mut self) {
        if !self.first {
            self.text.push(b',');
        }
        self.first = false;
    }
}

/// Appends `text` to `out` as a JSON string.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    // Names and most values need no escape.
    if skip::plain(text.as_bytes(), 0) == text.len() {
        out.reserve(text.len() + 2);
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return;
    }
    // Writing a string into a vector cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// Appends `number` to `out`.
pub(crate) fn write_integer(number: i64, out: &mut Vec<u8>) {
    // Writing a number into a vector cannot fail.
    let _ = serde_json::to_writer(out, &number);
}
