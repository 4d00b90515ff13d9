//! From payloads to types, compared with `serde_json`.

use std::{collections::BTreeMap, fmt::Debug};

use mcp_jsonrpc::RawJson;
use proptest::prelude::*;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

fn ours<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let raw = RawJson::parse(text.to_owned()).map_err(|error| error.to_string())?;
    raw.decode().map_err(|error| error.to_string())
}

/// Both read the same value from `text`, or both refuse.
fn agree<T: DeserializeOwned + PartialEq + Debug>(text: &str) {
    let (ours, theirs) = (ours::<T>(text), serde_json::from_str::<T>(text));
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs, "{text}"),
        (Err(_), Err(_)) => {}
        _ => panic!("{text} as {}: {ours:?}, {theirs:?}", std::any::type_name::<T>()),
    }
}

/// The kinds of member and variant that types written for a protocol have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    text: String,
    number: i32,
    large: u64,
    maybe: Option<Box<Record>>,
    list: Vec<Kind>,
    map: BTreeMap<String, bool>,
    pair: (i8, String),
    unit: (),
    wrapped: Wrapped,
    #[serde(default)]
    fallback: u16,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Wrapped(i64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Kind {
    Unit,
    New(String),
    Tuple(bool, u8),
    Struct { a: i16 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Content {
    Text { text: String },
    Image { data: String, size: Option<u32> },
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Unit),
        any::<String>().prop_map(Kind::New),
        any::<(bool, u8)>().prop_map(|(a, b)| Kind::Tuple(a, b)),
        any::<i16>().prop_map(|a| Kind::Struct { a }),
    ]
}

fn record() -> impl Strategy<Value = Record> {
    let leaf = (
        any::<(String, i32, u64, i64, u16)>(),
        prop::collection::vec(kind(), 0..4),
        prop::collection::btree_map(any::<String>(), any::<bool>(), 0..3),
        any::<(i8, String)>(),
        prop::option::of(json()),
    )
        .prop_map(|((text, number, large, wrapped, fallback), list, map, pair, meta)| Record {
            text,
            number,
            large,
            maybe: None,
            list,
            map,
            pair,
            unit: (),
            wrapped: Wrapped(wrapped),
            fallback,
            // A null here is read as absent, by both.
            meta: meta.filter(|meta| !meta.is_null()),
        });
    leaf.prop_recursive(2, 4, 1, |inner| {
        (inner.clone(), inner)
            .prop_map(|(outer, inner)| Record { maybe: Some(Box::new(inner)), ..outer })
    })
}

/// Any JSON value. Floats are finite, as JSON's are.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[ -~]{0,80}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_read_as_it_was_written(value in json(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value)
        } else {
            serde_json::to_string(&value)
        }.unwrap();
        // The value itself is the measure: without its `float_roundtrip`, serde_json may be off by
        // one in the last place.
        prop_assert_eq!(ours::<Value>(&text), Ok(value));
    }

    #[test]
    fn any_record_is_read_as_it_was_written(record in record()) {
        let text = serde_json::to_string(&record).unwrap();
        prop_assert_eq!(ours::<Record>(&text), Ok(record));
    }

    #[test]
    fn a_value_of_any_other_shape_is_refused_by_both(value in json()) {
        let text = value.to_string();
        agree::<BTreeMap<String, Vec<Option<u8>>>>(&text);
        agree::<(String, i64)>(&text);
        agree::<Vec<bool>>(&text);
        agree::<Kind>(&text);
        agree::<Content>(&text);
        agree::<String>(&text);
        agree::<i8>(&text);
        agree::<()>(&text);
    }

    #[test]
    fn no_text_is_read_differently(text in r#"[\[\]{}",:0-9eE.+\-nulltrue \\u]{0,24}"#) {
        agree::<Value>(&text);
        agree::<Vec<Vec<u8>>>(&text);
    }
}

#[test]
fn numbers_are_read_as_serde_json_reads_them() {
    for text in [
        "0",
        "-0",
        "-0.0",
        "1",
        "-1",
        "1.0",
        "1e2",
        "1E-2",
        "255",
        "256",
        "-128",
        "-129",
        "1e400",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "340282366920938463463374607431768211455",
        "340282366920938463463374607431768211456",
        "-170141183460469231731687303715884105728",
        "0.1",
        "123456789.125",
    ] {
        agree::<Value>(text);
        agree::<i128>(text);
        if text != "-0" {
            // Theirs takes this for a fraction.
            agree::<u128>(text);
            agree::<u8>(text);
            agree::<i8>(text);
            agree::<i64>(text);
            agree::<u64>(text);
        }
        let sign = |number: f64| (number, number.is_sign_negative());
        assert_eq!(
            ours::<f64>(text).ok().map(sign),
            serde_json::from_str::<f64>(text).ok().map(sign),
            "{text}"
        );
    }
    assert_eq!(ours::<i64>("-0"), Ok(0));
}

#[test]
fn names_that_are_numbers_are_read_as_serde_json_reads_them() {
    for name in ["1", "-1", "007", "+1", "", "1.5", "x", "true", "300", "18446744073709551615"] {
        let text = format!(r#"{{"{name}":0}}"#);
        agree::<BTreeMap<u8, u8>>(&text);
        agree::<BTreeMap<i64, u8>>(&text);
        agree::<BTreeMap<u64, u8>>(&text);
        agree::<BTreeMap<u128, u8>>(&text);
        agree::<BTreeMap<bool, u8>>(&text);
        agree::<BTreeMap<String, u8>>(&text);
        agree::<BTreeMap<char, u8>>(&text);
    }
}

#[test]
fn tagged_and_flattened_types_work() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Page {
        items: Vec<Content>,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    let text = r#"{"next":"\"c","items":[{"text":"a\n","type":"text","x":[1]},
        {"type":"image","data":"==","size":3}],"ttl":[1,{"a":-1.5}]}"#;
    agree::<Page>(text);
    assert_eq!(ours::<Page>(text).unwrap().rest["ttl"], serde_json::json!([1, {"a": -1.5}]));
    agree::<Content>(r#"{"type":"video"}"#);
    agree::<Content>(r#"{"text":"no type"}"#);
}

#[test]
fn array_is_not_accepted_as_an_object() {
    // By position means by luck, with a server of another version.
    #[derive(Debug, Deserialize)]
    struct Named {
        #[expect(dead_code, reason = "only its absence is looked at")]
        name: String,
    }
    assert_eq!(ours::<Named>(r#"["a"]"#).unwrap_err(), "expected an object, found an array");
}

#[test]
fn a_surrogate_without_its_partner_is_replaced_not_refused() {
    assert_eq!(ours::<String>(r#""a\ud83db""#).unwrap(), "a\u{fffd}b");
    assert!(serde_json::from_str::<String>(r#""a\ud83db""#).is_err());
}

#[test]
fn an_error_names_the_place_and_quotes_no_value() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are looked at")]
    struct Strict {
        tools: Vec<BTreeMap<String, u8>>,
        kind: Option<Kind>,
    }
    for (text, error) in [
        (r#"{"tools":[{},{"a":"secret"}]}"#, "tools[1].a: expected a whole number, found a string"),
        (r#"{"tools":[{"a\tb":-5}]}"#, "tools[0].a\u{fffd}b: expected u8, found another number"),
        // Bidirectional and zero-width characters would disguise the name.
        (
            "{\"tools\":[{\"a\u{202e}b\u{200b}\":-5}]}",
            "tools[0].a\u{fffd}b\u{fffd}: expected u8, found another number",
        ),
        (r#"{"tools":[{"a":1.5}]}"#, "tools[0].a: expected u8, found number"),
        (r#"{"tools":null}"#, "tools: expected an array, found null"),
        (r#"{"tools":[],"kind":"secret"}"#, "kind: expected one of Unit, New, Tuple, Struct"),
        (
            r#"{"tools":[],"kind":{"Struct":{"a":""}}}"#,
            "kind.Struct.a: expected a whole number, found a string",
        ),
        ("{}", "missing field `tools`"),
        ("7", "expected an object, found a number"),
    ] {
        assert_eq!(ours::<Strict>(text).unwrap_err(), error, "{text}");
    }
    let name = "x".repeat(1000);
    for text in [format!(r#"{{"{name}":1}}"#), format!(r#"{{"tools":[{{"{name}":""}}]}}"#)] {
        let error = ours::<Strict>(&text).unwrap_err();
        assert!(error.contains("xxx…") && error.len() < 200, "{error}");
    }
    let error = RawJson::parse(r#"{"tools":[0]}"#).unwrap().decode::<Strict>().unwrap_err();
    assert_eq!(error.path(), "tools[0]");
}

#[test]
fn nesting_is_bounded_when_it_is_read_as_well() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    agree::<Value>(&nested(127));
    agree::<Value>(&nested(128));
    assert!(ours::<Value>(&nested(127)).is_ok());
    // One that we made ourselves may be deeper than what we accept.
    let deep = serde_json::value::RawValue::from_string(nested(1000)).unwrap();
    let deep = RawJson::encode(&deep).unwrap();
    assert!(deep.decode::<Value>().unwrap_err().to_string().contains("nested too deeply"));
}
