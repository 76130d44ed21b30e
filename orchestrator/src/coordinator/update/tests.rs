//! Updates that interrupt a sleeping parent, and updates that nobody could read.

use std::collections::BTreeMap;
use std::sync::Arc;

use legwork_shared::agent::{AgentSpec, RunnerSpec};
use legwork_shared::batch::Batch;
use legwork_shared::dag::{Condition, Edge, EdgeKind};
use legwork_shared::fault::Code;
use legwork_shared::id::JobId;
use legwork_shared::job::{BlockedOn, Command, Job, JobResult, JobSpec, JobState, Phase, UpdateMode, Verdict, apply};
use legwork_shared::plan;
use legwork_shared::submit::{Addition, Parent, add_jobs};

use crate::testing::{START, World, id_of};

/// A child that is handed out: its name, whether its answer is awaited, and the sibling it needs.
type Handed<'a> = (&'a str, bool, Option<&'a str>);

impl World {
    /// Lets a running job hand out children and sleep until those that it awaits have ended.
    async fn hand_out(&self, parent: &Job, children: &[Handed<'_>]) -> BTreeMap<String, JobId> {
        let parent = self.store.job(parent.id).await.expect("read").expect("there");
        let view = self.store.run(parent.run).await.expect("read").expect("there");
        let token = parent.phase.lease().expect("running").token;
        let verdict = Verdict::Waiting(BlockedOn::Children);
        let mut batch = Batch::at(self.store.now());
        let transition = apply(&parent, &Command::Settle { token, verdict }, batch.at).expect("applies");
        batch.transition(transition, &view.run, &[]);
        let at = START + 5 + u64::from(parent.spec.depth);
        let ids: BTreeMap<String, JobId> = (0_u32..)
            .zip(children)
            .map(|(index, (name, ..))| ((*name).to_owned(), JobId::nth(at, index, 1)))
            .collect();
        for (name, _, _) in children.iter().filter(|(_, awaited, _)| *awaited) {
            let edge = Edge {
                parent: ids[*name],
                child: parent.id,
                condition: Condition::Finished,
                kind: EdgeKind::Await,
            };
            batch.edges.push((edge, true));
        }
        let addition = |(name, awaited, need): &Handed<'_>| Addition {
            id: ids[*name],
            spec: JobSpec {
                name: format!("{}/{name}", parent.spec.name),
                parent: Some(parent.id),
                depth: parent.spec.depth + 1,
                call: awaited.then(|| format!("call_{name}")),
                ..JobSpec::clone(&parent.spec)
            },
            parents: need
                .map(|need| Parent {
                    id: ids[need],
                    condition: Condition::Success,
                    state: JobState::Queued,
                    version: None,
                })
                .into_iter()
                .collect(),
        };
        let additions = children.iter().map(addition).collect();
        add_jobs(&mut batch, parent.run, &view.run.limits, additions);
        self.store.commit(batch).await.expect("committed");
        ids
    }
}

#[tokio::test]
async fn an_interrupt_of_a_sleeping_parent_cancels_what_it_waits_for_and_wakes_it() {
    let world = World::new();
    let submitted = world.submit("jobs: [{id: boss, description: x}]").await;
    let boss = world.claim().await.remove(0).job;
    let ids = world
        .hand_out(
            &boss,
            &[
                ("done", true, None),
                ("open", true, None),
                ("after", true, Some("open")),
                ("aside", false, None),
            ],
        )
        .await;
    for claimed in world.claim().await {
        if claimed.job.id == ids["done"] {
            world.settle(&claimed, Verdict::Succeeded(JobResult::default())).await;
        }
        if claimed.job.id == ids["open"] {
            world.hand_out(&claimed.job, &[("deep", true, None)]).await;
        }
    }
    let update = world
        .coordinator
        .update(boss.id, "stop, and say what you have", None, UpdateMode::Interrupt)
        .await
        .expect("taken");
    let expected = [
        ("boss", JobState::Queued),
        ("boss/after", JobState::Cancelled),
        ("boss/aside", JobState::Running),
        ("boss/done", JobState::Succeeded),
        ("boss/open", JobState::Cancelled),
        ("boss/open/deep", JobState::Cancelled),
    ];
    let expected: BTreeMap<String, JobState> = expected
        .into_iter()
        .map(|(name, state)| (name.to_owned(), state))
        .collect();
    assert_eq!(world.states(submitted.run).await, expected);
    let mail = world.store.mail(boss.id).await.expect("read");
    assert_eq!(mail.iter().map(|mail| mail.id).collect::<Vec<_>>(), [update]);
}

#[tokio::test]
async fn an_interrupted_parent_wakes_when_its_running_child_has_stopped() {
    let world = World::new();
    let submitted = world.submit("jobs: [{id: boss, description: x}]").await;
    let boss = world.claim().await.remove(0).job;
    world.hand_out(&boss, &[("slow", true, None)]).await;
    let slow = world.claim().await.remove(0);
    world
        .coordinator
        .update(boss.id, "stop", None, UpdateMode::Interrupt)
        .await
        .expect("taken");
    let asked = world.job(submitted.run, "boss/slow").await;
    assert_eq!(asked.cancel.map(|request| request.by), Some("interrupt".to_owned()));
    assert_eq!(world.job(submitted.run, "boss").await.state(), JobState::Blocked);
    world.settle(&slow, Verdict::Cancelled).await;
    assert_eq!(world.job(submitted.run, "boss").await.state(), JobState::Queued);
}

#[tokio::test]
async fn an_update_that_waits_leaves_the_children_alone() {
    let world = World::new();
    let submitted = world
        .submit("jobs: [{id: boss, description: x}, {id: last, description: x, depends_on: [boss]}]")
        .await;
    let boss = world.claim().await.remove(0).job;
    world.hand_out(&boss, &[("child", true, None)]).await;
    world
        .coordinator
        .update(boss.id, "by the way", None, UpdateMode::Enqueue)
        .await
        .expect("taken");
    assert_eq!(world.job(submitted.run, "boss/child").await.state(), JobState::Queued);
    // One that waits for what it depends on has handed out nothing.
    let last = id_of(&submitted, "last");
    world
        .coordinator
        .update(last, "soon", None, UpdateMode::Interrupt)
        .await
        .expect("taken");
    let waits = world.job(submitted.run, "last").await.phase;
    assert!(
        matches!(
            waits,
            Phase::Blocked {
                on: BlockedOn::Dependencies,
                ..
            }
        ),
        "{waits:?}"
    );
}

#[tokio::test]
async fn an_update_to_a_job_that_quotes_without_a_model_is_refused() {
    let world = World::new();
    let role = "researcher".to_owned();
    let agent = AgentSpec {
        name: role.clone(),
        runner: RunnerSpec::Extractive { role: role.clone() },
        ..AgentSpec::default()
    };
    let agents = BTreeMap::from([(role, Arc::new(agent))]);
    let plan = plan::parse(
        "sources: [docs]\njobs: [{id: a, agent: researcher, description: x}]",
        "p",
    )
    .expect("a plan");
    let submitted = world.coordinator.submit(&plan, &agents).await.expect("accepted");
    let job = id_of(&submitted, "a");
    let fault = world
        .coordinator
        .update(job, "look at 2026", None, UpdateMode::Enqueue)
        .await
        .expect_err("refused");
    assert_eq!(fault.code, Code::WrongState);
    assert_eq!(world.store.mail(job).await.expect("read"), []);
}
