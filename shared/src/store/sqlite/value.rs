//! How values of the domain become values of `SQLite` and back.

use rusqlite::Row;
use rusqlite::types::FromSql;
use serde::de::DeserializeOwned;

use super::error::{classify, corrupt};
use crate::store::StoreError;
pub(super) use crate::store::document::{decode, encode};
use crate::time::Timestamp;

/// A moment as a column that sorts. What is beyond the column's reach, 292 million years ahead, is the end of time.
pub(super) fn from_moment(at: Timestamp) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

/// The moment of such a column.
pub(super) fn to_moment(column: i64) -> Timestamp {
    match column {
        i64::MAX => Timestamp(u64::MAX),
        column => Timestamp(u64::try_from(column).unwrap_or(0)),
    }
}

/// How many rows, as a column; more than fit are all of them.
pub(super) fn from_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A column of a row.
pub(super) fn column<T: FromSql>(row: &Row<'_>, index: usize) -> Result<T, StoreError> {
    row.get(index).map_err(|error| classify(&error))
}

/// A column that holds a document.
pub(super) fn document<T: DeserializeOwned>(row: &Row<'_>, index: usize, what: &str) -> Result<T, StoreError> {
    let text = row.get_ref(index).map_err(|error| classify(&error))?;
    let text = text.as_str().map_err(|error| corrupt(what, error))?;
    decode(text, what)
}
