//! Schedules are kept by name, and changed by one at a time.

use legwork_shared::plan::Plan;
use legwork_shared::schedule::{Occurrence, Schedule};
use legwork_shared::store::StoreError;

use crate::world::World;

fn schedule(world: &World, tenant: &str, name: &str) -> Schedule {
    Schedule {
        name: name.to_owned(),
        tenant: tenant.to_owned(),
        version: 1,
        cron: "30 2 * * *".to_owned(),
        zone: "Europe/Berlin".to_owned(),
        plan: Plan {
            title: Some("Every night, \"quoted\" \0".to_owned()),
            ..Plan::default()
        },
        next_at: Some(world.now() + 5),
        last: None,
        by: "a person".to_owned(),
        created_at: world.now(),
    }
}

pub async fn schedules_are_listed_by_tenant_and_name(world: &World) {
    assert_eq!(world.store.schedules(None).await, Ok(vec![]));
    let all = [("a", "y"), ("a", "z"), ("b", "x")].map(|(tenant, name)| schedule(world, tenant, name));
    for one in all.iter().rev() {
        assert_eq!(world.store.put_schedule(one).await, Ok(()));
    }
    assert_eq!(world.store.schedules(None).await, Ok(all.to_vec()));
    assert_eq!(world.store.schedules(Some("a")).await, Ok(all[..2].to_vec()));
    assert_eq!(world.store.schedules(Some("c")).await, Ok(vec![]));
}

pub async fn a_schedule_is_replaced_exactly_one_version_behind(world: &World) {
    let first = schedule(world, "a", "nightly");
    let conflict = Err(StoreError::Conflict {
        what: "the schedule `nightly`".to_owned(),
    });
    let second = Schedule {
        version: 2,
        last: Some(Occurrence {
            at: world.now(),
            run: Some(world.run().id),
            error: None,
        }),
        next_at: None,
        ..first.clone()
    };
    assert_eq!(world.store.put_schedule(&second).await, conflict, "there is none yet");
    assert_eq!(world.store.put_schedule(&first).await, Ok(()));
    let other = Schedule {
        cron: "@daily".to_owned(),
        ..first.clone()
    };
    assert_eq!(world.store.put_schedule(&other).await, conflict, "the name is taken");
    assert_eq!(world.store.put_schedule(&second).await, Ok(()));
    let late = Schedule { version: 2, ..other };
    assert_eq!(world.store.put_schedule(&late).await, conflict);
    assert_eq!(world.store.schedules(None).await, Ok(vec![second]));
}

pub async fn a_schedule_is_forgotten_once_and_its_name_is_free_again(world: &World) {
    let one = schedule(world, "a", "nightly");
    world.store.put_schedule(&one).await.unwrap();
    let mut changes = world.store.changes();
    changes.mark_unchanged();
    assert_eq!(world.store.remove_schedule("b", "nightly").await, Ok(false));
    assert!(!changes.has_changed().unwrap());
    assert_eq!(world.store.remove_schedule("a", "nightly").await, Ok(true));
    assert!(
        changes.has_changed().unwrap(),
        "whoever waits for a change learns of it"
    );
    assert_eq!(world.store.remove_schedule("a", "nightly").await, Ok(false));
    assert_eq!(world.store.put_schedule(&one).await, Ok(()));
}
