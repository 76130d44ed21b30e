use super::*;
use std::fmt::Write as _;

const ECHO: &str = "turns: [{text: 'echo of {last_user}'}]";

fn texts(events: &[legwork_shared::store::EventRecord]) -> String {
    events.iter().fold(String::new(), |mut text, event| {
        let _ = writeln!(text, "{:?}", event.event.kind);
        text
    })
}

#[tokio::test]
async fn s10_s17_a_coordinator_hands_out_a_graph_and_sleeps_until_it_is_done() {
    let script = "
turns:
- calls:
  - {tool: task, arguments: {description: find A, subagent_type: echo, id: left}}
  - {tool: task, arguments: {description: find B, subagent_type: echo, id: right}}
  - {tool: task, arguments: {description: join, subagent_type: echo, id: both, depends_on: [left, right]}}
- text: 'all: {last_results}'
";
    let world = World::new(Puppets::default());
    let run = world
        .bench
        .submit(&plan(vec![
            scripted("lead", script, &["echo"]),
            scripted("echo", ECHO, &[]),
        ]))
        .await;
    let attempt = world.claim().await.unwrap();
    let verdict = world.run(&attempt).await;
    attempt.settle(verdict).await.unwrap();
    assert_eq!(
        world.bench.job("job").await.state(),
        JobState::Blocked,
        "it holds no slot while it waits"
    );
    world.finish().await;
    let jobs = world.jobs(run).await;
    let names: Vec<&str> = jobs.iter().map(|job| job.spec.name.as_str()).collect();
    assert_eq!(names, ["job", "job/both", "job/left", "job/right"]);
    let text = result_of(&jobs[0]).text;
    let places: Vec<Option<usize>> = ["echo of find A", "echo of find B", "echo of join"]
        .iter()
        .map(|part| text.find(part))
        .collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    let joined = result_of(&jobs[1]).text;
    assert!(
        joined.contains("result of job job/left by agent echo") && joined.contains("echo of find B"),
        "{joined}"
    );
    assert_eq!(
        (jobs[0].attempt, jobs[1].spec.depth, jobs[1].spec.parent),
        (2, 1, Some(jobs[0].id))
    );
}

#[tokio::test]
async fn s08_a_child_sees_nothing_of_its_parents_conversation() {
    let hand_out = json!({"description": "find A", "subagent_type": "helper", "context": {"year": 2026}});
    let todos = json!({"todos": [{"content": "secret plan", "status": "pending"}]});
    let acts = vec![
        calls(&[("w", "write_todos", todos), ("t", "task", hand_out)]),
        says("A"),
        says("done"),
    ];
    let (puppets, puppet) = Puppets::one(acts);
    let world = World::new(puppets);
    let lead = AgentSpec {
        prompt: "Lead.".to_owned(),
        agents: Some(vec!["helper".to_owned()]),
        ..agent("lead")
    };
    world.bench.submit(&plan(vec![lead, agent("helper")])).await;
    world.finish().await;
    let child = &puppet.requests()[1];
    assert!(child.system.starts_with("Work."), "{}", child.system);
    let [Message::User { text }] = child.messages.as_slice() else {
        panic!("{:?}", child.messages)
    };
    assert!(
        text.starts_with("find A\n\n# Context\n<data-") && text.contains("\"year\": 2026"),
        "{text}"
    );
    assert!(!text.contains("secret plan") && !text.contains("Do it."), "{text}");
    assert!(
        child.tools.iter().all(|tool| tool.name != "task"),
        "it may hand work to nobody"
    );
}

#[tokio::test]
async fn d37_two_tasks_with_one_id_are_both_queued_once() {
    let script = "
turns:
- calls:
  - {tool: task, id: call_1, arguments: {description: A, subagent_type: echo}}
  - {tool: task, id: call_1, arguments: {description: B, subagent_type: echo}}
- text: '{last_results}'
";
    let world = World::new(Puppets::default());
    let run = world
        .bench
        .submit(&plan(vec![
            scripted("lead", script, &["echo"]),
            scripted("echo", ECHO, &[]),
        ]))
        .await;
    world.finish().await;
    let jobs = world.jobs(run).await;
    assert_eq!(jobs.len(), 3);
    let text = result_of(&jobs[0]).text;
    assert!(text.contains("echo of A") && text.contains("echo of B"), "{text}");
}

#[tokio::test]
async fn s10_a_child_that_fails_comes_back_as_a_typed_error_and_the_other_one_stays() {
    let script = "
turns:
- calls:
  - {tool: task, arguments: {description: A, subagent_type: broken}}
  - {tool: task, arguments: {description: B, subagent_type: echo}}
- text: '{last_results}'
";
    let broken = "turns: [{fail: {fatal: true, message: no such luck}}]";
    let world = World::new(Puppets::default());
    let agents = vec![
        scripted("lead", script, &["echo", "broken"]),
        scripted("echo", ECHO, &[]),
        scripted("broken", broken, &[]),
    ];
    world.bench.submit(&plan(agents)).await;
    world.finish().await;
    let text = result_of(&world.bench.job("job").await).text;
    assert!(
        text.contains("failed (error, unavailable): no such luck") && text.contains("echo of B"),
        "{text}"
    );
}

#[tokio::test]
async fn d42_agents_that_always_delegate_end_within_the_limits_of_the_run() {
    let greedy = "
turns:
- calls:
  - {tool: task, arguments: {description: x, subagent_type: greedy}}
  - {tool: task, arguments: {description: x, subagent_type: greedy}}
  - {tool: task, arguments: {description: x, subagent_type: greedy}}
  - {tool: task, arguments: {description: x, subagent_type: greedy}}
repeat_last: true
";
    let world = World::new(Puppets::default());
    let mut plan = plan(vec![scripted("greedy", greedy, &["greedy"])]);
    plan.limits = RunLimits {
        jobs: Some(30),
        depth: Some(3),
        ..RunLimits::default()
    };
    let run = world.bench.submit(&plan).await;
    world.finish().await;
    let jobs = world.jobs(run).await;
    assert_eq!(jobs.len(), 30);
    assert_eq!(jobs.iter().map(|job| job.spec.depth).max(), Some(3));
    assert!(
        jobs.iter().all(|job| job.state().is_terminal()),
        "the tree ends by itself"
    );
    assert_eq!(error_of(&jobs[0]).code, "refused_tool_calls");
}

#[tokio::test]
async fn s14_a_child_inherits_the_model_and_the_tools_that_it_does_not_name() {
    let hand_out = json!({"description": "find A", "subagent_type": "helper"});
    let special = Puppet::new(vec![calls(&[("t", "task", hand_out)]), says("A"), says("done")]);
    let world = World::new(Puppets::default().with("special", &special));
    let lead = AgentSpec {
        model: Some("special".to_owned()),
        tools: Some(vec!["calculate".to_owned()]),
        excluded_tools: vec!["write_file".to_owned()],
        agents: Some(vec!["helper".to_owned()]),
        ..agent("lead")
    };
    world.bench.submit(&plan(vec![lead, agent("helper")])).await;
    world.finish().await;
    assert_eq!(result_of(&world.bench.job("job").await).text, "done");
    let tools: Vec<String> = special.requests()[1]
        .tools
        .iter()
        .map(|tool| tool.name.clone())
        .collect();
    assert!(
        tools.contains(&"calculate".to_owned()) && !tools.contains(&"write_file".to_owned()),
        "{tools:?}"
    );
    assert!(!tools.contains(&"search_docs".to_owned()), "{tools:?}");
}

#[tokio::test]
async fn s45_a_background_job_is_started_checked_told_and_cancelled() {
    let script = "
turns:
- calls: [{tool: start_async_task, arguments: {description: A, subagent_type: echo}}]
- calls:
  - {tool: check_async_task, arguments: {task_id: echo}}
  - {tool: update_async_task, arguments: {task_id: echo, message: hurry}}
  - {tool: cancel_async_task, arguments: {task_id: echo}}
- calls:
  - {tool: update_async_task, arguments: {task_id: echo, message: too late}}
  - {tool: list_async_tasks}
- text: '{last_results}'
";
    let world = World::new(Puppets::default());
    let run = world
        .bench
        .submit(&plan(vec![
            scripted("lead", script, &["echo"]),
            scripted("echo", ECHO, &[]),
        ]))
        .await;
    world.finish().await;
    let jobs = world.jobs(run).await;
    assert_eq!(
        (jobs[0].attempt, jobs[1].state()),
        (1, JobState::Cancelled),
        "it never slept"
    );
    assert_eq!(jobs[1].mail_sent, 1);
    let text = result_of(&jobs[0]).text;
    assert!(
        text.contains("Failed: task `echo` has ended already (cancelled)"),
        "{text}"
    );
    assert!(
        text.contains("1 tracked task(s):\n- task_id: echo  agent: echo  status: cancelled"),
        "{text}"
    );
    let journal = world.bench.store.journal(jobs[0].id, 0, 100).await.unwrap();
    let told = serde_json::to_string(&journal.iter().map(|entry| &entry.entry).collect::<Vec<_>>()).unwrap();
    for part in [
        r#"\"status\":\"pending\""#,
        "Queued follow-up to async subagent",
        "Cancelled async subagent task: echo",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let events = world.bench.store.events(run, 0, 1_000).await.unwrap();
    assert_eq!(texts(&events).matches("Cancelled {").count(), 1, "{}", texts(&events));
}

#[tokio::test]
async fn s45_background_jobs_run_on_beside_those_that_are_waited_for() {
    let script = "
turns:
- calls:
  - {tool: start_async_task, arguments: {description: B, subagent_type: echo, id: bg, depends_on: [fg]}}
  - {tool: task, arguments: {description: A, subagent_type: echo, id: fg}}
- text: '{last_results}'
";
    let world = World::new(Puppets::default());
    let run = world
        .bench
        .submit(&plan(vec![
            scripted("lead", script, &["echo"]),
            scripted("echo", ECHO, &[]),
        ]))
        .await;
    world.finish().await;
    let jobs = world.jobs(run).await;
    let text = result_of(&jobs[0]).text;
    assert!(
        text.starts_with("Launched async subagent. task_id: bg\n<data-") && text.contains("echo of A"),
        "{text}"
    );
    let background = jobs.iter().find(|job| job.spec.name == "job/bg").unwrap();
    assert!(
        result_of(background).text.contains("result of job job/fg"),
        "{background:?}"
    );
}
