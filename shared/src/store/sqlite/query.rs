//! The SQL of this engine: one file to a statement, under `shared/queries`.

use rusqlite::{CachedStatement, Connection};

/// A script without the comment lines that it begins with: the prepared statements are found by their text.
pub(super) const fn body(script: &'static str) -> &'static str {
    let bytes = script.as_bytes();
    let mut at = 0;
    while at + 1 < bytes.len() && bytes[at] == b'-' && bytes[at + 1] == b'-' {
        while at < bytes.len() && bytes[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    script.split_at(at).1
}

/// The text of the statement in the file of that name.
macro_rules! sql {
    ($name:literal) => {
        const {
            $crate::store::sqlite::query::body(include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/queries/",
                $name,
                ".sql"
            )))
        }
    };
}
pub(super) use sql;

/// The prepared statement of `text`; it is compiled once per connection.
pub(super) fn prepared<'c>(conn: &'c Connection, text: &'static str) -> rusqlite::Result<CachedStatement<'c>> {
    conn.prepare_cached(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_statement_is_found_below_its_header() {
        assert_eq!(super::body("-- Purpose: a\n-- b\nSELECT 1 -- c\n"), "SELECT 1 -- c\n");
        assert_eq!(sql!("cascade_delete"), "DELETE FROM cascade WHERE job = ?1;\n");
    }
}
