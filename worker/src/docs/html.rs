//! Reads HTML into blocks: tags, scripts and styles removed, entities decoded, raw line numbers kept.

use super::entity;
use super::{Block, Piece, Role};

/// The longest tag that is taken for one; beyond it a `<` is text, which keeps reading linear in the file's size.
const TAG_BYTES_MAX: usize = 16 * 1024;

/// Elements whose content is no text.
const OPAQUE: &[&str] = &[
    "script", "style", "template", "noscript", "svg", "math", "iframe", "object",
];

/// Elements that begin and end a block.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "legend",
    "li",
    "main",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "select",
    "summary",
    "table",
    "tbody",
    "td",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
];

/// Elements whose text guides through the page instead of saying something.
const GUIDES: &[&str] = &["nav", "footer", "form", "select", "button", "table"];

/// The blocks of a page.
#[must_use]
pub fn blocks(text: &str) -> Vec<Block> {
    let mut reader = Reader {
        text,
        at: 0,
        line: 1,
        blocks: vec![],
        pieces: vec![],
        current: String::new(),
        role: Role::Prose,
        guides: 0,
        next_close: Some(0),
    };
    while reader.at < text.len() {
        reader.step();
    }
    reader.flush();
    reader.blocks
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    blocks: Vec<Block>,
    pieces: Vec<Piece>,
    current: String,
    role: Role,
    /// How many elements of [`GUIDES`] are open.
    guides: usize,
    /// The next `>` at or after `at`, once looked for; remembered so that a page full of `<` is not searched again.
    next_close: Option<usize>,
}

struct Tag {
    /// In lower case; empty for `<!doctype>` and `<?xml?>`.
    name: String,
    closes: bool,
    /// Behind the `>`.
    end: usize,
}

impl Reader<'_> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        if rest.starts_with("<!--") {
            return self.skip_to(rest.find("-->").map_or(self.text.len(), |end| self.at + end + 3));
        }
        if rest.starts_with('<')
            && let Some(tag) = self.tag()
        {
            return self.take(&tag);
        }
        if rest.starts_with('&')
            && let Some((text, bytes)) = entity::decode(rest)
        {
            self.current.push_str(&text);
            self.at += bytes;
            return;
        }
        let Some(c) = rest.chars().next() else { return };
        self.at += c.len_utf8();
        if c == '\n' {
            self.end_line();
            self.line += 1;
        } else {
            self.current.push(c);
        }
    }

    /// The tag at the current place, if there is one.
    fn tag(&mut self) -> Option<Tag> {
        let rest = &self.text[self.at + 1..];
        let (closes, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '?') {
            return None;
        }
        let first_close = self.first_close().filter(|close| close - self.at <= TAG_BYTES_MAX)?;
        let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        let end = 1 + self.close_outside_quotes().unwrap_or(first_close);
        Some(Tag {
            name: name.to_ascii_lowercase(),
            closes,
            end,
        })
    }

    fn first_close(&mut self) -> Option<usize> {
        if self.next_close.is_some_and(|close| close < self.at || close == 0) {
            self.next_close = self.text[self.at..].find('>').map(|close| self.at + close);
        }
        self.next_close
    }

    /// The `>` that ends the tag at the current place, if its quotes are balanced.
    fn close_outside_quotes(&self) -> Option<usize> {
        let mut quote = None;
        for (at, byte) in self.text.bytes().enumerate().skip(self.at).take(TAG_BYTES_MAX) {
            match (quote, byte) {
                (None, b'>') => return Some(at),
                (None, b'"' | b'\'') => quote = Some(byte),
                (Some(open), _) if open == byte => quote = None,
                _ => {}
            }
        }
        None
    }

    fn take(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        if OPAQUE.contains(&name) && !tag.closes {
            return self.skip_to(end_of_element(self.text, tag.end, name));
        }
        if GUIDES.contains(&name) {
            self.flush();
            self.guides = if tag.closes {
                self.guides.saturating_sub(1)
            } else {
                self.guides + 1
            };
        }
        if BLOCKS.contains(&name) {
            // The cells of a table row are one block: apart they say nothing.
            if matches!(name, "td" | "th") {
                self.current.push(' ');
            } else {
                self.flush();
                self.role = if tag.closes { Role::Prose } else { role_of(name) };
            }
        }
        self.skip_to(tag.end);
    }

    /// Goes on at `end`, counting the lines between.
    fn skip_to(&mut self, end: usize) {
        let skipped = &self.text[self.at..end];
        for _ in skipped.matches('\n') {
            self.end_line();
            self.line += 1;
        }
        self.at = end;
    }

    fn end_line(&mut self) {
        let text = self.current.trim();
        if !text.is_empty() {
            self.pieces.push(Piece {
                line: self.line,
                text: text.to_owned(),
            });
        }
        self.current.clear();
    }

    fn flush(&mut self) {
        self.end_line();
        if self.pieces.is_empty() {
            return;
        }
        let role = if self.guides > 0 { Role::Row } else { self.role };
        self.blocks.push(Block {
            role,
            pieces: std::mem::take(&mut self.pieces),
        });
    }
}

fn role_of(name: &str) -> Role {
    match name {
        "title" | "h1" => Role::Heading(1),
        "h2" => Role::Heading(2),
        "h3" => Role::Heading(3),
        "h4" => Role::Heading(4),
        "h5" => Role::Heading(5),
        "h6" => Role::Heading(6),
        "li" | "dd" => Role::Item,
        "tr" | "dt" | "caption" | "option" | "legend" => Role::Row,
        "pre" | "textarea" => Role::Code,
        _ => Role::Prose,
    }
}

/// Behind the end tag of the element whose content starts at `from`; the end of the text if it is never closed.
fn end_of_element(text: &str, from: usize, name: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(found) = text[at..].find("</") {
        let start = at + found + 2;
        let named = bytes
            .get(start..start + name.len())
            .is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()));
        if named {
            return text[start..].find('>').map_or(text.len(), |close| start + close + 1);
        }
        at = start;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str) -> Vec<(Role, Vec<(u32, String)>)> {
        let pieces = |block: Block| block.pieces.into_iter().map(|piece| (piece.line, piece.text)).collect();
        blocks(text)
            .into_iter()
            .map(|block| (block.role, pieces(block)))
            .collect()
    }

    fn one(role: Role, line: u32, text: &str) -> (Role, Vec<(u32, String)>) {
        (role, vec![(line, text.to_owned())])
    }

    #[test]
    fn a_page_becomes_blocks_that_know_their_raw_lines() {
        let text = "<html><head>\n<title>A &mdash; B</title>\n<style>p { color: red }</style>\n</head>\n<body><h2>Part</h2>\n\
                    <p class=\"a>b\">One <b>bold</b>\nword &lt; two.</p><ul><li>Item</li></ul>\n</body></html>";
        let expected = [
            one(Role::Heading(1), 2, "A — B"),
            one(Role::Heading(2), 5, "Part"),
            (
                Role::Prose,
                vec![(6, "One bold".to_owned()), (7, "word < two.".to_owned())],
            ),
            one(Role::Item, 7, "Item"),
        ];
        assert_eq!(shapes(text), expected);
    }

    #[test]
    fn scripts_styles_and_comments_say_nothing_but_count_their_lines() {
        let text = "<script>\nvar a = '<p>no</p>';\n</SCRIPT>\n<!-- no\nno -->\n<p>Yes.</p>";
        assert_eq!(shapes(text), [one(Role::Prose, 6, "Yes.")]);
        assert_eq!(shapes("<p>Yes.<style>p {}"), [one(Role::Prose, 1, "Yes.")]);
    }

    #[test]
    fn navigation_and_tables_are_rows() {
        let text = "<nav><a>Home</a></nav><table><tr><td>a</td><td>b</td></tr></table><p>Text.</p>";
        let expected = [
            one(Role::Row, 1, "Home"),
            one(Role::Row, 1, "a  b"),
            one(Role::Prose, 1, "Text."),
        ];
        assert_eq!(shapes(text), expected);
    }

    #[test]
    fn broken_markup_is_read_as_text_to_the_end() {
        assert_eq!(shapes("1 < 2 and <b"), [one(Role::Prose, 1, "1 < 2 and <b")]);
        assert_eq!(shapes("<a title=\"x>y</a> z"), [one(Role::Prose, 1, "y z")]);
        let hostile = "<a".repeat(200_000);
        assert_eq!(shapes(&hostile).len(), 1);
    }
}
