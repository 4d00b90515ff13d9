//! Objects written member by member.

use mcp_jsonrpc::{ObjectWriter, RawJson};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[derive(Clone, Debug)]
enum Step {
    Member(String, Vec<Option<bool>>),
    Raw(String, String),
    Text(String, String),
    Integer(String, i64),
    Boolean(String, bool),
    Splice(Vec<(String, i64)>, bool),
    Object(String, Vec<Step>),
}

fn step() -> impl Strategy<Value = Step> {
    let name = || "[a-z\"\\\\\n]{0,3}";
    let leaf = prop_oneof![
        (name(), prop::collection::vec(any::<Option<bool>>(), 0..3))
            .prop_map(|(name, value)| Step::Member(name, value)),
        (name(), any::<String>()).prop_map(|(name, value)| Step::Raw(name, value)),
        (name(), any::<String>()).prop_map(|(name, value)| Step::Text(name, value)),
        (name(), any::<i64>()).prop_map(|(name, value)| Step::Integer(name, value)),
        (name(), any::<bool>()).prop_map(|(name, value)| Step::Boolean(name, value)),
        (prop::collection::vec((name(), any::<i64>()), 0..3), any::<bool>())
            .prop_map(|(members, pretty)| Step::Splice(members, pretty)),
    ];
    leaf.prop_recursive(3, 16, 4, move |inner| {
        (name(), prop::collection::vec(inner, 0..4))
            .prop_map(|(name, steps)| Step::Object(name, steps))
    })
}

fn write<'a>(writer: &'a mut ObjectWriter, steps: &[Step]) -> &'a mut ObjectWriter {
    for step in steps {
        match step {
            Step::Member(name, value) => writer.member(name, value).unwrap(),
            Step::Raw(name, value) => writer.raw(name, &RawJson::encode(&[value]).unwrap()),
            Step::Text(name, value) => writer.string(name, value),
            Step::Integer(name, value) => writer.integer(name, *value),
            Step::Boolean(name, value) => writer.boolean(name, *value),
            Step::Splice(members, pretty) => {
                let object: Map<_, _> =
                    members.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
                let text = if *pretty {
                    format!("{:#}", json!(object))
                } else {
                    json!(object).to_string()
                };
                writer.splice(&RawJson::parse(text).unwrap())
            }
            Step::Object(name, steps) => writer.object(name, |inner| write(inner, steps)),
        };
    }
    writer
}

fn model(steps: &[Step]) -> Value {
    let mut object = Map::new();
    for step in steps {
        match step.clone() {
            Step::Member(name, value) => object.insert(name, json!(value)),
            Step::Raw(name, value) => object.insert(name, json!([value])),
            Step::Text(name, value) => object.insert(name, json!(value)),
            Step::Integer(name, value) => object.insert(name, json!(value)),
            Step::Boolean(name, value) => object.insert(name, json!(value)),
            Step::Splice(members, _) => {
                object.extend(members.into_iter().map(|(name, value)| (name, json!(value))));
                None
            }
            Step::Object(name, steps) => object.insert(name, model(&steps)),
        };
    }
    Value::Object(object)
}

#[test]
fn only_objects_can_be_spliced() {
    for other in ["[1]", "null", "{}", "{ }", r#""{\"a\":1}""#] {
        let mut writer = ObjectWriter::new();
        writer.splice(&RawJson::parse(other).unwrap()).integer("a", 1);
        assert_eq!(writer.finish().as_str(), r#"{"a":1}"#, "{other}");
    }
}

#[test]
fn unserializable_member_is_named_and_not_written() {
    let bad = std::collections::HashMap::from([((1, 2), 3)]);
    let mut writer = ObjectWriter::new();
    let error = writer.member("first", &bad).unwrap_err();
    assert_eq!(error.to_string(), "first: key must be a string");
    writer.integer("a", 1);
    assert!(writer.member("second", &bad).is_err());
    writer.boolean("b", true);
    assert_eq!(writer.finish().as_str(), r#"{"a":1,"b":true}"#);
}

proptest! {
    #[test]
    fn written_object_has_all_members(steps in prop::collection::vec(step(), 0..6)) {
        let mut writer = ObjectWriter::new();
        write(&mut writer, &steps);
        let text = writer.finish();
        // Written text is not checked again, so it must be valid JSON for other parsers too.
        prop_assert!(RawJson::parse(text.as_bytes().clone()).is_ok());
        prop_assert_eq!(text.decode::<Value>().unwrap(), model(&steps));
    }
}
