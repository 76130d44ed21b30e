//! Jobs are found by what is asked of them, page by page.

use legwork_shared::batch::Batch;
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{Job, JobState, Verdict};
use legwork_shared::run::Run;
use legwork_shared::store::{Commit, JobQuery, Page};
use legwork_tests::make::{self, needs};

use crate::world::World;

fn ids(page: &Page<Job>) -> Vec<JobId> {
    page.items.iter().map(|job| job.id).collect()
}

/// Two runs with jobs `a` to `e` each, of which `d` and `e` were handed out by `a`.
async fn two_runs(world: &World) -> [(Run, Vec<Job>); 2] {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let run = world.run();
        let mut made: Vec<Job> = ["a", "b", "c"]
            .map(|name| world.queued(&run, make::spec(name)))
            .to_vec();
        for name in ["d", "e"] {
            let mut spec = make::spec(name);
            spec.parent = Some(made[0].id);
            made.push(world.blocked(&run, spec));
        }
        let edges = [needs(&made[3], &made[1]), needs(&made[4], &made[1])];
        world.submit(&run, &made, &edges).await;
        runs.push((run, made));
    }
    runs.try_into().unwrap()
}

/// What is asked for, `-` for any name.
fn query(run: Option<RunId>, parent: Option<JobId>, name: &str, states: &[JobState]) -> JobQuery {
    JobQuery {
        run,
        parent,
        name: (name != "-").then(|| name.to_owned()),
        states: states.to_vec(),
        after: None,
        limit: 99,
    }
}

pub async fn jobs_are_found_by_run_state_name_and_parent(world: &World) {
    use JobState::{Blocked, Failed, Queued, Running, Succeeded};
    let [(run, one), (other, two)] = two_runs(world).await;
    // One has ended, one goes on, the others are given back.
    for claimed in world.claim(6).await {
        if claimed.job.id == one[0].id {
            world.succeed(&claimed).await;
        } else if claimed.job.id != one[1].id {
            let back = world.settle(&claimed, Verdict::Yielded { due: world.now() }).await;
            assert_eq!(back, Ok(Commit::Done));
        }
    }
    let (here, there, parent) = (Some(run.id), Some(other.id), Some(one[0].id));
    let every: Vec<&Job> = one.iter().chain(&two).collect();
    let [b, c, d, e] = [&one[1], &one[2], &one[3], &one[4]];
    let cases: [(JobQuery, &[&Job]); 17] = [
        (query(None, None, "-", &[]), &every),
        (query(here, None, "-", &[]), &every[..5]),
        (query(None, None, "b", &[]), &[b, &two[1]]),
        (query(here, None, "b", &[]), &[b]),
        (query(here, None, "x", &[]), &[]),
        (query(None, parent, "-", &[]), &[d, e]),
        (query(here, parent, "e", &[]), &[e]),
        (query(there, parent, "-", &[]), &[]),
        (query(None, None, "-", &[Blocked]), &[d, e, &two[3], &two[4]]),
        (query(here, None, "-", &[Running, Queued]), &[b, c]),
        (query(None, None, "b", &[Running, Queued]), &[b, &two[1]]),
        (query(None, parent, "-", &[Blocked]), &[d, e]),
        (query(None, parent, "-", &[Queued]), &[]),
        (query(None, None, "-", &[Succeeded]), &[&one[0]]),
        (query(None, None, "-", &[Failed, Succeeded, Succeeded]), &[&one[0]]),
        (query(here, None, "a", &[Queued]), &[]),
        (query(there, None, "a", &[Queued]), &[&two[0]]),
    ];
    for (query, expected) in cases {
        let found = world.store.jobs(&query).await.unwrap();
        let expected: Vec<JobId> = expected.iter().map(|job| job.id).collect();
        assert_eq!((ids(&found), found.more), (expected, false), "{query:?}");
    }
}

pub async fn following_the_pages_visits_each_job_once(world: &World) {
    let [(run, one), (_, two)] = two_runs(world).await;
    let every: Vec<JobId> = one.iter().chain(&two).map(|job| job.id).collect();
    let queries = [
        (query(None, None, "-", &[]), every.clone()),
        (query(Some(run.id), None, "-", &[]), every[..5].to_vec()),
        (query(None, Some(one[0].id), "-", &[]), every[3..5].to_vec()),
        (query(None, None, "-", &[JobState::Queued, JobState::Blocked]), every),
    ];
    for (query, expected) in queries {
        for limit in [0, 1, 3, 4, 5, 10, 11, usize::MAX] {
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let query = JobQuery {
                    limit,
                    after,
                    ..query.clone()
                };
                let page = world.store.jobs(&query).await.unwrap();
                assert!(page.items.len() <= limit.max(1));
                seen.extend(ids(&page));
                after = seen.last().copied();
                if !page.more {
                    break;
                }
                assert!(
                    !page.items.is_empty(),
                    "a page that is not the last has something on it"
                );
            }
            assert_eq!(seen, expected, "by {limit} of {query:?}");
        }
    }
}

pub async fn a_new_job_on_the_way_disturbs_no_paging(world: &World) {
    let [(run, one), _] = two_runs(world).await;
    let first = JobQuery {
        limit: 3,
        ..query(Some(run.id), None, "-", &[])
    };
    let page = world.store.jobs(&first).await.unwrap();
    let late = world.queued(&run, make::spec("late"));
    let mut batch = Batch::at(world.now());
    batch.insert.push(late.clone());
    assert_eq!(world.store.commit(batch).await, Ok(Commit::Done));
    let after = page.items.last().map(|job| job.id);
    let rest = world.store.jobs(&JobQuery { after, ..first }).await.unwrap();
    assert_eq!((ids(&rest), rest.more), (vec![one[3].id, one[4].id, late.id], false));
}
