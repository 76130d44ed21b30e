//! What is asked of a store, and in which order it answers.

use std::collections::BTreeMap;

use legwork_shared::batch::{Batch, FileRecord, JournalEntry};
use legwork_shared::budget::Counter;
use legwork_shared::dag::{Condition, Edge, EdgeKind};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{Command, Job, JobError, Phase, Verdict};
use legwork_shared::run::{Run, RunState};
use legwork_shared::store::{Commit, JobQuery, Match, Page, RunQuery};
use legwork_tests::make::{self, needs};
use serde_json::json;

use crate::world::World;

pub async fn what_is_not_there_is_none_or_empty(world: &World) {
    let (run, job) = (RunId::nth(world.now(), 1, 0), JobId::nth(world.now(), 1, 0));
    let store = &world.store;
    assert_eq!(store.job(job).await, Ok(None));
    assert_eq!(store.run(run).await, Ok(None));
    assert_eq!(store.edges(run).await, Ok(vec![]));
    assert_eq!(store.dependents(job).await, Ok(vec![]));
    assert_eq!(store.dependencies(job).await, Ok(vec![]));
    assert_eq!(store.journal(job, 0, 9).await, Ok(vec![]));
    assert_eq!(store.mail(job).await, Ok(vec![]));
    assert_eq!(store.events(run, 0, 9).await, Ok(vec![]));
    assert_eq!(store.files(run, "").await, Ok(vec![]));
    assert_eq!(store.key("default", "k").await, Ok(None));
    assert_eq!(store.resolve("job_", 9).await, Ok(Match::default()));
    assert_eq!(store.held(world.worker).await, Ok(vec![]));
    assert_eq!(store.workers().await, Ok(vec![]));
    let nothing = Page {
        items: vec![],
        more: false,
    };
    assert_eq!(store.jobs(&JobQuery::default()).await, Ok(nothing));
}

pub async fn runs_of_a_tenant_are_listed_newest_first(world: &World) {
    let mut runs = Vec::new();
    for n in 0..5 {
        let mut run = world.run();
        if n == 2 {
            "other".clone_into(&mut run.tenant);
        }
        world.submit(&run, &[], &[]).await;
        runs.push(run.id);
    }
    let list_of = |tenant: Option<&'static str>, before, limit| async move {
        let query = RunQuery {
            tenant: tenant.map(str::to_owned),
            before,
            limit,
        };
        let page = world.store.runs(&query).await.unwrap();
        (page.items.iter().map(|view| view.run.id).collect::<Vec<_>>(), page.more)
    };
    let list = |before, limit| list_of(Some("default"), before, limit);
    assert_eq!(list(None, 9).await, (vec![runs[4], runs[3], runs[1], runs[0]], false));
    assert_eq!(list(None, 3).await, (vec![runs[4], runs[3], runs[1]], true));
    assert_eq!(list(Some(runs[1]), 3).await, (vec![runs[0]], false));
    assert_eq!(list(Some(runs[0]), 3).await, (vec![], false));
    assert_eq!(list_of(None, Some(runs[4]), 2).await, (vec![runs[3], runs[2]], true));
}

pub async fn the_state_of_a_run_is_that_of_its_result_jobs(world: &World) {
    let mut run = world.run();
    let made = ["a", "b"].map(|name| world.queued(&run, make::spec(name)));
    run.results = vec![made[1].id];
    world.submit(&run, &made, &[]).await;
    let state = || async { world.view(run.id).await.state };
    assert_eq!(state().await, RunState::Active);
    let claimed = world.claim(2).await;
    let error = JobError::fatal(legwork_shared::job::FailReason::Error, "x", "no");
    assert_eq!(
        world.settle(&claimed[0], Verdict::Failed(error)).await,
        Ok(Commit::Done)
    );
    assert_eq!(state().await, RunState::Active);
    world.succeed(&claimed[1]).await;
    assert_eq!(state().await, RunState::Succeeded);
    let view = world.view(run.id).await;
    assert_eq!(view.counters, BTreeMap::from([(Counter::Jobs, 2)]));

    let mut next = run.clone();
    next.version = 2;
    next.results = made.iter().map(|job| job.id).collect();
    let mut batch = Batch::at(world.now());
    batch.runs.push(next.clone());
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    assert_eq!(state().await, RunState::Failed);
    assert_eq!(*world.view(run.id).await.run, next);
}

pub async fn edges_stand_in_the_order_of_their_ends(world: &World) {
    let run = world.run();
    let made: Vec<Job> = ["a", "b", "c", "d"]
        .map(|name| world.blocked(&run, make::spec(name)))
        .to_vec();
    let edge = |parent: usize, child: usize, kind| Edge {
        parent: made[parent].id,
        child: made[child].id,
        condition: Condition::Finished,
        kind,
    };
    let (needed, awaited) = (EdgeKind::Dependency, EdgeKind::Await);
    let wanted = [
        edge(0, 1, needed),
        edge(0, 2, needed),
        edge(0, 2, awaited),
        edge(1, 2, needed),
        edge(0, 3, awaited),
    ];
    let mixed = [3, 1, 4, 0, 2].map(|at: usize| wanted[at]);
    world.submit(&run, &made, &mixed).await;
    let other = world.run();
    let others = ["x", "y"].map(|name| world.blocked(&other, make::spec(name)));
    world.submit(&other, &others, &[needs(&others[1], &others[0])]).await;

    assert_eq!(world.store.edges(run.id).await, Ok(wanted.to_vec()));
    assert_eq!(world.store.dependencies(made[2].id).await, Ok(wanted[1..4].to_vec()));
    let dependents = world.store.dependents(made[0].id).await;
    assert_eq!(dependents, Ok(vec![wanted[0], wanted[1], wanted[2], wanted[4]]));
}

pub async fn a_known_edge_keeps_its_condition(world: &World) {
    let run = world.run();
    let (parent, child) = (
        world.queued(&run, make::spec("p")),
        world.blocked(&run, make::spec("c")),
    );
    let edge = needs(&child, &parent);
    world.submit(&run, &[parent, child], &[edge]).await;
    let mut batch = Batch::at(world.now());
    let condition = Condition::Failure;
    batch.edges.push((Edge { condition, ..edge }, true));
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    assert_eq!(world.store.edges(run.id).await, Ok(vec![edge]));
}

pub async fn journals_and_logs_are_read_in_parts(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let mut batch = Batch::at(world.now());
    let entries: Vec<JournalEntry> = (0..5)
        .map(|seq| JournalEntry {
            job: job.id,
            seq,
            attempt: 1,
            at: world.now(),
            entry: json!({"n": seq}),
        })
        .collect();
    batch.journal.clone_from(&entries);
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    let journal = |from, limit| world.store.journal(job.id, from, limit);
    assert_eq!(journal(0, 2).await, Ok(entries[..2].to_vec()));
    assert_eq!(journal(3, 99).await, Ok(entries[3..].to_vec()));
    assert_eq!(journal(5, 99).await, Ok(vec![]));
    assert_eq!(journal(u32::MAX, usize::MAX).await, Ok(vec![]));
    assert_eq!(journal(0, 0).await, Ok(vec![]));

    let whole = world.store.events(run.id, 0, 99).await.unwrap();
    assert_eq!(whole.len(), 2);
    let events = |after, limit| world.store.events(run.id, after, limit);
    assert_eq!(events(0, 1).await, Ok(whole[..1].to_vec()));
    assert_eq!(events(1, 9).await, Ok(whole[1..].to_vec()));
    assert_eq!(events(2, 9).await, Ok(vec![]));
    assert_eq!(events(u64::MAX, 9).await, Ok(vec![]));
}

pub async fn files_are_listed_by_the_beginning_of_their_path(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let (other, _) = world.submit_one("b").await;
    let paths = [
        "a",
        "a%b",
        "a/b",
        "a/c",
        "a_b",
        "ab",
        "b",
        "ä/x",
        "\u{10ffff}",
        "\u{10ffff}z",
    ];
    let file = |of: &Run, path: &str| FileRecord {
        run: of.id,
        path: path.to_owned(),
        sha256: "f".repeat(64),
        size: u64::MAX,
        media_type: "text/plain".to_owned(),
        by: job.id,
        at: world.now(),
    };
    let mut batch = Batch::at(world.now());
    batch.files.extend(paths.iter().rev().map(|path| file(&run, path)));
    batch.files.push(file(&other, "a/b"));
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    let list = |prefix: &'static str| async move {
        let files = world.store.files(run.id, prefix).await.unwrap();
        files.into_iter().map(|file| file.path).collect::<Vec<_>>()
    };
    assert_eq!(list("").await, paths);
    assert_eq!(list("a").await, &paths[..6]);
    assert_eq!(list("a/").await, ["a/b", "a/c"]);
    assert_eq!(list("a%").await, ["a%b"]);
    assert_eq!(list("a_").await, ["a_b"]);
    assert_eq!(list("ä").await, ["ä/x"]);
    assert_eq!(list("\u{10ffff}").await, &paths[8..]);
    assert_eq!(list("c").await, Vec::<String>::new());
    assert_eq!(world.store.file(run.id, "a%b").await, Ok(Some(file(&run, "a%b"))));
}

pub async fn an_id_is_found_by_its_beginning(world: &World) {
    let mut made = Vec::new();
    for name in ["a", "b", "c"] {
        world.clock.advance_ms(1 << 20);
        made.push(world.submit_one(name).await);
    }
    let runs: Vec<RunId> = made.iter().map(|(run, _)| run.id).collect();
    let jobs: Vec<JobId> = made.iter().map(|(_, job)| job.id).collect();
    let find = |prefix: String, limit| async move { world.store.resolve(&prefix, limit).await.unwrap() };
    let all = |runs: &[RunId], jobs: &[JobId]| Match {
        runs: runs.to_vec(),
        jobs: jobs.to_vec(),
    };
    let whole = jobs[1].to_string();
    assert_eq!(find(whole.clone(), 9).await, all(&[], &jobs[1..2]));
    assert_eq!(find(whole[..12].to_owned(), 9).await, all(&[], &jobs[1..2]));
    assert_eq!(find("job_".to_owned(), 9).await, all(&[], &jobs));
    assert_eq!(find("job_".to_owned(), 2).await, all(&[], &jobs[..2]));
    assert_eq!(find("run_0".to_owned(), 9).await, all(&runs, &[]));
    assert_eq!(find("ru".to_owned(), 9).await, all(&runs, &[]));
    assert_eq!(find(String::new(), 9).await, all(&runs, &jobs));
    for nothing in [
        "x",
        "job-",
        "job_z",
        "job_!",
        "run_7z",
        "jobs_0",
        "JOB_0",
        "job_\u{e9}",
        "\u{1f378}",
    ] {
        assert_eq!(find(nothing.to_owned(), 9).await, Match::default(), "{nothing}");
    }
    assert_eq!(find(format!("{whole}0"), 9).await, Match::default());
}

pub async fn a_replaced_run_is_read_anew(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let claimed = world.claim_one().await;
    assert_eq!(claimed.run.title, "a run");
    let mut next = run.clone();
    next.version = 2;
    "renamed".clone_into(&mut next.title);
    let mut batch = world.change(
        &claimed,
        &Command::Lose {
            token: make::token(&claimed.job),
        },
    );
    batch.runs.push(next.clone());
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    let again = world.claim_one().await;
    assert_eq!((again.job.id, &*again.run), (job.id, &next));
    assert!(matches!(again.job.phase, Phase::Running { .. }));
}
