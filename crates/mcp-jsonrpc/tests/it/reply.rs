//! Responses recognised by their head and tail, and decoded by the caller.

use bytes::Bytes;
use mcp_jsonrpc::{
    Failure, Message, RawJson,
    wire::{Decoded, Reply, decode},
};
use proptest::prelude::*;

fn recognize(frame: &str) -> Option<Reply> {
    Reply::recognize(&Bytes::copy_from_slice(frame.as_bytes()))
}

fn read<T: serde::de::DeserializeOwned>(frame: &str) -> Result<T, Failure> {
    recognize(frame).expect("the usual form").decode()
}

#[test]
fn both_usual_forms_are_recognised_and_read() {
    for frame in [
        r#"{"jsonrpc":"2.0","id":7,"result":{"a":[1,2]}}"#,
        r#"{"result":{"a":[1,2]},"jsonrpc":"2.0","id":7}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{"a":[1,2]},"more":{"id":8}}"#,
    ] {
        let reply = recognize(frame).unwrap();
        assert_eq!(*reply.id(), 7.into());
        assert_eq!(reply.clone().into_raw().unwrap().as_str(), r#"{"a":[1,2]}"#);
        let Some(Message::Response(response)) = reply.into_message() else { panic!("{frame}") };
        assert_eq!((response.id, response.outcome.is_ok()), (Some(7.into()), true));
    }
}

#[test]
fn everything_else_is_left_to_the_full_decoder() {
    for frame in [
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"x","params":{"result":1}}"#,
        r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":-7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99999999999999999999,"result":{}}"#,
        r#"{"jsonrpc": "2.0","id":7,"result":{}}"#,
        r#"{"result":{},"jsonrpc":"2.0","id":}"#,
        r#"{"result":{},"id":7}"#,
        "",
        "{",
    ] {
        assert_eq!(recognize(frame), None, "{frame}");
    }
}

#[test]
fn malformed_response_fails_its_call() {
    let malformed = |frame: &str| match read::<RawJson>(frame) {
        Err(Failure::Malformed(error)) => error.to_string(),
        other => panic!("{frame}: {other:?}"),
    };
    // The ending belongs to the result, so this object is unterminated.
    assert!(read::<RawJson>(r#"{"result":{"x":1,"jsonrpc":"2.0","id":7}"#).is_err());
    assert!(read::<RawJson>(r#"{"jsonrpc":"2.0","id":7,"result":{}},{"#).is_err());
    assert!(read::<RawJson>(r#"{"jsonrpc":"2.0","id":7,"result":}"#).is_err());
    assert!(read::<RawJson>(r#"{"jsonrpc":"2.0","id":7,"result":{}}{"#).is_err());
    // The last of two members counts, as everywhere.
    for frame in [
        r#"{"jsonrpc":"2.0","id":7,"result":{},"id":8}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{},"jsonrpc":"1.0"}"#,
    ] {
        assert_eq!(malformed(frame), "not the answer it looked like");
    }
    let invalid = Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"\xff\"}");
    let read = Reply::recognize(&invalid).unwrap().decode::<String>();
    assert!(matches!(read, Err(Failure::Malformed(_))), "{read:?}");
}

#[test]
fn error_after_a_result_wins() {
    let frame = r#"{"jsonrpc":"2.0","id":7,"result":null,"error":{"code":-1,"message":"no"}}"#;
    match read::<RawJson>(frame) {
        Err(Failure::Rejected(error)) => assert_eq!((error.code, &*error.message), (-1, "no")),
        other => panic!("{other:?}"),
    }
    let frame = r#"{"jsonrpc":"2.0","id":7,"result":[1],"error":null}"#;
    assert_eq!(read::<Vec<u8>>(frame).unwrap(), [1]);
}

#[test]
fn an_error_names_its_place_inside_the_result() {
    let frame = r#"{"jsonrpc":"2.0","id":7,"result":{"a":[1,"x"]}}"#;
    let error = read::<std::collections::BTreeMap<String, Vec<u8>>>(frame).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid response: a[1]: expected a whole number, found a string"
    );
}

proptest! {
    /// A recognised response decodes to the same value as with the full decoder.
    #[test]
    fn agrees_with_the_full_decoder(
        value in r#"[\[\]{}",:0-9a-z \\]{0,40}"#,
        id in 0..1000_i64,
        last in any::<bool>(),
    ) {
        let frame = if last {
            format!(r#"{{"result":{value},"jsonrpc":"2.0","id":{id}}}"#)
        } else {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{value}}}"#)
        };
        let frame = Bytes::from(frame);
        let quick = Reply::recognize(&frame).expect("the usual form").into_raw().ok();
        let full = match decode(&frame) {
            Ok(Decoded::One(Message::Response(response))) if response.id == Some(id.into()) => {
                response.outcome.ok()
            }
            _ => None,
        };
        prop_assert_eq!(quick, full);
    }
}
