//! Reads program source: comments are prose in Markdown, everything else is code.

use serde::{Deserialize, Serialize};

use super::text::{Flavour, blocks_of_lines};
use super::{Block, Piece, Role};

/// How many lines of code make one block; so a hit in code points at a place, not at a file.
const CODE_LINES_MAX: usize = 12;

/// How a language marks comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comments {
    /// `//` to the end of the line, `/* … */`.
    Slash,
    /// `#` to the end of the line.
    Hash,
    /// `#` to the end of the line, and strings in three quotes as documentation.
    Python,
    /// `--` to the end of the line.
    Dash,
}

impl Comments {
    /// The comments of the language with this file extension (lower case); `None` if it is no program.
    #[must_use]
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "rs" | "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "java" | "js" | "mjs" | "jsx" | "ts" | "tsx" | "go"
            | "cs" | "kt" | "swift" | "scala" | "php" | "css" | "scss" | "proto" | "zig" | "dart" => Some(Self::Slash),
            "sh" | "bash" | "zsh" | "toml" | "yaml" | "yml" | "rb" | "pl" | "r" | "conf" | "cfg" | "ini" | "mk" => {
                Some(Self::Hash)
            }
            "py" | "pyi" => Some(Self::Python),
            "sql" | "lua" | "hs" | "elm" | "ada" => Some(Self::Dash),
            _ => None,
        }
    }

    fn line_marks(self) -> &'static [&'static str] {
        match self {
            Self::Slash => &["///", "//!", "//"],
            Self::Hash | Self::Python => &["#"],
            Self::Dash => &["--"],
        }
    }

    /// What opens and closes a comment over several lines.
    fn span_marks(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Slash => Some(("/*", "*/")),
            Self::Python => Some(("\"\"\"", "\"\"\"")),
            Self::Hash | Self::Dash => None,
        }
    }
}

/// The blocks of a program.
#[must_use]
pub fn blocks(text: &str, comments: Comments) -> Vec<Block> {
    let mut reader = Reader {
        comments,
        blocks: vec![],
        group: vec![],
        mark: "",
        code: vec![],
        in_span: false,
    };
    for (line, raw) in (1..).zip(text.split('\n')) {
        reader.line(line, raw.trim());
    }
    reader.close_group();
    reader.close_code();
    reader.blocks
}

struct Reader {
    comments: Comments,
    blocks: Vec<Block>,
    /// The comment lines that belong together.
    group: Vec<Piece>,
    /// The mark of that group: documentation of an item and a remark inside it are different texts.
    mark: &'static str,
    code: Vec<Piece>,
    in_span: bool,
}

impl Reader {
    fn line(&mut self, line: u32, text: &str) {
        if self.in_span {
            return self.span_line(line, text);
        }
        if let Some((open, _)) = self.comments.span_marks()
            && let Some(rest) = text.strip_prefix(open)
        {
            self.close_group();
            self.close_code();
            self.in_span = true;
            return self.span_line(line, rest);
        }
        let mark = self.comments.line_marks().iter().find(|mark| text.starts_with(**mark));
        if let Some(mark) = mark {
            self.close_code();
            if self.mark != *mark {
                self.close_group();
                self.mark = mark;
            }
            return self.group.push(Piece {
                line,
                text: text[mark.len()..].to_owned(),
            });
        }
        self.close_group();
        if !text.is_empty() {
            self.code.push(Piece {
                line,
                text: text.to_owned(),
            });
        }
        if text.is_empty() || self.code.len() >= CODE_LINES_MAX {
            self.close_code();
        }
    }

    fn span_line(&mut self, line: u32, text: &str) {
        let close = self.comments.span_marks().map_or("", |(_, close)| close);
        let (body, ends) = match text.split_once(close) {
            Some((body, _)) => (body, true),
            None => (text, false),
        };
        // The star before each line of a C comment is decoration; a star that begins a list has a space before it.
        let body = body.trim_start_matches('*').trim_start_matches('!');
        self.group.push(Piece {
            line,
            text: body.to_owned(),
        });
        if ends {
            self.in_span = false;
            self.close_group();
        }
    }

    /// Reads the comment lines as Markdown. Their headings name parts of one item, not of the file.
    fn close_group(&mut self) {
        self.mark = "";
        let indent = self.group.iter().filter(|piece| !piece.text.trim().is_empty());
        let indent = indent
            .map(|piece| piece.text.len() - piece.text.trim_start_matches(' ').len())
            .min()
            .unwrap_or(0);
        for piece in &mut self.group {
            piece.text.drain(..indent.min(piece.text.len()));
        }
        for mut block in blocks_of_lines(&self.group, Flavour::Markdown) {
            if matches!(block.role, Role::Heading(_)) {
                block.role = Role::Row;
            }
            self.blocks.push(block);
        }
        self.group.clear();
    }

    fn close_code(&mut self) {
        if !self.code.is_empty() {
            self.blocks.push(Block {
                role: Role::Code,
                pieces: std::mem::take(&mut self.code),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str, comments: Comments) -> Vec<(Role, u32, String)> {
        let joined = |block: &Block| {
            block
                .pieces
                .iter()
                .map(|piece| piece.text.as_str())
                .collect::<Vec<_>>()
                .join("/")
        };
        blocks(text, comments)
            .iter()
            .map(|block| (block.role, block.pieces[0].line, joined(block)))
            .collect()
    }

    #[test]
    fn documentation_is_prose_and_the_rest_is_code() {
        let text = "//! The crate.\n\n/// Runs it\n/// to the end.\n///\n/// # Errors\n/// ```\n/// run();\n/// ```\nfn run() {\n    // Twice.\n}\n";
        let expected = [
            (Role::Prose, 1, "The crate."),
            (Role::Prose, 3, "Runs it/to the end."),
            (Role::Row, 6, "Errors"),
            (Role::Code, 8, "run();"),
            (Role::Code, 10, "fn run() {"),
            (Role::Prose, 11, "Twice."),
            (Role::Code, 12, "}"),
        ];
        assert_eq!(
            shapes(text, Comments::Slash),
            expected.map(|(role, line, text)| (role, line, text.to_owned()))
        );
    }

    #[test]
    fn comments_over_several_lines_lose_their_stars() {
        let text = "/**\n * Frees the list.\n * Twice is an error.\n */\nvoid f();\n";
        let expected = [
            (Role::Prose, 2, "Frees the list./Twice is an error."),
            (Role::Code, 5, "void f();"),
        ];
        assert_eq!(
            shapes(text, Comments::Slash),
            expected.map(|(role, line, text)| (role, line, text.to_owned()))
        );
    }

    #[test]
    fn strings_in_three_quotes_document_python() {
        let text = "def f():\n    \"\"\"Return one.\n\n    It is a number.\"\"\"\n    return 1  # one\n";
        let expected = [
            (Role::Code, 1, "def f():"),
            (Role::Prose, 2, "Return one."),
            (Role::Prose, 4, "It is a number."),
            (Role::Code, 5, "return 1  # one"),
        ];
        assert_eq!(
            shapes(text, Comments::Python),
            expected.map(|(role, line, text)| (role, line, text.to_owned()))
        );
    }

    #[test]
    fn long_code_is_cut_so_that_a_hit_points_at_a_place() {
        let text = "x();\n".repeat(CODE_LINES_MAX + 1);
        let sizes: Vec<usize> = blocks(&text, Comments::Slash)
            .iter()
            .map(|block| block.pieces.len())
            .collect();
        assert_eq!(sizes, [CODE_LINES_MAX, 1]);
    }
}
