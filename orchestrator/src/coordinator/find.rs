//! What a person means by an id: a whole one, a unique beginning, a name in a run, or `last`.

use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::store::{JobQuery, RunQuery};

use super::Coordinator;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A run.
    Run(RunId),
    /// A job.
    Job(JobId),
}

/// How many ids a fault lists.
const SHOWN: usize = 5;

/// The fault for an id that nothing has.
pub(super) fn unknown(reference: &str) -> Fault {
    let reference: String = reference.chars().take(80).collect();
    Fault::new(
        Code::UnknownId,
        format!("nothing is called `{reference}`"),
        "see `legwork list` and `legwork list --jobs`",
    )
}

impl Coordinator {
    /// The run or job that `reference` means: `last`, an id, the unique beginning of one, `RUN/NAME`, or the name of a
    /// job in the newest run.
    ///
    /// # Errors
    /// [`Code::UnknownId`] or [`Code::AmbiguousId`].
    pub async fn find(&self, reference: &str) -> Result<Target, Fault> {
        if reference == "last" {
            return self.last().await.map(Target::Run);
        }
        if let Some((run, name)) = reference.split_once('/')
            && let Ok(run) = self.run_of(run).await
        {
            return self
                .named(run, name)
                .await?
                .map(Target::Job)
                .ok_or_else(|| unknown(reference));
        }
        match self.beginning(reference).await {
            Err(fault) if fault.code == Code::UnknownId => {
                let run = self.last().await.map_err(|_| unknown(reference))?;
                self.named(run, reference)
                    .await?
                    .map(Target::Job)
                    .ok_or_else(|| unknown(reference))
            }
            answer => answer,
        }
    }

    /// The run that `reference` means; of a job, the run it belongs to.
    ///
    /// # Errors
    /// As [`Coordinator::find`].
    pub async fn find_run(&self, reference: &str) -> Result<RunId, Fault> {
        match self.find(reference).await? {
            Target::Run(run) => Ok(run),
            Target::Job(job) => Ok(self.store.job(job).await?.ok_or_else(|| unknown(reference))?.run),
        }
    }

    /// The job that `reference` means.
    ///
    /// # Errors
    /// As [`Coordinator::find`]; a run with more than one job is [`Code::AmbiguousId`].
    pub async fn find_job(&self, reference: &str) -> Result<JobId, Fault> {
        let run = match self.find(reference).await? {
            Target::Job(job) => return Ok(job),
            Target::Run(run) => run,
        };
        let query = JobQuery {
            run: Some(run),
            limit: SHOWN + 1,
            ..JobQuery::default()
        };
        let jobs = self.store.jobs(&query).await?.items;
        match jobs.as_slice() {
            [job] => Ok(job.id),
            jobs => {
                let names: Vec<String> = jobs
                    .iter()
                    .take(SHOWN)
                    .map(|job| format!("{reference}/{}", job.spec.name))
                    .collect();
                let message = format!("`{reference}` is a run, and a job is wanted");
                Err(Fault::new(
                    Code::AmbiguousId,
                    message,
                    format!("name one of its jobs: {}", names.join(", ")),
                ))
            }
        }
    }

    /// The run of the part before the slash.
    async fn run_of(&self, reference: &str) -> Result<RunId, Fault> {
        if reference == "last" {
            return self.last().await;
        }
        match self.beginning(reference).await? {
            Target::Run(run) => Ok(run),
            Target::Job(_) => Err(unknown(reference)),
        }
    }

    async fn last(&self) -> Result<RunId, Fault> {
        let query = RunQuery {
            tenant: self.tenant.clone(),
            before: None,
            limit: 1,
        };
        let page = self.store.runs(&query).await?;
        let none = || Fault::new(Code::UnknownId, "there is no run yet", "start one with `legwork run`");
        page.items.first().map(|view| view.run.id).ok_or_else(none)
    }

    async fn named(&self, run: RunId, name: &str) -> Result<Option<JobId>, Fault> {
        let query = JobQuery {
            run: Some(run),
            name: Some(name.to_owned()),
            limit: 1,
            ..JobQuery::default()
        };
        Ok(self.store.jobs(&query).await?.items.first().map(|job| job.id))
    }

    /// What has the id that begins so.
    async fn beginning(&self, reference: &str) -> Result<Target, Fault> {
        let prefixes = if reference.contains('_') {
            vec![reference.to_owned()]
        } else {
            vec![
                format!("{}_{reference}", RunId::PREFIX),
                format!("{}_{reference}", JobId::PREFIX),
            ]
        };
        let mut found = Vec::new();
        for prefix in prefixes.iter().filter(|prefix| prefix.len() > RunId::PREFIX.len() + 1) {
            let matches = self.store.resolve(prefix, SHOWN + 1).await?;
            found.extend(matches.runs.into_iter().map(Target::Run));
            found.extend(matches.jobs.into_iter().map(Target::Job));
        }
        match found.as_slice() {
            [] => Err(unknown(reference)),
            [one] => Ok(*one),
            many => {
                let ids: Vec<String> = many.iter().take(SHOWN).map(Target::to_string).collect();
                let message = format!("`{reference}` is the beginning of more than one id");
                Err(Fault::new(
                    Code::AmbiguousId,
                    message,
                    format!("give more of it: {}", ids.join(", ")),
                ))
            }
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Run(run) => run.fmt(f),
            Self::Job(job) => job.fmt(f),
        }
    }
}
