use std::collections::BTreeMap;

use legwork_shared::batch::{FileRecord, NewEvent};
use legwork_shared::budget::{JobLimits, RunLimits};
use legwork_shared::dag::Edge;
use legwork_shared::id::WorkerId;
use legwork_shared::job::{BlockedOn, Delay, JobError};
use legwork_shared::store::EventRecord;
use legwork_shared::time::Timestamp;

use super::*;

const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// The jobs of the story: `C` needs `A` and `B`; `D` sleeps until `E`, which it hands out, has ended.
const A: u32 = 0;
const B: u32 = 1;
const C: u32 = 2;
const D: u32 = 3;
const E: u32 = 4;

fn id(job: u32) -> JobId {
    JobId::nth(NOW, job, 7)
}

fn start(attempt: u32) -> EventKind {
    let worker = WorkerId::new(NOW, 1);
    EventKind::Started { attempt, worker }
}

fn step(tokens: u64) -> EventKind {
    EventKind::Stepped {
        step: 1,
        tokens,
        tool: None,
    }
}

/// `A` loses its first worker, `B` fails once, `C` comes last of the three; `D` delegates.
fn log() -> Vec<(u32, EventKind)> {
    let lost = EventKind::AttemptLost { attempt: 1, losses: 1 };
    let error = JobError::retryable("test", "it failed");
    let failed = EventKind::AttemptFailed { attempt: 1, error };
    let later = EventKind::Scheduled {
        due: NOW,
        reason: Delay::Retry,
    };
    let blocked = |on| EventKind::Blocked { on };
    vec![
        (A, EventKind::Queued),
        (B, EventKind::Queued),
        (C, blocked(BlockedOn::Dependencies)),
        (D, EventKind::Queued),
        (A, start(1)),
        (A, lost),
        (A, EventKind::Queued),
        (A, start(2)),
        (A, step(30)),
        (A, EventKind::Succeeded),
        (B, start(1)),
        (B, failed),
        (B, later),
        (B, EventKind::Queued),
        (B, start(2)),
        (B, EventKind::Succeeded),
        (C, EventKind::Queued),
        (C, start(1)),
        (C, EventKind::Succeeded),
        (D, start(1)),
        (D, blocked(BlockedOn::Children)),
        (E, EventKind::Queued),
        (E, start(1)),
        (E, EventKind::Succeeded),
        (D, EventKind::Queued),
        (D, start(2)),
        (D, EventKind::Succeeded),
    ]
}

fn answers(job: u32, attempt: u32) -> (u32, u32, Deed) {
    let text = format!("{job} by {attempt}");
    (job, attempt, Deed::Answers { text })
}

fn marks() -> Vec<Mark> {
    let (tokens, jobs) = (30, vec![id(E)]);
    let writes = |attempt: u32| Deed::Writes {
        path: "a.md".to_owned(),
        sha256: format!("hash of {attempt}"),
    };
    let deeds = [
        (A, 1, Deed::Started),
        (A, 2, Deed::Started),
        (A, 2, Deed::Spends { tokens }),
        (A, 1, writes(1)),
        answers(A, 1),
        (A, 2, Deed::Spent { tokens }),
        (A, 2, writes(2)),
        answers(A, 2),
        (B, 1, Deed::Started),
        (B, 1, Deed::Fails),
        (B, 2, Deed::Started),
        answers(B, 2),
        (C, 1, Deed::Started),
        answers(C, 1),
        (D, 1, Deed::Started),
        (D, 1, Deed::HandsOut { count: 1 }),
        (D, 1, Deed::HandedOut { jobs }),
        (E, 1, Deed::Started),
        answers(E, 1),
        (D, 2, Deed::Started),
        answers(D, 2),
    ];
    let mark = |(job, attempt, deed): (u32, u32, Deed)| Mark {
        job: id(job),
        attempt,
        pid: 1,
        deed,
    };
    deeds.into_iter().map(mark).collect()
}

fn job(number: u32, last: u32) -> (JobId, JobHistory) {
    let job = JobHistory {
        name: number.to_string(),
        limits: JobLimits::default(),
        state: JobState::Succeeded,
        result: Some(format!("{number} by {last}")),
        handed_out: (number == E).then_some((id(D), 1)),
    };
    (id(number), job)
}

fn edge(parent: u32, child: u32, kind: EdgeKind) -> Edge {
    let condition = match kind {
        EdgeKind::Dependency => Condition::Success,
        EdgeKind::Await => Condition::Finished,
    };
    Edge {
        parent: id(parent),
        child: id(child),
        condition,
        kind,
    }
}

/// A history in which everything was kept.
fn story() -> History {
    let run = RunId::new(NOW, 7);
    let submitted = (None, EventKind::Submitted);
    let told = log().into_iter().map(|(job, kind)| (Some(id(job)), kind));
    let events = (1..).zip([submitted].into_iter().chain(told));
    let event = |(seq, (job, kind))| EventRecord {
        seq,
        at: NOW,
        event: NewEvent { run, job, kind },
    };
    let file = FileRecord {
        run,
        path: "a.md".to_owned(),
        sha256: "hash of 2".to_owned(),
        size: 1,
        media_type: "text/markdown".to_owned(),
        by: id(A),
        at: NOW,
    };
    let told = RunHistory {
        limits: RunLimits {
            tokens: Some(100),
            ..RunLimits::default()
        },
        counters: BTreeMap::from([(Counter::Tokens, 30), (Counter::Retries, 1), (Counter::Jobs, 5)]),
        jobs: [job(A, 2), job(B, 2), job(C, 1), job(D, 2), job(E, 1)].into(),
        edges: vec![
            edge(A, C, EdgeKind::Dependency),
            edge(B, C, EdgeKind::Dependency),
            edge(E, D, EdgeKind::Await),
        ],
        events: events.map(event).collect(),
        files: vec![file],
    };
    History {
        accepted: vec![Accepted {
            run,
            jobs: vec![id(A), id(B), id(C), id(D)],
        }],
        runs: BTreeMap::from([(run, told)]),
        marks: marks(),
    }
}

#[test]
fn a_history_in_which_everything_was_kept_is_counted_and_not_complained_of() {
    let report = check(&story());
    assert_eq!(report.complaints, []);
    let counts = Counts {
        runs: 1,
        accepted: 4,
        jobs: 5,
        handed_out: 1,
        ends: BTreeMap::from([("succeeded", 5)]),
        events: 28,
        marks: 21,
        attempts: 8,
        fenced: 1,
        late: 2,
        refused: 0,
        failed: 1,
        given_back: 0,
        repeated: 1,
        joins: 1,
        widest: 2,
        edges: 2,
        releases: 2,
        files: 1,
        tokens: 30,
        bounded: 1,
    };
    assert_eq!(report.counts, counts);
}

#[test]
fn each_tampering_is_complained_of_by_its_own_name() {
    for tampering in Tampering::ALL {
        let tampered = tampering
            .of(&story())
            .unwrap_or_else(|| panic!("no place for {tampering:?}"));
        let report = check(&tampered);
        assert!(
            report.complains_of(tampering.breaks()),
            "{tampering:?} was overlooked: {:?}",
            report.complaints
        );
    }
}

#[test]
fn what_an_acknowledged_attempt_wrote_is_told_from_what_a_fenced_one_did() {
    let mut history = story();
    for told in history.runs.values_mut() {
        told.files[0].sha256 = "hash of 1".to_owned();
    }
    let complaints = check(&history).complaints;
    let [complaint] = &complaints[..] else {
        panic!("{complaints:?}")
    };
    let text = format!("FileOfHolder: a.md of {} is not what attempt Some(2) wrote", id(A));
    assert_eq!(complaint.to_string(), text);
}
