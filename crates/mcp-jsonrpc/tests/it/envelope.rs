//! From frames to messages.

use bytes::Bytes;
use mcp_jsonrpc::{
    ErrorObject, Message, Notification, RawJson, Request, RequestId, Response,
    wire::{DecodeError, Decoded, decode, response_id_of_truncated},
};
use proptest::prelude::*;

/// What `frame` decodes to, in a notation that leaves no doubt: `request 1 ping {}`, `notification x`, `result 1 {}`,
/// `error 1 -32600 why data`, or why not.
fn read(frame: &str) -> String {
    match decode(&Bytes::copy_from_slice(frame.as_bytes())) {
        Ok(Decoded::One(message)) => show(&message),
        Ok(Decoded::Batch(messages)) => messages
            .iter()
            .map(|message| message.as_ref().map_or_else(ToString::to_string, show))
            .collect::<Vec<_>>()
            .join("; "),
        Err(error) => error.to_string(),
    }
}

fn show(message: &Message) -> String {
    let payload = |raw: &Option<RawJson>| {
        raw.as_ref().map(|raw| format!(" {}", raw.as_str())).unwrap_or_default()
    };
    match message {
        Message::Request(Request { id, method, params }) => {
            format!("request {id} {method}{}", payload(params))
        }
        Message::Notification(Notification { method, params }) => {
            format!("notification {method}{}", payload(params))
        }
        Message::Response(Response { id, outcome }) => {
            let id = id.as_ref().map_or("none".into(), ToString::to_string);
            match outcome {
                Ok(result) => format!("result {id} {}", result.as_str()),
                Err(ErrorObject { code, message, data }) => {
                    format!("error {id} {code} {message}{}", payload(data))
                }
            }
        }
    }
}

/// Checks frames against their expected reading. `…` abbreviates the version member at the start.
fn check(cases: &[(&str, &str)]) {
    for (frame, expected) in cases {
        let frame = frame.replace('…', r#""jsonrpc":"2.0""#);
        assert_eq!(read(&frame), *expected, "{frame}");
    }
}

const NO: &str = "not a JSON-RPC 2.0 message";
const NOT_JSON: &str = "not JSON";

#[test]
fn all_four_kinds_of_message_are_decoded() {
    check(&[
        (r#"{…,"id":1,"method":"ping"}"#, "request 1 ping"),
        (r#"{…,"id":1,"method":"ping","params":{"a":1.50}}"#, r#"request 1 ping {"a":1.50}"#),
        (r#"{…,"id":1,"method":"ping","params":[1]}"#, "request 1 ping [1]"),
        (r#"{…,"method":"notifications/x"}"#, "notification notifications/x"),
        (r#"{…,"id":1,"result":{}}"#, "result 1 {}"),
        (r#"{…,"id":1,"result":null}"#, "result 1 null"),
        (r#"{…,"id":1,"error":{"code":-32601,"message":"no"}}"#, "error 1 -32601 no"),
        (r#"{…,"id":1,"error":{"code":1,"message":"no","data":[ 1 ]}}"#, "error 1 1 no [ 1 ]"),
    ]);
}

#[test]
fn members_come_in_any_order_with_any_space_between_them() {
    check(&[
        (r#"{"result":{"id":9,"jsonrpc":"1.0"},"id":1,…}"#, r#"result 1 {"id":9,"jsonrpc":"1.0"}"#),
        (r#"{"params":{},"method":"m","id":"a",…}"#, r#"request "a" m {}"#),
        (" \t{ \"id\" : 1 ,\r… , \"result\" : [ ] } ", "result 1 [ ]"),
        ("\u{feff}{…,\"id\":1,\"result\":{}}", "result 1 {}"),
    ]);
}

#[test]
fn ids_are_strings_and_integers_of_any_size_and_keep_their_text() {
    for id in [
        "0",
        "-7",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "-170141183460469231731687303715884105728",
        r#""""#,
        r#""a b""#,
        r#""1""#,
        r#""é😀""#,
    ] {
        check(&[
            (&format!(r#"{{…,"id":{id},"method":"m"}}"#), &format!("request {id} m")),
            (&format!(r#"{{…,"id":{id},"result":1}}"#), &format!("result {id} 1")),
        ]);
        let mut line = Vec::new();
        let id: RequestId = serde_json::from_str(id).unwrap();
        Message::Request(Request::new(id.clone(), "m", None)).write(&mut line);
        let id = serde_json::to_string(&id).unwrap();
        assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#).into_bytes());
    }
    check(&[(r#"{…,"id":"\u0061\"","method":"m"}"#, r#"request "a\"" m"#)]);
}

#[test]
fn invalid_ids_are_none() {
    for id in ["1.5", "1e3", "true", "{}", "[1]", &"9".repeat(65)] {
        check(&[
            (&format!(r#"{{…,"id":{id},"method":"m"}}"#), NO),
            (&format!(r#"{{…,"id":{id},"result":1}}"#), NO),
            (&format!(r#"{{…,"id":{id},"error":{{"code":1,"message":"m"}}}}"#), "error none 1 m"),
        ]);
    }
}

#[test]
fn an_error_may_lack_its_id() {
    check(&[
        (r#"{…,"error":{"code":-32700,"message":"m"}}"#, "error none -32700 m"),
        (r#"{…,"id":null,"error":{"code":-32700,"message":"m"}}"#, "error none -32700 m"),
        (r#"{…,"result":{}}"#, NO),
        (r#"{…,"id":null,"result":{}}"#, NO),
    ]);
}

#[test]
fn members_that_are_null_count_as_absent() {
    // One struct for every kind of message, and a serializer that leaves nothing out.
    check(&[
        (r#"{…,"id":1,"method":null,"params":null,"result":{},"error":null}"#, "result 1 {}"),
        (r#"{…,"id":1,"method":"","result":{}}"#, "result 1 {}"),
        (r#"{…,"id":1,"method":"m","params":null,"result":null,"error":null}"#, "request 1 m"),
        (r#"{…,"id":null,"method":"m","params":{}}"#, "notification m {}"),
        (r#"{…,"id":1,"result":null,"error":{"code":1,"message":"m"}}"#, "error 1 1 m"),
    ]);
}

#[test]
fn an_error_wins_over_a_result() {
    check(&[
        (r#"{…,"id":1,"result":{},"error":{"code":1,"message":"m"}}"#, "error 1 1 m"),
        (r#"{…,"id":1,"error":{"code":1,"message":"m"},"result":{}}"#, "error 1 1 m"),
    ]);
}

#[test]
fn response_without_a_result_completes_its_call() {
    // `JSON.stringify` leaves out the result of a handler that returned nothing. The caller should
    // hear of it now, and not of a time-out later.
    check(&[
        (r#"{…,"id":1}"#, "result 1 null"),
        (r#"{…,"id":1,"error":null}"#, "result 1 null"),
        (r#"{…,"id":1,"params":{}}"#, NO),
        ("{…}", NO),
        (r#"{…,"id":null}"#, NO),
    ]);
}

#[test]
fn malformed_error_object_still_fails_its_call() {
    check(&[
        (r#"{…,"id":1,"error":{}}"#, "error 1 -32603 the server gave no reason"),
        (
            r#"{…,"id":1,"error":{"code":"x","message":7}}"#,
            "error 1 -32603 the server gave no reason",
        ),
        (r#"{…,"id":1,"error":{"code":1.5,"message":"m"}}"#, "error 1 -32603 m"),
        (r#"{…,"id":1,"error":"it broke"}"#, "error 1 -32603 it broke"),
        (r#"{…,"id":1,"error":[1]}"#, "error 1 -32603 the server gave no reason [1]"),
        (r#"{…,"id":1,"error":false}"#, "error 1 -32603 the server gave no reason false"),
    ]);
}

#[test]
fn the_last_of_two_members_counts_and_unknown_ones_do_not() {
    check(&[
        (r#"{…,"id":1,"id":2,"result":1,"result":2}"#, "result 2 2"),
        (r#"{"jsonrpc":"1.0",…,"id":1,"result":1}"#, "result 1 1"),
        (r#"{…,"x":{"id":3,"method":"n"},"id":1,"result":1,"":[]}"#, "result 1 1"),
        (r#"{…,"\u0069d":1,"re\u0073ult":2}"#, "result 1 2"),
        (r#"{"jsonrpc":"2\u002e0","id":1,"result":2}"#, "result 1 2"),
    ]);
}

#[test]
fn the_version_must_be_there() {
    check(&[
        (r#"{"id":1,"result":1}"#, NO),
        (r#"{"jsonrpc":"1.0","id":1,"result":1}"#, NO),
        (r#"{"jsonrpc":2.0,"id":1,"result":1}"#, NO),
        (r#"{…,"jsonrpc":null,"id":1,"result":1}"#, NO),
        ("{}", NO),
        (r#"{…,"method":7}"#, NO),
    ]);
}

#[test]
fn non_messages_and_non_json_are_distinguished() {
    for frame in ["1", "null", r#""text""#, "[]", "[ ]", " true "] {
        assert_eq!(read(frame), NO, "{frame}");
    }
    for frame in [
        "",
        " ",
        "server ready",
        "{",
        r#"{"jsonrpc":"2.0","id":1,"result":{}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},}"#,
        r#"{"jsonrpc":"2.0","id":1 "result":{}}"#,
        r#"{"jsonrpc":"2.0","id":01,"result":{}}"#,
        "[1,]",
        "[1 2]",
        "[1]]",
        "nul",
        "{} {}",
    ] {
        assert_eq!(read(frame), NOT_JSON, "{frame}");
    }
    assert_eq!(decode(&b"{\"a\":\"\xff\"}"[..].into()), Err(DecodeError::NotUtf8));
}

#[test]
fn nesting_is_limited_without_recursion() {
    let nested = |depth: usize| {
        format!(r#"{{…,"id":1,"result":{}{}}}"#, "[".repeat(depth), "]".repeat(depth))
    };
    assert!(read(&nested(127).replace('…', r#""jsonrpc":"2.0""#)).starts_with("result 1 [[["));
    check(&[(&nested(128), NOT_JSON), (&nested(1_000_000), NOT_JSON)]);
    assert_eq!(read(&"[".repeat(1_000_000)), NOT_JSON);
}

#[test]
fn invalid_batch_element_fails_alone() {
    check(&[
        (r#"[{…,"id":1,"result":{}}]"#, "result 1 {}"),
        (
            r#"[{…,"id":1,"result":{}}, 7, {"id":2}, [{…,"id":3,"result":{}}], {…,"method":"n"}]"#,
            "result 1 {}; not a JSON-RPC 2.0 message; not a JSON-RPC 2.0 message; \
             not a JSON-RPC 2.0 message; notification n",
        ),
        (r#"[{…,"id":1,"result":{}}, oops]"#, NOT_JSON),
        (r#"[{…,"id":1,"result":{}}"#, NOT_JSON),
        ("[[]]", NO),
    ]);
}

#[test]
fn batch_size_is_limited() {
    // Two bytes on the wire, a hundred in memory.
    let frame = format!("[{}1]", "1,".repeat(1 << 20));
    assert_eq!(decode(&frame.into()), Err(DecodeError::NotJsonRpc));
}

#[test]
fn payloads_are_slices_of_the_frame() {
    let frame = Bytes::from(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"data":{"a":1}}}"#);
    let Ok(Decoded::One(Message::Response(Response { outcome: Err(error), .. }))) = decode(&frame)
    else {
        panic!("an error");
    };
    assert!(frame.as_ptr_range().contains(&error.data.unwrap().as_bytes().as_ptr()));
}

#[test]
fn encoded_message_is_one_line() {
    let pretty = RawJson::parse("{\n  \"a\": \"b\\n\",\r\n  \"c\": []\n}").unwrap();
    let mut line = Vec::new();
    Message::Notification(Notification::new("a\nb", Some(pretty.clone()))).write(&mut line);
    let error = ErrorObject { code: -1, message: "no\r\nway".into(), data: Some(pretty) };
    Message::Response(Response { id: None, outcome: Err(error) }).write(&mut line);
    assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
    assert_eq!(
        String::from_utf8(line).unwrap(),
        concat!(
            r#"{"jsonrpc":"2.0","method":"a\nb","params":{   "a": "b\n",    "c": [] }}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no\r\nway","#,
            r#""data":{   "a": "b\n",    "c": [] }}}"#,
        )
    );
}

fn raw() -> impl Strategy<Value = RawJson> {
    prop_oneof![
        Just(RawJson::empty_object()),
        any::<[Option<bool>; 3]>().prop_map(|value| RawJson::encode(&value).unwrap()),
        prop::collection::btree_map(any::<String>(), any::<i32>(), 0..3)
            .prop_map(|value| RawJson::encode(&value).unwrap()),
    ]
}

fn id() -> impl Strategy<Value = RequestId> {
    prop_oneof![
        any::<i64>().prop_map(RequestId::from),
        any::<String>().prop_map(|text| RequestId::from(text.as_str())),
        any::<i128>().prop_map(|huge| serde_json::from_str(&huge.to_string()).unwrap()),
    ]
}

/// Any message that is one: a result belongs to an id, and params are not null.
fn message() -> impl Strategy<Value = Message> {
    let error = (any::<i64>(), any::<String>(), prop::option::of(raw()))
        .prop_map(|(code, message, data)| ErrorObject { code, message, data });
    prop_oneof![
        (id(), any::<String>(), prop::option::of(raw()))
            .prop_map(|(id, method, params)| Message::Request(Request::new(id, method, params))),
        (any::<String>(), prop::option::of(raw()))
            .prop_map(|(method, params)| Message::Notification(Notification::new(method, params))),
        (id(), raw())
            .prop_map(|(id, raw)| Message::Response(Response { id: Some(id), outcome: Ok(raw) })),
        (prop::option::of(id()), error)
            .prop_map(|(id, error)| Message::Response(Response { id, outcome: Err(error) })),
    ]
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(message in message()) {
        let mut line = Vec::new();
        message.write(&mut line);
        prop_assert!(!line.contains(&b'\n'));
        prop_assert_eq!(decode(&line.into()), Ok(Decoded::One(message)));
    }

    #[test]
    fn a_batch_is_its_messages(messages in prop::collection::vec(message(), 1..5)) {
        let mut line = b"[".to_vec();
        for (index, message) in messages.iter().enumerate() {
            line.extend_from_slice(if index == 0 { b" " } else { b", " });
            message.write(&mut line);
        }
        line.push(b']');
        let messages = messages.into_iter().map(Ok).collect();
        prop_assert_eq!(decode(&line.into()), Ok(Decoded::Batch(messages)));
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop_oneof![
            any::<Vec<u8>>(),
            r#"[\[\]{}",:0-9a-f\\ ]{0,40}|\{"(id|method|result|error|params)":.{0,10}"#
                .prop_map(String::into_bytes),
        ],
        cut in any::<prop::sample::Index>(),
    ) {
        let (head, tail) = bytes.split_at(cut.index(bytes.len() + 1));
        let _ = response_id_of_truncated(head, tail);
        let _ = decode(&Bytes::from(bytes));
    }

    #[test]
    fn a_damaged_message_is_refused_or_read_but_never_a_panic(
        message in message(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut line = Vec::new();
        message.write(&mut line);
        let at = at.index(line.len());
        line[at] = byte;
        let is_json = std::str::from_utf8(&line)
            .is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
        prop_assert_eq!(
            !matches!(decode(&line.into()), Err(DecodeError::NotUtf8 | DecodeError::NotJson)),
            is_json
        );
    }
}
