//! Plans that are accepted, and plans that are not.

use std::sync::Arc;

use super::*;
use crate::agent::AgentSpec;
use crate::job::{JobState, Phase};

fn agents() -> BTreeMap<String, Arc<AgentSpec>> {
    let agent = |name: &str, may: Option<Vec<String>>| {
        (
            name.to_owned(),
            Arc::new(AgentSpec {
                name: name.to_owned(),
                agents: may,
                ..AgentSpec::default()
            }),
        )
    };
    BTreeMap::from([
        agent("coordinator", Some(vec!["researcher".to_owned()])),
        agent("researcher", None),
        agent(DEFAULT_AGENT, None),
    ])
}

fn plan(yaml: &str) -> Plan {
    crate::plan::parse(yaml, "plan.yaml").expect("a plan")
}

fn submit(yaml: &str) -> Result<Submission, Fault> {
    new_run(&plan(yaml), &agents(), "default", Timestamp(1_000), 7)
}

#[test]
fn a_diamond_becomes_one_batch_in_the_order_of_the_plan() {
    let submission = submit(
        "jobs:\n- {id: a, description: x}\n- {id: b, description: x, depends_on: [a]}\n- {id: c, description: x, depends_on: [a]}\n- {id: d, description: x, depends_on: [b, {job: c, on: finished}]}\n",
    )
    .expect("accepted");
    let states: Vec<(&str, JobState)> = submission
        .batch
        .insert
        .iter()
        .map(|job| (job.spec.name.as_str(), job.state()))
        .collect();
    let blocked = JobState::Blocked;
    assert_eq!(
        states,
        [("a", JobState::Queued), ("b", blocked), ("c", blocked), ("d", blocked)]
    );
    assert!(submission.batch.insert.is_sorted_by(|a, b| a.id < b.id));
    assert_eq!(submission.batch.edges.len(), 4);
    assert!(submission.batch.edges.iter().all(|(_, unmet)| *unmet));
    assert_eq!(submission.batch.runs[0].results, [submission.jobs[3].1]);
}

#[test]
fn a_run_keeps_the_agents_its_jobs_can_reach_and_no_others() {
    let submission = submit("jobs: [{id: a, agent: coordinator, description: x}]").expect("accepted");
    let names: Vec<&String> = submission.batch.runs[0].agents.keys().collect();
    assert_eq!(names, ["coordinator", "researcher"]);
}

#[test]
fn bad_plans_are_refused_with_code_and_field() {
    let refused = |yaml: &str| {
        let fault = submit(yaml).expect_err("refused");
        (fault.code, fault.place.unwrap_or_default())
    };
    let place = |field: &str| format!("jobs[0].{field}");
    assert_eq!(refused("jobs: []").0, Code::WrongValue);
    assert_eq!(
        refused("jobs: [{id: a, description: ' '}]"),
        (Code::EmptyPrompt, place("description"))
    );
    assert_eq!(
        refused("jobs: [{id: a, agent: resercher, description: x}]"),
        (Code::UnknownAgent, place("agent"))
    );
    assert_eq!(
        refused("jobs: [{id: a, description: x, depends_on: [a]}]").0,
        Code::SelfEdge
    );
    assert_eq!(
        refused("result: b\njobs: [{id: a, description: x}]"),
        (Code::UnknownDependency, "result".to_owned())
    );
}

#[test]
fn s27_a_job_that_depends_on_finished_jobs_is_queued_at_once() {
    let first = submit("jobs: [{id: a, description: x}, {id: b, description: x}]").expect("accepted");
    let mut run = first.batch.runs[0].clone();
    run.version = 1;
    let mut jobs = first.batch.insert.clone();
    let ended = |outcome| Phase::Ended {
        outcome,
        at: Timestamp(2_000),
    };
    jobs[0].phase = ended(crate::job::Outcome::Succeeded {
        result: crate::job::JobResult::default(),
    });
    jobs[1].phase = ended(crate::job::Outcome::Skipped { cause: jobs[0].id });
    let more = plan("jobs: [{id: c, description: x, depends_on: [a]}, {id: d, description: x, depends_on: [a, b]}]");
    let added = extend_run(&more, &agents(), &run, &jobs, Timestamp(3_000), 9).expect("accepted");
    assert_eq!(
        added.batch.insert.iter().map(Job::state).collect::<Vec<_>>(),
        [JobState::Queued, JobState::Blocked]
    );
    assert_eq!(
        added.batch.cascade,
        [jobs[1].id],
        "the tracker skips what can never run"
    );
    assert_eq!(added.batch.touch, [(jobs[0].id, 1), (jobs[1].id, 1)]);
    assert_eq!(added.batch.runs[0].version, 2);
}

#[test]
fn d03_the_same_job_added_under_the_same_key_is_the_same_job() {
    let first = submit("jobs: [{id: p, description: x, idempotency_key: k}]").expect("accepted");
    let (run, existing) = (first.batch.runs[0].clone(), first.batch.insert.clone());
    let again = |yaml: &str| extend_run(&plan(yaml), &agents(), &run, &existing, Timestamp(3_000), 9);
    let more = again("jobs: [{id: p, description: x, idempotency_key: k}, {id: j, description: y, depends_on: [p]}]");
    let more = more.expect("accepted");
    assert_eq!(more.jobs[0], first.jobs[0]);
    let inserted: Vec<&str> = more.batch.insert.iter().map(|job| job.spec.name.as_str()).collect();
    assert_eq!(inserted, ["j"]);
    let other = again("jobs: [{id: p2, description: z, idempotency_key: k}]");
    assert_eq!(other.map_err(|fault| fault.code), Err(Code::KeyConflict));
}

#[test]
fn a_job_that_only_quotes_is_refused_in_a_run_without_sources() {
    let own = |role: &str, sources: &str| {
        format!(
            "{sources}\nagents: {{mine: {{runner: {{kind: extractive, role: {role}}}}}}}\njobs: [{{id: a, agent: mine, description: x}}]"
        )
    };
    for role in ["researcher", "reviewer"] {
        let fault = submit(&own(role, "")).expect_err("a fault");
        assert_eq!(
            (fault.code, fault.place.as_deref()),
            (Code::Sources, Some("agent `mine`")),
            "{role}"
        );
        assert_eq!(
            submit(&own(role, "sources: []")).expect_err("a fault").code,
            Code::Sources
        );
        submit(&own(role, "sources: [docs]")).expect("accepted");
    }
    submit(&own("writer", "")).expect("it quotes from what others found");

    let first = submit("jobs: [{id: b, description: x}]").expect("accepted");
    let run = &first.batch.runs[0];
    let extend = |more: &str| extend_run(&plan(more), &agents(), run, &first.batch.insert, Timestamp(2_000), 8);
    let fault = extend(&own("researcher", "")).expect_err("a fault");
    assert_eq!(fault.code, Code::Sources);
    let fault = extend(&own("researcher", "sources: [docs]")).expect_err("a run keeps the sources it has");
    assert_eq!(
        (fault.code, fault.place.as_deref()),
        (Code::WrongValue, Some("sources"))
    );
}

#[test]
fn keys_that_tell_nothing_apart_and_ids_that_cannot_be_shown_are_refused() {
    let refused = [
        (
            "idempotency_key: ''\njobs: [{id: a, description: x}]",
            "idempotency_key",
        ),
        (
            "jobs: [{id: a, description: x, idempotency_key: ' '}]",
            "jobs[0].idempotency_key",
        ),
        ("jobs: [{id: \"a\\nb\", description: x}]", "jobs[0].id"),
    ];
    for (text, place) in refused {
        let fault = submit(text).expect_err(text);
        assert_eq!(
            (fault.code, fault.place.as_deref()),
            (Code::WrongValue, Some(place)),
            "{fault}"
        );
    }
}
