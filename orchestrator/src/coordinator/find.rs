//! What a person means by an id: a whole one, a unique beginning, a name in a run, or `last`.

use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::store::{JobQuery, RunQuery};

use super::{Coordinator, PAGE};

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

/// What stands for the newest run.
const LAST: &str = "last";

/// The beginnings of ids that a person may mean: letters may be large, and the kind may be missing.
///
/// # Errors
/// [`Code::UnknownId`] for nothing at all, [`Code::AmbiguousId`] for a kind alone.
fn beginnings(reference: &str) -> Result<Vec<String>, Fault> {
    if reference.trim().is_empty() {
        let help = "name a run or a job; see `legwork list`";
        return Err(Fault::new(Code::UnknownId, "the id is empty", help));
    }
    let lower = reference.to_ascii_lowercase();
    for kind in [RunId::PREFIX, JobId::PREFIX] {
        if lower.strip_prefix(kind) == Some("_") {
            let message = format!("`{reference}` is the beginning of every {kind}'s id");
            let help = "give more of it; see `legwork list` and `legwork list --jobs`";
            return Err(Fault::new(Code::AmbiguousId, message, help));
        }
    }
    if lower.contains('_') {
        return Ok(vec![lower]);
    }
    Ok([RunId::PREFIX, JobId::PREFIX]
        .map(|kind| format!("{kind}_{lower}"))
        .into())
}

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
    /// job in the newest run. Of a name such as `coordinator/researcher` the last parts are enough, where only one job of
    /// the run has them.
    ///
    /// # Errors
    /// [`Code::UnknownId`] or [`Code::AmbiguousId`].
    pub async fn find(&self, reference: &str) -> Result<Target, Fault> {
        if reference == LAST {
            return self.last().await.map(Target::Run);
        }
        if let Some((run, name)) = reference.split_once('/') {
            match self.run_of(run).await {
                Ok(id) => return self.named(id, run, name).await,
                // The name of a child has a slash of its own.
                Err(fault) if fault.code == Code::UnknownId => {}
                Err(fault) => return Err(fault),
            }
        }
        match self.beginning(reference).await {
            Err(fault) if fault.code == Code::UnknownId => {
                let run = self.last().await.map_err(|_| unknown(reference))?;
                let named = self.named(run, LAST, reference).await;
                named.map_err(|fault| match fault.code {
                    Code::UnknownId => unknown(reference),
                    _ => fault,
                })
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
        if reference == LAST {
            return self.last().await;
        }
        match self.beginning(reference).await? {
            Target::Run(run) => Ok(run),
            Target::Job(_) => Err(unknown(reference)),
        }
    }

    async fn last(&self) -> Result<RunId, Fault> {
        let query = RunQuery {
            tenant: Some(self.tenant.clone()),
            before: None,
            limit: 1,
        };
        let page = self.store.runs(&query).await?;
        let none = || Fault::new(Code::UnknownId, "there is no run yet", "start one with `legwork run`");
        page.items.first().map(|view| view.run.id).ok_or_else(none)
    }

    /// The job of `run`, which the person called `run_name`, that has this name, or alone has it as its last parts.
    async fn named(&self, run: RunId, run_name: &str, name: &str) -> Result<Target, Fault> {
        let query = JobQuery {
            run: Some(run),
            name: Some(name.to_owned()),
            limit: 1,
            ..JobQuery::default()
        };
        if let Some(job) = self.store.jobs(&query).await?.items.first() {
            return Ok(Target::Job(job.id));
        }
        match self.ending(run, name).await?.as_slice() {
            [] => Err(unknown(&format!("{run_name}/{name}"))),
            [(job, _)] => Ok(Target::Job(*job)),
            many => {
                let names = many.iter().take(SHOWN).map(|(_, name)| format!("{run_name}/{name}"));
                let message = format!("more than one job of the run is called `{name}`");
                let help = format!("name one of them: {}", names.collect::<Vec<_>>().join(", "));
                Err(Fault::new(Code::AmbiguousId, message, help))
            }
        }
    }

    /// The first few jobs of a run whose names end with `/` and `name`.
    async fn ending(&self, run: RunId, name: &str) -> Result<Vec<(JobId, String)>, Fault> {
        let mut found = Vec::new();
        if name.is_empty() {
            return Ok(found);
        }
        let ending = format!("/{name}");
        let mut query = JobQuery {
            run: Some(run),
            limit: PAGE,
            ..JobQuery::default()
        };
        loop {
            let page = self.store.jobs(&query).await?;
            query.after = page.items.last().map(|job| job.id);
            let fits = page.items.iter().filter(|job| job.spec.name.ends_with(&ending));
            found.extend(fits.map(|job| (job.id, job.spec.name.clone())));
            if !page.more || found.len() > SHOWN {
                return Ok(found);
            }
        }
    }

    /// What has the id that begins so.
    async fn beginning(&self, reference: &str) -> Result<Target, Fault> {
        let mut found = Vec::new();
        for prefix in beginnings(reference)? {
            let matches = self.store.resolve(&prefix, SHOWN + 1).await?;
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

#[cfg(test)]
mod tests;
