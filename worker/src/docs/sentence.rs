//! Cuts blocks into sentences, in scripts with and without spaces, and keeps the lines each one covers.

use super::words::is_cjk;
use super::{Block, Lines, Piece, Role, Section, Sentence};

/// Where a text without any sentence end is cut: long enough for every real sentence, short enough to show.
const SENTENCE_BYTES_MAX: usize = 1_000;

/// How deep headings nest; it is also the range of [`Role::Heading`].
const HEADING_LEVELS: usize = 6;

/// A line this much shorter than the longest of its paragraph, in percent, was ended on purpose.
const SHORT_LINE_PERCENT: usize = 60;

/// Abbreviations whose point does not end a sentence, lower case, without the last point.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "vs", "cf", "al", "dr", "mr", "mrs", "ms", "prof", "st", "fig", "figs", "eq", "no", "nr", "vol",
    "pp", "p", "ch", "sec", "approx", "ca", "resp", "incl", "excl", "max", "min", "jan", "feb", "mar", "apr", "jun",
    "jul", "aug", "sep", "sept", "oct", "nov", "dec", "z.b", "d.h", "bzw", "u.a", "vgl", "usw", "inc", "ltd", "co",
    "corp",
];

/// The title, sections and sentences of a document.
#[must_use]
pub fn assemble(blocks: &[Block]) -> (Option<String>, Vec<Section>, Vec<Sentence>) {
    let mut title = None;
    let mut sections = vec![Section::default()];
    let mut sentences = Vec::new();
    let mut open: [Option<String>; HEADING_LEVELS] = Default::default();
    for (number, block) in (0_u32..).zip(blocks) {
        let texts = cut(block);
        if let (Role::Heading(level), Some((text, _))) = (block.role, texts.first()) {
            let level = usize::from(level).clamp(1, HEADING_LEVELS);
            open[level - 1] = Some(text.clone());
            open[level..].fill(None);
            title.get_or_insert_with(|| text.clone());
            sections.push(Section {
                headings: open.iter().flatten().cloned().collect(),
            });
        }
        let section = u32::try_from(sections.len() - 1).unwrap_or(u32::MAX);
        let sentence = |(text, lines)| Sentence {
            text,
            lines,
            role: block.role,
            block: number,
            section,
        };
        sentences.extend(texts.into_iter().map(sentence));
    }
    (title, sections, sentences)
}

/// The sentences of one block, with their lines.
fn cut(block: &Block) -> Vec<(String, Lines)> {
    let whole = block.pieces.as_slice();
    match block.role {
        Role::Prose | Role::Item => paragraphs(whole).flat_map(|paragraph| sentences(&paragraph)).collect(),
        Role::Heading(_) | Role::Row | Role::Code => bounded(&Joined::of(whole)),
    }
}

/// Splits lines that were ended on purpose: tables without rules, addresses, verses.
fn paragraphs(pieces: &[Piece]) -> impl Iterator<Item = Joined> {
    let longest = pieces.iter().map(|piece| piece.text.len()).max().unwrap_or(0);
    let ends_on_purpose = move |piece: &Piece, next: &Piece| {
        let short = piece.text.len() * 100 < longest * SHORT_LINE_PERCENT;
        short
            && next
                .text
                .trim_start()
                .starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
    };
    pieces
        .chunk_by(move |piece, next| !ends_on_purpose(piece, next))
        .map(Joined::of)
}

/// Lines joined to one text, with the way back to the lines.
struct Joined {
    text: String,
    /// Where each line begins in `text`, ascending.
    starts: Vec<(usize, u32)>,
}

impl Joined {
    fn of(pieces: &[Piece]) -> Self {
        let mut joined = Self {
            text: String::new(),
            starts: vec![],
        };
        for piece in pieces {
            let folded = fold(&piece.text);
            if folded.is_empty() {
                continue;
            }
            if needs_space(&joined.text, &folded) {
                joined.text.push(' ');
            }
            joined.starts.push((joined.text.len(), piece.line));
            joined.text.push_str(&folded);
        }
        joined
    }

    fn line_at(&self, at: usize) -> u32 {
        let after = self.starts.partition_point(|(start, _)| *start <= at);
        self.starts[after.saturating_sub(1)].1
    }

    /// The text between two places without the space around it, and its lines; `None` if there is only space.
    fn slice(&self, from: usize, to: usize) -> Option<(String, Lines)> {
        let raw = &self.text[from..to];
        let text = raw.trim();
        if text.is_empty() {
            return None;
        }
        let first = from + (raw.len() - raw.trim_start().len());
        let lines = Lines {
            first: self.line_at(first),
            last: self.line_at(first + text.len() - 1),
        };
        Some((text.to_owned(), lines))
    }
}

/// White space folded to single spaces, none at the ends and none between ideographs.
///
/// The one normal form in which quotes and documents are compared.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if needs_space(&folded, word) {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// Whether a line end between these two texts stands for a space.
fn needs_space(before: &str, after: &str) -> bool {
    let wide = |c: Option<char>| c.is_some_and(|c| is_cjk(c) || is_wide_mark(c));
    !(before.is_empty() || wide(before.chars().next_back()) && wide(after.chars().next()))
}

fn is_wide_mark(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303F}' | '\u{FF01}'..='\u{FF65}')
}

fn sentences(joined: &Joined) -> Vec<(String, Lines)> {
    let mut found = Vec::new();
    let mut from = 0;
    for to in ends(&joined.text) {
        found.extend(bounded_slice(joined, from, to));
        from = to;
    }
    found.extend(bounded_slice(joined, from, joined.text.len()));
    found
}

fn bounded(joined: &Joined) -> Vec<(String, Lines)> {
    bounded_slice(joined, 0, joined.text.len())
}

/// A stretch of text, cut at spaces where it is too long.
fn bounded_slice(joined: &Joined, from: usize, to: usize) -> Vec<(String, Lines)> {
    let mut found = Vec::new();
    let mut from = from;
    while to - from > SENTENCE_BYTES_MAX {
        let limit = joined.text.floor_char_boundary(from + SENTENCE_BYTES_MAX);
        let space = joined.text[from..limit].rfind(' ').map(|at| from + at + 1);
        let cut = space.unwrap_or(limit);
        found.extend(joined.slice(from, cut));
        from = cut;
    }
    found.extend(joined.slice(from, to));
    found
}

/// The places right behind each sentence end.
fn ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let wide = matches!(c, '。' | '！' | '？' | '；' | '．');
        if !wide && !matches!(c, '.' | '!' | '?' | '…') {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some((next_at, next)) = chars.next_if(|(_, next)| is_closer(*next) || matches!(next, '.' | '!' | '?'))
        {
            end = next_at + next.len_utf8();
        }
        let rest = &text[end..];
        if wide || begins_sentence(rest) && !(c == '.' && is_abbreviated(&text[..at])) {
            ends.push(end);
        }
    }
    ends
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | ')' | ']' | '”' | '’' | '»' | '*' | '_' | '」' | '』' | '）' | '》' | '。' | '！' | '？'
    )
}

/// Whether what follows a point looks like a new sentence.
fn begins_sentence(rest: &str) -> bool {
    if rest.starts_with(is_cjk) {
        return true;
    }
    let Some(next) = rest.strip_prefix(' ') else {
        return false;
    };
    let first = next
        .trim_start_matches(['"', '\'', '(', '[', '“', '‘', '«', '„', '*', '_', '`'])
        .chars()
        .next();
    // Markup in front of a small letter is a name in code, which may well begin a sentence.
    let marked = next.starts_with(['`', '[', '*']);
    first.is_some_and(|c| c.is_uppercase() || c.is_numeric() || is_cjk(c) || marked)
}

/// Whether the point after this text belongs to an abbreviation, an initial or an enumeration.
fn is_abbreviated(before: &str) -> bool {
    let word = before.rsplit([' ', '(', '[', '“', '"', '\u{A0}']).next().unwrap_or("");
    let lower = word.to_lowercase();
    let mut chars = word.chars();
    let initial = chars.next().is_some_and(char::is_uppercase) && chars.next().is_none();
    let enumerates = before.len() == word.len() && !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    initial || enumerates || ABBREVIATIONS.contains(&lower.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(lines: &[&str]) -> Vec<(String, u32, u32)> {
        let pieces = (1..)
            .zip(lines)
            .map(|(line, text)| Piece {
                line,
                text: (*text).to_owned(),
            })
            .collect();
        let cut = cut(&Block {
            role: Role::Prose,
            pieces,
        });
        cut.into_iter()
            .map(|(text, lines)| (text, lines.first, lines.last))
            .collect()
    }

    fn texts(line: &str) -> Vec<String> {
        prose(&[line]).into_iter().map(|(text, _, _)| text).collect()
    }

    #[test]
    fn a_sentence_over_several_lines_knows_its_first_and_last() {
        let expected = [
            ("It takes about 3.3 GB of memory.".to_owned(), 1, 2),
            ("That is much.".to_owned(), 2, 2),
            ("Is it?".to_owned(), 2, 3),
        ];
        assert_eq!(
            prose(&["It takes about 3.3 GB of", "memory. That is much. Is", "it?"]),
            expected
        );
    }

    #[test]
    fn abbreviations_initials_and_decimals_end_nothing() {
        for text in [
            "See e.g. Milvus and others.",
            "Y. A. Malkov wrote it.",
            "It uses 3.3 GB vs. 6.0 GB.",
            "As Liu et al. Showed, it holds.",
            "Version 1.2.3 of foo.rs is out.",
        ] {
            assert_eq!(texts(text), [text]);
        }
        assert_eq!(
            texts("It said “Stop.” Then it (really!) stopped."),
            ["It said “Stop.”", "Then it (really!) stopped."]
        );
    }

    #[test]
    fn chinese_sentences_end_without_spaces_and_join_without_them() {
        let expected = [
            ("速度快；".to_owned(), 1, 1),
            ("但占用内存多。".to_owned(), 1, 2),
            ("“真的？”".to_owned(), 2, 2),
        ];
        assert_eq!(prose(&["速度快；但占用", "内存多。“真的？”"]), expected);
    }

    #[test]
    fn lines_that_were_ended_on_purpose_stay_apart() {
        let lines = [
            "Name: Ada",
            "Place: London",
            "The rest of this paragraph is wrapped at its usual width",
        ];
        assert_eq!(prose(&lines).len(), 3);
    }

    #[test]
    fn a_text_without_sentence_ends_is_cut_to_bounded_parts() {
        let parts = prose(&[&"word ".repeat(1_000), &"字".repeat(1_000)]);
        assert!(
            parts.iter().all(|(text, _, _)| text.len() <= SENTENCE_BYTES_MAX),
            "{parts:?}"
        );
        let letters: usize = parts
            .iter()
            .map(|(text, _, _)| text.chars().filter(|c| *c != ' ').count())
            .sum();
        assert_eq!(letters, 5_000);
    }

    #[test]
    fn headings_give_the_sentences_below_them_their_section() {
        let block = |role, line, text: &str| Block {
            role,
            pieces: vec![Piece {
                line,
                text: text.to_owned(),
            }],
        };
        let blocks = [
            block(Role::Heading(1), 1, "Top"),
            block(Role::Heading(3), 2, "Deep"),
            block(Role::Prose, 3, "One."),
            block(Role::Heading(2), 4, "Next"),
            block(Role::Prose, 5, "Two."),
        ];
        let (title, sections, sentences) = assemble(&blocks);
        assert_eq!(title.as_deref(), Some("Top"));
        let headings = |at: usize| sections[sentences[at].section as usize].headings.join(" > ");
        assert_eq!([headings(2), headings(4)], ["Top > Deep", "Top > Next"]);
    }
}
