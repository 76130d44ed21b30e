//! Tables: aligned for people, tab-separated for programs.

use comfy_table::{CellAlignment, ContentArrangement, presets};
use console::truncate_str;

/// Columns between two columns of the table.
const GAP: u16 = 2;

/// Rows under headings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    headings: Vec<&'static str>,
    /// Columns that hold figures and are set flush right.
    figures: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table. A heading that begins with `>` is set flush right, as figures are.
    #[must_use]
    pub fn new(headings: &[&'static str]) -> Self {
        let figures = headings
            .iter()
            .enumerate()
            .filter(|(_, heading)| heading.starts_with('>'));
        Self {
            figures: figures.map(|(column, _)| column).collect(),
            headings: headings.iter().map(|heading| heading.trim_start_matches('>')).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Line ends and tabs become spaces: a row is a line.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| cell.replace(['\t', '\n'], " "));
        self.rows.push(cells.collect());
    }

    /// The table for people, with aligned columns. Only the last column gives way where `width` is too small: an id that is
    /// broken over two lines cannot be copied.
    #[must_use]
    pub fn aligned(&self, width: u16) -> String {
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(self.headings.iter().map(|heading| heading.to_uppercase()));
        for row in &self.rows {
            table.add_row(row);
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, GAP));
            if self.figures.contains(&index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let is_cut = !self.figures.contains(&(self.headings.len().saturating_sub(1)));
        let line = |line: String| {
            let line = line.trim_end();
            let line = if is_cut {
                truncate_str(line, width.into(), "…")
            } else {
                line.into()
            };
            line.into_owned() + "\n"
        };
        table.lines().map(line).collect()
    }

    /// The table for programs: a line of headings, then a line for each row, with tabs between the cells.
    #[must_use]
    pub fn plain(&self) -> String {
        let headings = self.headings.join("\t") + "\n";
        let line = |row: &Vec<String>| anstream::adapter::strip_str(&row.join("\t")).to_string() + "\n";
        headings + &self.rows.iter().map(line).collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_columns_and_programs_see_tabs() {
        let mut table = Table::new(&["name", ">tokens"]);
        table.row(["writer".into(), "1.2k".into()]);
        table.row(["a\tb\nc".into(), "7".into()]);
        assert_eq!(table.plain(), "name\ttokens\nwriter\t1.2k\na b c\t7\n");
        let aligned = table.aligned(80);
        assert_eq!(aligned.lines().next(), Some("NAME    TOKENS"));
    }

    #[test]
    fn only_the_last_column_gives_way() {
        let mut table = Table::new(&["run", "title"]);
        table.row([
            "run_01m8q03z90e008000000000000".into(),
            "What are the pros and cons?".into(),
        ]);
        assert_eq!(
            table.aligned(45).lines().nth(1),
            Some("run_01m8q03z90e008000000000000  What are the…")
        );
    }
}
