//! Reads an object member by member, in one pass and without allocations: the counterpart of `ObjectWriter`.

use std::borrow::Cow;

use bytes::Bytes;

use super::{parse::Scanner, raw::RawJson};

impl RawJson {
    /// Calls `visit` with the name and the value of each member of an object, in the order they are written. Does
    /// nothing for other values.
    ///
    /// Unlike [`members`](Self::members) this allocates nothing, and objects inside are read in the same pass.
    ///
    /// ```
    /// use mcp_jsonrpc::RawJson;
    ///
    /// let params = RawJson::parse(r#"{"_meta":{"token":7},"name":"echo"}"#)?;
    /// let (mut token, mut tool) = (None, None);
    /// params.visit(|name, value| match name {
    ///     "_meta" => value.visit(|name, value| {
    ///         if name == "token" {
    ///             token = value.raw();
    ///         }
    ///     }),
    ///     "name" => tool = value.string().map(String::from),
    ///     _ => {}
    /// });
    /// assert_eq!(token.unwrap().as_str(), "7");
    /// assert_eq!(tool.unwrap(), "echo");
    /// # Ok::<(), mcp_jsonrpc::ShapeError>(())
    /// ```
    pub fn visit(&self, visit: impl FnMut(&str, &mut VisitedValue<'_>)) {
        VisitedValue::new(self.as_bytes(), self.as_str()).visit(visit);
    }
}

/// The value of a member that [`RawJson::visit`] has reached.
///
/// It can be read once, in one of several forms. A value that is not read is skipped.
#[derive(Debug)]
pub struct VisitedValue<'a> {
    message: &'a Bytes,
    scanner: Scanner<'a>,
    /// The scanner is behind the value.
    is_read: bool,
}

impl<'a> VisitedValue<'a> {
    /// `text` is one value, a part of `message`.
    fn new(message: &'a Bytes, text: &'a str) -> Self {
        Self { message, scanner: Scanner::new(text), is_read: false }
    }

    /// The text of the value.
    pub fn text(&mut self) -> Option<&'a str> {
        if std::mem::replace(&mut self.is_read, true) {
            return None;
        }
        self.scanner.skip_value().ok()
    }

    /// The value, which shares the memory of its object.
    pub fn raw(&mut self) -> Option<RawJson> {
        self.text().map(|text| RawJson::scanned(self.message, text))
    }

    /// A string. `None` for any other value.
    pub fn string(&mut self) -> Option<Cow<'a, str>> {
        if self.is_read || self.scanner.peek() != Some(b'"') {
            return None;
        }
        self.is_read = true;
        self.scanner.string().ok()
    }

    /// Calls `visit` with the members of an object. Does nothing for other values.
    pub fn visit(&mut self, mut visit: impl FnMut(&str, &mut Self)) {
        if self.is_read || !self.scanner.eat(b'{') {
            return;
        }
        loop {
            self.scanner.eat(b',');
            if self.scanner.eat(b'}') {
                break;
            }
            // Raw values are well formed, so there is always a name.
            let Ok(name) = self.scanner.key() else { break };
            self.is_read = false;
            visit(&name, self);
            self.text();
        }
        self.is_read = true;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Paths and texts of everything that is not an object.
    fn leaves(path: &str, value: &mut VisitedValue<'_>, found: &mut Vec<String>) {
        if value.scanner.peek() == Some(b'{') {
            value.visit(|name, value| leaves(&format!("{path}.{name}"), value, found));
        } else {
            found.push(format!("{path}={}", value.text().unwrap()));
        }
    }

    fn leaves_of(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let raw = RawJson::parse(text.to_owned()).unwrap();
        raw.visit(|name, value| leaves(name, value, &mut found));
        found
    }

    #[test]
    fn objects_are_read_in_the_order_they_are_written() {
        let text = r#" { "a" : { "b" : [1, {"c":2}] , "d":{} }, "e\n":"f","a":null } "#;
        assert_eq!(leaves_of(text), [r#"a.b=[1, {"c":2}]"#, "e\n=\"f\"", "a=null"]);
        assert_eq!(leaves_of("{}"), [""; 0]);
        assert_eq!(leaves_of("[1]"), [""; 0]);
    }

    #[test]
    fn value_is_read_once_and_skipped_if_not_read() {
        let raw = RawJson::parse(r#"{"a":"x\ny","b":{"c":{"d":1}},"e":7}"#).unwrap();
        let mut seen = Vec::new();
        raw.visit(|name, value| match name {
            "a" => seen.extend(value.string().into_iter().chain(value.string()).map(String::from)),
            // The rest of an object that was read in part is skipped too.
            "b" => value.visit(|_, value| assert!(value.string().is_none())),
            _ => {
                assert!(value.string().is_none());
                seen.push(value.raw().unwrap().as_str().to_owned());
            }
        });
        assert_eq!(seen, ["x\ny", "7"]);
    }

    proptest! {
        #[test]
        fn members_are_those_of_the_iterator(
            members in prop::collection::vec((any::<String>(), any::<Option<u8>>()), 0..5),
        ) {
            let mut object = crate::json::ObjectWriter::new();
            for (name, value) in &members {
                object.member(name, value).unwrap();
            }
            let object = object.finish();
            let mut visited = Vec::new();
            object.visit(|name, value| visited.push((name.to_owned(), value.raw().unwrap())));
            prop_assert_eq!(visited, object.members().collect::<Vec<_>>());
        }
    }
}
