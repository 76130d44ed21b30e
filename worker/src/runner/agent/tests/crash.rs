use super::*;

/// The acts of a whole job; at place `hang` the model never answers.
fn acts(hang: usize) -> Vec<Act> {
    let mut acts = vec![
        calls(&[(
            "t",
            "write_todos",
            json!({"todos": [{"content": "Count", "status": "in_progress"}]}),
        )]),
        calls(&[
            ("c", "calculate", json!({"expression": "6*7"})),
            ("w", "write_file", json!({"path": "a.md", "content": "42"})),
        ]),
        calls(&[("r", "read_file", json!({"path": "a.md"}))]),
        says("It is 42."),
    ];
    acts.insert(hang, Act::Hang);
    acts
}

/// Runs the attempt until the model is asked and does not answer, then lets the worker die.
async fn die_in_the_call(world: &World, puppet: &Puppet, asked_before: usize) {
    let attempt = world.claim().await.unwrap();
    let hanging = async {
        while puppet.requests().len() <= asked_before {
            puppet.asked.notified().await;
        }
    };
    tokio::select! {
        verdict = world.run(&attempt) => panic!("it ended: {verdict:?}"),
        () = hanging => {}
    }
    let token = attempt.token();
    drop(attempt);
    world.bench.command(token.job, &Command::Lose { token }).await;
}

#[tokio::test]
async fn s59_a_crash_at_any_step_costs_the_call_in_flight_and_nothing_else() {
    let (puppets, undisturbed) = Puppets::one(acts(4));
    let world = World::new(puppets);
    world.bench.submit(&plan(vec![agent("worker")])).await;
    world.finish().await;
    let expected = result_of(&world.bench.job("job").await);
    let asked = undisturbed.requests();
    assert_eq!(asked.len(), 4);
    for hang in 0..4 {
        let (puppets, puppet) = Puppets::one(acts(hang));
        let world = World::new(puppets);
        world.bench.submit(&plan(vec![agent("worker")])).await;
        die_in_the_call(&world, &puppet, hang).await;
        world.finish().await;
        let job = world.bench.job("job").await;
        assert_eq!(
            (result_of(&job), job.attempt),
            (expected.clone(), 2),
            "crash in call {hang}"
        );
        let mut wanted = asked.clone();
        wanted.insert(hang, asked[hang].clone());
        assert_eq!(puppet.requests(), wanted, "crash in call {hang}");
        assert_eq!(job.usage.model_calls, 5, "the call in flight counts as spent");
        assert_eq!(job.todos.len(), 1);
    }
}

#[tokio::test]
async fn d08_a_cancelled_job_stops_in_the_middle_of_a_call() {
    let (puppets, puppet) = Puppets::one(vec![Act::Hang]);
    let world = World::new(puppets);
    world.bench.submit(&plan(vec![agent("worker")])).await;
    let attempt = world.claim().await.unwrap();
    let stopper = async {
        puppet.asked.notified().await;
        world
            .bench
            .command(attempt.token().job, &crate::testing::cancel())
            .await;
        attempt.control().stop();
    };
    let (verdict, ()) = tokio::join!(world.run(&attempt), stopper);
    assert_eq!(verdict, Verdict::Cancelled);
    attempt.settle(verdict).await.unwrap();
    let job = world.bench.job("job").await;
    assert_eq!(job.state(), JobState::Cancelled);
    assert!(job.usage.output_tokens > 0, "what was in flight counts as spent");
}

#[tokio::test]
async fn a_journal_that_cannot_be_read_fails_the_job_with_a_clear_sentence() {
    let world = World::new(Puppets::one(vec![]).0);
    world.bench.submit(&plan(vec![agent("worker")])).await;
    let attempt = world.claim().await.unwrap();
    let report = crate::attempt::Report {
        entries: vec![json!({"entry": "opened", "v": 99})],
        ..Default::default()
    };
    attempt.checkpoint(report).await.unwrap();
    let Verdict::Failed(error) = world.run(&attempt).await else {
        panic!()
    };
    assert_eq!(
        error.message,
        "the journal has form 99, and this version reads up to 1; use the newer version"
    );
}
