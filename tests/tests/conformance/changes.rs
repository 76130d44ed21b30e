//! Whoever waits for a change learns of it.

use legwork_shared::batch::Batch;

use legwork_tests::make;

use crate::world::World;

pub async fn a_commit_shows_at_once(world: &World) {
    let mut changes = world.store.changes();
    changes.mark_unchanged();
    let before = *changes.borrow();
    world.submit_one("a").await;
    assert!(
        changes.has_changed().unwrap(),
        "it shows before the commit has returned"
    );
    assert!(*changes.borrow_and_update() > before);
}

pub async fn a_claim_shows_at_once(world: &World) {
    world.submit_one("a").await;
    let mut changes = world.store.changes();
    changes.mark_unchanged();
    world.claim_one().await;
    assert!(changes.has_changed().unwrap());
}

pub async fn what_changes_nothing_wakes_nobody(world: &World) {
    let (run, _) = world.submit_one("a").await;
    let claimed = world.claim_one().await;
    let mut changes = world.store.changes();
    // Reads, empty claims and extensions come and go all the time.
    world.claim(3).await;
    world.view(run.id).await;
    let token = make::token(&claimed.job);
    world.store.extend(&[token], world.now()).await.unwrap();
    let mut refused = Batch::at(world.now());
    refused.insert.push(claimed.job);
    assert!(world.store.commit(refused).await.is_err());
    assert!(!changes.has_changed().unwrap());
    changes.mark_unchanged();
}

pub async fn each_change_grows_the_counter(world: &World) {
    let changes = world.store.changes();
    let mut last = *changes.borrow();
    for name in ["a", "b", "c"] {
        world.submit_one(name).await;
        let now = *changes.borrow();
        assert!(now > last);
        last = now;
    }
}
