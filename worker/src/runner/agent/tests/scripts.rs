use super::*;

async fn said(script: &str) -> Job {
    let world = World::new(Puppets::default());
    world.bench.submit(&plan(vec![scripted("actor", script, &[])])).await;
    world.finish().await;
    world.bench.job("job").await
}

#[tokio::test]
async fn a_script_speaks_its_turns_and_fills_in_what_was_said() {
    let script = "
turns:
- text: Counting.
  calls: [{tool: calculate, arguments: {expression: 6*7}}]
- text: '{last_user} It is {last_results}, {not} {'
";
    let job = said(script).await;
    assert_eq!(result_of(&job).text, "Do it. It is 42, {not} {");
    assert_eq!(
        (job.progress.step, job.usage.model_calls, job.usage.tool_calls),
        (2, 2, 1)
    );
}

#[tokio::test]
async fn d19_a_turn_that_fails_twice_is_said_in_the_third_attempt() {
    let job = said("turns: [{text: hello, fail: {times: 2, retry_after_ms: 10}}]").await;
    assert_eq!(
        (result_of(&job).text.as_str(), job.failures, job.attempt),
        ("hello", 2, 3)
    );
}

#[tokio::test]
async fn a_script_that_is_asked_for_more_than_it_has_says_so() {
    let job = said("turns: [{calls: [{tool: ls}]}]").await;
    let error = error_of(&job);
    assert_eq!(error.message, "the script has 1 turns, and another one was asked for");
}

#[tokio::test]
async fn d34_malformed_calls_of_a_script_reach_the_loop_as_they_are() {
    let job = said("{turns: [{calls: [{tool: ls, raw: '{]'}]}], repeat_last: true}").await;
    assert_eq!(error_of(&job).code, "malformed_tool_calls");
}

#[tokio::test]
async fn a_script_that_cannot_be_read_fails_the_job_with_its_place() {
    let error = error_of(&said("turns: [{txet: x}]").await);
    assert_eq!(error.code, "bad_script");
    assert!(
        error.message.contains("script of actor:1:") && error.message.contains("did you mean `text`?"),
        "{}",
        error.message
    );
}
