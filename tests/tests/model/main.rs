//! Every state that leases, fences, cancels, retries and releases can bring three jobs and two workers into.
//!
//! The checker asks [`legwork_shared::job::apply`] itself for each transition, so that what it visits is what the product
//! does. Workers crash, stall beyond their leases and wake, and replies are lost and asked for again. Time stands still:
//! whatever time may bring (a lapsed lease, a back-off that is over) may come at any moment.
//!
//! `MODEL_FAULTS=1` lets one of each kind of fault come together, which takes minutes and an optimised build.

mod life;
mod properties;
mod records;

use std::collections::BTreeSet;

use legwork_shared::dag::Condition;
use stateright::{Checker, HasDiscoveries, Model};

use life::{Faults, Life};
use records::Flaw;

/// Two jobs side by side, and one that needs both.
const JOIN: [(usize, usize, Condition); 2] = [(0, 2, Condition::Success), (1, 2, Condition::Success)];
/// One job, one that needs its success, and one that makes up for its failure.
const FORK: [(usize, usize, Condition); 2] = [(0, 1, Condition::Success), (0, 2, Condition::Failure)];
/// A chain whose last link runs however the middle one has ended.
const CHAIN: [(usize, usize, Condition); 2] = [(0, 1, Condition::Success), (1, 2, Condition::Finished)];

type Needs = [(usize, usize, Condition); 2];

/// Visits all states that there are with each choice of faults, and prints how many there were. No state may break a
/// promise, and over all choices each thing that should happen somewhere must.
fn check(name: &str, needs: Needs) {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (mut states, mut transitions, mut depth) = (0, 0, 0);
    let mut happened = BTreeSet::new();
    for faults in Faults::to_check() {
        let checked = Life::of(needs, faults).checker().threads(threads).spawn_bfs().join();
        for (property, path) in checked.discoveries() {
            let expectation = &checked.model().property(property).expectation;
            assert!(
                !expectation.discovery_is_failure(),
                "{faults:?} breaks: {property}\n{path}"
            );
            happened.insert(property);
        }
        states += checked.unique_state_count();
        transitions += checked.state_count();
        depth = depth.max(checked.max_depth());
    }
    for property in properties::all() {
        let wanted = !property.expectation.discovery_is_failure();
        assert!(
            !wanted || happened.contains(property.name),
            "it never happens that {}",
            property.name
        );
    }
    println!("{name}: {states} states, {transitions} transitions, at most {depth} steps deep");
}

#[test]
fn a_join_of_two_keeps_every_promise_in_every_state() {
    check("join", JOIN);
}

#[test]
fn a_fork_on_success_and_failure_keeps_every_promise_in_every_state() {
    check("fork", FORK);
}

#[test]
fn a_chain_to_the_end_keeps_every_promise_in_every_state() {
    check("chain", CHAIN);
}

/// The checker finds what each flaw breaks; one that found nothing would prove nothing.
#[test]
fn a_flawed_engine_is_found_out() {
    for (flaw, promise) in [
        (Flaw::ForgetsVersions, properties::ONE_END),
        (Flaw::ForgetsVersions, properties::NO_STALE_WRITE),
        (Flaw::ReleasesEarly, properties::NO_EARLY_RELEASE),
        (Flaw::ForgetsToRelease, properties::GOES_ON),
        (Flaw::ForgetsBounds, properties::WITHIN_BUDGET),
    ] {
        let finds = |faults| {
            let wanted = HasDiscoveries::AllOf(BTreeSet::from([promise]));
            let life = Life::of(JOIN, faults).with(flaw);
            let checked = life.checker().finish_when(wanted).spawn_bfs().join();
            checked.discovery(promise).is_some()
        };
        let found = Faults::to_check().into_iter().any(finds);
        assert!(found, "{flaw:?} should break: {promise}");
    }
}
