//! One story of chaos, from the start of the server to the verdict of the checker.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use legwork_shared::job::JobState;
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_shared::store::{JobQuery, Store};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::task::{JoinHandle, block_in_place};
use tokio::time::{Instant, sleep};

use super::crew::{Place, Station};
use super::disk::Disk;
use super::errand::{Workload, submission};
use super::fault::Fault;
use super::host::Host;
use crate::chance::Chance;
use crate::checker::{Accepted, History, MarkLog};
use crate::cut_proxy::{CutProxy, LOCALHOST, Weather};
use crate::redis_server::RedisServer;

/// The pause between two tries to submit.
const AGAIN: Duration = Duration::from_millis(50);
/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// How long a server whose disk is full may take to notice.
const NOTICE_MAX: Duration = Duration::from_secs(10);
/// How long a worker may take to begin.
const START_MAX: Duration = Duration::from_mins(1);
/// How long a fault waits for somebody at work.
const BUSY_MAX: Duration = Duration::from_secs(2);
/// How long all may take to end when nothing goes wrong any more.
const END_MAX: Duration = Duration::from_mins(2);

/// What is to happen.
#[derive(Debug, Clone)]
pub struct Story {
    /// Decides the plans, and the order of the faults.
    pub seed: u64,
    /// About how many jobs are submitted.
    pub jobs: usize,
    /// How many workers work.
    pub workers: usize,
    /// In how many shards the store is laid out.
    pub shards: u8,
    /// How long jobs are submitted and faults happen.
    pub lasts: Duration,
    /// The quiet time between two faults.
    pub pause: Duration,
    /// What goes wrong, in turn.
    pub faults: Vec<Fault>,
    /// Ends after each fault has happened, even if the time is not over.
    pub one_round: bool,
    /// How long leases hold, in milliseconds.
    pub lease_ms: u64,
    /// How long a job works at most, in milliseconds.
    pub ms_max: u64,
    /// The program of the workers.
    pub program: PathBuf,
}

/// What has happened.
pub struct Outcome {
    /// For the checker.
    pub history: History,
    /// How often each fault did happen.
    pub faults: BTreeMap<Fault, usize>,
    /// Faults that this machine does not let happen, and why.
    pub impossible: BTreeMap<Fault, String>,
    /// Answers that were lost after the server had acted.
    pub lost_answers: usize,
    /// What the workers shared and said; it goes with this.
    pub folder: TempDir,
}

/// What a story stands on. Fields are dropped in this order.
struct Ground {
    places: Vec<Place>,
    lines: Vec<CutProxy>,
    client_line: CutProxy,
    /// For whoever looks on: it does not go through the faults of the network.
    store: RedisStore,
    server: RedisServer,
    disk: Option<Disk>,
    /// Where the last worker works.
    host: Option<Host>,
    folder: TempDir,
    impossible: BTreeMap<Fault, String>,
}

impl Story {
    /// Lives through it, and reads what is left.
    ///
    /// # Errors
    /// What stands in the way of the story, such as a worker that does not end.
    pub async fn live(&self) -> Result<Outcome> {
        let mut ground = Ground::lay(self).await?;
        let submitting = self.submit(&ground).await?;
        let happened = self.suffer(&mut ground).await?;
        let accepted = submitting.await.context("the client broke off")??;
        until_ended(&ground.store).await?;
        for place in 0..ground.places.len() {
            ground.until_begun(place).await?;
        }
        let ending = ground.places.drain(..).map(Place::end);
        futures::future::try_join_all(ending).await?;
        let marks = MarkLog::read(&ground.folder.path().join("marks.jsonl"))?;
        Ok(Outcome {
            history: History::of(&ground.store, accepted, marks).await?,
            faults: happened,
            lost_answers: ground
                .lines
                .iter()
                .chain([&ground.client_line])
                .map(CutProxy::lost)
                .sum(),
            impossible: ground.impossible,
            folder: ground.folder,
        })
    }

    /// What stands behind the server's place in the address of the store.
    fn store(&self) -> String {
        format!("chaos&shards={}", self.shards)
    }

    /// Submits all runs, spread over the time, beside all that happens.
    async fn submit(&self, ground: &Ground) -> Result<JoinHandle<Result<Vec<Accepted>>>> {
        let store = RedisStore::open(&ground.client_line.address(&self.store()), RedisOptions::default()).await?;
        let mut workload = Workload::new(self.seed, self.jobs, self.ms_max);
        // The last tenth of the time is for the jobs that were submitted late.
        let each = self.lasts.mul_f64(0.9) / u32::try_from(self.jobs.max(1))?;
        Ok(tokio::spawn(async move {
            let mut accepted = Vec::new();
            let mut next = Instant::now();
            while let Some((plan, count)) = workload.plan() {
                let submission = submission(&store, plan)?;
                while let Err(error) = store.commit(submission.batch.clone()).await {
                    ensure!(error.is_transient(), "a run was refused: {error}");
                    sleep(AGAIN).await;
                }
                accepted.push(Accepted {
                    run: submission.run,
                    jobs: submission.jobs.into_iter().map(|(_, job)| job).collect(),
                });
                next += each * u32::try_from(count)?;
                tokio::time::sleep_until(next).await;
            }
            Ok(accepted)
        }))
    }

    async fn suffer(&self, ground: &mut Ground) -> Result<BTreeMap<Fault, usize>> {
        let possible = |fault: &&Fault| !ground.impossible.contains_key(fault);
        let faults: Vec<Fault> = self.faults.iter().filter(possible).copied().collect();
        let mut chance = Chance::of(self.seed ^ 0x0b1e);
        let mut happened: BTreeMap<Fault, usize> = BTreeMap::new();
        let end = Instant::now() + self.lasts;
        let rounds = if self.one_round { faults.len() } else { usize::MAX };
        for fault in Fault::sequence(&faults, self.seed).take(rounds) {
            sleep(self.pause).await;
            if !self.one_round && Instant::now() >= end {
                break;
            }
            let place = usize::try_from(chance.below(self.workers as u64))?;
            tracing::info!(?fault, place, "now");
            let inflicted = ground.inflict(fault, place, self.lease_ms).await;
            inflicted.with_context(|| format!("{fault:?} at worker {place}"))?;
            *happened.entry(fault).or_default() += 1;
        }
        Ok(happened)
    }
}

impl Ground {
    async fn lay(plan: &Story) -> Result<Self> {
        let mut impossible = BTreeMap::new();
        let mut wanted = |fault: Fault, why: &anyhow::Error| {
            impossible.insert(fault, format!("{why:#}"));
        };
        let disk = Disk::mount().inspect_err(|error| wanted(Fault::DiskFull, error)).ok();
        let host = Host::make().inspect_err(|error| wanted(Fault::HostCut, error)).ok();
        let dir = disk.as_ref().map(|disk| disk.path().display().to_string());
        // Nothing that was acknowledged may be lost by anything that happens here.
        let mut arguments = vec!["--appendonly", "yes", "--appendfsync", "always"];
        if let Some(dir) = &dir {
            arguments.extend(["--dir", dir]);
        }
        let server = block_in_place(|| RedisServer::start_with(&arguments))?;
        let store = RedisStore::open(&server.address(&plan.store()), RedisOptions::default()).await?;
        let folder = tempfile::Builder::new().prefix("legwork-chaos-").tempdir()?;
        let station = Station {
            program: plan.program.clone(),
            folder: folder.path().to_owned(),
            lease_ms: plan.lease_ms,
            slots: 32,
        };
        let (mut lines, mut places) = (Vec::new(), Vec::new());
        for number in 0..plan.workers {
            let abroad = host.as_ref().filter(|_| number + 1 == plan.workers);
            let listens = abroad.map_or(LOCALHOST, Host::address);
            let line = CutProxy::before(&server.socket(), listens).await?;
            let entry = abroad.map(Host::entry);
            let entry = entry.as_ref().map_or(&[][..], |words| &words[..]);
            places.push(Place::new(&station, number, line.address(&plan.store()), entry)?);
            lines.push(line);
        }
        Ok(Self {
            client_line: CutProxy::before(&server.socket(), LOCALHOST).await?,
            places,
            lines,
            store,
            server,
            disk,
            host,
            folder,
            impossible,
        })
    }

    /// Lets a fault happen, and ends it.
    async fn inflict(&mut self, fault: Fault, place: usize, lease_ms: u64) -> Result<()> {
        let place = self.busy_place(place).await?;
        let beyond = Duration::from_millis(lease_ms * 2);
        match fault {
            Fault::Kill => self.places[place].crash().await?,
            Fault::Pause => {
                self.places[place].signal(Signal::STOP)?;
                sleep(beyond).await;
                self.places[place].signal(Signal::CONT)?;
            }
            Fault::Roll => self.roll(place).await?,
            Fault::RollAll => {
                for place in 0..self.places.len() {
                    self.roll(place).await?;
                }
            }
            Fault::ServerCrash => block_in_place(|| self.server.restart())?,
            Fault::DiskFull => self.fill_disk().await?,
            Fault::Slow => {
                self.lines[place].turn(Weather::Slow(Duration::from_millis(100)));
                sleep(beyond).await;
                self.lines[place].turn(Weather::Fair);
            }
            Fault::Cut => self.lines[place].break_all(),
            Fault::LostAnswers => self.lines[place].cut(5),
            Fault::ClientLostAnswers => self.client_line.cut(2),
            Fault::Silence => {
                self.lines[place].turn(Weather::Silent);
                sleep(beyond).await;
                self.lines[place].turn(Weather::Fair);
            }
            Fault::HostCut => {
                let host = self.host.as_ref().context("there is no other host")?;
                host.cut()?;
                sleep(beyond).await;
                host.mend()?;
            }
        }
        self.replace_fallen()
    }

    /// Asks a worker to end that has begun: before, a signal just ends the process.
    async fn roll(&mut self, place: usize) -> Result<()> {
        self.until_begun(place).await?;
        self.places[place].roll().await
    }

    async fn until_begun(&mut self, place: usize) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < START_MAX {
            let workers = self.store.workers().await?;
            if workers
                .iter()
                .any(|worker| Some(worker.pid) == self.places[place].pid())
            {
                return Ok(());
            }
            self.replace_fallen()?;
            sleep(LOOK).await;
        }
        bail!("worker {place} does not begin")
    }

    /// That place, or the next whose worker holds a job: a fault that meets nobody at work shows little.
    async fn busy_place(&self, place: usize) -> Result<usize> {
        let began = Instant::now();
        while began.elapsed() < BUSY_MAX {
            let workers = self.store.workers().await?;
            for turn in 0..self.places.len() {
                let place = (place + turn) % self.places.len();
                let worker = workers
                    .iter()
                    .find(|worker| Some(worker.pid) == self.places[place].pid());
                if let Some(worker) = worker
                    && !self.store.held(worker.id).await?.is_empty()
                {
                    return Ok(place);
                }
            }
            sleep(LOOK).await;
        }
        Ok(place)
    }

    /// The disk is full until the server has noticed.
    async fn fill_disk(&mut self) -> Result<()> {
        let disk = self.disk.as_ref().context("there is no such disk")?;
        disk.fill()?;
        let began = Instant::now();
        while !self.server.has_ended()? && began.elapsed() < NOTICE_MAX {
            sleep(LOOK).await;
        }
        ensure!(
            self.server.has_ended()?,
            "the server does not mind that its disk is full"
        );
        disk.free()?;
        block_in_place(|| self.server.restart())
    }

    /// Starts workers again that could not start while the server was away, as a service manager does.
    fn replace_fallen(&mut self) -> Result<()> {
        for place in &mut self.places {
            if place.has_ended()? {
                place.again()?;
            }
        }
        Ok(())
    }
}

/// Waits until no job is open.
async fn until_ended(store: &RedisStore) -> Result<()> {
    let open = JobQuery {
        states: JobState::ALL.into_iter().filter(|state| !state.is_terminal()).collect(),
        limit: 5,
        ..JobQuery::default()
    };
    let end = Instant::now() + END_MAX;
    loop {
        let left = store.jobs(&open).await?.items;
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > end {
            // The checker names them.
            tracing::error!(?left, "jobs do not end");
            return Ok(());
        }
        sleep(LOOK * 5).await;
    }
}

/// The program of the workers beside that of the chaos.
///
/// # Errors
/// It is not there.
pub fn worker_program() -> Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("chaos-worker");
    ensure!(
        program.is_file(),
        "{} is not there: build all programs",
        program.display()
    );
    Ok(program)
}
