//! Skills: listed without being read, and loaded only if they match their list entry.

use std::fmt::Write as _;

use mcp_client::{
    CallError, Client, ClientOptions,
    diagnostics::ErrorClass,
    rpc::Failure,
    skills::{Skill, SkillError, SkillResources},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{DISCOVERED, Server, initialized, params, raw, settled, wire};

const URI: &str = "skill://pdf-processing/SKILL.md";
const FORMS: &str = "skill://pdf-processing/references/FORMS.md";
const TEXT: &str = "---\nname: pdf-processing\ndescription: Extract, fill, and assemble PDF documents\n---\n\nSkill body.\n";
/// Computed with `sha256sum`, to be independent of the crate under test.
const TEXT_DIGEST: &str = "sha256:a6d5f1f48af94923633d597c756194482fe5d48f74e49eb54bc9ee7c4902d5ba";
const SUPPORTING: &str = "Supporting content – naïve.\n";

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn file(uri: &str, bytes: &[u8]) -> Value {
    json!({"uri": uri, "digest": digest(bytes), "size": bytes.len()})
}

/// The list entry of a skill with the `SKILL.md` `text`. Its front matter is fixed.
fn entry(text: &str) -> Value {
    json!({
        "uri": URI,
        "frontmatter": {
            "name": "pdf-processing",
            "description": "Extract, fill, and assemble PDF documents",
        },
        "resources": [file(URI, text.as_bytes()), file(FORMS, SUPPORTING.as_bytes())],
    })
}

fn skill(entry: &Value) -> Skill {
    raw(&entry.to_string()).decode().unwrap()
}

/// A client, and a modern server that declares this extension.
async fn connected(extension: &str, options: ClientOptions) -> (Client, Server) {
    let discovered =
        DISCOVERED.replace(r#""extensions":{"#, &format!(r#""extensions":{{{extension}"#));
    let (wire, mut servers) = wire();
    let (client, server) = tokio::join!(Client::connect(&wire, options), async {
        let mut server = servers.next().await;
        let probe = server.request("server/discover").await;
        server.answer(&probe, &discovered);
        server
    });
    (client.unwrap(), server)
}

const DECLARED: &str = r#""io.modelcontextprotocol/skills":{},"#;

async fn with_skills() -> (Client, Server) {
    connected(DECLARED, ClientOptions::default()).await
}

/// Answers one read with these contents, and checks that nothing else was requested.
async fn serve(server: &mut Server, uri: &str, contents: &Value) {
    let read = server.request("resources/read").await;
    assert_eq!(params(&read)["uri"], uri);
    server.answer(&read, &json!({"contents": contents}).to_string());
    assert_eq!(server.unread().await, [""; 0]);
}

fn text(uri: &str, text: &str) -> Value {
    json!([{"uri": uri, "mimeType": "text/markdown", "text": text}])
}

/// Loads a skill with this entry from a server with this `SKILL.md`. Returns the body or the error.
async fn loaded(entry: &Value, contents: &Value) -> String {
    let (client, mut server) = with_skills().await;
    let skill = skill(entry);
    let (loaded, ()) = tokio::join!(client.load_skill(&skill), serve(&mut server, URI, contents));
    loaded.map_or_else(|error| error.to_string(), |skill| skill.body().to_owned())
}

#[tokio::test(start_paused = true)]
async fn listing_skills_reads_no_files() {
    let (client, mut server) = with_skills().await;
    let (listing, ()) = tokio::join!(client.list_skills(), async {
        let first = server.request("skills/list").await;
        assert_eq!(params(&first).get("cursor"), None);
        let page = json!({"skills": [entry(TEXT)], "nextCursor": "2", "ttlMs": 0, "cacheScope": "private"});
        server.answer(&first, &page.to_string());
        let second = server.request("skills/list").await;
        assert_eq!(params(&second)["cursor"], "2");
        let mut made_up = entry(TEXT);
        made_up["resources"] = json!("dynamic");
        made_up["frontmatter"]["license"] = json!("MIT");
        server.answer(&second, &json!({"skills": [made_up]}).to_string());
    });
    let listing = listing.unwrap();
    let [first, second] = &listing.items[..] else { panic!("{listing:?}") };
    assert_eq!((first.uri.as_str(), first.frontmatter.name.as_str()), (URI, "pdf-processing"));
    assert_eq!(first.resources.listed()[0].digest, TEXT_DIGEST);
    assert_eq!(first.resources.listed()[1].size, 31);
    assert_eq!(second.resources, SkillResources::Dynamic);
    assert_eq!(second.frontmatter.extra.get("license").unwrap().as_str(), r#""MIT""#);
    // No file is prefetched.
    settled().await;
    assert_eq!(server.unread().await, [""; 0]);
    // An entry survives a round trip through JSON.
    assert_eq!(raw(&serde_json::to_string(second).unwrap()).decode::<Skill>().unwrap(), *second);
}

#[tokio::test(start_paused = true)]
async fn invalid_skill_entry_is_rejected_alone() {
    let wrong = [
        ("resources", json!(null)),
        ("resources", json!("static")),
        ("resources", json!({})),
        ("resources", json!([{"uri": URI, "digest": TEXT_DIGEST}])),
        ("resources", json!([{"uri": URI, "digest": TEXT_DIGEST, "size": -1}])),
        ("resources", json!([{"uri": URI, "digest": TEXT_DIGEST, "size": 1.5}])),
        ("frontmatter", json!({"name": "pdf-processing"})),
        ("frontmatter", json!([])),
        ("uri", json!(7)),
    ];
    let mut skills = vec![entry(TEXT)];
    for (member, value) in &wrong {
        let mut entry = entry(TEXT);
        entry[*member] = value.clone();
        skills.push(entry);
    }
    let mut without = entry(TEXT);
    without.as_object_mut().unwrap().remove("resources");
    skills.push(without);
    let (client, mut server) = with_skills().await;
    let (listing, ()) = tokio::join!(client.list_skills(), async {
        let list = server.request("skills/list").await;
        server.answer(&list, &json!({"skills": skills}).to_string());
    });
    let listing = listing.unwrap();
    assert_eq!((listing.items.len(), listing.rejected.len()), (1, wrong.len() + 1));
    assert_eq!(listing.rejected[0].name.as_deref(), Some("pdf-processing"));
    let last = listing.rejected.last().unwrap();
    assert_eq!(last.error.to_string(), "`resources` is missing");
}

#[tokio::test(start_paused = true)]
async fn skills_are_requested_only_if_declared() {
    for extension in
        ["", r#""io.modelcontextprotocol/skills":null,"#, r#""com.example/skills":{},"#]
    {
        let (client, mut server) = connected(extension, ClientOptions::default()).await;
        let error = client.list_skills().await.unwrap_err();
        assert!(matches!(error, CallError::Unsupported("skills")), "{error}");
        assert_eq!(error.to_string(), "the server does not support skills");
        assert_eq!(server.unread().await, [""; 0]);
    }
    // Legacy servers may declare skills too.
    let capable = initialized("2025-11-25")
        .replace(r#""logging":{}"#, r#""extensions":{"io.modelcontextprotocol/skills":{}}"#);
    let mut options = ClientOptions::default();
    options.era = mcp_client::EraChoice::Legacy;
    let (wire, mut servers) = wire();
    let (client, mut server) = tokio::join!(Client::connect(&wire, options), async {
        let mut server = servers.next().await;
        let initialize = server.request("initialize").await;
        server.answer(&initialize, &capable);
        server.notification("notifications/initialized").await;
        server
    });
    let client = client.unwrap();
    let (listing, ()) = tokio::join!(client.list_skills(), async {
        let list = server.request("skills/list").await;
        server.answer(&list, &json!({"skills": [entry(TEXT)]}).to_string());
    });
    assert_eq!(listing.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn verified_skill_is_loaded() {
    let (client, mut server) = with_skills().await;
    let mut entry = entry(TEXT);
    entry["resources"][0]["digest"] = json!(TEXT_DIGEST);
    let skill = skill(&entry);
    let contents = text(URI, TEXT);
    let (whole, ()) = tokio::join!(client.load_skill(&skill), serve(&mut server, URI, &contents));
    let whole = whole.unwrap();
    assert_eq!((whole.text(), whole.body()), (TEXT, "\nSkill body.\n"));
    // A `blob` is verified like text.
    let blob = json!([{"uri": URI, "blob": base64(TEXT.as_bytes())}]);
    assert_eq!(loaded(&entry, &blob).await, "\nSkill body.\n");
}

#[tokio::test(start_paused = true)]
async fn skill_that_differs_from_its_entry_is_rejected() {
    let longer = format!("{TEXT}more");
    let shorter = &TEXT[..TEXT.len() - 1];
    let other = TEXT.replace("Skill body.", "Evil body!!");
    let lying = TEXT.replace("Extract, fill, and assemble PDF documents", "Exfiltrate credentials");
    let granting = TEXT.replace("\n---\n\n", "\nallowed-tools: Bash\n---\n\n");
    let nameless = TEXT.replace("name: pdf-processing\n", "");
    for (listed, served, expected) in [
        (TEXT, longer.as_str(), "the file has 101 bytes where 97 were listed"),
        (TEXT, shorter, "the file has 96 bytes where 97 were listed"),
        (TEXT, &other, "the file's digest differs from the listed one"),
        // Size and digest match, but the front matter differs.
        (&lying, &lying, "the field `description` of the front matter differs from the listed one"),
        (
            &granting,
            &granting,
            "the field `allowed-tools` of the front matter differs from the listed one",
        ),
        (&nameless, &nameless, "the field `name` of the front matter differs from the listed one"),
        ("body", "body", "`SKILL.md` does not begin with front matter"),
    ] {
        assert_eq!(loaded(&entry(listed), &text(URI, served)).await, expected);
    }
    let entry = json!({"uri": URI, "frontmatter": {"name": "n", "description": "d"},
        "resources": [file(URI, b"---\nname: n\xff\n---\n")]});
    let blob = json!([{"uri": URI, "blob": base64(b"---\nname: n\xff\n---\n")}]);
    assert_eq!(loaded(&entry, &blob).await, "`SKILL.md` is not UTF-8");
}

#[tokio::test(start_paused = true)]
async fn unverifiable_skill_file_is_not_requested() {
    let mut options = ClientOptions::default();
    options.max_skill_file = 96;
    let (client, mut server) = connected(DECLARED, options).await;
    let with = |resources: Value| {
        let mut entry = entry(TEXT);
        entry["resources"] = resources;
        skill(&entry)
    };
    let digest_of = |digest: &str| with(json!([{"uri": URI, "digest": digest, "size": 3}]));
    let unknown = "the file's digest is not `sha256:` and 64 hexadecimal digits";
    for (skill, expected) in [
        (
            with(json!("dynamic")),
            "the server gives no digests for this skill, so its files cannot be verified",
        ),
        (with(json!([])), "the skill lists no file `skill://pdf-processing/SKILL.md`"),
        (
            with(json!([file(FORMS, b"x")])),
            "the skill lists no file `skill://pdf-processing/SKILL.md`",
        ),
        (
            with(json!([file(URI, b"x"), file(URI, b"y")])),
            "the skill lists the file `skill://pdf-processing/SKILL.md` more than once",
        ),
        (
            with(json!([file(URI, TEXT.as_bytes())])),
            "the file has 97 bytes, and at most 96 are accepted",
        ),
        (digest_of(&TEXT_DIGEST.replace("sha256", "sha512")), unknown),
        (digest_of("md5:900150983cd24fb0d6963f7d28e17f72"), unknown),
        (digest_of(&TEXT_DIGEST[..70]), unknown),
    ] {
        let error = client.load_skill(&skill).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.class(), ErrorClass::Permanent);
    }
    let skill = with(json!([file(URI, b"x")]));
    for uri in [FORMS, "skill://pdf-processing/skill.md", "skill://pdf-processing/./SKILL.md", ""] {
        let error = client.read_skill_file(&skill, uri).await.unwrap_err();
        assert!(matches!(error, SkillError::NotListed { .. }), "{error}");
    }
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn skill_uri_in_an_error_is_escaped() {
    let (client, _server) = with_skills().await;
    let mut entry = entry(TEXT);
    entry["uri"] = json!(format!("skill://a\u{1b}[2J\n\u{202e}{}", "x".repeat(1_000)));
    let error = client.load_skill(&skill(&entry)).await.unwrap_err().to_string();
    assert!(
        error.starts_with(r"the skill lists no file `skill://a\u{1b}[2J\u{a}\u{202e}xxx"),
        "{error}"
    );
    assert!(error.ends_with("x…`") && error.len() < 300, "{error}");
}

#[tokio::test(start_paused = true)]
async fn supporting_files_are_verified_when_they_are_read() {
    let (client, mut server) = with_skills().await;
    let skill = skill(&entry(TEXT));
    let blob = json!([{"uri": FORMS, "blob": base64(SUPPORTING.as_bytes())}]);
    let parts = json!([{"uri": URI, "text": TEXT}, {"uri": FORMS, "text": SUPPORTING}]);
    let elsewhere = json!([{"uri": "file:///FORMS.md", "text": SUPPORTING}]);
    for contents in [&text(FORMS, SUPPORTING), &blob, &parts, &elsewhere] {
        let read = client.read_skill_file(&skill, FORMS);
        let (read, ()) = tokio::join!(read, serve(&mut server, FORMS, contents));
        assert_eq!(read.unwrap().text(), Some(SUPPORTING), "{contents}");
    }
    let read = client.read_skill_file(&skill, FORMS);
    let contents = text(FORMS, SUPPORTING);
    let (read, ()) = tokio::join!(read, serve(&mut server, FORMS, &contents));
    assert_eq!(read.unwrap().mime_type.as_deref(), Some("text/markdown"));

    let other = SUPPORTING.replace("naïve", "nasty!");
    let truncated = &SUPPORTING[..10];
    for (contents, expected) in [
        (text(FORMS, &other), "the file's digest differs from the listed one"),
        (text(FORMS, truncated), "the file has 10 bytes where 31 were listed"),
        (text(FORMS, ""), "the file has 0 bytes where 31 were listed"),
        (json!([]), "the server did not return exactly one file"),
        (
            json!([{"uri": "a:b", "text": ""}, {"uri": "a:c", "text": ""}]),
            "the server did not return exactly one file",
        ),
        (
            json!([{"uri": FORMS, "text": SUPPORTING}, {"uri": FORMS, "text": ""}]),
            "the server did not return exactly one file",
        ),
        (json!([{"uri": FORMS}]), "the file is neither text nor a `blob`"),
        (
            json!([{"uri": FORMS, "text": SUPPORTING, "blob": ""}]),
            "the file is neither text nor a `blob`",
        ),
        (json!([{"uri": FORMS, "blob": "???"}]), "the file's `blob` is not Base64"),
    ] {
        let read = client.read_skill_file(&skill, FORMS);
        let (read, ()) = tokio::join!(read, serve(&mut server, FORMS, &contents));
        assert_eq!(read.unwrap_err().to_string(), expected, "{contents}");
    }
}

#[tokio::test(start_paused = true)]
async fn skill_md_read_as_a_file_is_fully_verified() {
    let (client, mut server) = with_skills().await;
    let lying = TEXT.replace("fill, ", "");
    for (listed, passes) in [(TEXT, true), (&lying, false)] {
        let skill = skill(&entry(listed));
        let read = client.read_skill_file(&skill, URI);
        let contents = text(URI, listed);
        let (read, ()) = tokio::join!(read, serve(&mut server, URI, &contents));
        match read {
            Ok(file) => assert!(passes && file.text() == Some(TEXT)),
            Err(SkillError::FrontMatter { field }) => assert!(!passes && &*field == "description"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn skill_read_error_quotes_the_server() {
    let (client, mut server) = with_skills().await;
    let skill = skill(&entry(TEXT));
    let (loaded, ()) = tokio::join!(client.load_skill(&skill), async {
        let read = server.request("resources/read").await;
        server.refuse(&read, -32602, "unknown resource");
    });
    let error = loaded.unwrap_err();
    assert_eq!(error.to_string(), "the server refused: unknown resource (code -32602)");
    assert_eq!(error.class(), ErrorClass::Permanent);
    let (loaded, ()) = tokio::join!(client.load_skill(&skill), async {
        server.request("resources/read").await;
        client.close().await;
    });
    let error = loaded.unwrap_err();
    assert!(
        matches!(error, SkillError::Call(CallError::Failed { failure: Failure::Closed(_), .. })),
        "{error}"
    );
}

/// An independent implementation, to not share errors with the decoder.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)).collect();
    let mut text: String = bits
        .chunks(6)
        .map(|six| {
            let value = (0..6).fold(0, |value, at| value << 1 | six.get(at).copied().unwrap_or(0));
            char::from(DIGITS[usize::from(value)])
        })
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}
