//! The loop against a store, with models that are made up.

mod crash;
mod delegation;
mod models;
mod scripts;
mod steering;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use legwork_shared::agent::{AgentSpec, Message, ModelReply, ModelRequest, RunnerSpec, StopReason, ToolCall};
use legwork_shared::budget::{JobLimits, RunLimits, Usage};
use legwork_shared::clock::entropy;
use legwork_shared::id::{RunId, WorkerId};
use legwork_shared::job::{Command, FailReason, Job, JobResult, JobState, Outcome, Verdict};
use legwork_shared::plan::{Plan, PlannedJob};
use legwork_shared::store::{ClaimRequest, Store};
use legwork_shared::submit::DEFAULT_QUEUE;
use serde_json::{Value, json};

use super::{AgentRunner, FindModel, FoundModel, Workshop};
use crate::attempt::Attempt;
use crate::model::{ChatModel, Delta, ErrorClass, ModelConfigError, ModelError, ModelErrorCode};
use crate::runner::Runner;
use crate::runner::scripted::Scripted;
use crate::testing::Bench;
use crate::tool::{ToolBox, ToolLimits};

/// What a made-up model does when it is asked.
pub enum Act {
    Reply(ModelReply),
    Fail(ModelError),
    /// Never answers; whoever waits is told by `asked`.
    Hang,
}

/// A model that acts as it is told, and remembers what it was asked.
#[derive(Default)]
pub struct Puppet {
    acts: Mutex<VecDeque<Act>>,
    requests: Mutex<Vec<ModelRequest>>,
    asked: tokio::sync::Notify,
}

impl Puppet {
    pub fn new(acts: Vec<Act>) -> Arc<Self> {
        Arc::new(Self {
            acts: Mutex::new(acts.into()),
            ..Self::default()
        })
    }

    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

#[async_trait]
impl ChatModel for Puppet {
    async fn chat(
        &self,
        request: &ModelRequest,
        _on_delta: &(dyn for<'a> Fn(Delta<'a>) + Send + Sync),
    ) -> Result<ModelReply, ModelError> {
        self.requests.lock().unwrap().push(request.clone());
        self.asked.notify_one();
        let act = self.acts.lock().unwrap().pop_front();
        match act.expect("the model was asked more often than expected") {
            Act::Reply(reply) => Ok(reply),
            Act::Fail(error) => Err(error),
            Act::Hang => std::future::pending().await,
        }
    }
}

/// Made-up models by name; any other name is not configured.
#[derive(Clone, Default)]
pub struct Puppets(BTreeMap<String, Arc<Puppet>>);

impl Puppets {
    pub fn one(acts: Vec<Act>) -> (Self, Arc<Puppet>) {
        let puppet = Puppet::new(acts);
        (Self::default().with("usual", &puppet), puppet)
    }

    pub fn with(mut self, name: &str, puppet: &Arc<Puppet>) -> Self {
        self.0.insert(name.to_owned(), Arc::clone(puppet));
        self
    }
}

impl FindModel for Puppets {
    fn find(&self, name: Option<&str>) -> Result<FoundModel, ModelConfigError> {
        let name = name.unwrap_or("usual");
        let puppet = self.0.get(name).ok_or(ModelConfigError::NothingConfigured)?;
        Ok(FoundModel {
            chat: Arc::<Puppet>::clone(puppet),
            name: name.to_owned(),
            price: None,
        })
    }
}

/// A bench with the runners under test.
pub struct World {
    pub bench: Bench,
    agent: AgentRunner,
    scripted: Scripted,
}

impl World {
    pub fn new(puppets: Puppets) -> Self {
        let workshop = Arc::new(Workshop::new(ToolBox::standard(), ToolLimits::default()));
        Self {
            bench: Bench::new(),
            agent: AgentRunner::new(Arc::new(puppets), Arc::clone(&workshop)),
            scripted: Scripted::new(workshop),
        }
    }

    pub async fn claim(&self) -> Option<Attempt> {
        let request = ClaimRequest {
            worker: WorkerId::new(self.bench.store.now(), entropy()),
            queues: vec![DEFAULT_QUEUE.to_owned()],
            slots: 1,
            lease_ms: 30_000,
            entropy: 7,
        };
        let claimed = self.bench.store.claim(&request).await.unwrap().pop()?;
        Attempt::new(&self.bench.host, claimed)
    }

    pub async fn run(&self, attempt: &Attempt) -> Verdict {
        match attempt.agent().unwrap().runner {
            RunnerSpec::Scripted { .. } => self.scripted.run(attempt).await,
            _ => self.agent.run(attempt).await,
        }
    }

    /// Takes job after job until none is left; time is moved to what is scheduled next.
    pub async fn finish(&self) {
        loop {
            while let Some(attempt) = self.claim().await {
                let verdict = self.run(&attempt).await;
                attempt.settle(verdict).await.unwrap();
            }
            let far = self.bench.store.now() + 24 * 60 * 60 * 1_000;
            let due = self.bench.store.due(far, 100).await.unwrap();
            if due.scheduled.is_empty() {
                return;
            }
            for job in due.scheduled {
                if let legwork_shared::job::Phase::Scheduled { due, .. } = job.phase {
                    self.bench.clock.advance_ms(due.since_ms(self.bench.store.now()));
                }
                self.bench.command(job.id, &Command::Due).await;
            }
        }
    }

    /// The jobs of a run by name.
    pub async fn jobs(&self, run: RunId) -> Vec<Job> {
        let query = legwork_shared::store::JobQuery {
            run: Some(run),
            limit: 1_000,
            ..Default::default()
        };
        let mut jobs = self.bench.store.jobs(&query).await.unwrap().items;
        jobs.sort_by(|one, other| one.spec.name.cmp(&other.spec.name));
        jobs
    }
}

/// A plan of one job named `job`, done by `agents`' first.
pub fn plan(agents: Vec<AgentSpec>) -> Plan {
    Plan {
        jobs: vec![PlannedJob {
            id: "job".to_owned(),
            agent: Some(agents[0].name.clone()),
            description: "Do it.".to_owned(),
            ..PlannedJob::default()
        }],
        agents: agents.into_iter().map(|agent| (agent.name.clone(), agent)).collect(),
        ..Plan::default()
    }
}

pub fn agent(name: &str) -> AgentSpec {
    AgentSpec {
        name: name.to_owned(),
        description: format!("the {name}"),
        prompt: "Work.".to_owned(),
        ..AgentSpec::default()
    }
}

pub fn scripted(name: &str, script: &str, agents: &[&str]) -> AgentSpec {
    AgentSpec {
        runner: RunnerSpec::Scripted {
            script: script.to_owned(),
        },
        agents: Some(agents.iter().map(|name| (*name).to_owned()).collect()),
        ..agent(name)
    }
}

pub fn says(text: &str) -> Act {
    Act::Reply(ModelReply {
        text: text.to_owned(),
        calls: Vec::new(),
        stop: StopReason::End,
        usage: Usage {
            input_tokens: 100,
            output_tokens: 10,
            model_calls: 1,
            ..Usage::default()
        },
        model: "puppet".to_owned(),
    })
}

pub fn calls(list: &[(&str, &str, Value)]) -> Act {
    let Act::Reply(mut reply) = says("") else {
        unreachable!()
    };
    reply.stop = StopReason::ToolCalls;
    reply.calls = list
        .iter()
        .map(|(id, name, arguments)| ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: arguments.to_string(),
        })
        .collect();
    Act::Reply(reply)
}

pub fn fails(class: ErrorClass) -> Act {
    Act::Fail(ModelError {
        class,
        code: ModelErrorCode::Overloaded,
        status: Some(529),
        message: "no capacity".to_owned(),
        partial: String::new(),
        usage: None,
    })
}

pub fn result_of(job: &Job) -> JobResult {
    match job.phase.outcome() {
        Some(Outcome::Succeeded { result }) => result.clone(),
        other => panic!("{} has not succeeded: {other:?}", job.spec.name),
    }
}

pub fn error_of(job: &Job) -> legwork_shared::job::JobError {
    match job.phase.outcome() {
        Some(Outcome::Failed { error }) => error.clone(),
        other => panic!("{} has not failed: {other:?}", job.spec.name),
    }
}
