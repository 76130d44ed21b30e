//! Crashes: the only process is killed without a warning, again and again, and nothing is lost or paid for twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt as _;
use legwork_shared::job::EventKind;
use legwork_shared::wire::EventView;
use legwork_tests::harness::{Legwork, repository};
use legwork_tests::model_server::{Gate, ModelServer, Outcome, Recorded, Script, Wire};

use crate::team::{ANSWER, CALLS, JOBS, KEY, QUESTION, WIRES, member, member_of, turn};

/// How many moments are tried, unless `LEGWORK_KILLS` says otherwise.
const KILLS: usize = 6;
/// Kills that are tried at the same time: each has processes of its own.
const AT_ONCE: usize = 3;
/// How long a lease lasts: whoever waits for a dead one waits that long.
const LEASE_MS: u64 = 30_000;

/// A moment in the life of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The call of this number, from 1, has arrived and is not answered.
    Asked(usize),
    /// The call of this number is answered in full, and the next one will not be.
    Answered(usize),
}

impl Moment {
    /// All there are: after the last answer the process may end by itself.
    fn all() -> Vec<Self> {
        let mut moments: Vec<Self> = (1..CALLS)
            .flat_map(|call| [Self::Asked(call), Self::Answered(call)])
            .collect();
        moments.push(Self::Asked(CALLS));
        moments
    }

    /// The first call that the doomed process does not get an answer to.
    fn first_held(self) -> usize {
        match self {
            Self::Asked(call) => call,
            Self::Answered(call) => call + 1,
        }
    }

    fn has_come(self, requests: &[Recorded]) -> bool {
        match self {
            Self::Asked(call) => requests.len() >= call,
            Self::Answered(call) => requests
                .get(call - 1)
                .is_some_and(|request| request.outcome == Outcome::Sent),
        }
    }
}

/// Moments spread evenly over the run; the first and the last are always among them.
fn moments() -> Vec<Moment> {
    let all = Moment::all();
    let wanted = std::env::var("LEGWORK_KILLS").map_or(KILLS, |text| text.parse().expect("LEGWORK_KILLS is a number"));
    let count = wanted.clamp(2, all.len());
    (0..count)
        .map(|index| all[index * (all.len() - 1) / (count - 1)])
        .collect()
}

/// Runs the team, kills it at `moment`, and resumes.
async fn survives(wire: Wire, moment: Moment) {
    let (gate, arrived) = (Gate::closed(), Arc::new(AtomicUsize::new(0)));
    let held = gate.clone();
    let script = Script::by(move |asked| {
        let number = arrived.fetch_add(1, Ordering::SeqCst) + 1;
        let turn = turn(asked);
        if number >= moment.first_held() {
            turn.behind(&held)
        } else {
            turn
        }
    });
    let server = ModelServer::start(script.strict()).await;
    let legwork = Legwork::new().with_model(&server, wire, KEY);
    let sources = repository().join("ops/examples/vector-databases").display().to_string();
    // One slot: what is in flight at any moment is one call.
    let run = legwork.spawn(&["run", QUESTION, "--sources", &sources, "--slots", "1"]);
    server.wait_until(|requests| moment.has_come(requests)).await;
    run.crash().await;
    gate.open();

    let resumed = legwork.run(&["resume", "--slots", "1"]).await;
    assert_eq!(resumed.success(), ANSWER, "{moment:?}");
    let calls = server.count();
    assert!((CALLS..=CALLS + 1).contains(&calls), "{calls} calls after {moment:?}");
    let events = legwork.events().await;
    let losses = losses_at_once(&events, longest_wait_ms(&legwork));
    assert!(losses <= 1, "{losses} losses after {moment:?}");
    if matches!(moment, Moment::Asked(_)) {
        assert_eq!((calls, losses), (CALLS + 1, 1), "{moment:?}");
    }
    each_job_ends_once(&events);
}

/// How long nobody may wait for a dead one. On one machine a successor knows at once that it is gone; of another machine, a
/// process is given up when its lease lapses, which it may have renewed right before.
fn longest_wait_ms(legwork: &Legwork) -> u64 {
    if legwork.is_in_a_file() { LEASE_MS } else { 2 * LEASE_MS }
}

/// The number of lost attempts; each was taken back within `longest_ms` of its start.
fn losses_at_once(events: &[EventView], longest_ms: u64) -> usize {
    let mut started = BTreeMap::new();
    let mut losses = 0;
    for event in events {
        match &event.kind {
            EventKind::Started { attempt, .. } => {
                started.insert((event.job, *attempt), event.at_ms);
            }
            EventKind::AttemptLost { attempt, .. } => {
                let waited = event.at_ms.since_ms(started[&(event.job, *attempt)]);
                assert!(waited < longest_ms, "the resume waited for the lease: {waited} ms");
                losses += 1;
            }
            _ => {}
        }
    }
    losses
}

fn each_job_ends_once(events: &[EventView]) {
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for event in events.iter().filter(|event| event.kind.is_terminal()) {
        *ends.entry(event.name.as_deref().unwrap_or_default()).or_default() += 1;
    }
    let expected = JOBS.map(|name| (name, 1)).into();
    assert_eq!(ends, expected);
}

async fn survives_all(wire: Wire) {
    futures::stream::iter(moments())
        .map(|moment| survives(wire, moment))
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<()>>()
        .await;
}

#[tokio::test]
async fn s59_killed_at_any_moment_a_run_goes_on_and_repeats_at_most_one_call_on_the_openai_wire() {
    survives_all(Wire::OpenAi).await;
}

#[tokio::test]
async fn s59_killed_at_any_moment_a_run_goes_on_and_repeats_at_most_one_call_on_the_anthropic_wire() {
    survives_all(Wire::Anthropic).await;
}

#[tokio::test]
async fn s59_a_kill_with_two_calls_in_flight_repeats_those_two_and_no_other() {
    for wire in WIRES {
        let gate = Gate::closed();
        let held = gate.clone();
        let script = Script::by(move |asked| {
            let is_held = ["researcher", "reviewer"].contains(&member(&asked.system));
            if is_held {
                turn(asked).behind(&held)
            } else {
                turn(asked)
            }
        });
        let server = ModelServer::start(script.strict()).await;
        let legwork = Legwork::new().with_model(&server, wire, KEY);
        let sources = repository().join("ops/examples/vector-databases").display().to_string();
        let run = legwork.spawn(&["run", QUESTION, "--sources", &sources]);
        // The coordinator's one and one each of the two.
        server.wait_until(|requests| requests.len() == 3).await;
        run.crash().await;
        gate.open();
        assert_eq!(legwork.run(&["resume"]).await.success(), ANSWER);
        let mut asked: BTreeMap<(&str, u32), usize> = BTreeMap::new();
        for request in server.requests() {
            *asked.entry((member_of(&request), request.turn)).or_default() += 1;
        }
        let repeated: Vec<_> = asked.iter().filter(|(_, times)| **times > 1).collect();
        assert_eq!(repeated, [(&("researcher", 1), &2), (&("reviewer", 1), &2)]);
        assert_eq!(asked.len(), CALLS);
    }
}
