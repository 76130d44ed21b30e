//! A Rust file as a flat list of tokens that know their line and whether they belong to tests.
//!
//! Tokens are enough for every rule here, and unlike a parsed tree they also show what stands inside macros.

mod item;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use self::item::{ItemState, attribute};
use crate::tree::{File, Tree};

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword.
    Ident(String),
    /// A literal as it is written, with its quotes.
    Literal(String),
    /// One character of punctuation, or the bracket that opens or closes a group.
    Punct(char),
}

/// A token and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its line, from 1.
    pub line: usize,
    /// Whether it is compiled for tests only.
    pub in_test: bool,
}

impl Token {
    /// Whether it is the name `wanted`.
    pub fn is_ident(&self, wanted: &str) -> bool {
        matches!(&self.kind, Kind::Ident(name) if name == wanted)
    }

    /// Whether it is the character `wanted`.
    pub fn is_punct(&self, wanted: char) -> bool {
        self.kind == Kind::Punct(wanted)
    }
}

/// A function with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of its `fn`.
    pub first_line: usize,
    /// The line of its closing brace.
    pub last_line: usize,
    /// Whether an attribute makes it a test.
    pub is_test: bool,
}

/// A Rust file, read. Documentation comments are left out.
#[derive(Debug, Default)]
pub struct Source {
    /// The path from the root of the repository.
    pub path: String,
    /// Every token in order.
    pub tokens: Vec<Token>,
    /// Every function with a body, also those in macros.
    pub functions: Vec<Function>,
    test_modules: BTreeSet<String>,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The text is not made of Rust's tokens.
    pub fn read(file: &File) -> Result<Self, String> {
        let stream: TokenStream = file.text.parse().map_err(|error| format!("is not Rust: {error}"))?;
        let mut source = Self {
            path: file.path.clone(),
            ..Self::default()
        };
        let in_test = file
            .path
            .split('/')
            .any(|part| matches!(part, "tests" | "tests.rs" | "benches"));
        source.take(stream, in_test);
        Ok(source)
    }

    /// The places where the tokens of `text` follow each other, such as `Instant::now` or `#[cfg`, as indices of the first.
    pub fn places_of<'a>(&'a self, text: &str) -> impl Iterator<Item = usize> + use<'a> {
        let wanted = kinds(text);
        (0..self.tokens.len()).filter(move |start| {
            let found = &self.tokens[*start..];
            wanted.len() <= found.len() && found.iter().zip(&wanted).all(|(found, wanted)| found.kind == *wanted)
        })
    }

    fn take(&mut self, stream: TokenStream, in_test: bool) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut item = ItemState::default();
        let mut index = 0;
        while index < tokens.len() {
            if let Some((attribute, length)) = attribute(&tokens[index..]) {
                let attribute_is_doc = attribute.starts_with("doc");
                item.note(&attribute);
                if !attribute_is_doc {
                    self.push_all(&tokens[index..index + length], in_test || item.is_test);
                }
                index += length;
                continue;
            }
            self.note_function(&tokens[index..], item.is_test_function);
            self.note_test_module(&tokens[index..], &item);
            item.go_on(&tokens[index]);
            self.push(&tokens[index], in_test || item.is_test);
            if item.ends_with(&tokens[index]) {
                item = ItemState::default();
            }
            index += 1;
        }
    }

    fn push_all(&mut self, tokens: &[TokenTree], in_test: bool) {
        for token in tokens {
            self.push(token, in_test);
        }
    }

    fn push(&mut self, token: &TokenTree, in_test: bool) {
        let line = token.span().start().line;
        let mut add = |kind, line| self.tokens.push(Token { kind, line, in_test });
        match token {
            TokenTree::Ident(ident) => add(Kind::Ident(ident.to_string()), line),
            TokenTree::Literal(literal) => add(Kind::Literal(literal.to_string()), line),
            TokenTree::Punct(punct) => add(Kind::Punct(punct.as_char()), line),
            TokenTree::Group(group) => {
                let (open, close) = brackets(group.delimiter());
                add(Kind::Punct(open), line);
                self.take(group.stream(), in_test);
                let line = group.span_close().end().line;
                self.tokens.push(Token {
                    kind: Kind::Punct(close),
                    line,
                    in_test,
                });
            }
        }
    }

    fn note_function(&mut self, rest: &[TokenTree], is_test: bool) {
        let [TokenTree::Ident(keyword), TokenTree::Ident(name), tail @ ..] = rest else {
            return;
        };
        if *keyword != "fn" {
            return;
        }
        for token in tail {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ';' => return,
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    self.functions.push(Function {
                        name: name.to_string(),
                        first_line: keyword.span().start().line,
                        last_line: group.span_close().end().line,
                        is_test,
                    });
                    return;
                }
                _ => {}
            }
        }
    }

    fn note_test_module(&mut self, rest: &[TokenTree], item: &ItemState) {
        if let [
            TokenTree::Ident(keyword),
            TokenTree::Ident(name),
            TokenTree::Punct(end),
            ..,
        ] = rest
            && *keyword == "mod"
            && end.as_char() == ';'
            && item.is_test
        {
            self.test_modules
                .insert(item.path.clone().unwrap_or_else(|| name.to_string()));
        }
    }

    /// Where the files of the modules lie that this file declares for tests only: `folder/name` without an ending.
    fn test_module_places(&self) -> impl Iterator<Item = String> {
        let stem = self.path.trim_end_matches(".rs");
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        let base = if matches!(name, "mod" | "lib" | "main") {
            folder
        } else {
            stem
        };
        self.test_modules
            .iter()
            .map(move |module| match module.strip_suffix(".rs") {
                Some(path) => format!("{folder}/{path}"),
                None => format!("{base}/{module}"),
            })
    }
}

/// Reads every Rust file of the tree; files that are not Rust are left out, the rule about sizes names them.
pub fn sources(tree: &Tree) -> Vec<Source> {
    let mut sources: Vec<Source> = tree.rust_files().filter_map(|file| Source::read(file).ok()).collect();
    let places: Vec<String> = sources.iter().flat_map(Source::test_module_places).collect();
    for source in &mut sources {
        let stem = source.path.trim_end_matches(".rs");
        if places
            .iter()
            .any(|place| stem == place || stem.starts_with(&format!("{place}/")))
        {
            source.tokens.iter_mut().for_each(|token| token.in_test = true);
        }
    }
    sources
}

fn brackets(delimiter: Delimiter) -> (char, char) {
    match delimiter {
        Delimiter::Brace => ('{', '}'),
        Delimiter::Bracket => ('[', ']'),
        // Groups without brackets come from macros that ran; here none has.
        Delimiter::Parenthesis | Delimiter::None => ('(', ')'),
    }
}

/// The tokens of a text without literals, whose brackets need not match.
fn kinds(text: &str) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut word = String::new();
    // The space behind the text ends its last word.
    for letter in text.chars().chain([' ']) {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        if !word.is_empty() {
            kinds.push(Kind::Ident(std::mem::take(&mut word)));
        }
        if !letter.is_whitespace() {
            kinds.push(Kind::Punct(letter));
        }
    }
    kinds
}
