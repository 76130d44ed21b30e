use super::*;

#[tokio::test]
async fn a_job_is_done_with_tools_and_its_files_and_spendings_are_there() {
    let write = json!({"path": "notes.md", "content": "found"});
    let acts = vec![
        calls(&[
            ("w", "write_file", write),
            ("c", "calculate", json!({"expression": "6*7"})),
        ]),
        says("42\n"),
    ];
    let (puppets, puppet) = Puppets::one(acts);
    let world = World::new(puppets);
    let run = world.bench.submit(&plan(vec![agent("worker")])).await;
    world.finish().await;
    let job = world.bench.job("job").await;
    assert_eq!(result_of(&job).text, "42");
    let spent = Usage {
        input_tokens: 200,
        output_tokens: 20,
        model_calls: 2,
        tool_calls: 2,
        ..Usage::default()
    };
    assert_eq!(
        (job.usage, job.reserved, job.progress.step, job.attempt),
        (spent, None, 2, 1)
    );
    assert!(world.bench.store.file(run, "notes.md").await.unwrap().is_some());
    let asked = puppet.requests();
    assert!(
        asked[0].system.starts_with("Work.\n\n# How you work here"),
        "{}",
        asked[0].system
    );
    assert_eq!(
        asked[0].messages,
        [Message::User {
            text: "Do it.".to_owned()
        }]
    );
    let Some(Message::Tool(result)) = asked[1].messages.last() else {
        panic!()
    };
    assert_eq!((result.call_id.as_str(), result.content.as_str()), ("c", "42"));
}

#[tokio::test]
async fn s28_an_answer_is_checked_against_the_schema_of_the_agent() {
    let (puppets, puppet) = Puppets::one(vec![says("{\"total\": \"x\"}"), says("{\"total\": 0.10}")]);
    let world = World::new(puppets);
    let schema = json!({"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]});
    let structured = AgentSpec {
        response_format: Some(schema),
        ..agent("worker")
    };
    world.bench.submit(&plan(vec![structured])).await;
    world.finish().await;
    let result = result_of(&world.bench.job("job").await);
    assert_eq!(
        (result.text.as_str(), result.data),
        ("{\"total\": 0.10}", Some(json!({"total": 0.1})))
    );
    assert!(
        format!("{:?}", puppet.requests()[1].messages).contains("at /total: "),
        "the path of the violation goes back"
    );
}

#[tokio::test]
async fn s20_an_overloaded_model_is_followed_by_the_next_one_and_not_asked_again() {
    let first = Puppet::new(vec![fails(ErrorClass::Retryable { after_ms: None })]);
    let second = Puppet::new(vec![
        calls(&[("c", "calculate", json!({"expression": "1+1"}))]),
        says("2"),
    ]);
    let world = World::new(Puppets::default().with("first", &first).with("second", &second));
    let chained = AgentSpec {
        model: Some("first".to_owned()),
        fallback_models: vec!["second".to_owned()],
        ..agent("worker")
    };
    world.bench.submit(&plan(vec![chained])).await;
    world.finish().await;
    let job = world.bench.job("job").await;
    assert_eq!((result_of(&job).text.as_str(), job.failures), ("2", 0));
    assert_eq!((first.requests().len(), second.requests().len()), (1, 2));
    assert_eq!(second.requests()[0].model, "second");
}

#[tokio::test]
async fn d18_d19_an_overloaded_provider_fails_the_attempt_until_it_answers_and_is_not_asked_too_early() {
    let overloaded = || fails(ErrorClass::Retryable { after_ms: Some(7_000) });
    let (puppets, _) = Puppets::one(vec![overloaded(), overloaded(), says("done")]);
    let world = World::new(puppets);
    world.bench.submit(&plan(vec![agent("worker")])).await;
    let began = world.bench.store.now();
    world.finish().await;
    let job = world.bench.job("job").await;
    assert_eq!((result_of(&job).text.as_str(), job.failures), ("done", 2));
    assert!(world.bench.store.now().since_ms(began) >= 14_000);
    assert_eq!(job.usage.model_calls, 3);
}

#[tokio::test]
async fn a_job_that_makes_progress_gives_its_slot_back_instead_of_failing() {
    let look = |id| calls(&[(id, "calculate", json!({"expression": "1+1"}))]);
    let overloaded = || fails(ErrorClass::Retryable { after_ms: Some(60_000) });
    let acts = vec![
        look("a"),
        overloaded(),
        look("b"),
        overloaded(),
        look("c"),
        overloaded(),
        look("d"),
        overloaded(),
        says("done"),
    ];
    let (puppets, _) = Puppets::one(acts);
    let world = World::new(puppets);
    world.bench.submit(&plan(vec![agent("worker")])).await;
    world.finish().await;
    let job = world.bench.job("job").await;
    assert_eq!(
        (result_of(&job).text.as_str(), job.failures, job.attempt),
        ("done", 0, 5)
    );
}

#[tokio::test]
async fn d19_a_refused_key_is_fatal_at_once() {
    let (puppets, _) = Puppets::one(vec![fails(ErrorClass::Fatal)]);
    let world = World::new(puppets);
    world.bench.submit(&plan(vec![agent("worker")])).await;
    world.finish().await;
    let job = world.bench.job("job").await;
    assert_eq!((job.attempt, error_of(&job).code.as_str()), (1, "overloaded"));
}

#[tokio::test]
async fn no_model_is_told_with_what_to_set() {
    let world = World::new(Puppets::default());
    world.bench.submit(&plan(vec![agent("worker")])).await;
    world.finish().await;
    let error = error_of(&world.bench.job("job").await);
    assert_eq!(error.code, "no_model");
    assert!(
        error.message.contains("agent `worker`") && error.message.contains("OPENAI_API_KEY"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn s58_a_call_that_the_budget_does_not_hold_is_not_made_and_the_work_is_kept() {
    let Act::Reply(mut first) = calls(&[("c", "calculate", json!({"expression": "1+1"}))]) else {
        panic!()
    };
    first.text = "So far: 2.".to_owned();
    first.usage.input_tokens = 19_900;
    let (puppets, puppet) = Puppets::one(vec![Act::Reply(first)]);
    let world = World::new(puppets);
    let mut plan = plan(vec![agent("worker")]);
    plan.limits = RunLimits {
        tokens: Some(20_000),
        ..RunLimits::default()
    };
    let run = world.bench.submit(&plan).await;
    world.finish().await;
    let error = error_of(&world.bench.job("job").await);
    assert_eq!(
        (error.reason, error.partial.as_deref()),
        (FailReason::Budget, Some("So far: 2."))
    );
    assert_eq!(puppet.requests().len(), 1);
    let view = world.bench.store.run(run).await.unwrap().unwrap();
    assert_eq!(
        view.counter(legwork_shared::budget::Counter::Tokens),
        19_910,
        "nothing stays reserved"
    );
}

#[tokio::test]
async fn d43_a_small_budget_lowers_the_ceiling_of_the_reply_instead_of_refusing_the_call() {
    let (puppets, puppet) = Puppets::one(vec![says("short")]);
    let world = World::new(puppets);
    let mut plan = plan(vec![agent("worker")]);
    plan.jobs[0].limits = JobLimits {
        tokens: Some(6_000),
        ..JobLimits::default()
    };
    world.bench.submit(&plan).await;
    world.finish().await;
    assert_eq!(result_of(&world.bench.job("job").await).text, "short");
    assert!(puppet.requests()[0].max_output_tokens < 8_192);
}

#[tokio::test]
async fn d43_a_provider_that_does_not_count_is_charged_by_estimate() {
    let Act::Reply(mut reply) = says("some words") else {
        panic!()
    };
    reply.usage = Usage::default();
    let (puppets, _) = Puppets::one(vec![Act::Reply(reply)]);
    let world = World::new(puppets);
    world.bench.submit(&plan(vec![agent("worker")])).await;
    world.finish().await;
    let usage = world.bench.job("job").await.usage;
    assert!(
        usage.input_tokens > 100 && usage.output_tokens == 4 && usage.model_calls == 1,
        "{usage:?}"
    );
}

#[tokio::test]
async fn s33_the_documents_of_the_run_are_listed_at_the_start_and_searched_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("birds.md"),
        "# Birds\n\nThe kiwi of New Zealand cannot fly.\n",
    )
    .unwrap();
    let search = calls(&[("s", "search_docs", json!({"query": "kiwi fly"}))]);
    let (puppets, puppet) = Puppets::one(vec![search, says("It cannot.")]);
    let world = World::new(puppets);
    let mut plan = plan(vec![agent("worker")]);
    plan.sources = vec![folder.path().display().to_string()];
    world.bench.submit(&plan).await;
    world.finish().await;
    let asked = puppet.requests();
    let told = format!("{:?}", asked[0].messages);
    assert!(
        told.contains("# Files") && told.contains("sources/birds.md (45 bytes, text/markdown)"),
        "{told}"
    );
    let Some(Message::Tool(found)) = asked[1].messages.last() else {
        panic!()
    };
    assert!(
        found.content.contains("sources/birds.md") && found.content.contains("cannot fly"),
        "{}",
        found.content
    );
}

#[tokio::test]
async fn a_source_that_is_not_on_this_machine_fails_the_attempt_and_not_the_job_at_once() {
    let world = World::new(Puppets::one(vec![]).0);
    let mut plan = plan(vec![agent("worker")]);
    plan.sources = vec!["/nowhere/at/all".to_owned()];
    world.bench.submit(&plan).await;
    let attempt = world.claim().await.unwrap();
    let Verdict::Failed(error) = world.run(&attempt).await else {
        panic!()
    };
    assert_eq!(
        (error.code.as_str(), error.severity),
        ("sources", legwork_shared::job::Severity::Retryable)
    );
    assert!(error.message.contains("/nowhere/at/all"), "{}", error.message);
}
