//! Submit, cancel, update, retry and find, with no worker but the test itself.

use std::collections::BTreeMap;

use legwork_shared::fault::Code;
use legwork_shared::job::{EventKind, FailReason, JobError, JobState, Outcome, UpdateMode, Verdict};
use legwork_shared::plan;

use super::sight::Sight;
use super::{CancelAnswer, Scope, Target};
use crate::testing::{World, agents, chain, id_of};

const DIAMOND: &str = "jobs:
- {id: researcher, description: x}
- {id: reviewer, description: x}
- {id: analyst, description: x, depends_on: [researcher, reviewer]}
- {id: writer, description: x, depends_on: [analyst]}
";

fn states(list: &[(&str, JobState)]) -> BTreeMap<String, JobState> {
    list.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect()
}

#[tokio::test]
async fn s21_a_diamond_runs_in_order() {
    let world = World::new();
    let run = world.submit(DIAMOND).await.run;
    assert_eq!(
        world.work(|_| false).await,
        ["researcher", "reviewer", "analyst", "writer"]
    );
    let view = world.store.run(run).await.expect("read").expect("there");
    assert_eq!(view.state, legwork_shared::run::RunState::Succeeded);
}

#[tokio::test]
async fn d22_d23_the_same_key_attaches_and_another_payload_is_refused() {
    let world = World::new();
    let keyed = |text: &str| {
        plan::parse(
            &format!("idempotency_key: k\njobs: [{{id: a, description: {text}}}]"),
            "p",
        )
        .expect("a plan")
    };
    let first = world
        .coordinator
        .submit(&keyed("one"), &agents())
        .await
        .expect("accepted");
    for fails in [false, true] {
        let again = world
            .coordinator
            .submit(&keyed("one"), &agents())
            .await
            .expect("attached");
        assert_eq!(
            (again.run, again.jobs, again.replayed),
            (first.run, first.jobs.clone(), true)
        );
        let other = world
            .coordinator
            .submit(&keyed("two"), &agents())
            .await
            .expect_err("refused");
        assert_eq!(other.code, Code::KeyConflict);
        assert!(
            !other.to_string().contains("one"),
            "nothing of the first payload shows: {other}"
        );
        world.work(|_| fails).await;
    }
    assert_eq!(world.states(first.run).await.len(), 1);
}

#[tokio::test]
async fn d03_jobs_added_to_a_finished_run_start_with_stored_results() {
    let world = World::new();
    let first = world
        .submit("jobs: [{id: p1, description: x, idempotency_key: a}, {id: p2, description: x}]")
        .await;
    world.work(|_| false).await;
    let more = "jobs: [{id: p1, description: x, idempotency_key: a}, {id: j, description: x, depends_on: [p1, p2]}]";
    let more = plan::parse(more, "p").expect("a plan");
    let added = world
        .coordinator
        .add(first.run, &more, &agents())
        .await
        .expect("accepted");
    assert_eq!(added.jobs[0], first.jobs[0]);
    assert_eq!(world.work(|_| false).await, ["j"]);
    let again = world
        .coordinator
        .add(first.run, &more, &agents())
        .await
        .expect_err("`j` has no key of its own");
    assert_eq!(again.code, Code::DuplicateId);
}

#[tokio::test]
async fn d04_what_needs_a_failed_job_is_skipped_and_names_it() {
    use JobState::{Failed, Skipped, Succeeded};
    let world = World::new();
    let run = world
        .submit("jobs: [{id: a, description: x}, {id: b, description: x, depends_on: [a]}, {id: c, description: x, depends_on: [b]}, {id: x, description: x}, {id: d, description: x, depends_on: [a, x]}, {id: r, description: x, depends_on: [{job: a, on: failure}]}, {id: e, description: x, depends_on: [{job: c, on: finished}]}]")
        .await
        .run;
    let started = world.work(|name| name == "a").await;
    assert_eq!(started, ["a", "x", "r", "e"]);
    let expected = [
        ("a", Failed),
        ("b", Skipped),
        ("c", Skipped),
        ("d", Skipped),
        ("e", Succeeded),
        ("r", Succeeded),
        ("x", Succeeded),
    ];
    assert_eq!(world.states(run).await, states(&expected));
    let cause = world.job(run, "a").await.id;
    for name in ["b", "c", "d"] {
        assert_eq!(
            world.job(run, name).await.phase.outcome(),
            Some(&Outcome::Skipped { cause }),
            "{name}"
        );
    }
}

#[tokio::test]
async fn s23_retry_brings_back_what_the_failure_had_skipped() {
    let world = World::new();
    let submitted = world.submit(DIAMOND).await;
    world.work(|name| name == "researcher").await;
    let skipped = world
        .coordinator
        .retry(id_of(&submitted, "analyst"), "test")
        .await
        .expect_err("its parent failed");
    assert_eq!(skipped.code, Code::WrongState);
    let revived = world
        .coordinator
        .retry(id_of(&submitted, "researcher"), "test")
        .await
        .expect("retried");
    let names = ["researcher", "analyst", "writer"].map(|name| id_of(&submitted, name));
    assert_eq!(revived, names);
    assert_eq!(world.work(|_| false).await, ["researcher", "analyst", "writer"]);
    let done = world
        .coordinator
        .retry(id_of(&submitted, "researcher"), "test")
        .await
        .expect_err("it succeeded");
    assert_eq!(done.code, Code::WrongState);
}

#[tokio::test]
async fn a_child_of_two_failed_jobs_comes_back_only_when_both_are_retried() {
    let world = World::new();
    let submitted = world.submit(DIAMOND).await;
    world.work(|name| name.starts_with('r')).await;
    world
        .coordinator
        .retry(id_of(&submitted, "researcher"), "test")
        .await
        .expect("retried");
    assert_eq!(world.work(|_| false).await, ["researcher"]);
    world
        .coordinator
        .retry(id_of(&submitted, "reviewer"), "test")
        .await
        .expect("retried");
    assert_eq!(world.work(|_| false).await, ["reviewer", "analyst", "writer"]);
}

#[tokio::test]
async fn a_retried_job_waits_for_a_parent_that_was_retried_before_it() {
    let world = World::new();
    let plan = "jobs: [{id: a, description: x}, {id: b, description: x, depends_on: [{job: a, on: finished}]}]";
    let submitted = world.submit(plan).await;
    assert_eq!(world.work(|_| true).await, ["a", "b"]);
    for name in ["a", "b"] {
        let retried = world.coordinator.retry(id_of(&submitted, name), "test").await;
        assert_eq!(retried, Ok(vec![id_of(&submitted, name)]));
    }
    let expected = [("a", JobState::Queued), ("b", JobState::Blocked)];
    assert_eq!(world.states(submitted.run).await, states(&expected));
    assert_eq!(world.work(|_| false).await, ["a", "b"]);
}

/// A retry that took a parent for running at one edge and for failed at the next would leave its job waiting for ever: the
/// commit names one version of each.
#[tokio::test]
async fn a_decision_sees_one_version_of_each_job() {
    let world = World::new();
    let submitted = world.submit(DIAMOND).await;
    let researcher = id_of(&submitted, "researcher");
    let mut sight = Sight::of(world.store.as_ref());
    let first = sight.job(researcher).await.expect("read");
    world.claim().await;
    assert_ne!(world.store.job(researcher).await.expect("read"), first);
    assert_eq!(sight.job(researcher).await.expect("read"), first);
}

#[tokio::test]
async fn a_job_at_work_is_not_held_up_by_a_retry_of_what_it_needed() {
    let world = World::new();
    let plan = "jobs: [{id: a, description: x}, {id: b, description: x, depends_on: [{job: a, on: failure}]}]";
    let submitted = world.submit(plan).await;
    let a = world.claim().await;
    let error = JobError::fatal(FailReason::Error, "test", "it failed");
    world.settle(&a[0], Verdict::Failed(error)).await;
    let b = world.claim().await;
    let child = world.sleep_on_a_child(&b[0]).await;
    let retried = world.coordinator.retry(id_of(&submitted, "a"), "test").await;
    assert_eq!(retried, Ok(vec![id_of(&submitted, "a")]));
    assert_eq!(world.work(|_| false).await, [child.as_str(), "a", "b"]);
}

#[tokio::test]
async fn d07_cancel_needs_no_worker_and_says_what_it_did() {
    let world = World::new();
    let submitted = world.submit(DIAMOND).await;
    let running = world.claim().await;
    assert_eq!(running.len(), 2);
    world
        .settle(
            &running[1],
            legwork_shared::job::Verdict::Succeeded(legwork_shared::job::JobResult::default()),
        )
        .await;
    let answers = world
        .coordinator
        .cancel(Target::Run(submitted.run), Scope::Tree, "test", "")
        .await
        .expect("cancelled");
    let answers: Vec<(&str, CancelAnswer)> = answers
        .iter()
        .map(|answer| (answer.name.as_str(), answer.answer))
        .collect();
    let expected = [
        ("researcher", CancelAnswer::Requested),
        ("analyst", CancelAnswer::Cancelled),
        ("writer", CancelAnswer::Cancelled),
    ];
    assert_eq!(answers, expected);
    let done = Target::Job(id_of(&submitted, "reviewer"));
    let answer = world
        .coordinator
        .cancel(done, Scope::Job, "test", "")
        .await
        .expect("answered");
    assert_eq!(answer[0].answer, CancelAnswer::Ended(JobState::Succeeded));
    world
        .settle(
            &running[0],
            legwork_shared::job::Verdict::Succeeded(legwork_shared::job::JobResult::default()),
        )
        .await;
    assert_eq!(
        world.job(submitted.run, "researcher").await.state(),
        JobState::Cancelled,
        "the cancel came first"
    );
}

#[tokio::test]
async fn d05_a_cancelled_parent_never_releases_its_child() {
    let world = World::new();
    let submitted = world
        .submit("jobs: [{id: a, description: x}, {id: b, description: x, depends_on: [a]}]")
        .await;
    let target = Target::Job(id_of(&submitted, "a"));
    world
        .coordinator
        .cancel(target, Scope::Job, "test", "")
        .await
        .expect("cancelled");
    assert_eq!(
        world.states(submitted.run).await,
        states(&[("a", JobState::Cancelled), ("b", JobState::Skipped)])
    );
    assert_eq!(world.work(|_| false).await, Vec::<String>::new());
}

#[tokio::test]
async fn d26_a_failure_reaches_the_end_of_a_long_chain() {
    let world = World::new();
    let run = world.submit(&chain(3_000)).await.run;
    assert_eq!(world.work(|name| name == "n1").await, ["n0", "n1"]);
    let states = world.states(run).await;
    assert_eq!(
        states.values().filter(|state| **state == JobState::Skipped).count(),
        2_998
    );
}

#[tokio::test]
async fn an_update_waits_in_the_mailbox_and_is_refused_once_the_job_has_ended() {
    let world = World::new();
    let submitted = world.submit("jobs: [{id: a, description: x}]").await;
    let job = id_of(&submitted, "a");
    let id = world
        .coordinator
        .update(job, "look at 2026", None, UpdateMode::Interrupt)
        .await
        .expect("taken");
    let mail = world.store.mail(job).await.expect("read");
    assert_eq!(
        mail.iter()
            .map(|mail| (mail.id, mail.text.as_str()))
            .collect::<Vec<_>>(),
        [(id, "look at 2026")]
    );
    let events = world.store.events(submitted.run, 0, 100).await.expect("read");
    let sent = EventKind::UpdateSent {
        update: id,
        mode: UpdateMode::Interrupt,
    };
    assert_eq!(events.last().map(|event| &event.event.kind), Some(&sent));
    world.work(|_| false).await;
    let late = world
        .coordinator
        .update(job, "too late", None, UpdateMode::Enqueue)
        .await
        .expect_err("refused");
    assert_eq!(late.code, Code::WrongState);
    let empty = world
        .coordinator
        .update(job, " ", None, UpdateMode::Enqueue)
        .await
        .expect_err("refused");
    assert_eq!(empty.code, Code::EmptyPrompt);
}

#[tokio::test]
async fn s23_what_needs_a_failed_job_is_held_and_what_a_person_cancelled_is_not() {
    let world = World::new();
    let plan = "{on_failure: hold, jobs: [{id: a, description: x}, {id: b, description: x, depends_on: [a]}, \
        {id: c, description: x, depends_on: [b]}, {id: r, description: x, depends_on: [{job: a, on: failure}]}]}";
    let submitted = world.submit(plan).await;
    assert_eq!(
        world.work(|name| name == "a").await,
        ["a", "r"],
        "a recovery is not held"
    );
    let expected = [
        ("a", JobState::Failed),
        ("b", JobState::Blocked),
        ("c", JobState::Blocked),
        ("r", JobState::Succeeded),
    ];
    assert_eq!(world.states(submitted.run).await, states(&expected));
    let retried = world.coordinator.retry(id_of(&submitted, "a"), "test").await;
    assert_eq!(retried, Ok(vec![id_of(&submitted, "a")]));
    assert_eq!(world.work(|_| false).await, ["a", "b", "c"]);

    let submitted = world.submit(plan).await;
    let target = Target::Job(id_of(&submitted, "a"));
    world
        .coordinator
        .cancel(target, Scope::Job, "test", "")
        .await
        .expect("cancelled");
    let expected = [
        ("a", JobState::Cancelled),
        ("b", JobState::Skipped),
        ("c", JobState::Skipped),
        ("r", JobState::Skipped),
    ];
    assert_eq!(world.states(submitted.run).await, states(&expected));
}
