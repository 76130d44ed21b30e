//! One seed of the simulation: who acts next, who crashes, how far the clock jumps.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use legwork_shared::clock::SimClock;
use legwork_shared::id::RunId;
use legwork_shared::store::Store;
use legwork_tests::chance::Chance;

use super::faulty::{Fate, Faulty};
use super::onlooker::Onlooker;
use super::people;
use super::worker::{LEASE_MS, Worker};

/// Steps in which everything may go wrong; long enough for runs of a dozen jobs to end and be opened again.
const TROUBLED_STEPS: u32 = 500;
/// Steps after which a run in which nothing goes wrong any more must have ended.
const CALM_STEPS: u32 = 6_000;
/// A worker's clock is at most so far behind the others'.
const BEHIND_MS_MAX: u64 = 2_000;

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Worker,
    Maintenance,
    Person,
}

/// Two clean-ups at once must get along, and so must three workers and two people.
const CAST: [Role; 7] = [
    Role::Worker,
    Role::Worker,
    Role::Worker,
    Role::Maintenance,
    Role::Maintenance,
    Role::Person,
    Role::Person,
];

type Acting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What one seed came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub steps: u64,
    pub events: usize,
    pub crashes: u64,
    pub jobs: usize,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.events += other.events;
        self.crashes += other.crashes;
        self.jobs += other.jobs;
    }
}

/// A simulation in progress.
pub struct Simulation {
    store: Arc<dyn Store>,
    clock: Arc<SimClock>,
    fate: Arc<Fate>,
    /// Decides who acts; what an actor does is decided by the fate.
    chance: Chance,
    acting: Vec<Option<Acting>>,
    onlookers: Vec<Onlooker>,
    runs: Vec<RunId>,
    next_worker: u32,
    tally: Tally,
}

impl Simulation {
    /// Lives through one seed.
    ///
    /// # Errors
    /// Which promise was broken.
    pub async fn live(store: Arc<dyn Store>, clock: Arc<SimClock>, seed: u64) -> Result<Tally, String> {
        let mut simulation = Self {
            store,
            clock,
            fate: Fate::of(seed),
            chance: Chance::of(!seed),
            acting: CAST.iter().map(|_| None).collect(),
            onlookers: Vec::new(),
            runs: Vec::new(),
            next_worker: 0,
            tally: Tally::default(),
        };
        simulation.submit().await?;
        for _ in 0..TROUBLED_STEPS {
            simulation.trouble().await?;
        }
        simulation.calm_down().await?;
        Ok(simulation.tally)
    }

    async fn submit(&mut self) -> Result<(), String> {
        let number = u32::try_from(self.runs.len()).unwrap();
        let (run, batch) = people::submission(number, &mut self.chance, self.store.now());
        let answer = self.store.commit(batch).await;
        answer.map_err(|error| format!("a submission was refused: {error}"))?;
        self.runs.push(run.id);
        self.onlookers.push(Onlooker::of(run.id));
        self.look().await
    }

    /// One step in which anything may happen.
    async fn trouble(&mut self) -> Result<(), String> {
        let actor = usize::try_from(self.chance.below(CAST.len() as u64)).unwrap();
        match self.chance.below(60) {
            0 => {
                // A moment, or past every lease and back-off: whoever is in the middle of something was paused.
                self.clock.advance_ms(1 << self.chance.below(18));
                Ok(())
            }
            1 => {
                self.clock.advance_ms(LEASE_MS + 1);
                Ok(())
            }
            2 => {
                self.tally.crashes += u64::from(self.acting[actor].take().is_some());
                Ok(())
            }
            3 if self.runs.len() < 2 => self.submit().await,
            _ => self.act(actor).await,
        }
    }

    /// Lets one actor go on to its next turn, and looks at what came of it.
    async fn act(&mut self, actor: usize) -> Result<(), String> {
        self.tally.steps += 1;
        let mut acting = match self.acting[actor].take() {
            Some(acting) => acting,
            None => self.enter(CAST[actor]),
        };
        let fate = self.fate.clone();
        let ended = std::future::poll_fn(|context| match acting.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(true),
            Poll::Pending if fate.took_pause() => Poll::Ready(false),
            // It waits for the engine.
            Poll::Pending => Poll::Pending,
        })
        .await;
        if !ended {
            self.acting[actor] = Some(acting);
        }
        if self.fate.took_write() {
            self.look().await
        } else {
            Ok(())
        }
    }

    fn enter(&mut self, role: Role) -> Acting {
        let store = Faulty {
            inner: self.store.clone(),
            fate: self.fate.clone(),
            behind_ms: self.chance.below(BEHIND_MS_MAX),
        };
        match role {
            Role::Worker => {
                self.next_worker += 1;
                Box::pin(Worker::new(store, self.next_worker).work())
            }
            Role::Maintenance => Box::pin(people::maintain(Arc::new(store))),
            Role::Person => Box::pin(people::meddle(Arc::new(store), self.runs.clone())),
        }
    }

    async fn look(&mut self) -> Result<(), String> {
        let acknowledged = self.fate.acknowledged();
        for onlooker in &mut self.onlookers {
            onlooker.look(self.store.as_ref(), &acknowledged).await?;
        }
        Ok(())
    }

    /// Nothing goes wrong any more, and nobody meddles: now everything ends.
    async fn calm_down(&mut self) -> Result<(), String> {
        self.fate.calm();
        let busy: Vec<usize> = (0..CAST.len()).filter(|actor| CAST[*actor] != Role::Person).collect();
        for actor in 0..CAST.len() {
            while self.acting[actor].is_some() {
                self.act(actor).await?;
            }
        }
        for step in 0..CALM_STEPS {
            if self.onlookers.iter().all(|onlooker| onlooker.sight().has_ended()) {
                self.tally.events = self.onlookers.iter().map(|onlooker| onlooker.events).sum();
                self.tally.jobs = self.onlookers.iter().map(|onlooker| onlooker.sight().jobs.len()).sum();
                return Ok(());
            }
            let actor = *self.chance.pick(&busy).expect("there are workers");
            self.act(actor).await?;
            if step % 50 == 0 {
                self.clock.advance_ms(LEASE_MS / 2);
            }
        }
        let stuck: Vec<String> = self
            .onlookers
            .iter()
            .map(|onlooker| onlooker.sight().unfinished())
            .collect();
        Err(format!("these never end: {}", stuck.concat()))
    }
}
