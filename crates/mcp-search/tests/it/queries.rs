//! The query language and its results.

use std::fmt::Write;

use mcp_search::{Field, How, PatternError, Query, SearchOptions};

use crate::{found, ids, index, search};

const TOOLS: &str = "
    github/create_issue: Open an issue in a repository. | title, body
    github/list_issues: List issues of a repository. | state
    github/create_pull_request: Propose a branch for merging. | head, base
    slack/send_message: Post a message to a channel. | channel, text
    slack/list_channels: All channels of the workspace.
    mail/send_mail: Send an email, for example about an issue. | to, subject
";

#[test]
fn plain_words_find_by_meaning_of_names_and_descriptions() {
    let index = index(TOOLS);
    assert!(found(&index, "open an issue").starts_with("github/create_issue"));
    assert!(found(&index, "post to channel").starts_with("slack/send_message"));
}

#[test]
fn a_required_word_must_occur() {
    let index = index(TOOLS);
    assert_eq!(found(&index, "+slack send"), "slack/send_message");
    assert_eq!(found(&index, "+email send"), "mail/send_mail");
    assert_eq!(found(&index, "+unheard send"), "");
}

#[test]
fn a_telephone_number_is_not_a_required_word() {
    assert!(
        found(&index(TOOLS), "send a message to +4912345678").starts_with("slack/send_message")
    );
}

#[test]
fn select_takes_ids_and_names_in_any_spelling() {
    let index = index(TOOLS);
    assert_eq!(
        found(&index, "select:send_mail, github/list_issues,createIssue"),
        "mail/send_mail github/list_issues github/create_issue"
    );
    assert_eq!(found(&index, "select:mcp__slack__send_message"), "slack/send_message");
}

#[test]
fn a_missing_name_comes_with_the_nearest() {
    let results = search(&index(TOOLS), "select:create_isue,zzz");
    assert_eq!(ids(&results), "");
    assert_eq!(results.missing[0].name, "create_isue");
    assert_eq!(results.missing[0].nearest[0], "github/create_issue");
    assert!(results.missing[1].nearest.is_empty());
}

#[test]
fn a_server_can_be_named() {
    let index = index(TOOLS);
    assert_eq!(found(&index, "server:slack list"), "slack/list_channels");
    assert_eq!(found(&index, "server:\"Slack\" list"), "slack/list_channels");
    assert_eq!(found(&index, "server:nobody list"), "");
}

#[test]
fn a_server_alone_lists_its_tools() {
    let results = search(&index(TOOLS), "server:github");
    assert_eq!(ids(&results), "github/create_issue github/create_pull_request github/list_issues");
    assert_eq!(results.matched, 3);
}

#[test]
fn quoted_words_must_stand_side_by_side() {
    let index = index(
        "a/one: Merge the pull request
         a/two: Request to pull the plug",
    );
    assert_eq!(found(&index, "\"pull request\""), "a/one");
    assert_eq!(found(&index, "+\"request pull\""), "a/two");
    // No tool has this phrase, so its words are searched one by one.
    assert!(!found(&index, "\"plug request\"").is_empty());
}

#[test]
fn quotes_in_a_sentence_hold_a_value() {
    let index = index(
        "a/translate: Translate text into another language
         a/greet: Say good morning to people",
    );
    assert!(
        found(&index, "please translate \"good morning\" into the french language for me")
            .starts_with("a/translate")
    );
}

#[test]
fn an_exactly_named_tool_is_always_first() {
    let index = index(
        "x/fetch: Gets.
         y/fetch_everything_fetch: Fetch fetch fetch. The best fetch for every fetch | fetch
         z/fetcher: Fetch a fetch from a fetch",
    );
    for spelling in ["fetch", "x/fetch", "mcp__x__fetch", "FETCH", "use x/fetch to get a page"] {
        let results = search(&index, spelling);
        assert_eq!(results.hits[0].card.id, "x/fetch", "{spelling}");
        assert!(results.hits[0].named);
    }
}

#[test]
fn prefixes_do_not_drown_the_rest() {
    let index = index(
        "github/mcp__github__create_issue: Open an issue
         github/mcp__github__delete_file: Delete a file
         other/github_issue_report: Statistics about github",
    );
    assert!(
        found(&index, "mcp github create issue").starts_with("github/mcp__github__create_issue")
    );
    assert!(found(&index, "github delete").starts_with("github/mcp__github__delete_file"));
}

#[test]
fn the_weak_tail_is_counted_and_not_returned() {
    let mut lines = String::from("a/resize_image: Resize an image to a width and height\n");
    for n in 0..30 {
        writeln!(lines, "b/tool_{n}: Something about an image in the archive, box {n}").unwrap();
    }
    let index = index(&lines);
    let results = search(&index, "resize image width");
    assert_eq!(ids(&results), "a/resize_image");
    assert_eq!(results.matched, 31);
    assert_eq!(results.more(), 30);

    let mut all = SearchOptions::default();
    all.floor = 0.0;
    assert_eq!(index.search(&Query::parse("resize image width"), &all).hits.len(), 10);
}

#[test]
fn equal_scores_are_ordered_by_id() {
    let index = index("s/b: same words\n s/a: same words\n s/c: same words");
    assert_eq!(found(&index, "same words"), "s/a s/b s/c");
}

#[test]
fn hits_say_which_words_matched_where() {
    let results = search(&index(TOOLS), "remove mesage channel");
    let hit = &results.hits[0];
    assert_eq!(hit.card.id, "slack/send_message");
    let word = |word: &str| hit.matches.iter().find(|m| &*m.word == word).unwrap();
    assert_eq!(word("channel").how, How::Said);
    assert!(word("channel").fields.contains(Field::Description));
    assert!(word("channel").fields.contains(Field::ParamName));
    assert!(!word("channel").fields.contains(Field::Name));
    assert_eq!(word("mesage").how, How::Spelling);
    assert_eq!(&*word("mesage").found, "messag");
    assert!(hit.score >= hit.matches.iter().map(|m| m.score).sum::<f32>() * 0.9);
    let line = hit.to_string();
    assert!(line.contains("mesage (spelt messag) in name"), "{line}");
}

#[test]
fn a_word_the_catalogue_knows_is_not_corrected() {
    let index =
        index("a/form: Fill a form\n a/from: Where it is from origin\n a/farm: Visit a farm");
    for word in ["form", "farm"] {
        assert_eq!(found(&index, word), format!("a/{word}"));
    }
}

#[test]
fn one_typo_in_a_short_word_still_finds_the_tool() {
    let index = index(
        "
        a/create_issue: Open a ticket
        a/make_coffee: Brew a cup of beans
        a/send_mail: Post a letter
    ",
    );
    for (query, expected) in [
        ("isue", "a/create_issue"),
        ("crate isue", "a/create_issue"),
        ("isseu", "a/create_issue"),
        ("issve", "a/create_issue"),
        ("maiil", "a/send_mail"),
        ("bonn", ""),
        ("beasn", "a/make_coffee"),
    ] {
        let results = search(&index, query);
        assert_eq!(ids(&results), expected, "{query}");
        assert!(results.hits.iter().flat_map(|hit| &hit.matches).all(|m| m.how == How::Spelling));
    }
}

#[test]
fn word_in_the_thesaurus_is_not_corrected() {
    let index = index("a/mall_map: Shops of a mall");
    assert_eq!(found(&index, "mail"), "");
    assert_eq!(found(&index, "mzll"), "a/mall_map");
}

#[test]
fn synonyms_stand_in_for_words() {
    let index = index("a/remove_picture: Remove a picture\n a/make_coffee: Brew coffee");
    let results = search(&index, "delete photo");
    assert_eq!(ids(&results), "a/remove_picture");
    assert!(results.hits[0].matches.iter().all(|m| m.how == How::Synonym));
}

#[test]
fn regular_expressions_match_names_first() {
    let index = index(
        "b/hover: Hover over an element
         b/browser_click: Press
         b/other: Like browser_hover but slower
         b/browser_hover: Point",
    );
    let query = Query::regex("browser_(click|HOVER)").unwrap();
    let results = index.search(&query, &SearchOptions::default());
    assert_eq!(ids(&results), "b/browser_click b/browser_hover b/other");
    assert!(results.hits[2].matches[0].fields.contains(Field::Description));
    assert!(!results.hits[0].named);
}

#[test]
fn bad_patterns_are_refused() {
    assert!(matches!(Query::regex("(unclosed"), Err(PatternError::Invalid(_))));
    assert_eq!(Query::regex(&"a".repeat(201)).unwrap_err(), PatternError::TooLong);
    assert!(matches!(Query::regex("(a{1000}){1000}"), Err(PatternError::Invalid(_))));
    assert!(Query::regex(&"a".repeat(200)).is_ok());
}

#[test]
fn scripts_without_spaces_are_searched_too() {
    let index = index(
        "w/天气: 查询指定城市的天气预报\n w/股票: 查询股票价格\n k/날씨: 오늘의 날씨를 알려줍니다",
    );
    assert!(found(&index, "城市天气").starts_with("w/天气"));
    assert!(found(&index, "날씨").starts_with("k/날씨"));
    assert!(found(&index, "股").starts_with("w/股票"));
}

#[test]
fn accents_case_and_invisible_letters_do_not_matter() {
    let index = index("r/réservation: Réserver une table | café");
    for query in
        ["RESERVATION", "re\u{301}servation", "res\u{200b}ervation", "ｒｅｓｅｒｖａｔｉｏｎ"]
    {
        assert_eq!(found(&index, query), "r/réservation", "{query}");
    }
}
