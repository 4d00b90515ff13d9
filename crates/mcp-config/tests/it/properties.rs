//! Properties that hold for every input.

use std::{path::Path, time::Duration};

use mcp_config::{
    Dialect, Document, Environment, Layers, ReadOptions, Remote, Scope, Sdk, SecretText,
    ServerConfig, Stdio, Template, Transport,
    approval::Fingerprint,
    edit::{Edit, EditError, edit_text},
    model::{AlwaysLoad, AuthKind, ConnectMode, EraPin, SecretMap},
    read, resolve,
    resolve::{Change, Layer, Signature, what_if},
};
use mcp_sandbox::{Level, Profile};
use proptest::{collection, option, prelude::*, sample};

use crate::matrix::FIXTURES;

/// The dialects that this build supports.
fn dialects() -> Vec<Dialect> {
    FIXTURES.iter().map(|fixture| fixture.dialect).collect()
}

/// Text that is difficult to parse: quotes, escapes, comment marks, colons, other scripts.
fn awkward() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,8}",
        2 => "[ -~]{0,12}",
        1 => sample::select(vec![
            "true", "null", "0x1f", "1e3", "-", "a: b", "#no", "# x", "// x", "/* x */", "\"q\"", "'q'",
            "{a}", "[a]", "&a", "*a", "é日本🦀", "a\\b", "tab\there", "line\nbreak", "cr\rlf", "${X}", "$X",
            "%X%", "{env:X}", "${X:-${Y}}", "~", "yes", "- a", "? a", "!tag", "|", ">", "%", "@x", "`x`",
            "\u{7f}", "\u{85}", "\u{2028}", "\u{feff}",
        ]).prop_map(str::to_owned),
    ]
}

fn template() -> impl Strategy<Value = Template> {
    prop_oneof![
        3 => awkward().prop_map(Template::literal),
        2 => awkward().prop_map(|text| Template::parse(&text)),
        1 => "[A-Z]{1,4}".prop_map(|name| Template::parse(&format!("Bearer ${{{name}}}"))),
        1 => "[A-Z]{1,4}".prop_map(|name| Template::parse(&format!("${{{name}}}"))),
    ]
}

fn map(keys: &'static str) -> impl Strategy<Value = SecretMap> {
    let value = template().prop_map(|template| {
        if template.is_final() {
            SecretText::literal(template.unexpanded().replace(['\r', '\n'], " "))
        } else {
            SecretText::parse(&template.unexpanded().replace(['\r', '\n'], " "))
        }
    });
    collection::vec((keys, value), 0..3).prop_map(|pairs| pairs.into_iter().collect())
}

fn stdio() -> impl Strategy<Value = Transport> {
    let words = collection::vec("[A-Z]{1,5}", 0..2);
    (
        template().prop_filter("a program", |command| !command.unexpanded().trim().is_empty()),
        collection::vec(template(), 0..4),
        map("[A-Z_]{1,6}"),
        words.clone(),
        words,
        option::of(template()),
        option::of(0_u8..4),
    )
        .prop_map(|(command, args, env, env_pass, mut unset, cwd, sandbox)| {
            let mut stdio = Stdio::default();
            unset.retain(|name| !env.contains(name));
            unset.sort();
            unset.dedup();
            (stdio.command, stdio.args, stdio.env, stdio.env_pass) = (command, args, env, env_pass);
            (stdio.env_unset, stdio.cwd) = (unset, cwd);
            stdio.sandbox = sandbox.map(|kind| {
                let mut profile = Profile::new(match kind {
                    0 => Level::Off,
                    1 | 3 => Level::Standard,
                    _ => Level::Strict,
                });
                if kind > 2 {
                    profile.read.push("~/data".to_owned());
                }
                profile
            });
            Transport::Stdio(stdio)
        })
}

fn remote() -> impl Strategy<Value = Transport> {
    let url = "https?://[a-z]{1,6}(\\.test)?(:[1-9][0-9]{3})?(/[a-z]{1,4}){0,2}(\\?k=[a-z])?";
    (url, map("[A-Za-z-]{1,8}"), option::of(template()), collection::vec("[a-z:]{1,5}", 0..3), 0..3)
        .prop_map(|(url, headers, id, scopes, kind)| {
            let mut remote = Remote::new(url.as_str());
            remote.headers = headers;
            if id.is_some() || !scopes.is_empty() {
                let oauth = remote.oauth.get_or_insert_default();
                (oauth.client_id, oauth.scopes) = (id, scopes);
            }
            match kind {
                0 => Transport::Sse(remote),
                1 => Transport::Ws(remote),
                _ => Transport::Http(remote),
            }
        })
}

/// Any configuration that our own format supports.
fn server() -> impl Strategy<Value = ServerConfig> {
    let name = prop_oneof![
        "[a-z]{1,6}",
        "[a-zA-Z0-9_.-]{1,12}",
        Just("日本 server".to_owned()),
        Just("true".to_owned())
    ]
    .prop_filter("a name", |name| name.parse::<mcp_config::ServerName>().is_ok());
    let transport =
        prop_oneof![4 => stdio(), 4 => remote(), 1 => Just(Transport::Sdk(Sdk::default()))];
    let globs = collection::vec("[a-z_*]{1,6}", 0..3);
    let switches = (any::<bool>(), any::<bool>(), 0_u8..4, 0_u8..4, 0_u8..4);
    let numbers =
        (option::of(1_u64..400_000), option::of(1_u64..400_000), option::of(0_usize..5000));
    (
        name,
        transport,
        option::of(globs.clone()),
        globs,
        switches,
        numbers,
        option::of(awkward()),
        option::of(0_i64..9),
    )
        .prop_map(|(name, transport, allow, deny, switches, numbers, description, extra)| {
            let mut config = ServerConfig::new(name.parse().unwrap(), transport);
            (config.tools.allow, config.tools.deny) = (allow, deny);
            (config.enabled, config.trust) = (switches.0, switches.1);
            config.always_load = match switches.2 {
                0 => AlwaysLoad::All,
                1 => AlwaysLoad::Tools(vec!["a".to_owned()]),
                _ => AlwaysLoad::No,
            };
            (config.connect, config.auth) = match switches.3 {
                0 => (Some(ConnectMode::Eager), Some(AuthKind::None)),
                1 => (Some(ConnectMode::Lazy), Some(AuthKind::OAuth)),
                2 => (None, Some(AuthKind::Headers)),
                _ => (None, None),
            };
            config.era = match switches.4 {
                0 => Some(EraPin::Legacy),
                1 => Some(EraPin::Version("2025-06-18".to_owned())),
                _ => None,
            };
            config.timeouts.call = numbers.0.map(Duration::from_millis);
            config.timeouts.startup = numbers.1.map(Duration::from_millis);
            config.limits.output = numbers.2;
            config.description = description;
            if let Some(number) = extra {
                config.extra.insert("xFuture".to_owned(), serde_json::json!({ "n": [number] }));
            }
            config
        })
}

/// The same server, reduced to settings that nearly every dialect supports.
fn plain(config: &ServerConfig) -> ServerConfig {
    let mut plain = ServerConfig::new(config.name.clone(), config.transport.clone());
    if let Transport::Stdio(stdio) = &mut plain.transport {
        stdio.env_pass.clear();
        stdio.env_unset.clear();
        stdio.cwd = None;
        stdio.sandbox = None;
    }
    plain
}

fn options(place: &str, dialect: Dialect) -> ReadOptions<'_> {
    let mut options = ReadOptions::new(place);
    options.dialect = Some(dialect);
    options.project = Some(Path::new("/code/app"));
    options
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn written_server_reads_back_in_every_dialect(config in server(), base in any::<sample::Index>()) {
        for dialect in dialects() {
            let fixtures: Vec<_> = FIXTURES.iter().filter(|f| f.dialect == dialect).collect();
            // Half of the time into a realistic file, otherwise into an empty one.
            let text = if base.index(2) == 0 { fixtures[0].text } else { "" };
            let options = options(fixtures[0].place, dialect);
            for config in [config.clone(), plain(&config)] {
                match edit_text(text, &options, &Edit::Put(Box::new(config.clone()))) {
                    Ok(written) => {
                        let document = read(written.as_bytes(), &options);
                        let back = document.get(config.name.as_str()).map(|entry| entry.config.clone());
                        let off = document.switched_off.iter().any(|named| named.name == config.name.as_str());
                        let back = back.map(|mut back| { back.enabled &= !off; back });
                        prop_assert_eq!(back.as_ref(), Some(&config), "{} wrote\n{}", dialect, written);
                    }
                    Err(EditError::Inexpressible(..)) => prop_assert!(dialect != Dialect::McpJson || has_text_like_a_variable(&config), "own format"),
                    Err(other) => prop_assert!(false, "{}: {}", dialect, other),
                }
            }
        }
    }

    #[test]
    fn any_server_can_be_replaced_in_place(first in server(), second in server(), whole in any::<bool>()) {
        for fixture in FIXTURES {
            let options = options(fixture.place, fixture.dialect);
            let shape = |config: &ServerConfig| if whole { config.clone() } else { plain(config) };
            let (mut first, mut second) = (shape(&first), shape(&second));
            (first.enabled, second.enabled) = (true, true);
            // Unknown fields are preserved, so they would accumulate.
            first.extra.clear();
            second.extra.clear();
            second.name = first.name.clone();
            let put = |text: &str, config: &ServerConfig| edit_text(text, &options, &Edit::Put(Box::new(config.clone())));
            let Ok(text) = put(fixture.text, &first) else { continue };
            match put(&text, &second) {
                Ok(text) => {
                    let document = read(text.as_bytes(), &options);
                    let back = document.get(second.name.as_str()).map(|entry| &entry.config);
                    prop_assert_eq!(back, Some(&second), "{}\n{}", fixture.dialect, text);
                    let again = put(&text, &second).unwrap();
                    prop_assert_eq!(&again, &text, "a second time changes nothing");
                }
                Err(EditError::Inexpressible(..)) => {}
                Err(other) => prop_assert!(false, "{}: {}\n{}", fixture.dialect, other, text),
            }
        }
    }

    #[test]
    fn adding_then_removing_restores_every_dialect(config in server()) {
        for fixture in FIXTURES {
            let options = options(fixture.place, fixture.dialect);
            let mut config = plain(&config);
            config.enabled = true;
            let Ok(text) = edit_text(fixture.text, &options, &Edit::Put(Box::new(config.clone()))) else { continue };
            let back = edit_text(&text, &options, &Edit::Remove(config.name.to_string())).unwrap();
            prop_assert_eq!(&back, fixture.text, "{}", fixture.dialect);
        }
    }

    #[test]
    fn reading_never_panics_and_reports_positions(bytes in collection::vec(any::<u8>(), 0..200), pick in any::<sample::Index>()) {
        let all = dialects();
        let dialect = all[pick.index(all.len())];
        for dialect in [Some(dialect), None] {
            let mut options = ReadOptions::new("x.json");
            options.dialect = dialect;
            for diagnostic in read(&bytes, &options).diagnostics {
                prop_assert!(!diagnostic.found.is_empty());
            }
        }
    }

    #[test]
    fn reading_and_editing_a_damaged_file_never_panics(
        at in any::<sample::Index>(),
        with in "[ -~\\n\u{0}é{}\\[\\],:\"]{0,3}",
        cut in 0_usize..6,
    ) {
        for fixture in FIXTURES {
            let mut start = at.index(fixture.text.len());
            while !fixture.text.is_char_boundary(start) { start -= 1; }
            let mut end = (start + cut).min(fixture.text.len());
            while !fixture.text.is_char_boundary(end) { end -= 1; }
            let mut text = fixture.text.to_owned();
            text.replace_range(start..end.max(start), &with);
            let options = options(fixture.place, fixture.dialect);
            let document = read(text.as_bytes(), &options);
            for diagnostic in &document.diagnostics {
                prop_assert!(diagnostic.place.position.is_some(), "{}", diagnostic);
            }
            for edit in [Edit::Remove("github".into()), Edit::Enable("time".into(), false)] {
                if let Ok(edited) = edit_text(&text, &options, &edit) {
                    // Editing a readable file results in a readable file.
                    if document.dialect.is_some() && document.diagnostics.is_empty() {
                        let after = read(edited.as_bytes(), &options);
                        prop_assert!(after.dialect.is_some(), "{}\n{}", fixture.dialect, edited);
                    }
                }
            }
        }
    }

    #[test]
    fn resolution_does_not_depend_on_the_order_of_files(
        servers in collection::vec((server(), 0_usize..6, 0_u8..3), 0..12),
        shuffled in any::<u64>(),
    ) {
        let mut layers = Layers::new();
        for (config, scope, file) in &servers {
            let label = format!("file{file}.json");
            layers.push(Scope::ALL[*scope], Document::from_servers(&label, [config.clone()]));
        }
        layers.require_approval = false;
        let expected = resolve(&layers);
        prop_assert_eq!(&resolve(&layers), &expected);
        let mut order: Vec<Layer> = layers.layers.clone();
        let mut state = shuffled;
        for i in (1..order.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(i, usize::try_from(state >> 33).unwrap() % (i + 1));
        }
        layers.layers = order;
        prop_assert_eq!(resolve(&layers), expected);
    }

    #[test]
    fn every_name_is_active_at_most_once_and_no_entry_is_lost(
        servers in collection::vec((server(), 0_usize..6), 0..12),
    ) {
        let mut layers = Layers::new();
        for (index, (config, scope)) in servers.iter().enumerate() {
            layers.push(Scope::ALL[*scope], Document::from_servers(&index.to_string(), [config.clone()]));
        }
        let resolution = resolve(&layers);
        prop_assert_eq!(resolution.candidates.len(), servers.len());
        let mut names: Vec<&str> = resolution.servers().map(|c| c.entry.config.name.as_str()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), all);
        for (config, _) in &servers {
            prop_assert!(!resolution.explain(config.name.as_str()).to_string().is_empty());
        }
    }

    #[test]
    fn signatures_are_an_equivalence(a in server(), b in server(), c in server()) {
        let env = Environment::empty();
        let of = |config: &ServerConfig| Signature::of(config, &env);
        prop_assert_eq!(of(&a), of(&a));
        prop_assert_eq!(of(&a) == of(&b), of(&b) == of(&a));
        if of(&a) == of(&b) && of(&b) == of(&c) {
            prop_assert_eq!(of(&a), of(&c));
        }
        // The name is not part of the signature.
        let mut renamed = a.clone();
        renamed.name = "other".parse().unwrap();
        prop_assert_eq!(of(&renamed), of(&a));
    }

    #[test]
    fn equivalent_urls_have_equal_signatures(
        host in "[a-z]{1,8}(\\.[a-z]{2,4})?", path in "(/[a-z]{1,4}){0,2}", keys in collection::btree_set("[a-z]=[0-9]", 0..4),
    ) {
        let of = |url: String| {
            let config = ServerConfig::new("x".parse().unwrap(), Transport::Http(Remote::new(url.as_str())));
            Signature::of(&config, &Environment::empty())
        };
        let sorted: Vec<&str> = keys.iter().map(String::as_str).collect();
        let reversed: Vec<&str> = keys.iter().rev().map(String::as_str).collect();
        let plain = of(format!("https://{host}{path}?{}", sorted.join("&")));
        let odd = of(format!("HTTPS://me:pw@{}:443{path}/?{}#frag", host.to_uppercase(), reversed.join("&")));
        prop_assert_eq!(plain, odd);
    }

    #[test]
    fn fingerprints_are_equal_only_for_equal_settings(a in server(), b in server()) {
        prop_assert_eq!(Fingerprint::of(&a) == Fingerprint::of(&b), a == b);
        prop_assert_eq!(Fingerprint::of(&a), Fingerprint::of(&a.clone()));
    }

    #[test]
    fn what_if_changes_nothing_and_adding_then_removing_restores(config in server()) {
        let mut layers = Layers::new();
        layers.push(Scope::User, Document::from_servers("u", [config.clone()]));
        let before = layers.clone();
        let mut other = config.clone();
        other.name = "another".parse().unwrap();
        let added = what_if(&layers, &Change::Add(Scope::Local, Box::new(other)));
        prop_assert_eq!(&layers, &before);
        prop_assert_eq!(&added.before, &resolve(&layers));
        let gone = what_if(&layers, &Change::Remove(Scope::Local, "another".into()));
        prop_assert!(gone.diff.is_empty());
    }
}

/// Whether some literal text looks like a variable, which our own format can't express.
fn has_text_like_a_variable(config: &ServerConfig) -> bool {
    format!("{config:?}").contains("${") || exposed(config).iter().any(|text| text.contains("${"))
}

fn exposed(config: &ServerConfig) -> Vec<String> {
    let mut all = Vec::new();
    let maps = match &config.transport {
        Transport::Stdio(stdio) => {
            all.extend(stdio.args.iter().map(ToString::to_string));
            vec![&stdio.env]
        }
        other => {
            other.remote().map(|remote| vec![&remote.headers, &remote.env]).unwrap_or_default()
        }
    };
    all.extend(maps.into_iter().flat_map(|map| {
        map.iter().map(|(_, value)| value.template().to_string()).collect::<Vec<_>>()
    }));
    all
}
