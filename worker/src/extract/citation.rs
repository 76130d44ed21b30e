//! Quotes and citations: how they are written, and how each one is verified against its file.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::docs::sentence::fold;
use crate::docs::{Bounds, Kind, Piece, Roots, Sentence, blocks, decode};

/// The lines of a file that a quote was taken from; written `[guide.md:12]` or `[guide.md:12-13]`.
///
/// `%`, `[`, `]` and line ends of a file name are written as `%25` and so on, so that a citation always ends
/// where it seems to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Citation {
    /// The document's path below its folder, with `/`.
    pub file: String,
    /// The first line, counted from 1.
    pub line_start: u32,
    /// The last line.
    pub line_end: u32,
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for c in self.file.chars() {
            match c {
                '%' | '[' | ']' | '\n' | '\r' | '“' | '”' => {
                    let mut bytes = [0; 4];
                    c.encode_utf8(&mut bytes)
                        .bytes()
                        .try_for_each(|byte| write!(f, "%{byte:02X}"))?;
                }
                other => write!(f, "{other}")?,
            }
        }
        write!(f, ":{}", self.line_start)?;
        if self.line_end != self.line_start {
            write!(f, "-{}", self.line_end)?;
        }
        f.write_str("]")
    }
}

/// A sentence as it stands in its document, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// The sentence on one line.
    pub text: String,
    /// Where it stands.
    #[serde(flatten)]
    pub citation: Citation,
}

impl Quote {
    /// Quotes a sentence of the document with this path.
    #[must_use]
    pub fn of(file: &str, sentence: &Sentence) -> Self {
        let (line_start, line_end) = (sentence.lines.first, sentence.lines.last);
        Self {
            text: sentence.text.clone(),
            citation: Citation {
                file: file.to_owned(),
                line_start,
                line_end,
            },
        }
    }
}

impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "“{}” {}", self.text, self.citation)
    }
}

static CITATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\[([^\[\]\n:][^\[\]\n]*):([0-9]{1,9})(?:-([0-9]{1,9}))?\]").expect("a constant pattern is valid")
});

/// Whether a text holds something that reads like a citation.
#[must_use]
pub fn mentions_citation(text: &str) -> bool {
    CITATION.is_match(text)
}

/// What was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CitationCheck {
    /// Quotes that stand in their file at their lines.
    pub checked: usize,
    /// Citations without a quote before them, of which only the file and the lines could be verified.
    pub unquoted: usize,
}

/// A citation that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("line {report_line} of the report: {citation} {fault}")]
pub struct CitationFault {
    /// The line of the report, counted from 1.
    pub report_line: usize,
    /// The citation as it stands there.
    pub citation: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What can be wrong with a citation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The file does not exist below the folder, or is not text.
    #[error("names a file that cannot be read")]
    NoFile,
    /// The file has fewer lines, or the range runs backwards.
    #[error("names lines that the file does not have")]
    NoLines,
    /// The quote before it has an end but no beginning.
    #[error("follows a quote that never begins")]
    Unopened,
    /// The quote is not in these lines.
    #[error("follows a quote that does not stand in these lines")]
    NotVerbatim,
}

/// Verifies every citation of a report against the documents below `root`.
///
/// A quote is what stands between “ and ” right before the citation. It must stand in the cited lines word for
/// word, once white space is folded, tags of HTML are removed, entities decoded, and the markers of lists,
/// quotations and comments at the beginning of lines are taken off.
///
/// # Errors
/// Every fault, in the order of the report.
pub fn check_citations(report: &str, root: &Path) -> Result<CitationCheck, Vec<CitationFault>> {
    check_citations_in(report, &Roots::one(root))
}

/// As [`check_citations`], for a report on several folders.
///
/// # Errors
/// Every fault, in the order of the report.
pub fn check_citations_in(report: &str, roots: &Roots) -> Result<CitationCheck, Vec<CitationFault>> {
    let mut files = Files {
        roots,
        read: BTreeMap::new(),
    };
    let mut check = CitationCheck::default();
    let mut faults = Vec::new();
    for (report_line, line) in (1..).zip(report.lines()) {
        let mut from = 0;
        for found in CITATION.captures_iter(line) {
            let Some(whole) = found.get(0) else { continue };
            let quote = quote_before(&line[from..whole.start()]);
            from = whole.end();
            match quote.and_then(|quote| files.verify(&found, quote).map(|()| quote)) {
                Ok(Some(_)) => check.checked += 1,
                Ok(None) => check.unquoted += 1,
                Err(fault) => {
                    faults.push(CitationFault {
                        report_line,
                        citation: whole.as_str().to_owned(),
                        fault,
                    });
                }
            }
        }
    }
    if faults.is_empty() { Ok(check) } else { Err(faults) }
}

/// The quote that ends right before a citation; quotes inside it are part of it.
fn quote_before(before: &str) -> Result<Option<&str>, Fault> {
    let Some(body) = before.trim_end().strip_suffix('”') else {
        return Ok(None);
    };
    let mut depth = 1;
    for (at, c) in body.char_indices().rev() {
        match c {
            '”' => depth += 1,
            '“' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let quote = &body[at + c.len_utf8()..];
            // Another beginning further left would leave words that look quoted and are not verified.
            let outside = &body[..at];
            let closed = outside.matches('“').count() == outside.matches('”').count();
            return if closed { Ok(Some(quote)) } else { Err(Fault::Unopened) };
        }
    }
    Err(Fault::Unopened)
}

/// The files of the report, each read once.
struct Files<'a> {
    roots: &'a Roots,
    read: BTreeMap<String, Option<File>>,
}

struct File {
    lines: u32,
    pieces: Vec<Piece>,
}

impl Files<'_> {
    fn verify(&mut self, found: &regex::Captures<'_>, quote: Option<&str>) -> Result<(), Fault> {
        let name = decoded_name(&found[1]);
        let number = |at: usize| found.get(at).map(|number| number.as_str().parse::<u32>().unwrap_or(0));
        let first = number(2).unwrap_or(0);
        let last = number(3).unwrap_or(first);
        let roots = self.roots;
        let file = self
            .read
            .entry(name.clone())
            .or_insert_with(|| File::read(roots, &name));
        let file = file.as_ref().ok_or(Fault::NoFile)?;
        if first == 0 || last < first || last > file.lines {
            return Err(Fault::NoLines);
        }
        let Some(quote) = quote else { return Ok(()) };
        let quote = fold(quote);
        let cited = fold(&file.text_of(first, last));
        if !quote.is_empty() && cited.contains(&quote) {
            Ok(())
        } else {
            Err(Fault::NotVerbatim)
        }
    }
}

impl File {
    fn read(roots: &Roots, name: &str) -> Option<Self> {
        let path = roots.resolve(name)?;
        if std::fs::symlink_metadata(&path).ok()?.is_symlink() {
            return None;
        }
        let mut bytes = Vec::new();
        let limit = Bounds::default().file_bytes_max;
        std::fs::File::open(&path)
            .ok()?
            .take(limit)
            .read_to_end(&mut bytes)
            .ok()?;
        let text = decode::decode(&bytes)?.text;
        let pieces = blocks(Kind::of(Path::new(name)), &text)
            .into_iter()
            .flat_map(|block| block.pieces)
            .collect();
        Some(Self {
            lines: u32::try_from(text.lines().count()).unwrap_or(u32::MAX),
            pieces,
        })
    }

    fn text_of(&self, first: u32, last: u32) -> String {
        let cited = self.pieces.iter().filter(|piece| (first..=last).contains(&piece.line));
        let mut text = String::new();
        for piece in cited {
            text.push_str(&piece.text);
            text.push('\n');
        }
        text
    }
}

fn decoded_name(written: &str) -> String {
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let hex = rest
            .get(at + 1..at + 3)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(hex.unwrap_or(b'%'));
        rest = &rest[at + if hex.is_some() { 3 } else { 1 }..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("temporary folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("file");
        write(
            "a.md",
            "# A\n\nOne **bold** word\nand more “inside” it.\r\n\n> Quoted over\n> two lines.\n",
        );
        write("b.html", "<p>Fish &amp; chips\n<b>are</b> good.</p>\n");
        write("c [1]%.txt", "向量数据库\n很快。\n");
        folder
    }

    fn check(report: &str) -> Result<CitationCheck, Vec<Fault>> {
        let faults = |faults: Vec<CitationFault>| faults.into_iter().map(|fault| fault.fault).collect();
        check_citations(report, folder().path()).map_err(faults)
    }

    #[test]
    fn quotes_that_stand_in_their_lines_hold() {
        let report = "- “One **bold** word and more “inside” it.” [a.md:3-4]\n\
                      Text “Quoted over two lines.” [a.md:6-7] and “Fish & chips are good.” [b.html:1-2]\n\
                      “向量数据库很快。” [c %5B1%5D%25.txt:1-2] see also [a.md:1]\n";
        assert_eq!(
            check(report),
            Ok(CitationCheck {
                checked: 4,
                unquoted: 1
            })
        );
    }

    #[test]
    fn each_kind_of_fault_is_found() {
        for (report, fault) in [
            ("“One bold word” [a.md:3]", Fault::NotVerbatim),
            ("“One **bold** word” [a.md:4]", Fault::NotVerbatim),
            ("“” [a.md:4]", Fault::NotVerbatim),
            ("“invented “One **bold** word” [a.md:3]", Fault::Unopened),
            ("One **bold** word” [a.md:3]", Fault::Unopened),
            ("[a.md:99]", Fault::NoLines),
            ("[a.md:3-2]", Fault::NoLines),
            ("[a.md:0]", Fault::NoLines),
            ("[none.md:1]", Fault::NoFile),
            ("[../a.md:1]", Fault::NoFile),
            ("[/etc/passwd:1]", Fault::NoFile),
        ] {
            assert_eq!(check(report), Err(vec![fault]), "{report}");
        }
    }

    #[test]
    fn a_citation_shows_one_line_or_a_range_and_never_ends_early() {
        let citation = |file: &str, line_end| {
            Citation {
                file: file.to_owned(),
                line_start: 3,
                line_end,
            }
            .to_string()
        };
        assert_eq!(citation("a.md", 3), "[a.md:3]");
        assert_eq!(citation("dir/ü b.md", 5), "[dir/ü b.md:3-5]");
        let odd = citation("c [1]%.txt", 3);
        assert_eq!(odd, "[c %5B1%5D%25.txt:3]");
        assert_eq!(decoded_name("c %5B1%5D%25.txt"), "c [1]%.txt");
        assert_eq!(decoded_name("50%"), "50%");
    }
}
