//! Parses the parts of a request that the response needs: `id`, `method` and, for a tool call,
//! the tool's name. Other values are skipped.

/// The parts of a request the server looks at, as raw JSON text without quotes around strings.
#[derive(Debug, Default, PartialEq)]
pub struct Request<'a> {
    /// The id as text, with its quotes. `None` for a notification.
    pub id: Option<&'a [u8]>,
    pub method: &'a [u8],
    /// `params.name`, empty when there is none.
    pub name: &'a [u8],
}

impl<'a> Request<'a> {
    /// Reads one line. Members may come in any order, with or without white space.
    pub fn read(line: &'a [u8]) -> Self {
        let mut request = Self::default();
        let mut params: &[u8] = b"";
        members(line, |key, value| match key {
            b"id" => request.id = Some(value),
            b"method" => request.method = unquoted(value),
            b"params" => params = value,
            _ => {}
        });
        // Only the name of the call is needed. `_meta` may contain another name, one level deeper.
        if request.method == b"tools/call" {
            members(params, |key, value| {
                if key == b"name" {
                    request.name = unquoted(value);
                }
            });
        }
        request
    }
}

/// Calls `visit` with key and value of each member of the object `text`.
fn members<'a>(text: &'a [u8], mut visit: impl FnMut(&'a [u8], &'a [u8])) {
    let Some(mut at) = text.iter().position(|&byte| byte == b'{').map(|open| open + 1) else {
        return;
    };
    while let Some(key) = next(text, &mut at).filter(|key| key.starts_with(b"\"")) {
        let Some(value) = next(text, &mut at) else { return };
        visit(unquoted(key), value);
    }
}

/// The value that starts at or after `at`; moves `at` behind it. `None` at the end of the object.
fn next<'a>(text: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    while matches!(text.get(*at)?, b' ' | b'\t' | b'\r' | b',' | b':') {
        *at += 1;
    }
    let start = *at;
    let mut depth = 0usize;
    loop {
        match text.get(*at)? {
            b'"' => {
                *at = behind_string(text, *at)?;
                if depth == 0 {
                    break;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            // The end of the enclosing object, or of a number before it.
            b'}' | b']' | b',' | b' ' if depth == 0 => break,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    *at += 1;
                    break;
                }
            }
            _ => {}
        }
        *at += 1;
    }
    (*at > start).then(|| &text[start..*at])
}

/// The end of the string that starts at `at`.
fn behind_string(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match text.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::Request;

    fn read(line: &str) -> (Option<&str>, &str, &str) {
        let request = Request::read(line.as_bytes());
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        (request.id.map(text), text(request.method), text(request.name))
    }

    #[test]
    fn a_call_gives_id_method_and_name_whatever_the_order() {
        let expected = (Some("7"), "tools/call", "small");
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"small"}}"#),
            expected
        );
        assert_eq!(
            read(
                r#"{ "params" : {"_meta":{"c":{"name":"x\"}"}},"arguments":{"name":[1,{}]},"name":"small"}, "method":"tools/call","jsonrpc":"2.0","id":7}"#
            ),
            expected
        );
    }

    #[test]
    fn string_ids_keep_their_quotes() {
        assert_eq!(read(r#"{"id":"a\"b","method":"ping"}"#), (Some(r#""a\"b""#), "ping", ""));
    }

    #[test]
    fn a_notification_has_no_id() {
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            (None, "notifications/initialized", "")
        );
    }

    #[test]
    fn what_is_no_request_is_empty() {
        for line in ["", "{", "[]", "null", r#"{"id""#, r#"{"id":"#] {
            assert_eq!(read(line), (None, "", ""));
        }
    }
}
