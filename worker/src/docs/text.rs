//! Reads Markdown and plain text line by line into blocks.

use super::{Block, Piece, Role};

/// What a text may contain besides paragraphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// `#` headings, and code by indentation.
    Markdown,
    /// Headings in capitals or underlined; indentation means nothing.
    Plain,
}

/// The longest line that may be a heading in plain text; longer ones in capitals are warnings and licences.
const HEADING_CHARS_MAX: usize = 80;

/// The blocks of a text.
#[must_use]
pub fn blocks(text: &str, flavour: Flavour) -> Vec<Block> {
    let lines: Vec<Piece> = (1..)
        .zip(text.split('\n'))
        .map(|(line, text)| Piece {
            line,
            text: text.to_owned(),
        })
        .collect();
    blocks_of_lines(&lines, flavour)
}

/// The blocks of numbered lines, which may be the comment lines of a program.
#[must_use]
pub fn blocks_of_lines(lines: &[Piece], flavour: Flavour) -> Vec<Block> {
    let mut reader = Reader {
        flavour,
        blocks: vec![],
        open: None,
        fence: None,
        in_html_comment: false,
    };
    let body = reader.skip_front_matter(lines);
    for (at, piece) in body.iter().enumerate() {
        let next = body.get(at + 1).map_or("", |next| next.text.trim());
        reader.line(piece.line, piece.text.trim_end_matches('\r'), next);
    }
    reader.close();
    reader.blocks
}

/// Each line that is not empty as a row: for tables and data.
#[must_use]
pub fn rows(text: &str) -> Vec<Block> {
    let rows = (1..).zip(text.split('\n')).filter(|(_, text)| !text.trim().is_empty());
    rows.map(|(line, text)| single(Role::Row, line, text.trim())).collect()
}

fn single(role: Role, line: u32, text: &str) -> Block {
    Block {
        role,
        pieces: vec![Piece {
            line,
            text: text.to_owned(),
        }],
    }
}

struct Reader {
    flavour: Flavour,
    blocks: Vec<Block>,
    open: Option<Block>,
    /// The fence that ends the code being read.
    fence: Option<String>,
    in_html_comment: bool,
}

impl Reader {
    /// Takes the YAML header of a Markdown file as rows; answers with the lines after it.
    fn skip_front_matter<'a>(&mut self, lines: &'a [Piece]) -> &'a [Piece] {
        let starts = lines.first().is_some_and(|first| first.text.trim_end() == "---");
        if self.flavour != Flavour::Markdown || !starts {
            return lines;
        }
        let Some(end) = lines.iter().skip(1).position(|piece| piece.text.trim_end() == "---") else {
            return lines;
        };
        let header = lines[1..=end].iter().filter(|piece| !piece.text.trim().is_empty());
        self.blocks
            .extend(header.map(|piece| single(Role::Row, piece.line, piece.text.trim())));
        &lines[end + 2..]
    }

    fn close(&mut self) {
        self.blocks.extend(self.open.take());
    }

    fn emit(&mut self, role: Role, line: u32, text: &str) {
        self.close();
        self.blocks.push(single(role, line, text));
    }

    fn begin(&mut self, role: Role, line: u32, text: &str) {
        self.close();
        self.open = Some(single(role, line, text));
    }

    /// Adds the line to the open block if that has this role, else begins one.
    fn extend(&mut self, role: Role, line: u32, text: &str) {
        match &mut self.open {
            Some(block) if block.role == role => block.pieces.push(Piece {
                line,
                text: text.to_owned(),
            }),
            _ => self.begin(role, line, text),
        }
    }

    fn line(&mut self, line: u32, raw: &str, next: &str) {
        let text = raw.trim();
        if self.skips(line, text) {
            return;
        }
        if text.is_empty() || is_rule(text) && !self.underlines(text) {
            return self.close();
        }
        if self.underlines(text) {
            return self.make_heading(text);
        }
        if let Some((level, title)) = hash_heading(text) {
            return self.emit(Role::Heading(level), line, title);
        }
        if self.is_capital_heading(raw, next) {
            let level = if self.blocks.is_empty() { 1 } else { 2 };
            return self.emit(Role::Heading(level), line, text);
        }
        if text.starts_with('|') || text.matches(" | ").count() >= 2 {
            return self.emit(Role::Row, line, text);
        }
        if let Some(item) = list_item(text) {
            return self.begin(Role::Item, line, item);
        }
        if is_markup(text) {
            return self.emit(Role::Code, line, text);
        }
        let indented = raw.starts_with("    ") || raw.starts_with('\t');
        if self.flavour == Flavour::Markdown && indented && !self.continues_text() {
            return self.extend(Role::Code, line, text);
        }
        let text = text.trim_start_matches('>').trim_start();
        let role = if self.continues_item() { Role::Item } else { Role::Prose };
        self.extend(role, line, text);
    }

    /// Handles fenced code and HTML comments; answers whether the line was one of theirs.
    fn skips(&mut self, line: u32, text: &str) -> bool {
        if let Some(fence) = &self.fence {
            if text.starts_with(fence.as_str()) && text.trim_start_matches(['`', '~']).is_empty() {
                self.fence = None;
                self.close();
            } else if !text.is_empty() {
                self.extend(Role::Code, line, text);
            }
            return true;
        }
        if self.in_html_comment {
            self.in_html_comment = !text.contains("-->");
            return true;
        }
        for mark in ["```", "~~~"] {
            if text.starts_with(mark) {
                let width = text.chars().take_while(|c| mark.starts_with(*c)).count();
                self.fence = Some(mark[..1].repeat(width));
                self.close();
                return true;
            }
        }
        if text.starts_with("<!--") {
            self.in_html_comment = !text.contains("-->");
            self.close();
            return true;
        }
        false
    }

    fn continues_item(&self) -> bool {
        self.open.as_ref().is_some_and(|block| block.role == Role::Item)
    }

    fn continues_text(&self) -> bool {
        let last = self.open.as_ref().or(self.blocks.last());
        // After a blank line an indented line still belongs to a list item, as its further paragraph.
        last.is_some_and(|block| block.role == Role::Item || block.role == Role::Prose && self.open.is_some())
    }

    /// Whether this line underlines the one-line paragraph before it.
    fn underlines(&self, text: &str) -> bool {
        let marks = match self.flavour {
            Flavour::Markdown => "=-",
            Flavour::Plain => "=-~^\"*",
        };
        let first = text.chars().next().unwrap_or(' ');
        let one_line = self
            .open
            .as_ref()
            .is_some_and(|block| block.role == Role::Prose && block.pieces.len() == 1);
        one_line && text.len() >= 3 && marks.contains(first) && text.chars().all(|c| c == first)
    }

    fn make_heading(&mut self, underline: &str) {
        if let Some(mut block) = self.open.take() {
            block.role = Role::Heading(if underline.starts_with('=') { 1 } else { 2 });
            self.blocks.push(block);
        }
    }

    fn is_capital_heading(&self, raw: &str, next: &str) -> bool {
        let starts_paragraph = self.open.is_none() && next.is_empty() && !raw.starts_with(' ');
        self.flavour == Flavour::Plain
            && starts_paragraph
            && raw.chars().count() <= HEADING_CHARS_MAX
            && raw.chars().filter(|c| c.is_uppercase()).count() >= 3
            && !raw.chars().any(char::is_lowercase)
    }
}

/// A line that only separates: `---`, `***`, `=====`.
fn is_rule(text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    text.len() >= 3 && "-*_=~#+^".contains(first) && text.chars().all(|c| c == first || c == ' ')
}

fn hash_heading(text: &str) -> Option<(u8, &str)> {
    let level = u8::try_from(text.bytes().take_while(|byte| *byte == b'#').count()).ok()?;
    let title = text
        .get(usize::from(level)..)?
        .strip_prefix([' ', '\t'])?
        .trim_end_matches('#')
        .trim();
    ((1..=6).contains(&level) && !title.is_empty()).then_some((level, title))
}

/// The text of a list item without its marker.
fn list_item(text: &str) -> Option<&str> {
    let rest = match text.strip_prefix(['-', '*', '+', '•', '·', '–']) {
        Some(rest) => rest,
        None => numbered(text).or_else(|| checkbox(text))?,
    };
    let item = rest.strip_prefix([' ', '\t'])?.trim_start();
    Some(checkbox(item).map_or(item, str::trim_start))
}

fn numbered(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    // Longer numbers at the start of a line are years and quantities of a wrapped sentence.
    if !(1..=3).contains(&digits) {
        return None;
    }
    text[digits..].strip_prefix(['.', ')'])
}

fn checkbox(text: &str) -> Option<&str> {
    ["[ ]", "[x]", "[X]"].iter().find_map(|mark| text.strip_prefix(mark))
}

/// Raw HTML, badges, link definitions and directives of reStructuredText: nothing to read in them.
fn is_markup(text: &str) -> bool {
    let tag = text
        .strip_prefix('<')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/'));
    let link_definition = text.starts_with('[') && text.contains("]: ") && !text.contains(". ");
    tag && !text.starts_with("<http")
        || link_definition
        || text.starts_with("[![")
        || text.starts_with("![")
        || text.starts_with(".. ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str, flavour: Flavour) -> Vec<(Role, u32, String)> {
        let joined = |block: &Block| {
            block
                .pieces
                .iter()
                .map(|piece| piece.text.as_str())
                .collect::<Vec<_>>()
                .join("/")
        };
        blocks(text, flavour)
            .iter()
            .map(|block| (block.role, block.pieces[0].line, joined(block)))
            .collect()
    }

    #[test]
    fn markdown_becomes_headings_paragraphs_items_rows_and_code() {
        let text = "---\ntitle: x\n---\n# Top\n\nOne\ntwo.\n\n- item a\n  goes on\n- [ ] item b\n\n| a | b |\n\
                    | --- | --- |\n```rust\nlet x = 1;\n```\nSub\n---\n> quoted\n";
        let expected = [
            (Role::Row, 2, "title: x"),
            (Role::Heading(1), 4, "Top"),
            (Role::Prose, 6, "One/two."),
            (Role::Item, 9, "item a/goes on"),
            (Role::Item, 11, "item b"),
            (Role::Row, 13, "| a | b |"),
            (Role::Row, 14, "| --- | --- |"),
            (Role::Code, 16, "let x = 1;"),
            (Role::Heading(2), 18, "Sub"),
            (Role::Prose, 20, "quoted"),
        ];
        assert_eq!(
            shapes(text, Flavour::Markdown),
            expected.map(|(role, line, text)| (role, line, text.to_owned()))
        );
    }

    #[test]
    fn plain_text_has_headings_in_capitals_and_windows_line_ends() {
        let text = "THE TITLE\r\n\r\nSome text.\r\n\r\n1. FIRST PART\r\n\r\n[ ] Check it.\r\n    It matters.\r\n";
        let expected = [
            (Role::Heading(1), 1, "THE TITLE"),
            (Role::Prose, 3, "Some text."),
            (Role::Heading(2), 5, "1. FIRST PART"),
            (Role::Item, 7, "Check it./It matters."),
        ];
        assert_eq!(
            shapes(text, Flavour::Plain),
            expected.map(|(role, line, text)| (role, line, text.to_owned()))
        );
    }

    #[test]
    fn an_unclosed_fence_and_an_unclosed_comment_reach_to_the_end() {
        assert_eq!(
            shapes("a\n```\nb\n\nc", Flavour::Markdown).last(),
            Some(&(Role::Code, 3, "b/c".to_owned()))
        );
        assert_eq!(shapes("a\n<!-- b\n\nc", Flavour::Markdown).len(), 1);
    }

    #[test]
    fn a_year_at_the_start_of_a_wrapped_line_is_no_list_item() {
        assert_eq!(shapes("It was named in\n2016. Then", Flavour::Markdown).len(), 1);
    }
}
