//! Tests with small crates, with and without cycles.

use super::*;

/// A crate `mcp-a` of these files below `src/`.
fn krate(files: &[(&str, &str)]) -> Vec<Source> {
    let source = |(path, text): &(&str, &str)| Source {
        path: format!("crates/mcp-a/src/{path}"),
        text: (*text).to_owned(),
    };
    files.iter().map(source).collect()
}

/// The edges between siblings, `folder: a > b`.
fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, graph) in graphs(&krate(files)) {
        let folder = folder.strip_prefix("crates/mcp-a/").unwrap().to_owned();
        found.extend(graph.keys().map(|(from, to)| format!("{folder}: {from} > {to}")));
    }
    found
}

/// The edges of a crate in which module `a` is `text`, with `b`, `c`, its child `d`, and re-exports.
fn edges_of(text: &str) -> Vec<String> {
    let root = "mod a; mod b; mod c; pub use crate::{b::B, c::d::{D as Delta}};";
    let files = [
        ("lib.rs", root),
        ("a.rs", text),
        ("b.rs", "pub struct B; pub fn make() {}"),
        ("c.rs", "pub mod d; pub use self::d::D; pub struct C;"),
        ("c/d.rs", "pub struct D;"),
    ];
    let edges = edges(&files).into_iter();
    edges.filter_map(|edge| edge.strip_prefix("src: a > ").map(str::to_owned)).collect()
}

#[test]
fn paths_are_edges_in_every_notation() {
    for text in [
        "use crate::b::B;",
        "use crate::b;",
        "pub(crate) use crate::b::B as Other;",
        "use crate::{\n    b::{B, make},\n};",
        "use super::b::*;",
        "use super::{self as up, b::{self}};",
        "use self::super::b::B;",
        "fn f(x: &crate::b::B) {}",
        "fn f() { super::b::make() }",
        "macro_rules! m { () => { $crate::b::make() } }",
        "mod inner { fn f() { super::super::b::make() } }",
        "fn f() { use crate::b::make; make() }",
        "use crate as root; fn f() { root::b::make() }",
    ] {
        assert_eq!(edges_of(text), ["b"], "{text}");
    }
}

#[test]
fn prose_literals_tests_and_other_crates_are_not_edges() {
    for text in [
        "// use crate::b::B;\n/// [`crate::b::B`]\nstruct A;",
        "const X: &str = \"crate::b::B\"; const Y: &str = r#\"crate::c\"#;",
        "#[cfg(test)]\nmod tests { use crate::b::B; fn f() { crate::c::C; } }",
        "#[cfg(test)]\nuse crate::{b::B, c::C};",
        "#[cfg(all(test, mcp_loom))]\n#[allow(unused)]\npub(crate) fn f() { crate::b::make() }",
        "use b::B; use std::c::C; fn f() { b::make(); x.b::<c::D>() }",
        "use crate::a::Own; struct Own; impl Own { fn b() {} } fn f() { Own::b() }",
        "pub(in crate::a) struct A<'b>(&'b str);",
    ] {
        assert_eq!(edges_of(text), [""; 0], "{text}");
    }
    assert_eq!(edges_of("#[cfg(any(test, unix))]\nuse crate::b::B;"), ["b"]);
    assert_eq!(edges_of("#[cfg(not(test))]\nuse crate::b::B;"), ["b"]);
    assert_eq!(edges_of("#[cfg(test)]\nuse crate::c::C;\nuse crate::b::B;"), ["b"]);
}

#[test]
fn reexports_lead_to_the_module_that_defines_the_item() {
    assert_eq!(edges_of("use crate::B;"), ["b"]);
    assert_eq!(edges_of("use crate::Delta;"), ["c"]);
    assert_eq!(edges_of("use super::{Delta, B};"), ["b", "c"]);
    assert_eq!(edges_of("use crate::*; fn f(b: B) {}"), ["b"]);
    assert_eq!(edges_of("fn f() -> crate::Delta { crate::Delta }"), ["c"]);
    // The same item through another sibling is a use of both.
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "pub use crate::b::*; pub use crate::b::B;"),
        ("b.rs", "pub struct B; pub struct Other;"),
        ("c.rs", "use crate::a::Other;"),
    ];
    assert_eq!(edges(&files), ["src: a > b", "src: c > a", "src: c > b"]);
}

/// A folder of `count` files, of which only `one` has content.
fn folder(parent: &str, one: &str, count: usize) -> Vec<String> {
    let mut files = vec![("lib.rs", "mod f;"), ("f.rs", parent), ("f/one.rs", one)];
    let rest = ["f/two.rs", "f/three.rs", "f/four.rs", "f/five.rs", "f/six.rs"];
    files.extend(rest.iter().take(count - 1).map(|path| (*path, "pub struct Item;")));
    edges(&files)
}

#[test]
fn folders_count_from_six_files_and_parents_are_not_siblings() {
    let parent = "mod one; mod two; mod three; mod four; mod five; mod six; \
                  pub use self::two::Item; use three::Item as Hidden; pub struct Own(one::One);";
    for (one, expected) in [
        ("use super::two::Item;", "two"),
        ("use crate::f::two::Item;", "two"),
        ("use super::Item;", "two"),
        ("use crate::f::Item;", "two"),
        ("use super::Hidden;", "three"),
        ("use super::super::f::six;", "six"),
        ("mod below { use super::super::four::Item; }", "four"),
    ] {
        assert_eq!(folder(parent, one, 6), [format!("src/f: one > {expected}")], "{one}");
        assert_eq!(folder(parent, one, 5), [""; 0], "{one}");
    }
    assert_eq!(folder(parent, "use super::Own; use crate::f::Own as Same;", 6), [""; 0]);
}

#[test]
fn a_module_is_its_file_and_its_folder() {
    let files = [
        ("main.rs", "mod a; mod b; #[cfg(test)] mod tests; mod fuzz;"),
        ("a.rs", "mod deep;"),
        ("a/deep.rs", "use crate::b::B;"),
        ("b/mod.rs", "mod low; pub struct B;"),
        ("b/low.rs", "use crate::a;"),
        ("tests.rs", "use crate::a;"),
        ("fuzz.rs", "use crate::a;"),
    ];
    let found: Vec<String> =
        check_but(&krate(&files), &[]).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        ["crates/mcp-a/src: import cycle of 2: a b\n    \
          a uses b (1): crates/mcp-a/src/a/deep.rs:1\n    \
          b uses a (1): crates/mcp-a/src/b/low.rs:1"]
    );
}

#[test]
fn allow_list_permits_its_cycles_and_must_not_be_stale() {
    let files = krate(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b;"),
        ("b.rs", "use crate::a;"),
        ("c.rs", "use crate::a;"),
    ]);
    let found = |allowed: &[(&str, &str)]| -> Vec<String> {
        check_but(&files, allowed).iter().map(ToString::to_string).collect()
    };
    assert_eq!(found(&[("crates/mcp-a/src", "a b")]), [""; 0]);
    assert_eq!(found(&[("crates/mcp-a/src", "a b c")]), [""; 0]);
    assert_eq!(found(&[("crates/mcp-a/src", "a c")]).len(), 2);
    assert_eq!(
        found(&[("crates/mcp-a/src", "a b"), ("crates/mcp-a/src/f", "x y")]),
        ["crates/mcp-a/src/f: no import cycle is left among x y: delete it from the allow list"]
    );
}
