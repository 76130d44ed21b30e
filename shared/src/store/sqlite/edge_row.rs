//! Edges as rows.

use rusqlite::{Connection, Row, params};

use super::error::{classify, corrupt};
use super::query::{prepared, sql};
use super::value::column;
use crate::dag::{Condition, Edge, EdgeKind};
use crate::id::JobId;
use crate::store::StoreError;

fn kind_word(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Dependency => "dependency",
        EdgeKind::Await => "await",
    }
}

/// Inserts an edge; one that is known keeps its condition.
pub(super) fn insert(conn: &Connection, edge: &Edge, unmet: bool) -> rusqlite::Result<()> {
    prepared(conn, sql!("edge_insert"))?.execute(params![
        edge.child.as_bytes(),
        edge.parent.as_bytes(),
        kind_word(edge.kind),
        edge.condition.as_str(),
        unmet
    ])?;
    Ok(())
}

/// Says whether the parent of an edge is still waited for.
pub(super) fn mark(conn: &Connection, edge: &Edge, unmet: bool) -> rusqlite::Result<()> {
    prepared(conn, sql!("edge_mark"))?.execute(params![
        edge.child.as_bytes(),
        edge.parent.as_bytes(),
        kind_word(edge.kind),
        unmet
    ])?;
    Ok(())
}

/// Whether a child waits for a parent.
pub(super) fn is_unmet(conn: &Connection, child: JobId) -> rusqlite::Result<bool> {
    prepared(conn, sql!("edge_is_unmet"))?.query_row([child.as_bytes()], |row| row.get(0))
}

/// The edges that a query about `id` finds.
pub(super) fn list(conn: &Connection, query: &'static str, id: &[u8; 16]) -> Result<Vec<Edge>, StoreError> {
    let mut statement = prepared(conn, query).map_err(|error| classify(&error))?;
    let mut rows = statement.query([id]).map_err(|error| classify(&error))?;
    let mut edges = Vec::new();
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        edges.push(read(row)?);
    }
    Ok(edges)
}

fn read(row: &Row<'_>) -> Result<Edge, StoreError> {
    let (kind, condition): (String, String) = (column(row, 2)?, column(row, 3)?);
    Ok(Edge {
        parent: JobId::from_bytes(column(row, 0)?),
        child: JobId::from_bytes(column(row, 1)?),
        condition: Condition::parse(&condition).ok_or_else(|| corrupt("the condition of an edge", &condition))?,
        kind: [EdgeKind::Dependency, EdgeKind::Await]
            .into_iter()
            .find(|known| kind_word(*known) == kind)
            .ok_or_else(|| corrupt("the kind of an edge", &kind))?,
    })
}
