//! What holds in every state, what must come in the end, and what must happen somewhere so that the rest says something.

use legwork_shared::budget::Counter;
use legwork_shared::job::{FailReason, Job, JobState, Outcome};
use stateright::{Model as _, Property};

use super::life::{Action, Holder, Life, Message, State, TOKENS_MAX};
use super::records::Broken;

pub const ONE_END: &str = "a generation of a job ends once and then stays as it is";
pub const NO_EARLY_RELEASE: &str = "no job is released before what it needs has ended as needed";
pub const ONE_RELEASE: &str = "a join is released once";
pub const NO_STALE_WRITE: &str = "nothing of an older attempt is written";
pub const WITHIN_BUDGET: &str = "attempts, retries and tokens stay within their budgets";
pub const EXACT_CHARGE: &str = "the run is charged what its jobs have used and reserved";
pub const GOES_ON: &str = "whatever has not ended can go on";
pub const ENDS: &str = "in the end every job has ended";

fn intact(state: &State, promises: &[Broken]) -> bool {
    promises.iter().all(|promise| !state.records.broken.contains(promise))
}

fn within_budget(life: &Life, state: &State) -> bool {
    let records = &state.records;
    let jobs = records.jobs.iter().all(|job| {
        let limits = &job.spec.limits;
        job.failures <= limits.attempts() && job.losses <= limits.losses()
    });
    let bound = |counter| life.run.limits.bound(counter).unwrap_or(u64::MAX);
    jobs && [Counter::Retries, Counter::Tokens]
        .into_iter()
        .all(|counter| records.counter(counter) <= bound(counter))
}

fn exact_charge(state: &State) -> bool {
    let of_jobs: u64 = state
        .records
        .jobs
        .iter()
        .map(|job| {
            let ahead = job.reserved.unwrap_or_default();
            job.usage.total_tokens() + ahead.input_tokens + ahead.output_tokens
        })
        .sum();
    of_jobs == state.records.counter(Counter::Tokens)
}

/// Whether something other than a fault or a person's wish leads on.
fn goes_on(life: &Life, state: &State) -> bool {
    let mut actions = Vec::new();
    life.actions(state, &mut actions);
    state.has_ended()
        || actions.into_iter().any(|action| match action {
            Action::Claim(..) | Action::Tell(..) | Action::Due(_) | Action::Cascade => true,
            // The lease of a worker that is gone lapses in the end.
            Action::Lapse(place) => !state
                .holders()
                .any(|holder| holder.token.job == state.records.jobs[place].id),
            Action::LoseReply(..) | Action::Crash(..) | Action::DeliverLate | Action::Cancel(_) | Action::Retry(_) => {
                false
            }
        })
}

fn any_outcome(state: &State, wanted: impl Fn(&Outcome) -> bool) -> bool {
    state
        .records
        .jobs
        .iter()
        .filter_map(|job| job.phase.outcome())
        .any(wanted)
}

fn failed_for(state: &State, reason: FailReason) -> bool {
    any_outcome(
        state,
        |outcome| matches!(outcome, Outcome::Failed { error } if error.reason == reason),
    )
}

pub fn all() -> Vec<Property<Life>> {
    vec![
        Property::always(ONE_END, |_, state: &State| {
            intact(state, &[Broken::SecondEnd, Broken::ChangeAfterEnd])
        }),
        Property::always(NO_EARLY_RELEASE, |_, state: &State| {
            intact(state, &[Broken::EarlyRelease])
        }),
        Property::always(ONE_RELEASE, |_, state: &State| intact(state, &[Broken::SecondRelease])),
        Property::always(NO_STALE_WRITE, |_, state: &State| intact(state, &[Broken::StaleWrite])),
        Property::always(WITHIN_BUDGET, within_budget),
        Property::always(EXACT_CHARGE, |_, state: &State| exact_charge(state)),
        Property::always(GOES_ON, goes_on),
        Property::eventually(ENDS, |_, state: &State| state.has_ended()),
        Property::sometimes("all jobs succeed", |_, state: &State| {
            let succeeded = |job: &Job| job.state() == JobState::Succeeded;
            state.records.jobs.iter().all(succeeded)
        }),
        Property::sometimes("a worker speaks that has lost its lease", |_, state: &State| {
            state.holders().any(|holder| !state.holds(holder.token))
        }),
        Property::sometimes("a worker does not know that it was heard", |_, state: &State| {
            let written = |message: &Message| state.records.job(message.next().id) == message.next();
            state.holders().filter_map(|holder| holder.said.as_ref()).any(written)
        }),
        Property::sometimes(
            "a crashed worker is heard when its job is another's",
            |_, state: &State| {
                let too_late =
                    |message: &Message| state.records.job(message.next().id).attempt > message.next().attempt;
                state.late.as_ref().is_some_and(too_late)
            },
        ),
        Property::sometimes("a job that takes its workers down is poison", |_, state: &State| {
            failed_for(state, FailReason::Poison)
        }),
        Property::sometimes("the tokens do not suffice", |_, state: &State| {
            let wants = |holder: &Holder| holder.known.journal_len == 0;
            state.records.counter(Counter::Tokens) > TOKENS_MAX / 2 && state.holders().any(wants)
        }),
        Property::sometimes("the retries of the run do not suffice", |_, state: &State| {
            failed_for(state, FailReason::Budget)
        }),
        Property::sometimes("a running job is cancelled", |_, state: &State| {
            let asked = |job: &Job| job.state() == JobState::Cancelled && job.attempt > 0;
            state.records.jobs.iter().any(asked)
        }),
        Property::sometimes("a job is skipped", |_, state: &State| {
            any_outcome(state, |outcome| matches!(outcome, Outcome::Skipped { .. }))
        }),
        Property::sometimes("a retried job succeeds", |_, state: &State| {
            let again = |job: &Job| job.state() == JobState::Succeeded && job.generation > 1;
            state.records.jobs.iter().any(again)
        }),
    ]
}
