//! Leases are extended where they hold, and workers learn what they should look at.

use legwork_shared::batch::Batch;
use legwork_shared::id::JobId;
use legwork_shared::job::{self, Command, LeaseToken, UpdateMode};
use legwork_shared::store::{Commit, Extension};

use legwork_tests::make::token;

use crate::world::{LEASE_MS, World};

fn held(token: LeaseToken, version: u64) -> Extension {
    Extension {
        token,
        held: true,
        version,
        cancel: false,
        mail: 0,
    }
}

async fn extend(world: &World, token: LeaseToken, ms: u64) -> Extension {
    let until = world.now() + ms;
    world.store.extend(&[token], until).await.unwrap()[0]
}

pub async fn an_extended_lease_holds_longer_under_the_same_version(world: &World) {
    world.submit_one("a").await;
    let claimed = world.claim_one().await;
    let proof = token(&claimed.job);
    world.clock.advance_ms(1_000);
    assert_eq!(extend(world, proof, LEASE_MS).await, held(proof, claimed.job.version));
    let stored = world.job(proof.job).await;
    let until = stored.phase.lease().unwrap().until;
    assert_eq!((stored.version, until), (claimed.job.version, world.now() + LEASE_MS));
}

pub async fn a_lease_is_never_shortened(world: &World) {
    world.submit_one("a").await;
    let claimed = world.claim_one().await;
    let proof = token(&claimed.job);
    assert_eq!(extend(world, proof, 1).await, held(proof, claimed.job.version));
    assert_eq!(world.job(proof.job).await, claimed.job);
}

pub async fn a_lapsed_lease_that_nobody_took_still_holds(world: &World) {
    world.submit_one("a").await;
    let claimed = world.claim_one().await;
    world.clock.advance_ms(3 * LEASE_MS);
    assert!(extend(world, token(&claimed.job), LEASE_MS).await.held);
    assert_eq!(world.store.due(world.now(), 9).await.unwrap().expired, []);
}

pub async fn the_answers_stand_in_the_order_of_the_tokens(world: &World) {
    for name in ["a", "b", "c"] {
        world.submit_one(name).await;
    }
    let claimed = world.claim(3).await;
    world.succeed(&claimed[1]).await;
    let forged = LeaseToken {
        secret: 1,
        ..token(&claimed[0].job)
    };
    let older = LeaseToken {
        attempt: 0,
        ..token(&claimed[2].job)
    };
    let unknown = LeaseToken {
        job: JobId::nth(world.now(), 777, 0),
        ..forged
    };
    let (ended, good) = (token(&claimed[1].job), token(&claimed[2].job));
    let tokens = [forged, ended, unknown, good, older];
    let answers = world.store.extend(&tokens, world.now() + LEASE_MS).await.unwrap();
    let lost = |token, version| Extension {
        held: false,
        ..held(token, version)
    };
    assert_eq!(
        answers,
        [
            lost(forged, 2),
            lost(ended, 3),
            lost(unknown, 0),
            held(good, 2),
            lost(older, 2)
        ]
    );
    assert_eq!(world.job(claimed[0].job.id).await, claimed[0].job);
}

pub async fn a_worker_learns_of_a_cancel_and_of_mail(world: &World) {
    let (run, job) = world.submit_one("a").await;
    let claimed = world.claim_one().await;
    let proof = token(&claimed.job);
    let (id, mode) = (world.update_id(), UpdateMode::Enqueue);
    let cancel = Command::Cancel {
        by: "a test".to_owned(),
        reason: String::new(),
    };
    for command in [Command::Update { id, mode }, cancel] {
        let stored = world.job(job.id).await;
        let mut batch = Batch::at(world.now());
        batch.transition(job::apply(&stored, &command, world.now()).unwrap(), &run, &[]);
        assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    }
    let expected = Extension {
        cancel: true,
        mail: 1,
        ..held(proof, 4)
    };
    assert_eq!(extend(world, proof, LEASE_MS).await, expected);
}
