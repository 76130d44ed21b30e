//! The turns that one operation gives: each run's last one is read once and written once, however many jobs are queued.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::query::{prepared, sql};
use crate::id::RunId;
use crate::store::turn;

/// A queue at a priority.
type Line = (String, i32);

/// See the module.
#[derive(Default)]
pub(super) struct TurnBook {
    /// Where each line has got to.
    now: BTreeMap<Line, u64>,
    /// The last turn of each run, if it has one.
    last: BTreeMap<(Line, RunId), Option<u64>>,
}

impl TurnBook {
    /// Gives a job of `run` its turn.
    pub fn take(&mut self, conn: &Connection, queue: &str, priority: i32, run: RunId) -> rusqlite::Result<u64> {
        let line = (queue.to_owned(), priority);
        let place = (line, run);
        if !self.last.contains_key(&place) {
            self.read(conn, &place)?;
        }
        let now = self.now.get(&place.0).copied().unwrap_or(0);
        let last = self.last.get(&place).copied().flatten();
        let turn = turn::next(now, last);
        self.last.insert(place, Some(turn));
        Ok(turn)
    }

    fn read(&mut self, conn: &Connection, (line, run): &(Line, RunId)) -> rusqlite::Result<()> {
        let mut last = None;
        let mut statement = prepared(conn, sql!("turns"))?;
        let mut rows = statement.query(params![line.0, line.1, run.as_bytes()])?;
        while let Some(row) = rows.next()? {
            let turn = row.get::<_, i64>(1)?.cast_unsigned();
            if row.get_ref(0)?.as_blob().is_ok_and(<[u8]>::is_empty) {
                self.now.insert(line.clone(), turn);
            } else {
                last = Some(turn);
            }
        }
        self.last.insert((line.clone(), *run), last);
        Ok(())
    }

    /// Writes what was given.
    pub fn write(&self, conn: &Connection) -> rusqlite::Result<()> {
        for (((queue, priority), run), last) in &self.last {
            let last = last.unwrap_or(0).cast_signed();
            prepared(conn, sql!("turn_set"))?.execute(params![queue, priority, run.as_bytes(), last])?;
        }
        Ok(())
    }
}

/// Notes that a line has got to `turn`, and forgets what is of no account from then on.
pub(super) fn pass(conn: &Connection, queue: &str, priority: i32, turn: u64) -> rusqlite::Result<()> {
    let params = params![queue, priority, turn.cast_signed()];
    prepared(conn, sql!("turn_pass"))?.execute(params)?;
    prepared(conn, sql!("turns_over"))?.execute(params)?;
    Ok(())
}
