//! A commit is all or nothing, and fenced by versions and keys.

use legwork_shared::batch::{Batch, FileRecord, JournalEntry, KeyClaim, NewEvent};
use legwork_shared::budget::Counter;
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{Command, EventKind, Job, JobState, Mail, UpdateMode};
use legwork_shared::run::{DEFAULT_TENANT, Run, RunState};
use legwork_shared::store::{Commit, StoreError};
use legwork_tests::make::{self, add_jobs, charge, event, token};
use serde_json::json;

use crate::world::World;

/// The key of these cases.
const KEY: &str = "order-17";

/// Submits a run that may have the key, with one job that may be claimed.
async fn submit_keyed(world: &World) -> (Run, Job) {
    let run = world.keyed_run(DEFAULT_TENANT, KEY);
    let job = world.queued(&run, make::spec("a"));
    world.submit(&run, std::slice::from_ref(&job), &[]).await;
    (run, job)
}

fn key(run: RunId, fingerprint: &str) -> KeyClaim {
    KeyClaim {
        tenant: DEFAULT_TENANT.to_owned(),
        key: KEY.to_owned(),
        fingerprint: fingerprint.to_owned(),
        run,
        job: None,
    }
}

fn conflict(what: impl std::fmt::Display) -> Result<Commit, StoreError> {
    Err(StoreError::Conflict { what: what.to_string() })
}

/// A batch that gives `job` its next version by a command that any live job takes.
fn update(world: &World, run: &Run, job: &Job) -> Batch {
    let (id, mode) = (world.update_id(), UpdateMode::Enqueue);
    let transition = legwork_shared::job::apply(job, &Command::Update { id, mode }, world.now()).unwrap();
    let mut batch = Batch::at(world.now());
    batch.transition(transition, run, &[]);
    batch
}

pub async fn a_submitted_job_is_claimed_and_settled(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let claimed = world.claim_one().await;
    assert_eq!(*claimed.run, run);
    world.succeed(&claimed).await;
    assert_eq!(world.job(job.id).await.state(), JobState::Succeeded);
    assert_eq!(world.view(run.id).await.state, RunState::Succeeded);
    let started = EventKind::Started {
        attempt: 1,
        worker: world.worker,
    };
    assert_eq!(
        world.log(run.id).await,
        [EventKind::Submitted, EventKind::Queued, started, EventKind::Succeeded]
    );
}

pub async fn the_same_key_and_payload_gives_the_first_run_and_writes_nothing(world: &World) {
    let (first, second) = (
        world.keyed_run(DEFAULT_TENANT, KEY),
        world.keyed_run(DEFAULT_TENANT, KEY),
    );
    let mut batch = world.submission(&first, &[], &[]);
    batch.key = Some(key(first.id, "f1"));
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));

    let mut again = world.submission(&second, &[], &[]);
    again.key = Some(key(second.id, "f1"));
    let replayed = world.store.commit(again).await;
    assert_eq!(replayed, Ok(Commit::Replayed(key(first.id, "f1"))));
    assert_eq!(world.store.run(second.id).await, Ok(None));
    let known = world.store.key(DEFAULT_TENANT, KEY).await;
    assert_eq!(known, Ok(Some(key(first.id, "f1"))));
}

pub async fn the_same_key_with_another_payload_is_refused_and_shows_nothing_of_the_first(world: &World) {
    let (first, second) = (
        world.keyed_run(DEFAULT_TENANT, KEY),
        world.keyed_run(DEFAULT_TENANT, KEY),
    );
    let mut batch = world.submission(&first, &[], &[]);
    batch.key = Some(key(first.id, "f1"));
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));

    let mut other = world.submission(&second, &[], &[]);
    other.key = Some(key(second.id, "f2"));
    let refused = world.store.commit(other).await;
    let expected = StoreError::KeyConflict { key: KEY.to_owned() };
    assert_eq!(refused, Err(expected));
    assert_eq!(world.store.run(second.id).await, Ok(None));
}

pub async fn keys_of_two_tenants_are_two_keys(world: &World) {
    let (first, second) = (world.keyed_run(DEFAULT_TENANT, KEY), world.keyed_run("other", KEY));
    let mut batch = world.submission(&first, &[], &[]);
    batch.key = Some(key(first.id, "f1"));
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));

    let mut other = world.submission(&second, &[], &[]);
    other.key = Some(KeyClaim {
        tenant: "other".to_owned(),
        ..key(second.id, "f2")
    });
    assert_eq!(world.store.commit(other).await, Ok(Commit::Done));
    assert_eq!(world.store.key("third", KEY).await, Ok(None));
}

pub async fn the_key_of_a_job_names_the_job(world: &World) {
    let (run, job) = submit_keyed(world).await;
    let mut batch = Batch::at(world.now());
    let claim = KeyClaim {
        job: Some(job.id),
        ..key(run.id, "f1")
    };
    batch.key = Some(claim.clone());
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    assert_eq!(world.store.key(DEFAULT_TENANT, KEY).await, Ok(Some(claim)));
}

pub async fn a_known_run_or_job_is_not_inserted_again(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let mut again = Batch::at(world.now());
    again.runs.push(run.clone());
    assert_eq!(world.store.commit(again).await, conflict(run.id));

    let mut again = Batch::at(world.now());
    again.insert.push(job.clone());
    assert_eq!(world.store.commit(again).await, conflict(job.id));
}

pub async fn a_replaced_record_is_exactly_one_version_behind(world: &World) {
    let (run, job) = world.submit_one("a").await;
    for version in [0, 1, 3, u64::MAX] {
        let mut batch = Batch::at(world.now());
        batch.put.push(Job { version, ..job.clone() });
        assert_eq!(world.store.commit(batch).await, conflict(job.id), "version {version}");
        let mut batch = Batch::at(world.now());
        batch.runs.push(Run { version, ..run.clone() });
        assert_eq!(world.store.commit(batch).await, conflict(run.id), "version {version}");
    }
    let title = "another title".to_owned();
    let next = Run {
        version: 2,
        title,
        ..run
    };
    let mut batch = update(world, &next, &job);
    batch.runs.push(next.clone());
    let put = batch.put[0].clone();
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    assert_eq!(world.job(job.id).await, put);
    assert_eq!(*world.view(next.id).await.run, next);
}

pub async fn a_job_that_is_not_there_is_neither_replaced_nor_touched(world: &World) {
    let run = world.run();
    let mut stranger = world.queued(&run, make::spec("a"));
    for version in [1, 2] {
        stranger.version = version;
        let mut batch = Batch::at(world.now());
        batch.put.push(stranger.clone());
        assert_eq!(world.store.commit(batch).await, conflict(stranger.id));
    }
    for version in [0, 1] {
        let mut batch = Batch::at(world.now());
        batch.touch.push((stranger.id, version));
        assert_eq!(world.store.commit(batch).await, conflict(stranger.id));
    }
}

pub async fn a_touched_job_gains_a_version_and_nothing_else(world: &World) {
    let (_, job) = world.submit_one("a").await;
    let mut batch = Batch::at(world.now());
    batch.touch.push((job.id, 1));
    assert_eq!(world.store.commit(batch.clone()).await, Ok(Commit::Done));
    assert_eq!(
        world.job(job.id).await,
        Job {
            version: 2,
            ..job.clone()
        }
    );
    assert_eq!(world.store.commit(batch).await, conflict(job.id));
}

pub async fn of_many_commits_on_one_version_one_gets_through(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let batches: Vec<_> = (0..20).map(|_| update(world, &run, &job)).collect();
    let commits = batches.into_iter().map(|batch| {
        let store = world.store.clone();
        tokio::spawn(async move { store.commit(batch).await })
    });
    let mut done = 0;
    for commit in commits.collect::<Vec<_>>() {
        match commit.await.unwrap() {
            Ok(Commit::Done) => done += 1,
            other => assert_eq!(other, conflict(job.id)),
        }
    }
    assert_eq!(done, 1);
    assert_eq!(world.job(job.id).await.version, 2);
}

/// A batch with something of everything.
fn everything(world: &World, run: &Run, job: &Job) -> Batch {
    let mut batch = Batch::at(world.now());
    let added = [world.queued(run, make::spec("b")), world.blocked(run, make::spec("c"))];
    let edge = make::needs(&added[1], &added[0]);
    add_jobs(&mut batch, run, &added, &[edge]);
    batch.runs.push(Run {
        version: 2,
        ..run.clone()
    });
    batch.touch.push((job.id, 1));
    batch.cascade.push(job.id);
    batch.key = Some(key(run.id, "f1"));
    batch.charges.push(charge(run, Counter::Tokens, 5));
    batch.journal.push(JournalEntry {
        job: job.id,
        seq: 0,
        attempt: 1,
        at: world.now(),
        entry: json!({"step": 1}),
    });
    batch.mail.push(Mail {
        id: world.update_id(),
        job: job.id,
        text: "hurry".to_owned(),
        data: None,
        mode: UpdateMode::Enqueue,
        at: world.now(),
    });
    batch.files.push(FileRecord {
        run: run.id,
        path: "notes.md".to_owned(),
        sha256: "0".repeat(64),
        size: 3,
        media_type: "text/markdown".to_owned(),
        by: job.id,
        at: world.now(),
    });
    batch
}

pub async fn a_refused_batch_leaves_no_trace(world: &World) {
    let (run, job) = submit_keyed(world).await;
    let before = world.snapshot(run.id).await;
    let spoil: [fn(&mut Batch, &Job, &Run); 4] = [
        |batch, job, _| batch.touch.push((job.id, 7)),
        |batch, job, _| batch.insert.push(job.clone()),
        |batch, _, _| batch.journal[0].seq = 3,
        |batch, _, run| {
            let mut row = charge(run, Counter::Cost, 1);
            row.charge.must_fit = true;
            row.bound = Some(0);
            batch.charges.push(row);
        },
    ];
    for spoil in spoil {
        let mut batch = everything(world, &run, &job);
        spoil(&mut batch, &job, &run);
        assert!(world.store.commit(batch).await.is_err());
        assert_eq!(world.snapshot(run.id).await, before);
        assert_eq!(world.store.key(DEFAULT_TENANT, KEY).await, Ok(None));
        assert_eq!(world.store.due(world.now(), 9).await.unwrap().cascades, []);
    }
    let whole = everything(world, &run, &job);
    assert_eq!(world.store.commit(whole).await, Ok(Commit::Done));
    assert_eq!(world.snapshot(run.id).await.jobs.len(), 3);
}

pub async fn a_charge_that_must_fit_is_refused_past_its_bound(world: &World) {
    let (run, _) = world.submit_one("a").await;
    let bounded = |add| {
        let mut row = charge(&run, Counter::Tokens, add);
        row.charge.must_fit = true;
        row.bound = Some(10);
        let mut batch = Batch::at(world.now());
        batch.charges.push(row);
        batch
    };
    assert_eq!(world.store.commit(bounded(7)).await, Ok(Commit::Done));
    let exhausted = StoreError::Exhausted {
        counter: Counter::Tokens,
        bound: 10,
        used: 7,
        wanted: 4,
    };
    assert_eq!(world.store.commit(bounded(4)).await, Err(exhausted));
    assert_eq!(world.store.commit(bounded(3)).await, Ok(Commit::Done));
    // Giving back fits at any time.
    assert_eq!(world.store.commit(bounded(-4)).await, Ok(Commit::Done));
    assert_eq!(world.view(run.id).await.counter(Counter::Tokens), 6);
}

pub async fn the_charges_of_a_batch_count_together(world: &World) {
    let (run, _) = world.submit_one("a").await;
    let mut batch = Batch::at(world.now());
    for add in [6, 5] {
        let mut row = charge(&run, Counter::ToolCalls, add);
        row.charge.must_fit = true;
        row.bound = Some(10);
        batch.charges.push(row);
    }
    let exhausted = StoreError::Exhausted {
        counter: Counter::ToolCalls,
        bound: 10,
        used: 6,
        wanted: 5,
    };
    assert_eq!(world.store.commit(batch).await, Err(exhausted));
    assert_eq!(world.view(run.id).await.counter(Counter::ToolCalls), 0);
}

pub async fn other_charges_always_apply_and_no_counter_leaves_its_range(world: &World) {
    let (run, _) = world.submit_one("a").await;
    for (add, expected) in [
        (20, 20),
        (-50, 0),
        (i64::MAX, u64::MAX / 2),
        (i64::MAX, u64::MAX - 1),
        (9, u64::MAX),
    ] {
        let mut row = charge(&run, Counter::Cost, add);
        row.bound = Some(10);
        let mut batch = Batch::at(world.now());
        batch.charges.push(row);
        assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
        assert_eq!(world.view(run.id).await.counter(Counter::Cost), expected);
    }
}

pub async fn a_journal_continues_without_a_gap(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let entry = |seq| JournalEntry {
        job: job.id,
        seq,
        attempt: 1,
        at: world.now(),
        entry: json!({"seq": seq}),
    };
    let append = |seqs: &[u32]| {
        let mut batch = Batch::at(world.now());
        batch.journal.extend(seqs.iter().map(|seq| entry(*seq)));
        world.store.commit(batch)
    };
    let refused = || conflict(format_args!("the journal of {}", job.id));
    assert_eq!(append(&[1]).await, refused());
    assert_eq!(append(&[0, 1]).await, Ok(Commit::Done));
    assert_eq!(append(&[1]).await, refused());
    assert_eq!(append(&[2, 4]).await, refused());
    assert_eq!(append(&[2, 3]).await, Ok(Commit::Done));
    let stored = world.store.journal(job.id, 0, 9).await;
    assert_eq!(stored, Ok((0..4).map(entry).collect()));
    assert_eq!(world.snapshot(run.id).await.journals.len(), 4);
}

pub async fn events_are_numbered_from_one_without_gaps_in_the_order_of_commits(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let (other, _) = world.submit_one("b").await;
    for at in 0..3 {
        world.clock.advance_ms(10);
        let mut batch = Batch::at(world.now());
        let todos = |completed| EventKind::TodosChanged { completed, total: 3 };
        batch.events.push(event(run.id, Some(job.id), todos(at)));
        batch.events.push(event(other.id, None, EventKind::Submitted));
        batch.events.push(event(run.id, None, todos(at)));
        assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    }
    let events = world.store.events(run.id, 0, 99).await.unwrap();
    let numbers: Vec<u64> = events.iter().map(|record| record.seq).collect();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
    let last: Vec<&NewEvent> = events.iter().rev().take(2).map(|record| &record.event).collect();
    assert_eq!((last[0].job, last[1].job), (None, Some(job.id)));
    assert_eq!(events[7].at, world.now());
    let of_other = world.store.events(other.id, 0, 99).await.unwrap();
    assert_eq!(of_other.last().unwrap().seq, 5);
}

pub async fn the_last_writer_of_a_file_wins(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let file = |size| FileRecord {
        run: run.id,
        path: "out/report.md".to_owned(),
        sha256: "a".repeat(64),
        size,
        media_type: "text/markdown".to_owned(),
        by: job.id,
        at: world.now(),
    };
    for size in [1, 2] {
        let mut batch = Batch::at(world.now());
        batch.files.push(file(size));
        assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    }
    assert_eq!(world.store.file(run.id, "out/report.md").await, Ok(Some(file(2))));
    assert_eq!(world.store.file(run.id, "out/report").await, Ok(None));
    assert_eq!(world.store.file(world.run().id, "out/report.md").await, Ok(None));
}

pub async fn mail_stands_in_the_order_it_was_sent_until_it_is_applied(world: &World) {
    let (_, job) = world.submit_one("a").await;
    let mail = |text: &str| Mail {
        id: world.update_id(),
        job: job.id,
        text: text.to_owned(),
        data: Some(json!([1, null])),
        mode: UpdateMode::Interrupt,
        at: world.now(),
    };
    let sent = [mail("one"), mail("two"), mail("three")];
    for update in sent.iter().rev() {
        let mut batch = Batch::at(world.now());
        batch.mail.push(update.clone());
        assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    }
    let [one, two, three] = sent;
    let waiting = world.store.mail(job.id).await;
    assert_eq!(waiting, Ok(vec![three.clone(), two.clone(), one.clone()]));

    let mut batch = Batch::at(world.now());
    batch.mail_applied = vec![
        (job.id, two.id),
        (JobId::nth(world.now(), 900, 0).with_slot(job.id.slot()), one.id),
    ];
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    assert_eq!(world.store.mail(job.id).await, Ok(vec![three, one]));
}

pub async fn nothing_of_an_attempt_that_lost_its_lease_lands(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let first = world.claim_one().await;
    world.clock.advance_ms(60_000);
    let lost = world.change(
        &first,
        &Command::Lose {
            token: token(&first.job),
        },
    );
    assert_eq!(world.store.commit(lost).await, Ok(Commit::Done));
    let second = world.claim_one().await;
    assert_eq!(second.job.attempt, 2);
    let before = world.snapshot(run.id).await;

    // The first attempt wakes up and still believes in its copy of the job.
    let done = legwork_shared::job::Verdict::Succeeded(make::result("late"));
    assert_eq!(world.settle(&first, done).await, conflict(job.id));
    assert_eq!(world.snapshot(run.id).await, before);
}
