//! Leases: taken and extended inside the writer's transaction.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::commit::{Log, write_transition};
use super::edge_row;
use super::error::{Fault, corrupt};
use super::job_row;
use super::pause::{self, HeldBack};
use super::query::{prepared, sql};
use super::turn_book::{self, TurnBook};
use super::value::{from_limit, from_moment, to_moment};
use super::writer::Tx;
use crate::id::{JobId, RunId};
use crate::job::{self, Command, LeaseToken};
use crate::store::turn::{self, Candidate};
use crate::store::{ClaimRequest, Claimed, Extension};
use crate::time::Timestamp;

/// Takes the next jobs of the request's queues.
pub(super) fn claim(tx: &mut Tx<'_>, request: &ClaimRequest, now: Timestamp) -> Result<Vec<Claimed>, Fault> {
    let held_back = HeldBack::load(tx.conn)?;
    let mut heads = Vec::new();
    for queue in request.queues.iter().collect::<BTreeSet<_>>() {
        if !held_back.has_queue(queue) {
            heads.push(next_of(tx.conn, queue, request.slots, &held_back)?);
        }
    }
    let mut passed: BTreeMap<(String, i32), u64> = BTreeMap::new();
    let mut claimed = Vec::new();
    for found in turn::merge(heads, request.slots) {
        let one = claim_one(tx, found.id, request, now)?;
        let line = (one.job.spec.queue.clone(), found.priority);
        let turn = passed.entry(line).or_default();
        *turn = found.turn.max(*turn);
        claimed.push(one);
    }
    for ((queue, priority), turn) in passed {
        turn_book::pass(tx.conn, &queue, priority, turn)?;
    }
    Ok(claimed)
}

/// The next jobs of a queue. Those of paused runs that are met on the way are put aside.
fn next_of(conn: &Connection, queue: &str, slots: usize, held_back: &HeldBack) -> Result<Vec<Candidate>, Fault> {
    loop {
        let mut found = Vec::new();
        let mut paused = BTreeSet::new();
        let mut statement = prepared(conn, sql!("claim_candidates"))?;
        let mut rows = statement.query(params![queue, from_limit(slots)])?;
        while let Some(row) = rows.next()? {
            let run = RunId::from_bytes(row.get(4)?);
            if held_back.has_run(run) {
                paused.insert(run);
            } else {
                found.push(Candidate {
                    priority: row.get(0)?,
                    turn: row.get::<_, i64>(1)?.cast_unsigned(),
                    since: to_moment(row.get(2)?),
                    id: JobId::from_bytes(row.get(3)?),
                });
            }
        }
        if paused.is_empty() {
            return Ok(found);
        }
        // Each of them is put aside as a whole, so that this ends.
        for run in paused {
            pause::put_aside(conn, run)?;
        }
    }
}

fn claim_one(tx: &mut Tx<'_>, id: JobId, request: &ClaimRequest, now: Timestamp) -> Result<Claimed, Fault> {
    let job = job_row::load(tx.conn, id)?.ok_or_else(|| corrupt(id, "it is queued and not on record"))?;
    let run = tx.runs.run(tx.conn, job.run)?;
    let run = run.ok_or_else(|| corrupt(id, "it belongs to no run"))?;
    let lease = request.lease(&job, now);
    let transition = job::apply(&job, &Command::Claim { lease }, now).map_err(|refusal| corrupt(id, refusal))?;
    write_transition(tx.conn, &transition, &mut Log::default(), &mut TurnBook::default(), now)?;
    tx.changed = true;
    Ok(Claimed {
        job: transition.job,
        run,
        dependents: edge_row::list(tx.conn, sql!("dependents"), id.as_bytes())?,
    })
}

/// Lets a lease hold until `until`, if `token` still holds its job.
pub(super) fn extend(conn: &Connection, token: LeaseToken, until: Timestamp) -> rusqlite::Result<Extension> {
    let lapsed = Extension {
        token,
        held: false,
        version: 0,
        cancel: false,
        mail: 0,
    };
    let Some(lease) = lease(conn, token.job)? else {
        return Ok(lapsed);
    };
    // Only a running job has a secret.
    if lease.secret != Some(token.secret) || lease.attempt != token.attempt {
        return Ok(Extension {
            version: lease.version,
            ..lapsed
        });
    }
    let until = from_moment(until);
    if lease.until.is_none_or(|before| before < until) {
        prepared(conn, sql!("lease_extend"))?.execute(params![token.job.as_bytes(), until])?;
    }
    Ok(Extension {
        token,
        held: true,
        version: lease.version,
        cancel: lease.cancelling,
        mail: lease.mail,
    })
}

/// What the columns say of a lease.
struct LeaseColumns {
    version: u64,
    attempt: u32,
    secret: Option<u64>,
    until: Option<i64>,
    cancelling: bool,
    mail: u32,
}

fn lease(conn: &Connection, job: JobId) -> rusqlite::Result<Option<LeaseColumns>> {
    prepared(conn, sql!("lease"))?
        .query_row([job.as_bytes()], |row| {
            let (sent, applied): (u32, u32) = (row.get(5)?, row.get(6)?);
            Ok(LeaseColumns {
                version: row.get::<_, i64>(0)?.cast_unsigned(),
                attempt: row.get(1)?,
                secret: row.get::<_, Option<i64>>(2)?.map(i64::cast_unsigned),
                until: row.get(3)?,
                cancelling: row.get(4)?,
                mail: sent.saturating_sub(applied),
            })
        })
        .optional()
}
