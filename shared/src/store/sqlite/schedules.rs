//! Schedules.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::{Fault, classify, conflict};
use super::query::{prepared, sql};
use super::value::{document, encode};
use super::writer::Tx;
use crate::schedule::Schedule;
use crate::store::StoreError;

/// All schedules, by tenant and name.
fn all(conn: &Connection) -> Result<Vec<Schedule>, StoreError> {
    let mut statement = prepared(conn, sql!("schedules")).map_err(|error| classify(&error))?;
    let mut rows = statement.query([]).map_err(|error| classify(&error))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        found.push(document(row, 0, "a schedule")?);
    }
    Ok(found)
}

/// The schedules of a tenant, or of all.
pub(super) fn list(conn: &Connection, tenant: Option<&str>) -> Result<Vec<Schedule>, StoreError> {
    let mut schedules = all(conn)?;
    schedules.retain(|schedule| tenant.is_none_or(|tenant| schedule.tenant == tenant));
    Ok(schedules)
}

/// Records a schedule.
pub(super) fn put(tx: &mut Tx<'_>, schedule: &Schedule) -> Result<(), Fault> {
    let Schedule { tenant, name, .. } = schedule;
    let stored: Option<i64> = prepared(tx.conn, sql!("schedule_version"))?
        .query_row(params![tenant, name], |row| row.get(0))
        .optional()?;
    let before = stored.map_or(0, i64::cast_unsigned);
    if schedule.version != before + 1 {
        return Err(Fault::Refused(conflict(format_args!("the schedule `{name}`"))));
    }
    let doc = encode(schedule, "a schedule")?;
    prepared(tx.conn, sql!("schedule_put"))?.execute(params![tenant, name, schedule.version.cast_signed(), doc])?;
    tx.changed = true;
    Ok(())
}

/// Forgets a schedule.
pub(super) fn remove(tx: &mut Tx<'_>, tenant: &str, name: &str) -> Result<bool, Fault> {
    let removed = prepared(tx.conn, sql!("schedule_delete"))?.execute([tenant, name])? > 0;
    tx.changed |= removed;
    Ok(removed)
}
