//! Source documents: found in folders, decoded, cut into sentences with their exact lines, and indexed.
//!
//! The way of a file: [`walk`] finds it, [`decode`] makes text of its bytes, a reader ([`text`], [`html`],
//! [`code`]) makes [`Block`]s of the text, and [`sentence`] makes sentences of the blocks. Each step keeps
//! the number of the raw line, so that whatever is quoted later can be found again with an editor.

pub mod code;
pub mod decode;
pub mod entity;
pub mod html;
pub mod index;
pub mod query;
pub mod sentence;
pub mod text;
pub mod walk;
pub mod words;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use index::{DocIndex, Hit, IndexError};
pub use walk::{Bounds, Corpus, LeftOut, LoadError, Roots, Why, load};

/// How a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Markdown: headings with `#`, lists, tables, fences.
    Markdown,
    /// Plain text and reStructuredText: headings are guessed from capitals and underlines.
    Text,
    /// HTML and XML: tags are removed, entities decoded.
    Html,
    /// A table or data file: each line stands for itself and is never quoted as a sentence.
    Data,
    /// Program source: its comments are prose, the rest is code.
    Code(code::Comments),
}

impl Kind {
    /// The kind that a file's name announces; a name that announces nothing is plain text.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase())
            .unwrap_or_default();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "md" | "markdown" | "mdx" | "mkd" => Self::Markdown,
            "html" | "htm" | "xhtml" | "xml" | "svg" => Self::Html,
            "csv" | "tsv" | "json" | "jsonl" | "ndjson" | "lock" | "log" => Self::Data,
            other => code::Comments::of_extension(other).map_or(Self::Text, Self::Code),
        }
    }
}

/// What a piece of a document is, and so what may be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Running text.
    Prose,
    /// An item of a list.
    Item,
    /// A heading of this level, 1 to 6.
    Heading(u8),
    /// A row of a table or a line of a data file.
    Row,
    /// Program text.
    Code,
}

/// One raw line's share of a block, without markers, tags and indentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The line in the file, counted from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
}

/// A paragraph, list item, heading, row or stretch of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub role: Role,
    /// Its lines in order; never empty.
    pub pieces: Vec<Piece>,
}

/// The lines that a text covers in its file, both counted from 1 and both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lines {
    /// The first line.
    pub first: u32,
    /// The last line.
    pub last: u32,
}

/// One sentence, heading, row or stretch of code of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The text on one line, white space folded, otherwise as it stands in the document.
    pub text: String,
    /// Where it stands.
    pub lines: Lines,
    /// What it is.
    pub role: Role,
    /// The number of its block in the document.
    pub block: u32,
    /// Its place in [`Document::sections`].
    pub section: u32,
}

/// A section of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// The headings above it, from the outermost to its own.
    pub headings: Vec<String>,
}

/// Something about a document that its reader should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "note")]
pub enum Note {
    /// Bytes that are not UTF-8 were replaced by U+FFFD.
    NotUtf8,
    /// It was decoded from UTF-16.
    Utf16,
    /// Only the first bytes were read.
    Cut {
        /// How many.
        bytes: u64,
    },
}

/// One document, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its path below its folder, with `/`.
    pub path: String,
    /// How it was read.
    pub kind: Kind,
    /// Its own title, else its file name.
    pub title: String,
    /// What its reader should know.
    pub notes: Vec<Note>,
    /// Its sections; the first one stands before any heading.
    pub sections: Vec<Section>,
    /// Its sentences in order.
    pub sentences: Vec<Sentence>,
}

impl Document {
    /// The headings above a sentence, from the outermost to the nearest.
    #[must_use]
    pub fn headings(&self, sentence: &Sentence) -> &[String] {
        self.sections
            .get(sentence.section as usize)
            .map_or(&[], |section| &section.headings)
    }

    /// Reads the bytes of one file; `None` if they are not text.
    #[must_use]
    pub fn read(path: &str, bytes: &[u8]) -> Option<Self> {
        let decoded = decode::decode(bytes)?;
        let kind = Kind::of(Path::new(path));
        let blocks = blocks(kind, &decoded.text);
        let (title, sections, sentences) = sentence::assemble(&blocks);
        // A word in capitals at the top of a program is no title.
        let title = title.filter(|_| !matches!(kind, Kind::Code(_)));
        let file_name = path.rsplit('/').next().unwrap_or(path);
        Some(Self {
            path: path.to_owned(),
            kind,
            title: title.unwrap_or_else(|| file_name.to_owned()),
            notes: decoded.notes,
            sections,
            sentences,
        })
    }
}

/// The blocks of a text: the one way in which documents are read, for quoting and for checking quotes.
#[must_use]
pub fn blocks(kind: Kind, text: &str) -> Vec<Block> {
    match kind {
        Kind::Markdown => text::blocks(text, text::Flavour::Markdown),
        Kind::Text => text::blocks(text, text::Flavour::Plain),
        Kind::Html => html::blocks(text),
        Kind::Data => text::rows(text),
        Kind::Code(comments) => code::blocks(text, comments),
    }
}
