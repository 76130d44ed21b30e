//! Handing out work: a job that adds jobs to its own run, and perhaps sleeps until they have ended.

use std::collections::{BTreeMap, BTreeSet};

use legwork_shared::batch::Batch;
use legwork_shared::clock::entropy;
use legwork_shared::dag::{self, Condition, Edge, EdgeKind};
use legwork_shared::id::JobId;
use legwork_shared::job::{BlockedOn, Command, Job, JobSpec, JobState, Verdict, apply};
use legwork_shared::store::JobQuery;
use legwork_shared::submit::{Addition, Parent, add_jobs, check_description};
use legwork_shared::time::Timestamp;

use super::write::{Patience, Written};
use super::{Attempt, AttemptError, Report};

/// What a child waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The child at this place of the same list.
    Sibling(usize),
    /// A job of the run that exists already.
    Job(JobId),
}

/// A job to hand out.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildJob {
    /// What it is asked to do. `parent` and `depth` are set by the submit; its name gets the parent's in front, and a
    /// number behind if it is taken.
    pub spec: JobSpec,
    /// What it waits for.
    pub needs: Vec<(Need, Condition)>,
}

/// A job that was handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Its id.
    pub id: JobId,
    /// Its name in the run.
    pub name: String,
}

/// What the attempt does after it has handed out work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterSubmit {
    /// It goes on; the children run beside it.
    Continue,
    /// It ends in the same commit, and its job sleeps, holding no slot, until all these children have ended.
    Wait,
    /// The same, but only the first so many of these children are waited for; the others run beside it.
    WaitForFirst(usize),
}

impl AfterSubmit {
    /// How many of `children` are waited for.
    fn awaited(self, children: usize) -> usize {
        match self {
            Self::Continue => 0,
            Self::Wait => children,
            Self::WaitForFirst(count) => count.min(children),
        }
    }
}

impl Attempt {
    /// Hands out jobs and writes a report, all in one commit; returns the jobs in the order of `children`.
    ///
    /// After [`AfterSubmit::Wait`] the attempt is over: return [`Verdict::Waiting`], and let the next attempt go on
    /// from the journal with the children's outcomes among its [`Attempt::inputs`].
    ///
    /// # Errors
    /// [`AttemptError::Refused`] where depth, fan-out or the graph forbid it, [`AttemptError::Budget`] where the run
    /// may have no more jobs, [`AttemptError::Cancelled`] for a job that was asked to stop, and those of
    /// [`Attempt::checkpoint`]. Nothing was written in any of these cases.
    ///
    /// # Cancel safety
    /// As [`Attempt::checkpoint`].
    pub async fn submit_children(
        &self,
        children: Vec<ChildJob>,
        report: Report,
        after: AfterSubmit,
    ) -> Result<Vec<Child>, AttemptError> {
        self.submit_children_noted(children, &|_| report.clone(), after).await
    }

    /// [`Self::submit_children`] with a report that names the children: it is made from them before each try to write.
    ///
    /// # Errors
    /// As [`Self::submit_children`].
    ///
    /// # Cancel safety
    /// As [`Attempt::checkpoint`].
    pub async fn submit_children_noted(
        &self,
        children: Vec<ChildJob>,
        report: &(dyn Fn(&[Child]) -> Report + Send + Sync),
        after: AfterSubmit,
    ) -> Result<Vec<Child>, AttemptError> {
        let _writing = self.writing.lock().await;
        self.check_delegation(&children)?;
        let names = self.names(&children).await?;
        let mut patience = Patience::new();
        loop {
            let now = self.host.store.now();
            let job = self.job();
            if job.cancel.is_some() {
                return Err(AttemptError::Cancelled);
            }
            let known = self.needed_jobs(&children, after).await?;
            let ids: Vec<JobId> = (0_u32..)
                .zip(&children)
                .map(|(index, _)| JobId::nth(now, index, entropy()).with_slot(job.run.slot()))
                .collect();
            let additions = self.additions(&children, &names, &ids, &known);
            let handed_out: Vec<Child> = ids
                .into_iter()
                .zip(names.iter().cloned())
                .map(|(id, name)| Child { id, name })
                .collect();
            let report = report(&handed_out);
            let batch = self.children_batch(&job, additions, &report, after, now)?;
            if self.try_write(batch, &mut patience).await? == Written::Yes {
                self.control.applied(&report.applied);
                return Ok(handed_out);
            }
        }
    }

    /// What can be refused without looking at the store.
    fn check_delegation(&self, children: &[ChildJob]) -> Result<(), AttemptError> {
        let refuse = |code, message| Err(AttemptError::Refused { code, message });
        let job = self.job();
        let (depth, fan_out) = (self.run.limits.depth(), job.spec.limits.fan_out());
        if children.is_empty() {
            return refuse("no_jobs", "there is no job to hand out".to_owned());
        }
        if job.spec.depth + 1 > depth {
            let at = job.spec.depth;
            return refuse(
                "depth",
                format!("a job at depth {at} may hand out none: the run's depth limit is {depth}"),
            );
        }
        if children.len() > usize::try_from(fan_out).unwrap_or(usize::MAX) {
            let wanted = children.len();
            return refuse(
                "fan_out",
                format!("{wanted} jobs at once are too many: the limit is {fan_out}"),
            );
        }
        for child in children {
            if let Err(fault) = check_description(&child.spec.description) {
                return refuse("description", fault.to_string());
            }
        }
        check_siblings(children)
    }

    /// The children's names: this job's in front, and a number behind where the name is taken.
    ///
    /// Only this job makes names that begin with its own, and only one attempt at a time, so none is taken meanwhile.
    async fn names(&self, children: &[ChildJob]) -> Result<Vec<String>, AttemptError> {
        let parent = self.job().spec.name.clone();
        let mut taken = BTreeSet::new();
        let mut names = Vec::with_capacity(children.len());
        for child in children {
            let wanted = child.spec.name.trim();
            let base = match wanted.strip_prefix(&parent).and_then(|rest| rest.strip_prefix('/')) {
                Some(_) => wanted.to_owned(),
                None => format!("{parent}/{wanted}"),
            };
            let mut name = base.clone();
            let mut number = 1_u64;
            while taken.contains(&name) || self.exists(&name).await? {
                number += 1;
                name = format!("{base}-{number}");
            }
            taken.insert(name.clone());
            names.push(name);
        }
        Ok(names)
    }

    async fn exists(&self, name: &str) -> Result<bool, AttemptError> {
        let query = JobQuery {
            run: Some(self.run.id),
            name: Some(name.to_owned()),
            limit: 1,
            ..JobQuery::default()
        };
        Ok(!self.host.store.jobs(&query).await?.items.is_empty())
    }

    /// The existing jobs that the children need, as they stand now.
    async fn needed_jobs(
        &self,
        children: &[ChildJob],
        after: AfterSubmit,
    ) -> Result<BTreeMap<JobId, Job>, AttemptError> {
        let needs = children.iter().flat_map(|child| &child.needs);
        let ids: BTreeSet<JobId> = needs
            .filter_map(|(need, _)| match need {
                Need::Job(id) => Some(*id),
                Need::Sibling(_) => None,
            })
            .collect();
        let mut known = BTreeMap::new();
        for id in ids {
            match self.host.store.job(id).await? {
                Some(job) if job.run == self.run.id => known.insert(id, job),
                Some(_) | None => {
                    let message = format!("{id} is not a job of this run");
                    return Err(AttemptError::Refused {
                        code: "unknown_job",
                        message,
                    });
                }
            };
        }
        let open = known.values().any(|job| !job.state().is_terminal());
        if after.awaited(children.len()) > 0 && open {
            let edges = self.host.store.edges(self.run.id).await?;
            check_ring(self.token.job, &edges, known.values())?;
        }
        Ok(known)
    }

    fn additions(
        &self,
        children: &[ChildJob],
        names: &[String],
        ids: &[JobId],
        known: &BTreeMap<JobId, Job>,
    ) -> Vec<Addition> {
        let depth = self.job().spec.depth + 1;
        let addition = |((child, name), id): ((&ChildJob, &String), &JobId)| Addition {
            id: *id,
            spec: JobSpec {
                name: name.clone(),
                parent: Some(self.token.job),
                depth,
                ..child.spec.clone()
            },
            parents: parents_of(child, ids, known),
        };
        children.iter().zip(names).zip(ids).map(addition).collect()
    }

    fn children_batch(
        &self,
        job: &Job,
        additions: Vec<Addition>,
        report: &Report,
        after: AfterSubmit,
        now: Timestamp,
    ) -> Result<Batch, AttemptError> {
        let command = Command::Checkpoint {
            token: self.token,
            report: report.checkpoint(job, self.lease_from(now)),
        };
        let mut transition = apply(job, &command, now).map_err(|refusal| self.refused(refusal))?;
        let mut batch = Batch::at(now);
        let awaited = after.awaited(additions.len());
        if awaited > 0 {
            let command = Command::Settle {
                token: self.token,
                verdict: Verdict::Waiting(BlockedOn::Children),
            };
            let ended = apply(&transition.job, &command, now).map_err(|refusal| self.refused(refusal))?;
            transition = transition.then(ended);
            batch.edges.extend(
                additions
                    .iter()
                    .take(awaited)
                    .map(|child| (self.awaits(child.id), true)),
            );
        }
        batch.transition(transition, &self.run, &[]);
        self.add_report(&mut batch, job, report, now);
        add_jobs(&mut batch, self.run.id, &self.run.limits, additions);
        Ok(batch)
    }

    fn awaits(&self, child: JobId) -> Edge {
        Edge {
            parent: child,
            child: self.token.job,
            condition: Condition::Finished,
            kind: EdgeKind::Await,
        }
    }
}

fn parents_of(child: &ChildJob, ids: &[JobId], known: &BTreeMap<JobId, Job>) -> Vec<Parent> {
    let mut seen = BTreeSet::new();
    let parent = |(need, condition): &(Need, Condition)| {
        let condition = *condition;
        let parent = match need {
            Need::Sibling(place) => Parent {
                id: *ids.get(*place)?,
                condition,
                state: JobState::Queued,
                version: None,
            },
            Need::Job(id) => known.get(id).map(|job| Parent {
                id: *id,
                condition,
                state: job.state(),
                version: Some(job.version),
            })?,
        };
        seen.insert(parent.id).then_some(parent)
    };
    child.needs.iter().filter_map(parent).collect()
}

/// Refuses places that are not there, and rings among the children themselves.
fn check_siblings(children: &[ChildJob]) -> Result<(), AttemptError> {
    let refuse = |code, message| Err(AttemptError::Refused { code, message });
    let labels: Vec<String> = (0..children.len()).map(|place| format!("#{}", place + 1)).collect();
    let mut nodes = Vec::with_capacity(children.len());
    for (label, child) in labels.iter().zip(children) {
        let mut needs = Vec::new();
        for (need, condition) in &child.needs {
            let Need::Sibling(place) = need else { continue };
            match labels.get(*place) {
                Some(sibling) => needs.push((sibling.as_str(), *condition)),
                None => return refuse("unknown_job", format!("there is no job number {}", place + 1)),
            }
        }
        nodes.push(dag::Node { name: label, needs });
    }
    match dag::validate(&nodes, &|_| false) {
        Ok(_) => Ok(()),
        Err(error) => refuse("cycle", error.to_string()),
    }
}

/// Refuses to sleep until a child has ended that needs a job which, over whatever edges, waits for `sleeper` itself.
fn check_ring<'a>(sleeper: JobId, edges: &[Edge], needed: impl Iterator<Item = &'a Job>) -> Result<(), AttemptError> {
    let mut waiting: BTreeMap<JobId, Vec<JobId>> = BTreeMap::new();
    for edge in edges {
        waiting.entry(edge.parent).or_default().push(edge.child);
    }
    let mut reached = BTreeSet::from([sleeper]);
    let mut open = vec![sleeper];
    while let Some(job) = open.pop() {
        for child in waiting.get(&job).into_iter().flatten() {
            if reached.insert(*child) {
                open.push(*child);
            }
        }
    }
    for job in needed {
        if reached.contains(&job.id) && !job.state().is_terminal() {
            let message = format!(
                "job `{}` itself waits for this one: neither could ever go on",
                job.spec.name
            );
            return Err(AttemptError::Refused { code: "cycle", message });
        }
    }
    Ok(())
}
