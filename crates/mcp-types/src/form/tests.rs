//! Tests of forms as servers send them, and of values as users type them.

use mcp_jsonrpc::RawJson;

use super::{Field, FieldKind, FieldProblem, FieldValue, TextFormat};
use crate::ElicitRequest;

fn request(properties: &str, required: &str) -> ElicitRequest {
    let schema =
        format!(r#"{{"type":"object","required":{required},"properties":{{{properties}}}}}"#);
    ElicitRequest::form("?", RawJson::parse(schema).unwrap())
}

fn field(schema: &str) -> Field {
    let request = request(&format!(r#""f":{schema}"#), "[]");
    request.fields().unwrap().remove(0)
}

fn problem(field: &Field, value: impl Into<FieldValue>) -> FieldProblem {
    field.check(&value.into()).unwrap_err().problem
}

#[test]
fn every_kind_of_field_is_read_in_order() {
    let fields = request(
        r#""name":{"type":"string","title":"Name","description":"Yours.","minLength":2,"maxLength":5},
        "size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
        "plain":{"type":"string","enum":["a","b"],"enumNames":["A"]},
        "count":{"type":"integer","minimum":1,"maximum":9,"default":1},
        "ratio":{"type":"number"},
        "extra":{"type":"array","minItems":1,"maxItems":2,"items":{"anyOf":[{"const":"x"}]},"default":["x"]},
        "gift":{"type":"boolean","default":true}"#,
        r#"["name","gift"]"#,
    )
    .fields()
    .unwrap();
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["name", "size", "plain", "count", "ratio", "extra", "gift"]);
    assert_eq!((fields[0].label(), fields[0].description.as_deref()), ("Name", Some("Yours.")));
    let required: Vec<bool> = fields.iter().map(|field| field.is_required).collect();
    assert_eq!(required, [true, false, false, false, false, false, true]);
    assert_eq!(
        fields[0].kind,
        FieldKind::Text { format: None, min_length: Some(2), max_length: Some(5) }
    );
    let labels = |kind: &FieldKind| match kind {
        FieldKind::One(choices) | FieldKind::Many { choices, .. } => {
            choices.iter().map(|choice| choice.label().to_owned()).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(labels(&fields[1].kind), ["Small", "Large"]);
    assert_eq!(labels(&fields[2].kind), ["A", "b"]);
    assert_eq!(labels(&fields[5].kind), ["x"]);
    assert_eq!(fields[3].default, Some(1.0.into()));
    assert_eq!(fields[5].default, Some(vec!["x".to_owned()].into()));
    assert_eq!(fields[6].default, Some(true.into()));
    assert!(ElicitRequest::form("?", RawJson::null()).fields().unwrap().is_empty());
}

#[test]
fn nested_objects_are_not_a_form() {
    for nested in [r#"{"type":"object"}"#, r#"{"type":"array","items":{"type":"string"}}"#, "{}"] {
        let error = request(&format!(r#""deep":{nested}"#), "[]").fields().unwrap_err();
        assert_eq!(error.field, "deep", "{nested}");
    }
}

#[test]
fn invalid_field_values_are_reported_with_the_limit() {
    let text = field(r#"{"type":"string","minLength":2,"maxLength":3}"#);
    assert_eq!(problem(&text, "é"), FieldProblem::TooShort(2));
    assert_eq!(problem(&text, "éééé"), FieldProblem::TooLong(3));
    assert_eq!(problem(&text, true), FieldProblem::NotText);
    let count = field(r#"{"type":"integer","minimum":1,"maximum":9}"#);
    assert_eq!(problem(&count, 0.0), FieldProblem::TooSmall(1.0));
    assert_eq!(problem(&count, 10.0), FieldProblem::TooLarge(9.0));
    assert_eq!(problem(&count, 2.5), FieldProblem::NotAnInteger);
    assert_eq!(problem(&count, f64::NAN), FieldProblem::NotANumber);
    let many = field(r#"{"type":"array","minItems":1,"maxItems":1,"items":{"enum":["a","b"]}}"#);
    assert_eq!(problem(&many, Vec::new()), FieldProblem::TooFew(1));
    assert_eq!(problem(&many, vec!["a".to_owned(), "b".to_owned()]), FieldProblem::TooMany(1));
    assert_eq!(problem(&many, vec!["c".to_owned()]), FieldProblem::NotAChoice("c".into()));
    assert_eq!(count.check(&0.0.into()).unwrap_err().to_string(), "`f` must be at least 1");
}

#[test]
fn formats_of_the_protocol_are_checked() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "email",
            &["ada@example.com", "a+b@localhost"],
            &["", "ada", "@x", "ada@", "a b@x.y", "a@x..y", "a@-x.y", "a@b@c d"],
        ),
        (
            "uri",
            &["https://example.com/a?b=c#d", "urn:isbn:1", "file:///x%20y"],
            &["", "example.com", ":x", "1a:b", "https:", "https://a b", "https://é"],
        ),
        (
            "date",
            &["2026-07-28", "2024-02-29", "2000-02-29"],
            &["", "2026-7-28", "2026-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "20260728"],
        ),
        (
            "date-time",
            &["2026-07-28T12:00:00Z", "2026-07-28t23:59:60.5+02:00", "2026-07-28T00:00:00-00:00"],
            &[
                "2026-07-28",
                "2026-07-28T12:00Z",
                "2026-07-28T24:00:00Z",
                "2026-07-28T12:00:00",
                "2026-07-28T12:00:00.Z",
                "2026-07-28T12:00:00+2:00",
            ],
        ),
        ("password", &["anything"], &[]),
    ];
    for (format, good, bad) in cases {
        let field = field(&format!(r#"{{"type":"string","format":"{format}"}}"#));
        for text in *good {
            assert_eq!(field.check(&(*text).into()), Ok(()), "{format} {text}");
        }
        for text in *bad {
            assert!(matches!(problem(&field, *text), FieldProblem::Format(_)), "{format} {text}");
        }
    }
    let email = field(r#"{"type":"string","format":"email"}"#);
    assert_eq!(problem(&email, "x"), FieldProblem::Format(TextFormat::Email));
}

#[test]
fn typed_lines_are_parsed_into_field_values() {
    let choice = field(r#"{"type":"string","oneOf":[{"const":"s","title":"Small"}]}"#);
    assert_eq!(choice.parse("small").unwrap(), "s".into());
    assert!(choice.parse("huge").is_err());
    let many = field(r#"{"type":"array","items":{"enum":["a","b"]}}"#);
    assert_eq!(many.parse("b, A").unwrap(), vec!["b".to_owned(), "a".to_owned()].into());
    let gift = field(r#"{"type":"boolean"}"#);
    assert_eq!(gift.parse("Yes").unwrap(), true.into());
    assert!(gift.parse("perhaps").is_err());
    let count = field(r#"{"type":"integer","maximum":9}"#);
    assert_eq!(RawJson::encode(&count.parse("7").unwrap()).unwrap().as_str(), "7");
    for wrong in ["x", "inf", "10", "1.5"] {
        assert!(count.parse(wrong).is_err(), "{wrong}");
    }
    let ratio = field(r#"{"type":"number"}"#);
    assert_eq!(RawJson::encode(&ratio.parse("1.5").unwrap()).unwrap().as_str(), "1.5");
}

#[test]
fn elicited_content_is_validated() {
    let request = request(r#""name":{"type":"string"},"count":{"type":"integer"}"#, r#"["name"]"#);
    let check = |content: &str| {
        let content = RawJson::parse(content.to_owned()).unwrap();
        request.check(&content).map_err(|error| error.to_string())
    };
    assert_eq!(check(r#"{"name":"Ada","count":2}"#), Ok(()));
    assert_eq!(check(r#"{"count":2}"#), Err("`name` is required".into()));
    assert_eq!(check(r#"{"name":7}"#), Err("`name` must be text".into()));
    assert_eq!(check(r#"{"name":"Ada","count":{}}"#), Err("`count` must be a number".into()));
    assert_eq!(
        check(r#"{"name":"Ada","other":1}"#),
        Err("`other` is not a field of the form".into())
    );
}
