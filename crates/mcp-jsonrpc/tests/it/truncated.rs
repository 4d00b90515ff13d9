//! Response ids recovered from truncated lines.

use mcp_jsonrpc::wire::response_id_of_truncated;

/// The id recovered from the head and tail of a line; `|` marks the discarded part.
fn recovered(line: &str) -> Option<String> {
    let (head, tail) = line.split_once('|').unwrap();
    response_id_of_truncated(head.as_bytes(), tail.as_bytes()).map(|id| id.to_string())
}

#[test]
fn id_of_a_truncated_response_is_found_in_its_head() {
    for (line, id) in [
        (r#"{"jsonrpc":"2.0","id":7,"result":{"a":"xx|x"}}"#, "7"),
        (r#" { "id" : -7 , "result":[|]}"#, "-7"),
        (r#"{"id":"a\"b","result":[|]}"#, r#""a\"b""#),
        (r#"{"_meta":{"id":1,"method":"x"},"id":2,"result":[|]}"#, "2"),
        (r#"{"\u0069d":7,"result":[|]}"#, "7"),
        ("\u{feff}{\"id\":7,\"result\":[|]}", "7"),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"data":"|"}}"#, "7"),
        (r#"{"jsonrpc":"2.0","result":{},"id":7}|"#, "7"),
        (r#"{"method":"","id":7,"result":[|]}"#, "7"),
    ] {
        assert_eq!(recovered(line).as_deref(), Some(id), "{line}");
    }
    // The cut may fall inside a character.
    assert_eq!(response_id_of_truncated(b"{\"id\":7,\"result\":\"\xc3", b"\"}"), Some(7.into()));
}

#[test]
fn id_of_a_truncated_response_is_found_in_its_tail() {
    for line in [
        r#"{"result":{"a":"x|x"},"jsonrpc":"2.0","id":7}"#,
        r#"{"result":{"a":"x|x"},"id":7,"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","result":{"id":3,"x":[|1]} , "id" : 7 } "#,
        r#"{"jsonrpc":"2.0","error":{"id":3,"x":[|1]},"id":7}"#,
        r#"{"jsonrpc":"2.0","result":"|é","id":7}"#,
    ] {
        assert_eq!(recovered(line).as_deref(), Some("7"), "{line}");
    }
}

#[test]
fn id_inside_a_string_or_nested_object_is_ignored() {
    for line in [
        // Inside the result, at either end.
        r#"{"jsonrpc":"2.0","result":{"id":7,"x":"|"}}"#,
        r#"{"jsonrpc":"2.0","result":{"x":"|","id":7}}"#,
        r#"{"jsonrpc":"2.0","result":"|,\"id\":7}"}"#,
        r#"{"jsonrpc":"2.0","result":[|{"x":1,"id":7}]}"#,
        // A number that may go on behind the cut.
        r#"{"jsonrpc":"2.0","id":7|7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":|77,"result":{}}"#,
        r#"{"jsonrpc":"2.0","result":{},"id":7|7,"x":""}"#,
        // The end of a longer number, or of no integer.
        r#"{"jsonrpc":"2.0","result":1|77}"#,
        r#"{"jsonrpc":"2.0","result":[|],"id":1.7}"#,
        r#"{"jsonrpc":"2.0","result":[|],"id":null}"#,
        r#"{"jsonrpc":"2.0","result":[|],"xid":7}"#,
        // A request of the peer, whose ids are independent.
        r#"{"jsonrpc":"2.0","method":"m","params":{|},"id":7}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{|}}"#,
        r#"{"jsonrpc":"2.0","id":7,"params":{|},"method":"m"}"#,
        r#"{"jsonrpc":"2.0","params":{|},"method":"m","id":7}"#,
        r#"{"params":{|},"id":7}"#,
        // Too little to tell.
        r#"{"jsonrpc":"2.0","id":7,"x":"|"}"#,
        // A batch, and no JSON at all.
        r#"[{"jsonrpc":"2.0","id":7,"result":{|}}]"#,
        r#"[{"jsonrpc":"2.0","result":{|},"id":7}"#,
        r#"received {"jsonrpc":"2.0","result":{|},"id":7}"#,
        "|",
    ] {
        assert_eq!(recovered(line), None, "{line}");
    }
}
