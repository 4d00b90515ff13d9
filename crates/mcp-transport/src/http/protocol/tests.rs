//! Tests of the rules without I/O.

use super::*;
use crate::http::{header_params::header_params, loss::by_status};

const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

fn message(text: &str) -> Message {
    match decode(&text.to_owned().into()) {
        Ok(Decoded::One(message)) => message,
        other => panic!("{text}: {other:?}"),
    }
}

fn request(method: &str, params: &str) -> Message {
    message(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#))
}

/// Returns the headers of a POST, and its URL if it differs from the configured one.
fn post(protocol: &mut Protocol, message: &Message) -> Result<(String, Option<Url>), Loss> {
    let (headers, url) = protocol.post(message, &Description::of(message), HeaderMap::new())?;
    Ok((shown(&headers), url))
}

fn shown(headers: &HeaderMap) -> String {
    let mut lines: Vec<_> =
        headers.iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())).collect();
    lines.sort();
    lines.join(" ")
}

fn posted(kind: Kind) -> Posted {
    Posted { kind, is_request: kind != Kind::Initialized, carried_session: false }
}

/// A legacy session `s`, opened and initialized.
fn legacy() -> Protocol {
    let mut protocol = Protocol::default();
    let next = opened_as(&mut protocol, b"s");
    assert!(matches!(next, Next::ReadJson), "{next:?}");
    protocol.initialized(&RawJson::parse(r#"{"protocolVersion":"2025-06-18"}"#).unwrap());
    protocol
}

fn opened_as(protocol: &mut Protocol, session: &[u8]) -> Next {
    let session = HeaderValue::from_bytes(session).unwrap();
    let headers = HeaderMap::from_iter([(SESSION, session)]);
    protocol.answered(posted(Kind::Initialize), StatusCode::OK, &headers, &Content::Json)
}

fn answered(protocol: &mut Protocol, posted: Posted, status: u16, content: &Content) -> Next {
    let status = StatusCode::from_u16(status).unwrap();
    protocol.answered(posted, status, &HeaderMap::new(), content)
}

fn refused(posted: Posted, status: u16, body: &str) -> Refusal {
    let status = StatusCode::from_u16(status).unwrap();
    let url = Url::parse("https://a.test/").unwrap();
    let loss = by_status(&url, status, &HeaderMap::new());
    Protocol::refused(posted, status, loss, &Bytes::from(body.to_owned()))
}

fn error(code: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"m"}}}}"#)
}

#[test]
fn a_legacy_session_is_named_in_every_request_but_the_first() {
    let mut protocol = legacy();
    let (headers, _) = post(&mut protocol, &request("tools/list", "")).unwrap();
    assert_eq!(headers, "mcp-protocol-version=2025-06-18 mcp-session-id=s");
    let (headers, _) = post(&mut protocol, &request("initialize", "")).unwrap();
    assert_eq!(headers, "");
    let (headers, carried) = protocol.get(HeaderMap::new(), "e7");
    let usual = "accept=text/event-stream cache-control=no-store";
    let named = "mcp-protocol-version=2025-06-18 mcp-session-id=s";
    assert_eq!((shown(&headers), carried), (format!("{usual} last-event-id=e7 {named}"), true));
}

#[test]
fn modern_request_headers_repeat_method_and_name() {
    let mut protocol = legacy();
    let schema = r#"{"properties":{"r":{"type":"string","x-mcp-header":"Region"}}}"#;
    protocol.register_header_params("t", header_params(&RawJson::parse(schema).unwrap()));
    protocol.register_header_params("bad", Err("its header is wrong".into()));
    let call = |name: &str| {
        request("tools/call", &format!(r#"{MODERN},"name":"{name}","arguments":{{"r":"eu"}}"#))
    };
    let (headers, _) = post(&mut protocol, &call("t")).unwrap();
    let rest = "mcp-name=t mcp-param-region=eu mcp-protocol-version=2026-07-28";
    assert_eq!(headers, format!("mcp-method=tools/call {rest}"), "and no session");
    let (headers, _) = post(&mut protocol, &call("other")).unwrap();
    assert!(!headers.contains("region"), "{headers}");
    let loss = post(&mut protocol, &call("bad")).unwrap_err();
    assert_eq!((&*loss.reason, loss.class), ("its header is wrong", ErrorClass::Permanent));
    // A prompt of the same name does not use them.
    let prompt =
        request("prompts/get", &format!(r#"{MODERN},"name":"t","arguments":{{"r":"eu"}}"#));
    assert!(!post(&mut protocol, &prompt).unwrap().0.contains("region"));
    protocol.register_header_params("t", Ok(Vec::new()));
    assert!(!post(&mut protocol, &call("t")).unwrap().0.contains("region"));
}

#[test]
fn each_modern_request_names_its_own_revision() {
    let mut protocol = Protocol::default();
    for version in ["2026-07-28", "2026-07-28", "2027-01-01", "2026-07-28"] {
        let list = request("tools/list", &MODERN.replace("2026-07-28", version));
        let headers = format!("mcp-method=tools/list mcp-protocol-version={version}");
        assert_eq!(post(&mut protocol, &list).unwrap().0, headers);
    }
    let list = request("tools/list", &MODERN.replace("2026-07-28", r"\n"));
    assert_eq!(post(&mut protocol, &list).unwrap_err().class, ErrorClass::Permanent);
    let method = request("tools\\nlist", MODERN);
    assert_eq!(post(&mut protocol, &method).unwrap_err().class, ErrorClass::Permanent);
}

#[test]
fn session_ids_that_no_server_may_send_fail_the_request_that_opens_the_session() {
    for session in [&b"a b"[..], b"\xc3\xa4", &[b'x'; 1025]] {
        let mut protocol = Protocol::default();
        let next = opened_as(&mut protocol, session);
        let Next::Lose(loss) = next else { panic!("{next:?}") };
        assert_eq!((loss.delivery, loss.class), (Delivery::Executed, ErrorClass::Permanent));
        assert!(!protocol.has_session());
    }
    // A server without sessions ends the previous one.
    let mut protocol = legacy();
    answered(&mut protocol, posted(Kind::Initialize), 200, &Content::Json);
    assert!(!protocol.has_session());
}

#[test]
fn a_404_ends_the_session_it_was_sent_in() {
    let mut protocol = legacy();
    let within = Posted { carried_session: true, ..posted(Kind::Legacy) };
    assert!(matches!(answered(&mut protocol, within, 404, &Content::None), Next::SessionLost));
    let without = posted(Kind::Modern);
    assert!(matches!(answered(&mut protocol, without, 404, &Content::None), Next::ReadRefusal));
    // Some servers respond with 400 instead of 404.
    let refusal = refused(within, 400, "Bad Request: No valid Session ID");
    assert!(matches!(refusal, Refusal::SessionLost), "{refusal:?}");
    for (posted, status, body) in
        [(within, 400, "no"), (without, 400, "session"), (within, 500, "session")]
    {
        let refusal = refused(posted, status, body);
        assert!(matches!(refusal, Refusal::Settle(Verdict::Lose(_))), "{refusal:?}");
    }
}

#[test]
fn an_accepted_message_is_read_as_its_content_says() {
    let mut protocol = Protocol::default();
    let html = || Content::Other("of type text/html".into());
    let request = posted(Kind::Legacy);
    assert!(matches!(answered(&mut protocol, request, 200, &Content::Events), Next::ReadEvents));
    assert!(matches!(answered(&mut protocol, request, 200, &Content::Json), Next::ReadJson));
    for content in [Content::None, html()] {
        let next = answered(&mut protocol, request, 200, &content);
        assert!(matches!(next, Next::Lose(loss) if loss.cause == FailureCause::NotMcp));
    }
    let note = posted(Kind::Initialized);
    for (content, is_read) in [(Content::None, false), (html(), false), (Content::Json, true)] {
        match answered(&mut protocol, note, 202, &content) {
            Next::Taken { listen: true } => assert!(!is_read),
            Next::ReadAside { listen: true } => assert!(is_read),
            next => panic!("{next:?}"),
        }
    }
    assert!(matches!(answered(&mut protocol, note, 500, &Content::Json), Next::LoseByStatus));
}

#[test]
fn a_refusal_is_answered_with_the_error_it_holds_unless_it_proves_nothing() {
    let is_answer = |kind, status, body: &str| match refused(posted(kind), status, body) {
        Refusal::Settle(verdict) => matches!(verdict, Verdict::Answer(_)),
        refusal => panic!("{refusal:?}"),
    };
    assert!(is_answer(Kind::Legacy, 400, &error(-32600)));
    assert!(!is_answer(Kind::Legacy, 400, "no"));
    // An overloaded server or a gateway in front of it reports its state, not the outcome of the request.
    assert!(!is_answer(Kind::Legacy, 503, &error(-32603)));
    assert!(is_answer(Kind::Modern, 500, &error(-32603)));
    assert!(!is_answer(Kind::Probe, 500, &error(-32603)));
    assert!(is_answer(Kind::Probe, 503, &error(error_code::UNSUPPORTED_VERSION)));
}

#[test]
fn a_client_error_to_initialize_may_come_from_an_old_server() {
    let mut protocol = Protocol::default();
    let tries = |refusal| matches!(refusal, Refusal::TryOld(_));
    let first = posted(Kind::Initialize);
    assert!(tries(refused(first, 405, "")));
    assert!(tries(refused(first, 404, &error(-32601))));
    assert!(!tries(refused(first, 503, "")));
    assert!(!tries(refused(first, 400, &error(error_code::UNSUPPORTED_VERSION))));
    assert!(!tries(refused(posted(Kind::Probe), 405, "")));

    let endpoint = Url::parse("https://a.test/messages?s=1").unwrap();
    protocol.found_old(endpoint.clone());
    let list = request("tools/list", "");
    assert_eq!(post(&mut protocol, &list).unwrap(), (String::new(), Some(endpoint)));
    let sent = posted(Kind::Legacy);
    let taken = answered(&mut protocol, sent, 202, &Content::Json);
    assert!(matches!(taken, Next::Taken { listen: false }), "{taken:?}");
    assert!(matches!(answered(&mut protocol, sent, 400, &Content::None), Next::LoseByStatus));
    assert!(matches!(answered(&mut protocol, sent, 404, &Content::None), Next::SessionLost));
}

#[test]
fn a_broken_answer_is_resumed_if_it_is_a_legacy_one_with_ids() {
    let over = |kind, last_id, loss, too_large| {
        let awaited = Awaited { too_large, ..Awaited::default() };
        Protocol::stream_over(posted(kind), &awaited, last_id, loss, 10)
    };
    let broken = || Some(lost(FailureCause::CutOff, "it broke"));
    assert!(matches!(over(Kind::Legacy, "1", None, None), AfterStream::Resume));
    assert!(matches!(over(Kind::Legacy, "1", broken(), Some(11)), AfterStream::Resume));
    for (kind, last_id) in [(Kind::Legacy, ""), (Kind::Modern, "1"), (Kind::Probe, "1")] {
        let after = over(kind, last_id, broken(), None);
        assert!(
            matches!(after, AfterStream::Lose(Failure::Lost(loss)) if &*loss.reason == "it broke")
        );
    }
    let after = over(Kind::Legacy, "1", None, Some(11));
    assert!(matches!(after, AfterStream::Lose(Failure::TooLarge { size: 11, limit: 10 })));
    let answered = Awaited { is_answered: true, ..Awaited::default() };
    let after = Protocol::stream_over(posted(Kind::Legacy), &answered, "1", broken(), 10);
    assert!(matches!(after, AfterStream::Done));
}

#[test]
fn a_stream_that_was_there_and_is_gone_took_its_session_with_it() {
    let mut protocol = legacy();
    let mut get = |status: u16, content: &Content, carried| {
        let status = StatusCode::from_u16(status).unwrap();
        let url = Url::parse("https://a.test/").unwrap();
        let loss = || by_status(&url, status, &HeaderMap::new());
        protocol.stream_answered(status, content, carried, loss).map_err(|loss| loss.class)
    };
    assert_eq!(get(404, &Content::None, true), Err(ErrorClass::Permanent), "there never was one");
    assert_eq!(get(200, &Content::Json, true), Err(ErrorClass::Permanent));
    assert_eq!(get(200, &Content::Events, true), Ok(()));
    assert_eq!(get(503, &Content::None, true), Err(ErrorClass::Transient));
    assert_eq!(get(404, &Content::None, true), Err(ErrorClass::Session));
    assert_eq!(get(400, &Content::None, true), Err(ErrorClass::Session));
    assert_eq!(get(404, &Content::None, false), Err(ErrorClass::Permanent));
}
