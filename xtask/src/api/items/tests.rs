//! Tests with a small crate and the real rustdoc.

use std::{env, fs, process::Command};

use super::*;

const SOURCE: &str = r"
mod inner {
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct Options<T: Send + ?Sized> { pub name: String, secret: u8, pub value: Box<T> }
    impl<T: Send + ?Sized> Options<T> {
        pub async fn open(&mut self, path: impl AsRef<std::path::Path>) -> std::io::Result<[u8; 2]> { _ = path; Ok([0; 2]) }
        pub const fn size(&self) -> usize { 1 }
        fn hidden(&self) {}
    }
    pub struct Id(u32);
    pub struct NotSend(pub *const u8);
    pub enum Kind { One, Two(u8, Id), Three { at: std::net::SocketAddr } }
    pub trait Run: Send + 'static { type Out: Default; const N: usize; fn run<'a>(&'a self, f: &dyn Fn(&'a str) -> bool) -> Self::Out where Self: Sized; }
    impl Run for Vec<u8> { type Out = (); const N: usize = 1; fn run<'a>(&'a self, _: &dyn Fn(&'a str) -> bool) {} }
}
pub mod more { pub use crate::inner::Id; pub const LIMIT: usize = 1; }
pub use inner::{Kind, NotSend, Options, Run};
pub type Shared = std::sync::Arc<dyn Fn(&str) + Send + Sync>;
pub fn first<'a, I>(all: I) -> Option<&'a str> where I: IntoIterator<Item = &'a str> { all.into_iter().next() }
#[macro_export] macro_rules! twice { () => {} }
#[doc(hidden)] pub fn not_listed() {}
";

fn document() -> Document {
    let folder = env::temp_dir().join(format!("xtask-api-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let source = folder.join("small.rs");
    fs::write(&source, SOURCE).unwrap();
    let mut rustdoc = Command::new(env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into()));
    rustdoc.args(["--edition=2024", "-Zunstable-options", "--output-format=json", "--out-dir"]);
    let status = rustdoc.arg(&folder).arg(&source).env("RUSTC_BOOTSTRAP", "1").status().unwrap();
    assert!(status.success());
    let json = fs::read_to_string(folder.join("small.json")).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    Document::parse(&json).unwrap()
}

#[test]
fn public_items_are_listed_with_canonical_names() {
    let (lines, foreign) = lines(&document());
    let expected = "\
pub mod small
pub enum small::Kind
pub small::Kind::One
pub small::Kind::Two(u8, Id)
pub small::Kind::Three
pub small::Kind::Three::at: net::SocketAddr
pub struct small::NotSend(*const u8)
impl !Send for NotSend
impl !Sync for NotSend
#[non_exhaustive] pub struct small::Options<T: Send + ?Sized>
pub small::Options::name: String
pub small::Options::value: Box<T>
pub async fn small::Options::open(&mut self, path: impl AsRef<path::Path>) -> io::Result<[u8; 2]>
pub const fn small::Options::size(&self) -> usize
impl<T: Clone + Send + ?Sized> Clone for Options<T>
pub trait small::Run: Send + 'static // not dyn
pub const small::Run::N: usize
pub fn small::Run::run<'a>(&'a self, f: &dyn Fn(&'a str) -> bool) -> Self::Out where Self: Sized
pub type small::Run::Out: Default
impl Run for Vec<u8>
pub type small::Shared = sync::Arc<dyn Fn(&str) + Send + Sync>
pub fn small::first<'a, I>(all: I) -> Option<&'a str> where I: IntoIterator<Item = &'a str>
pub mod small::more
pub struct small::more::Id(_)
pub const small::more::LIMIT: usize
pub macro small::twice!";
    assert_eq!(lines.join("\n"), expected);
    assert!(foreign.is_empty());
}

#[test]
fn json_of_another_shape_is_an_error() {
    let error = Document::parse(r#"{"root": 0, "format_version": 99, "index": {}}"#).err().unwrap();
    assert_eq!(error, "unsupported format of rustdoc's JSON: version 99");
}
