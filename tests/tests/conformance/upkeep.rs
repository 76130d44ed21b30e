//! One process at a time leads maintenance, and what has ended can be deleted without a trace.

use legwork_shared::batch::{Batch, FileRecord, JournalEntry, KeyClaim};
use legwork_shared::budget::Counter;
use legwork_shared::dag::Edge;
use legwork_shared::id::{JobId, RunId, WorkerId};
use legwork_shared::job::{Command, Job, Mail, UpdateMode, Verdict};
use legwork_shared::run::{DEFAULT_TENANT, Run};
use legwork_shared::store::{Commit, Due, JobQuery, Lead, StoreError};

use legwork_tests::make::{self, needs};
use serde_json::json;

use crate::world::World;

fn worker(world: &World, n: u32) -> WorkerId {
    WorkerId::nth(world.now(), n, 0)
}

pub async fn the_lead_goes_to_who_asks_first_and_stays_until_it_lapses(world: &World) {
    let [first, second] = [1, 2].map(|n| worker(world, n));
    assert_eq!(world.store.leader().await, Ok(None));
    let until = world.now() + 6_000;
    let lead = Lead { holder: first, until };
    assert_eq!(world.store.lead(first, until).await, Ok(lead));
    world.clock.advance_ms(5_999);
    assert_eq!(world.store.lead(second, world.now() + 6_000).await, Ok(lead));
    assert_eq!(world.store.leader().await, Ok(Some(lead)));
    world.clock.advance_ms(1);
    assert_eq!(world.store.leader().await, Ok(None));
    let lead = Lead {
        holder: second,
        until: world.now() + 6_000,
    };
    assert_eq!(world.store.lead(second, lead.until).await, Ok(lead));
    assert_eq!(world.store.lead(first, world.now() + 9_000).await, Ok(lead));
}

pub async fn a_lead_is_kept_by_asking_again_and_given_up_by_a_moment_that_has_passed(world: &World) {
    let [first, second] = [1, 2].map(|n| worker(world, n));
    for _ in 0..3 {
        let until = world.now() + 6_000;
        let lead = Lead { holder: first, until };
        assert_eq!(world.store.lead(first, until).await, Ok(lead));
        world.clock.advance_ms(5_000);
    }
    world.store.lead(first, world.now()).await.unwrap();
    assert_eq!(world.store.leader().await, Ok(None));
    let until = world.now() + 1;
    assert_eq!(
        world.store.lead(second, until).await,
        Ok(Lead { holder: second, until })
    );
    // Who does not have it has nothing to give up.
    world.store.lead(first, world.now()).await.unwrap();
    assert_eq!(world.store.leader().await.unwrap().unwrap().holder, second);
}

pub async fn of_many_that_ask_for_the_lead_at_once_one_gets_it(world: &World) {
    let until = world.now() + 6_000;
    let asking = (0..8).map(|n| {
        let (store, who) = (world.store.clone(), worker(world, n));
        tokio::spawn(async move { store.lead(who, until).await.unwrap().holder })
    });
    let asking: Vec<_> = asking.collect();
    let mut holders = Vec::new();
    for asked in asking {
        holders.push(asked.await.unwrap());
    }
    let leader = world.store.leader().await.unwrap().unwrap().holder;
    assert!(holders.iter().all(|holder| *holder == leader), "{holders:?}");
}

pub async fn the_newest_event_of_a_run_is_told(world: &World) {
    let (run, _) = world.submit_one("a").await;
    for _ in 0..2 {
        let all = world.store.events(run.id, 0, 99).await.unwrap();
        assert_eq!(world.store.last_event(run.id).await.unwrap().as_ref(), all.last());
        world.clock.advance_ms(5);
        world.claim(1).await;
    }
    let nobody = RunId::nth(world.now(), 900, 0);
    assert_eq!(world.store.last_event(nobody).await, Ok(None));
}

/// Submits a run of two jobs, one after the other, under a key, with something of everything that can be kept of it.
async fn submit_rich(world: &World, key: &str) -> (Run, Vec<Job>) {
    let run = world.keyed_run(DEFAULT_TENANT, key);
    let (parent, child) = (
        world.queued(&run, make::spec("parent")),
        world.blocked(&run, make::spec("child")),
    );
    let mut handed_out = world.queued(&run, make::spec("parent/child"));
    std::sync::Arc::make_mut(&mut handed_out.spec).parent = Some(parent.id);
    let jobs = vec![parent, child, handed_out];
    let edge = needs(&jobs[1], &jobs[0]);
    let mut batch = world.submission(&run, &jobs, &[edge]);
    batch.key = Some(KeyClaim {
        tenant: run.tenant.clone(),
        key: key.to_owned(),
        fingerprint: "f".to_owned(),
        run: run.id,
        job: None,
    });
    let at = world.now();
    for seq in 0..2 {
        batch.journal.push(JournalEntry {
            job: jobs[0].id,
            seq,
            attempt: 1,
            at,
            entry: json!({"reply": seq}),
        });
    }
    batch.mail.push(Mail {
        id: world.update_id(),
        job: jobs[1].id,
        text: "unread".to_owned(),
        data: None,
        mode: UpdateMode::Enqueue,
        at,
    });
    batch.files.push(FileRecord {
        run: run.id,
        path: "out/a.md".to_owned(),
        sha256: "a".repeat(64),
        size: 3,
        media_type: "text/markdown".to_owned(),
        by: jobs[0].id,
        at,
    });
    batch.cascade.push(jobs[0].id);
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    (run, jobs)
}

/// Works until nothing is left to be claimed.
pub async fn finish_all(world: &World) {
    loop {
        let claimed = world.claim(100).await;
        if claimed.is_empty() {
            return;
        }
        for claimed in claimed {
            world.succeed(&claimed).await;
        }
    }
}

/// Deletes a run as it stands.
pub async fn prune(world: &World, run: RunId) -> Result<(), StoreError> {
    let last = world.store.last_event(run).await.unwrap().map_or(0, |event| event.seq);
    world.store.prune(run, last).await
}

pub async fn an_ended_run_is_deleted_with_all_that_is_kept_of_it(world: &World) {
    let (kept, _) = submit_rich(world, "kept").await;
    let (run, jobs) = submit_rich(world, "k").await;
    finish_all(world).await;
    let before = world.snapshot(kept.id).await;
    let mut changes = world.store.changes();
    changes.mark_unchanged();
    assert_eq!(prune(world, run.id).await, Ok(()));
    assert!(
        changes.has_changed().unwrap(),
        "whoever waits for a change learns of it"
    );

    let nothing = world.snapshot(run.id).await;
    assert_eq!(nothing.view, None);
    assert_eq!((nothing.jobs, nothing.edges, nothing.events), (vec![], vec![], vec![]));
    assert_eq!(nothing.files, []);
    for job in &jobs {
        assert_eq!(world.store.job(job.id).await, Ok(None));
        assert_eq!(world.store.journal(job.id, 0, 9).await, Ok(vec![]));
        assert_eq!(world.store.mail(job.id).await, Ok(vec![]));
        assert_eq!(world.store.dependents(job.id).await, Ok(Vec::<Edge>::new()));
        assert_eq!(world.store.dependencies(job.id).await, Ok(Vec::<Edge>::new()));
    }
    let children = JobQuery {
        parent: Some(jobs[0].id),
        limit: 9,
        ..JobQuery::default()
    };
    assert_eq!(world.store.jobs(&children).await.unwrap().items, []);
    assert_eq!(world.store.last_event(run.id).await, Ok(None));
    assert_eq!(world.store.key("default", "k").await, Ok(None));
    let found = world.store.resolve("run_", 9).await.unwrap().runs;
    assert_eq!(found, [kept.id]);
    let all = JobQuery {
        limit: 99,
        ..JobQuery::default()
    };
    let all = world.store.jobs(&all).await.unwrap().items;
    assert!(all.iter().all(|job| job.run == kept.id) && all.len() == 3, "{all:?}");

    // What is kept of others is as it was, and the key may stand for something new.
    assert_eq!(world.snapshot(kept.id).await, before);
    assert!(world.store.key("default", "kept").await.unwrap().is_some());
    let due: Due = world.store.due(world.now(), 99).await.unwrap();
    assert!(
        due.cascades
            .iter()
            .all(|id| before.jobs.iter().any(|job| job.id == *id))
    );
    let (again, _) = submit_rich(world, "k").await;
    assert_eq!(world.view(again.id).await.counter(Counter::Jobs), 3);
}

pub async fn a_run_that_has_not_ended_or_was_changed_since_stays_whole(world: &World) {
    let (run, _) = submit_rich(world, "k").await;
    let conflict = Err(StoreError::Conflict {
        what: run.id.to_string(),
    });
    let before = world.snapshot(run.id).await;
    assert_eq!(prune(world, run.id).await, conflict);
    assert_eq!(world.snapshot(run.id).await, before);
    finish_all(world).await;
    let looked_at = world.store.last_event(run.id).await.unwrap().unwrap().seq;

    // Meanwhile somebody adds a job, which ends as well.
    let added = world.queued(&run, make::spec("added"));
    let mut batch = Batch::at(world.now());
    make::add_jobs(&mut batch, &run, std::slice::from_ref(&added), &[]);
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    assert_eq!(world.store.prune(run.id, looked_at).await, conflict);
    finish_all(world).await;
    let before = world.snapshot(run.id).await;
    assert_eq!(world.store.prune(run.id, looked_at).await, conflict);
    assert_eq!(world.snapshot(run.id).await, before);
    assert_eq!(prune(world, run.id).await, Ok(()));
}

pub async fn a_run_that_is_gone_is_deleted_without_effect_and_takes_nothing_up_again(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let claimed = world.claim_one().await;
    let token = make::token(&claimed.job);
    let late = world.change(
        &claimed,
        &Command::Settle {
            token,
            verdict: Verdict::Succeeded(make::result("late")),
        },
    );
    world.succeed(&claimed).await;
    for _ in 0..2 {
        assert_eq!(prune(world, run.id).await, Ok(()));
    }
    assert!(world.store.commit(late).await.is_err());
    let mut extended = Batch::at(world.now());
    extended.runs.push(Run {
        version: 2,
        ..run.clone()
    });
    assert!(world.store.commit(extended).await.is_err());
    assert_eq!(world.store.job(job.id).await, Ok(None));
    assert_eq!(world.store.run(run.id).await, Ok(None));
    assert_eq!(
        world.store.prune(RunId::nth(world.now(), 900, 0), 0).await,
        Ok(()),
        "nobody knows it"
    );
}

pub async fn a_long_run_is_deleted_to_its_last_job(world: &World) {
    const JOBS: usize = 2_500;
    let run = world.run();
    let jobs: Vec<Job> = (0..JOBS)
        .map(|_| world.queued(&run, make::spec("one of many")))
        .collect();
    world.submit(&run, &jobs, &[]).await;
    for part in jobs.chunks(500) {
        let mut batch = Batch::at(world.now());
        for job in part {
            let cancel = Command::Cancel {
                by: "a person".to_owned(),
                reason: String::new(),
            };
            let transition = legwork_shared::job::apply(job, &cancel, world.now()).unwrap();
            batch.transition(transition, &run, &[]);
        }
        assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    }
    assert_eq!(prune(world, run.id).await, Ok(()));
    let all = JobQuery {
        limit: 9,
        ..JobQuery::default()
    };
    assert_eq!(world.store.jobs(&all).await.unwrap().items, []);
    let last: JobId = jobs[JOBS - 1].id;
    assert_eq!(world.store.job(last).await, Ok(None));
}
