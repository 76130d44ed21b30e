//! Chaos of a size for every change: each fault happens once while some hundred jobs run; `--bin chaos` does the same for
//! as long as wanted.

use std::path::PathBuf;
use std::time::Duration;

use legwork_tests::chaos::{Fault, Outcome, Story};
use legwork_tests::checker::{Report, Tampering, check};

fn story(faults: &[Fault]) -> Story {
    Story {
        seed: 11,
        jobs: 600,
        workers: 3,
        shards: 3,
        lasts: Duration::from_secs(20),
        pause: Duration::from_millis(500),
        faults: faults.to_vec(),
        one_round: true,
        lease_ms: 2_000,
        ms_max: 1_500,
        program: PathBuf::from(env!("CARGO_BIN_EXE_chaos-worker")),
    }
}

async fn live(story: &Story) -> (Outcome, Report) {
    let outcome = story.live().await.expect("the story is lived through");
    for (fault, why) in &outcome.impossible {
        println!("skipped: {fault:?}, because {why}");
    }
    let report = check(&outcome.history);
    println!("{}", report.counts);
    (outcome, report)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_fails_nothing_is_lost_and_nothing_counts_twice() {
    let story = story(&Fault::ALL);
    let (outcome, report) = live(&story).await;
    assert_eq!(report.complaints, []);
    assert_eq!(outcome.faults.len() + outcome.impossible.len(), Fault::ALL.len());
    assert!(report.counts.accepted >= story.jobs);
    assert!(report.counts.fenced > 0, "nobody was at work when workers died");
    // A checker that overlooks what was tampered with has proved nothing.
    let mut tampered = 0;
    for tampering in Tampering::ALL {
        let Some(history) = tampering.of(&outcome.history) else {
            continue;
        };
        assert!(
            check(&history).complains_of(tampering.breaks()),
            "{tampering:?} was overlooked"
        );
        tampered += 1;
    }
    assert!(tampered > 15, "only {tampered} kinds of tampering had a place");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_loses_nothing_repeats_nothing_and_waits_for_no_lease() {
    let story = Story {
        // No lease may lapse, however busy the machine is.
        lease_ms: 30_000,
        lasts: Duration::from_secs(8),
        ..story(&[Fault::Roll, Fault::RollAll])
    };
    let (_, report) = live(&story).await;
    assert_eq!(report.complaints, []);
    assert_eq!((report.counts.repeated, report.counts.fenced), (0, 0));
}
