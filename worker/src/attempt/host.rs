//! What the attempts of one worker share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use legwork_shared::run::Run;
use legwork_shared::store::Store;

use crate::workspace::{Artifacts, SourceError, SourceLimits, Sources};

/// The store, the folder of artifacts, and the sources that are open.
pub struct Host {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) artifacts: Artifacts,
    pub(crate) lease_ms: u64,
    /// Walking a large folder takes seconds; the jobs of a run share one walk for as long as one of them runs.
    sources: Mutex<BTreeMap<Vec<String>, Weak<Sources>>>,
}

impl Host {
    /// How long a lease holds: three lost renewals in a row lose a job, and a dead machine's job waits this long.
    pub const LEASE_MS: u64 = 30_000;

    /// What attempts over `store` share, with leases of [`Self::LEASE_MS`].
    #[must_use]
    pub fn new(store: Arc<dyn Store>, artifacts: Artifacts) -> Self {
        Self {
            store,
            artifacts,
            lease_ms: Self::LEASE_MS,
            sources: Mutex::default(),
        }
    }

    /// The same with leases of `lease_ms`.
    #[must_use]
    pub fn with_lease_ms(mut self, lease_ms: u64) -> Self {
        self.lease_ms = lease_ms;
        self
    }

    /// The sources of a run, opened once for all its attempts that run at the same time.
    pub(super) async fn sources(&self, run: &Run) -> Result<Arc<Sources>, SourceError> {
        if run.sources.is_empty() {
            return Ok(Arc::new(Sources::empty()));
        }
        let known = |sources: &BTreeMap<Vec<String>, Weak<Sources>>| sources.get(&run.sources).and_then(Weak::upgrade);
        if let Some(open) = known(&self.sources.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(open);
        }
        let folders: Vec<PathBuf> = run.sources.iter().map(PathBuf::from).collect();
        let opened = tokio::task::spawn_blocking(move || Sources::open(&folders, SourceLimits::default()))
            .await
            .unwrap_or_else(|lost| std::panic::resume_unwind(lost.into_panic()))?;
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.retain(|_, open| open.strong_count() > 0);
        if let Some(open) = known(&sources) {
            return Ok(open);
        }
        let opened = Arc::new(opened);
        sources.insert(run.sources.clone(), Arc::downgrade(&opened));
        Ok(opened)
    }
}
