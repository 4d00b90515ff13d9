//! Paginated lists.

use std::time::Duration;

use mcp_client::{
    CallError, ClientOptions,
    rpc::Failure,
    types::{
        Tool,
        lists::{CacheScope, Listing},
    },
};
use serde_json::Value;

use crate::support::{Server, legacy, modern, params};

/// Lists tools while the server returns a page for each cursor (`Value::Null` for none).
async fn listed(
    options: ClientOptions,
    answer: impl Fn(&Value, usize) -> Result<String, i64>,
) -> (Result<Listing<Tool>, CallError>, Vec<Value>) {
    let (client, mut server) = modern(options).await;
    let mut cursors = Vec::new();
    let listing = tokio::select! {
        listing = client.list_tools() => listing,
        () = serve(&mut server, &mut cursors, answer) => unreachable!("the server never stops"),
    };
    (listing, cursors)
}

async fn serve(
    server: &mut Server,
    cursors: &mut Vec<Value>,
    answer: impl Fn(&Value, usize) -> Result<String, i64>,
) {
    loop {
        let list = server.request("tools/list").await;
        cursors.push(params(&list)["cursor"].clone());
        match answer(&cursors[cursors.len() - 1], cursors.len()) {
            Ok(page) => server.answer(&list, &page),
            Err(code) => server.refuse(&list, code, "no"),
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the same type as pages that are errors")]
fn page(names: &[&str], next: Option<&str>) -> Result<String, i64> {
    let tools: Vec<_> = names.iter().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
    let next = next.map(|next| format!(r#","nextCursor":"{next}""#)).unwrap_or_default();
    Ok(format!(r#"{{"tools":[{}]{next}}}"#, tools.join(",")))
}

fn names(listing: &Listing<Tool>) -> String {
    listing.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_list_is_fetched_to_its_end_and_an_empty_cursor_is_not_the_end() {
    let (listing, cursors) = listed(ClientOptions::default(), |cursor, _| match cursor.as_str() {
        None => page(&["a", "b"], Some("")),
        Some("") => page(&[], Some("a cursor \\\"like\\\" any")),
        Some(_) => Ok(r#"{"tools":[{"name":"c"}],"nextCursor":null}"#.into()),
    })
    .await;
    let listing = listing.unwrap();
    assert_eq!(names(&listing), "a b c");
    assert!(!listing.truncated);
    assert_eq!(cursors, [Value::Null, "".into(), "a cursor \"like\" any".into()]);
}

#[tokio::test(start_paused = true)]
async fn repeated_cursor_ends_the_list() {
    let (listing, cursors) =
        listed(ClientOptions::default(), |_, _| page(&["again"], Some("round"))).await;
    let listing = listing.unwrap();
    assert_eq!((names(&listing).as_str(), listing.truncated), ("again again", true));
    assert_eq!(cursors.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn pages_and_entries_are_bounded() {
    let mut options = ClientOptions::default();
    options.max_pages = 3;
    let (listing, cursors) = listed(options, |_, n| page(&["x"], Some(&n.to_string()))).await;
    let listing = listing.unwrap();
    assert_eq!((listing.items.len(), listing.truncated, cursors.len()), (3, true, 3));

    let mut options = ClientOptions::default();
    options.max_items = 3;
    let (listing, cursors) =
        listed(options.clone(), |_, n| page(&["a", "b"], Some(&n.to_string()))).await;
    let listing = listing.unwrap();
    assert_eq!((names(&listing).as_str(), listing.truncated, cursors.len()), ("a b a", true, 2));

    // Invalid entries count too, or a server could exhaust our memory with them.
    let (listing, cursors) = listed(options.clone(), |_, n| {
        Ok(format!(r#"{{"tools":[{{}},{{}},{{"name":"a"}},{{}}],"nextCursor":"{n}"}}"#))
    })
    .await;
    let listing = listing.unwrap();
    assert!(listing.items.len() + listing.rejected.len() <= 3, "{listing:?}");
    assert_eq!((listing.truncated, cursors.len()), (true, 1));

    // A list of exactly the maximum length is not truncated.
    let (listing, _) = listed(options, |_, _| page(&["a", "b", "c"], None)).await;
    assert!(!listing.unwrap().truncated);
}

#[tokio::test(start_paused = true)]
async fn invalid_cursor_restarts_the_list_once() {
    let (listing, cursors) =
        listed(ClientOptions::default(), |cursor, n| match (cursor.as_str(), n) {
            (None, _) => page(&["a"], Some("next")),
            (Some(_), 2) => Err(-32602),
            _ => page(&["b"], None),
        })
        .await;
    assert_eq!(names(&listing.unwrap()), "a b");
    assert_eq!(cursors.len(), 4);

    let (listing, cursors) = listed(ClientOptions::default(), |cursor, _| match cursor.as_str() {
        None => page(&["a"], Some("next")),
        Some(_) => Err(-32602),
    })
    .await;
    assert!(
        matches!(listing.unwrap_err(), CallError::Failed { failure: Failure::Rejected(error), .. } if error.code == -32602)
    );
    assert_eq!(cursors.len(), 4);

    // A request without a cursor is not retried.
    let (listing, cursors) = listed(ClientOptions::default(), |_, _| Err(-32602)).await;
    listing.unwrap_err();
    assert_eq!(cursors.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn invalid_list_entry_is_rejected_alone() {
    let (listing, _) = listed(ClientOptions::default(), |_, _| {
        Ok(r#"{"tools":[{"name":"a"},{"name":"b","title":7},7,{"description":"c"},{"name":"d"}]}"#
            .into())
    })
    .await;
    let listing = listing.unwrap();
    assert_eq!(names(&listing), "a d");
    let reasons: Vec<_> = listing
        .rejected
        .iter()
        .map(|rejected| format!("{:?} {}", rejected.name, rejected.error))
        .collect();
    assert_eq!(
        reasons,
        [
            r#"Some("b") title: expected a string, found a number"#,
            "None expected an object, found a number",
            "None `name` is missing",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_page_error_names_the_problem() {
    for (page, problem) in [
        (r#"{"tools":[],"nextCursor":7}"#, "nextCursor: expected a string, found a number"),
        (
            r#"{"tools":[],"resultType":"input_required","requestState":"s"}"#,
            "unexpected `resultType` for this method",
        ),
    ] {
        let (listing, _) = listed(ClientOptions::default(), |_, _| Ok(page.into())).await;
        assert_eq!(
            listing.unwrap_err().to_string(),
            format!("invalid response to `tools/list`: {problem}")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn result_without_an_array_is_an_empty_list_with_a_problem() {
    for (page, problem) in [
        ("{}", "`tools` is missing"),
        (r#"{"tools":null}"#, "tools: expected an array, found null"),
        (r#"{"tools":{"name":"a"},"nextCursor":"n"}"#, "tools: expected an array, found an object"),
        ("[]", "expected an object, found an array"),
    ] {
        let (listing, cursors) = listed(ClientOptions::default(), |_, _| Ok(page.into())).await;
        let listing = listing.unwrap();
        assert!(listing.items.is_empty() && cursors.len() == 1, "{page}");
        assert_eq!(listing.problem.unwrap().to_string(), problem);
    }
    let (listing, _) = listed(ClientOptions::default(), |_, _| page(&[], None)).await;
    assert!(listing.unwrap().problem.is_none());
}

#[tokio::test(start_paused = true)]
async fn missing_input_schema_defaults_to_any_object() {
    for tool in [r#"{"name":"a"}"#, r#"{"name":"a","inputSchema":null}"#] {
        let page = format!(r#"{{"tools":[{tool}]}}"#);
        let (listing, _) = listed(ClientOptions::default(), |_, _| Ok(page.clone())).await;
        let schema = &listing.unwrap().items[0].input_schema;
        assert_eq!(schema.as_str(), r#"{"type":"object","properties":{}}"#);
    }
}

#[tokio::test(start_paused = true)]
async fn schemas_pass_through_byte_for_byte() {
    let schema = r##"{ "$schema":"x", "type":"object" ,"properties":{"b":{"const":1.50},"a":{"$ref":"#/$defs/x"}},
        "x-unknown":[null, 1e3],"$defs":{"x":{"$anchor":"y"}}, "properties":{} }"##;
    let page = format!(
        r#"{{"tools":[{{"name":"a","inputSchema":{schema},"outputSchema":{schema},"vendor":{{"k":1}}}}]}}"#
    );
    let (listing, _) = listed(ClientOptions::default(), |_, _| Ok(page.clone())).await;
    let tool = &listing.unwrap().items[0];
    assert_eq!(tool.input_schema.as_str(), schema);
    assert_eq!(tool.output_schema.as_ref().unwrap().as_str(), schema);
    assert_eq!(tool.extra.get("vendor").unwrap().as_str(), r#"{"k":1}"#);
}

#[tokio::test(start_paused = true)]
async fn freshness_is_that_of_the_shortest_page_and_the_strictest_scope() {
    let (listing, _) = listed(ClientOptions::default(), |cursor, _| {
        Ok(match cursor.as_str() {
            None => r#"{"tools":[],"nextCursor":"b","ttlMs":60000,"cacheScope":"public"}"#,
            Some(_) => r#"{"tools":[],"ttlMs":1500.0,"cacheScope":"private"}"#,
        }
        .into())
    })
    .await;
    let freshness = listing.unwrap().freshness.unwrap();
    assert_eq!(freshness.ttl, Duration::from_millis(1500));
    assert_eq!(freshness.scope, CacheScope::Private);

    for (members, ttl) in [
        (r#""ttlMs":0"#, Some(Duration::ZERO)),
        (r#""ttlMs":-5"#, Some(Duration::ZERO)),
        (r#""cacheScope":"public""#, None),
    ] {
        let page = format!(r#"{{"tools":[],{members}}}"#);
        let (listing, _) = listed(ClientOptions::default(), |_, _| Ok(page.clone())).await;
        assert_eq!(listing.unwrap().freshness.map(|fresh| fresh.ttl), ttl, "{members}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_lists_use_their_own_method_and_member() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    let (resources, templates, prompts, ()) = tokio::join!(
        client.list_resources(),
        client.list_resource_templates(),
        client.list_prompts(),
        async {
            for (method, result) in [
                ("resources/list", r#"{"resources":[{"uri":"a:b","name":"n"}]}"#),
                ("resources/templates/list", r#"{"resourceTemplates":[{"uriTemplate":"a:{b}"}]}"#),
                ("prompts/list", r#"{"prompts":[{"name":"p","arguments":[{"name":"x"}]}]}"#),
            ] {
                let list = server.request(method).await;
                server.answer(&list, result);
            }
        }
    );
    assert_eq!(resources.unwrap().items[0].uri, "a:b");
    assert_eq!(templates.unwrap().items[0].uri_template, "a:{b}");
    assert_eq!(prompts.unwrap().items[0].arguments[0].name, "x");
}
