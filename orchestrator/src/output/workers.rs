//! Workers as a table.

use legwork_shared::time::Timestamp;
use legwork_shared::wire::{WorkerHealth, WorkerList, WorkerView};

use super::{Table, human, without_controls};

/// A clock that differs less from the store's is as good as right: nobody measures shorter spans by it.
const SKEW_SHOWN_MS: u64 = 1_000;

/// Workers as a table, as of `now`.
#[must_use]
pub fn worker_list(list: &WorkerList, now: Timestamp) -> Table {
    let mut table = Table::new(&[
        "worker", "name", "state", ">load", "seen", "started", "clock", "version", "host", ">pid", "queues",
    ]);
    for worker in &list.workers {
        let queues = worker.queues.iter().map(|queue| without_controls(queue));
        table.row([
            worker.id.to_string(),
            without_controls(&worker.name).into_owned(),
            state(worker),
            format!("{}/{}", worker.running, worker.slots),
            human::ago(worker.seen_at_ms, now),
            human::ago(worker.started_at_ms, now),
            clock(worker.clock_ahead_ms),
            without_controls(&worker.version).into_owned(),
            without_controls(&worker.host).into_owned(),
            worker.pid.to_string(),
            queues.collect::<Vec<_>>().join(","),
        ]);
    }
    table
}

fn state(worker: &WorkerView) -> String {
    match worker.health {
        WorkerHealth::Alive if worker.leads => "alive, leads".to_owned(),
        health => health.as_str().to_owned(),
    }
}

/// How a clock differs from the store's: `right`, `+10m 00s`, `-4.2 s`.
fn clock(ahead_ms: i64) -> String {
    let sign = if ahead_ms < 0 { '-' } else { '+' };
    match ahead_ms.unsigned_abs() {
        0..SKEW_SHOWN_MS => "right".to_owned(),
        ms => format!("{sign}{}", human::duration(ms)),
    }
}

#[cfg(test)]
mod tests {
    use legwork_shared::id::WorkerId;

    use super::*;

    #[test]
    fn workers_show_load_version_host_and_a_clock_that_is_wrong() {
        let start = Timestamp(1_796_068_212_000);
        let worker = |n: u32, name: &str| WorkerView {
            id: WorkerId::nth(start, n, 0),
            name: name.to_owned(),
            host: "north".to_owned(),
            pid: 700 + n,
            version: "0.1.0".to_owned(),
            slots: 8,
            queues: vec!["default".to_owned(), "night".to_owned()],
            running: 3,
            health: WorkerHealth::Alive,
            started_at_ms: start,
            seen_at_ms: start + 60_000,
            clock_ahead_ms: 999,
            leads: n == 1,
        };
        let other = WorkerView {
            running: 0,
            version: "0.2.0".to_owned(),
            health: WorkerHealth::Silent,
            seen_at_ms: start,
            clock_ahead_ms: -600_000,
            ..worker(2, "blue\x1b[2J")
        };
        let list = WorkerList {
            workers: vec![worker(1, "blue"), other],
        };
        let text = worker_list(&list, start + 64_200).plain().replace('\t', " | ");
        insta::assert_snapshot!(text, @r"
        worker | name | state | load | seen | started | clock | version | host | pid | queues
        wrk_01m8q03z90e008002000000000 | blue | alive, leads | 3/8 | 4.2 s ago | 1m 04s ago | right | 0.1.0 | north | 701 | default,night
        wrk_01m8q03z90e008004000000000 | blue␛[2J | silent | 0/8 | 1m 04s ago | 1m 04s ago | -10m 00s | 0.2.0 | north | 702 | default,night
        ");
    }
}
