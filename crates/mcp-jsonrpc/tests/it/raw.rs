//! Unparsed payloads.

use std::collections::BTreeMap;

use bytes::Bytes;
use mcp_jsonrpc::{RawJson, RequestId};
use serde::{Deserialize, Serialize, de::value::BorrowedStrDeserializer};

/// Whether `part` lies in the memory of `whole`.
pub(crate) fn shares(whole: &RawJson, part: &RawJson) -> bool {
    let (whole, part) = (whole.as_bytes().as_ptr_range(), part.as_bytes().as_ptr_range());
    whole.start <= part.start && part.end <= whole.end
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

#[test]
fn a_value_is_kept_byte_for_byte_without_the_space_around_it() {
    for text in ["{}", r#"{ "b":1.50, "a":1E2,"a":[ ] }"#, "-0", r#""\u0041\ud83d""#, "null"] {
        assert_eq!(raw(&format!(" \n{text}\t")).as_str(), text);
        assert_eq!(serde_json::to_string(&raw(text)).unwrap(), text);
        assert_eq!(serde_json::from_str::<RawJson>(text).unwrap(), raw(text));
    }
}

#[test]
fn trailing_or_missing_value_is_refused_with_its_position() {
    for (text, error) in [
        (&b""[..], "expected a JSON value, found the end of the text at byte 0"),
        (b"{\"a\":", "expected a JSON value, found the end of the text at byte 5"),
        (b"1 2", "expected the end of the value, found a number"),
        (b"[1,]", "expected a JSON value, found punctuation"),
        (b"\"a\nb\"", "not JSON: a control character in a string at byte 2"),
        (b"\"ab", "not JSON: a string without an end at byte 3"),
        (b"\"\\x\"", "not JSON: an unknown escape in a string at byte 1"),
        (b"nul", "not JSON: an unknown word at byte 0"),
        (b"-x", "expected a number, found something that is not JSON"),
        (b"1.", "not JSON: a number that ends in a point at byte 1"),
        (b"1e+", "not JSON: a number without its exponent at byte 1"),
        (b"\xff", "not UTF-8"),
    ] {
        let found = RawJson::parse(Bytes::copy_from_slice(text)).unwrap_err();
        assert_eq!(found.to_string(), error, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn members_are_read_in_order_and_share_memory() {
    let whole = raw(r#"{"b": [1, 2] , "a":{"c":"d"},"\u0062":null}"#);
    let members: Vec<_> = whole.members().collect();
    let shown: Vec<_> = members.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(shown, [("b", "[1, 2]"), ("a", r#"{"c":"d"}"#), ("b", "null")]);
    assert!(members.iter().all(|(_, value)| shares(&whole, value)));

    let inner = whole.get("a").unwrap().get("c").unwrap();
    assert!(shares(&whole, &inner) && !shares(&whole, &inner.detached()));
    assert_eq!(inner, inner.detached());
    assert_eq!(whole.get("b"), Some(RawJson::null()), "the last one counts");
    assert_eq!(whole.get("x"), None);
    for other in ["[1]", "1", r#""{}""#, "null", "{}"] {
        assert_eq!(raw(other).members().count(), 0, "{other}");
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Tool {
    name: String,
    #[serde(rename = "inputSchema")]
    schema: RawJson,
    #[serde(default)]
    annotations: Option<RawJson>,
}

#[test]
fn decoded_members_share_memory_too() {
    let whole = raw(r#"[{"name":"a","inputSchema":{"x":1.0}},{"inputSchema":[ ],"name":"\n"}]"#);
    let tools = whole.decode::<Vec<Tool>>().unwrap();
    assert_eq!(tools[0].schema.as_str(), r#"{"x":1.0}"#);
    assert!(tools.iter().all(|tool| shares(&whole, &tool.schema)));
    // And so do theirs.
    assert!(shares(&whole, &tools[0].schema.decode::<Vec1>().unwrap().x));
}

#[derive(Deserialize)]
struct Vec1 {
    x: RawJson,
}

/// Decodes another value while its own is being decoded.
struct Nested(RawJson, RawJson);

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let other = raw(r#"{"x":[7]}"#).decode::<Vec1>().map_err(serde::de::Error::custom)?;
        Ok(Self(RawJson::deserialize(deserializer)?, other.x))
    }
}

#[test]
fn a_value_decoded_while_another_is_being_decoded_does_not_disturb_it() {
    let whole = raw("[[1],[2]]");
    for (index, Nested(ours, other)) in whole.decode::<Vec<Nested>>().unwrap().iter().enumerate() {
        assert_eq!((ours.as_str(), other.as_str()), (["[1]", "[2]"][index], "[7]"));
        assert!(shares(&whole, ours) && !shares(&whole, other));
    }
}

#[test]
fn raw_values_survive_other_formats_and_absence() {
    let text = r#"{"name":"a","inputSchema":{"b":[1,{}]},"annotations":null}"#;
    let ours = raw(text).decode::<Tool>().unwrap();
    assert_eq!(serde_json::from_str::<Tool>(text).unwrap(), ours);
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::from_value::<Tool>(value).unwrap(), ours);
    assert_eq!(RawJson::encode(&ours).unwrap().as_str(), text);
    assert_eq!(ours.annotations, None);
}

#[test]
fn raw_value_buffered_by_serde_is_an_error() {
    #[derive(Debug, Deserialize)]
    struct Open {
        #[serde(flatten)]
        rest: BTreeMap<String, RawJson>,
    }
    assert!(raw(r#"{"a":[1.50]}"#).decode::<Open>().map(|open| open.rest).is_err());
}

#[test]
fn text_from_a_foreign_deserializer_is_checked() {
    type Foreign<'a> = BorrowedStrDeserializer<'a, serde::de::value::Error>;
    assert!(RawJson::deserialize(Foreign::new("not json")).is_err());
    assert_eq!(RawJson::deserialize(Foreign::new("[1]")).unwrap().as_str(), "[1]");
}

#[test]
fn a_debug_print_shows_no_payload() {
    assert_eq!(format!("{:?}", raw(r#"{"token":"secret"}"#)), "RawJson(18 bytes)");
}

#[test]
fn ids_are_read_from_either_deserializer() {
    for (text, integer, string) in [
        ("7", Some(7), None),
        ("-7", Some(-7), None),
        ("99999999999999999999", None, None),
        (r#""a\n""#, None, Some("a\n")),
    ] {
        let ours: RequestId = raw(text).decode().unwrap();
        assert_eq!((ours.as_integer(), ours.as_text()), (integer, string));
        assert_eq!(serde_json::from_str::<RequestId>(text).unwrap(), ours);
        assert_eq!(serde_json::to_string(&ours).unwrap(), text);
    }
    for bad in ["null", "1.5", "[1]", "true"] {
        let error = raw(bad).decode::<RequestId>().unwrap_err();
        assert_eq!(error.to_string(), "expected a string or an integer");
    }
}
