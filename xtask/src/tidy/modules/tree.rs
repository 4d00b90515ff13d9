//! The modules of one crate by its `mod` declarations, with the paths that each mentions.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{code::code_only, features::Source},
    tokens::{Token, tokens},
};

/// The path of a module below the crate root, which has the empty path.
pub(super) type Place = Vec<String>;

/// One module: a file, or a block inside of one.
#[derive(Debug, Default)]
pub(super) struct Module {
    pub(super) file: String,
    pub(super) children: BTreeSet<String>,
    /// The leaves of its `use` declarations.
    pub(super) imports: Vec<Mention>,
    /// The paths in the rest of its code.
    pub(super) paths: Vec<Mention>,
    /// Items that are defined here.
    pub(super) items: BTreeSet<String>,
    /// Every word of its code, for names from globs.
    pub(super) words: BTreeMap<String, usize>,
}

/// A path as written.
#[derive(Debug)]
pub(super) struct Mention {
    pub(super) segments: Vec<String>,
    /// The name that an import gives it.
    pub(super) name: Option<String>,
    pub(super) is_glob: bool,
    pub(super) line: usize,
}

/// The modules below a root file, `lib.rs` or `main.rs`, without tests, models and fuzzing.
pub(super) fn load(root: &str, sources: &[Source]) -> BTreeMap<Place, Module> {
    let mut modules = BTreeMap::new();
    let mut todo = vec![(Place::new(), root.to_owned())];
    while let Some((place, file)) = todo.pop() {
        let Some(source) = sources.iter().find(|source| source.path == file) else { continue };
        let code = code_only(&source.text);
        let mut parser = Parser {
            tokens: tokens(&code),
            at: 0,
            file: &file,
            modules: &mut modules,
            files: vec![],
        };
        parser.module(&place);
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        for place in parser.files {
            let path = format!("{folder}/{}", place.join("/"));
            let candidates = [format!("{path}.rs"), format!("{path}/mod.rs")];
            let exists = |file: &String| sources.iter().any(|source| source.path == *file);
            todo.extend(candidates.into_iter().find(exists).map(|file| (place, file)));
        }
    }
    modules
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    file: &'a str,
    modules: &'a mut BTreeMap<Place, Module>,
    /// Modules declared with a file of their own.
    files: Vec<Place>,
}

impl<'a> Parser<'a> {
    fn text(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text)
    }

    fn is_word(&self, ahead: usize) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(Token::is_word)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.line)
    }

    /// Reads one module, up to the brace that closes it or the end of the file.
    fn module(&mut self, place: &Place) {
        let mut module = Module { file: self.file.to_owned(), ..Module::default() };
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "#" if self.skips_test() => continue,
                "{" => depth += 1,
                "}" if depth == 0 => break,
                "}" => depth -= 1,
                "mod" if self.is_word(1) && matches!(self.text(2), ";" | "{") => {
                    self.child(place, &mut module);
                    continue;
                }
                "use" if self.text(1) != "<" => {
                    self.at += 1;
                    self.import(&mut Vec::new(), &mut module.imports);
                    continue;
                }
                "struct" | "enum" | "trait" if self.is_word(1) => {
                    module.items.insert(self.text(1).to_owned());
                }
                "type" | "fn" | "const" | "static" if depth == 0 && self.is_word(1) => {
                    module.items.insert(self.text(1).to_owned());
                }
                "macro_rules" if self.is_word(2) => {
                    module.items.insert(self.text(2).to_owned());
                }
                _ if self.is_word(0) => {
                    self.word(&mut module);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.modules.insert(place.clone(), module);
    }

    /// `mod x;` or `mod x { … }`. The properties of a fuzz target are not part of the crate.
    fn child(&mut self, place: &Place, module: &mut Module) {
        let name = self.text(1).to_owned();
        let is_inline = self.text(2) == "{";
        if name == "fuzz" && place.is_empty() {
            return self.skip_item();
        }
        self.at += 3;
        module.children.insert(name.clone());
        let child = [place.as_slice(), &[name]].concat();
        if is_inline {
            self.module(&child);
            self.at += 1;
        } else {
            self.files.push(child);
        }
    }

    /// A word of code, with the path that it begins.
    fn word(&mut self, module: &mut Module) {
        let line = self.line();
        let before = self.at.checked_sub(1).map_or("", |before| self.tokens[before].text);
        let is_start = !matches!(before, "::" | "." | "$") || self.text(0) == "crate";
        let mut segments = vec![self.text(0).to_owned()];
        module.words.entry(segments[0].clone()).or_insert(line);
        self.at += 1;
        while self.text(0) == "::" && self.is_word(1) {
            segments.push(self.text(1).to_owned());
            self.at += 2;
        }
        if is_start && segments.len() > 1 {
            module.paths.push(Mention { segments, name: None, is_glob: false, line });
        }
    }

    /// One tree of a `use` declaration, after the segments in `prefix`.
    fn import(&mut self, prefix: &mut Vec<String>, imports: &mut Vec<Mention>) {
        let depth = prefix.len();
        // Skip a trailing comma.
        let mut is_leaf = !matches!(self.text(0), "}" | ";");
        let mut is_glob = false;
        let mut name = None;
        let line = self.line();
        while self.at < self.tokens.len() {
            match self.text(0) {
                "," | ";" | "}" => break,
                "::" | "$" => {}
                "*" => is_glob = true,
                "as" => {
                    self.at += 1;
                    name = Some(self.text(0).to_owned());
                }
                "{" => {
                    is_leaf = false;
                    while matches!(self.text(0), "{" | ",") {
                        self.at += 1;
                        self.import(prefix, imports);
                    }
                }
                word => prefix.push(word.to_owned()),
            }
            self.at += 1;
        }
        // `a::{self}` names the prefix itself.
        if prefix.len() > 1 && prefix.last().is_some_and(|last| last == "self") {
            prefix.pop();
        }
        if is_leaf && !prefix.is_empty() {
            let name = name.or_else(|| prefix.last().cloned()).filter(|_| !is_glob);
            imports.push(Mention { segments: prefix.clone(), name, is_glob, line });
        }
        prefix.truncate(depth);
    }

    /// Whether an attribute marks the next item as test code; if so, skips the item.
    fn skips_test(&mut self) -> bool {
        if self.text(1) != "[" || self.text(2) != "cfg" {
            return false;
        }
        let start = self.at;
        let end = self.closing(self.at + 1);
        let words: Vec<&str> = self.tokens[start..end].iter().map(|token| token.text).collect();
        let has = |word: &str| words.contains(&word);
        if !has("test") || has("not") || has("any") {
            return false;
        }
        self.at = end + 1;
        while self.text(0) == "#" && self.text(1) == "[" {
            self.at = self.closing(self.at + 1) + 1;
        }
        if is_item(self.text(0)) {
            self.skip_item();
        }
        true
    }

    /// Skips the item that starts here: up to its `;` or its body.
    fn skip_item(&mut self) {
        let is_import = (0..6).any(|ahead| self.text(ahead) == "use");
        while self.at < self.tokens.len() {
            match self.text(0) {
                "(" | "[" | "{" => {
                    let is_body = self.text(0) == "{" && !is_import;
                    self.at = self.closing(self.at);
                    if is_body {
                        break;
                    }
                }
                ";" => break,
                _ => {}
            }
            self.at += 1;
        }
        self.at += 1;
    }

    /// The index of the bracket that closes the one at `open`.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (ahead, token) in self.tokens[open..].iter().enumerate() {
            match token.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return open + ahead;
            }
        }
        self.tokens.len().saturating_sub(1)
    }
}

fn is_item(word: &str) -> bool {
    matches!(
        word,
        "pub"
            | "mod"
            | "use"
            | "fn"
            | "async"
            | "impl"
            | "struct"
            | "enum"
            | "trait"
            | "type"
            | "const"
            | "static"
            | "macro_rules"
    )
}
