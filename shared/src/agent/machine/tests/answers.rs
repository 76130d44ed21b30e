use super::*;
use crate::budget::JobLimits;

fn limited(steps: u32) -> Setup {
    Setup {
        limits: JobLimits {
            steps: Some(steps),
            ..JobLimits::default()
        },
        ..setup()
    }
}

fn structured() -> Setup {
    let check = Check::new(|value| match value.get("total") {
        Some(Value::Number(_)) => Ok(()),
        Some(other) => Err(vec![format!("at /total: {other} is not of type \"number\"")]),
        None => Err(vec!["at /: \"total\" is a required property".to_owned()]),
    });
    Setup {
        answer: Some(check),
        ..setup()
    }
}

fn look(id: &str) -> ModelReply {
    calls([call(id, "look", json!({}))])
}

#[test]
fn s09_the_last_text_is_the_answer_without_trailing_white_space() {
    let mut stage = Stage::with(setup());
    stage.replies(says("  The answer.\n\n "));
    let answer = JobResult {
        text: "  The answer.".to_owned(),
        ..JobResult::default()
    };
    assert_eq!(stage.result(), answer);
}

#[test]
fn d32_an_empty_last_turn_does_not_hide_the_answer_before_it() {
    let mut stage = Stage::with(setup());
    let todos = call("t", "write_todos", json!({"todos": []}));
    stage.replies(reply("ANSWER 42", StopReason::ToolCalls, vec![todos]));
    stage.replies(says(" \n"));
    let answer = JobResult {
        text: "ANSWER 42".to_owned(),
        notes: vec![answer::EMPTY_TURN.to_owned()],
        ..JobResult::default()
    };
    assert_eq!(stage.result(), answer);
}

#[test]
fn s09_no_text_at_all_is_an_empty_answer_that_says_so() {
    let mut stage = Stage::with(setup());
    stage.replies(says(""));
    assert_eq!(
        (stage.result().text, stage.result().notes),
        (String::new(), vec![answer::NO_TEXT.to_owned()])
    );
}

#[test]
fn d39_a_cut_answer_is_continued_and_joined() {
    let mut stage = Stage::with(setup());
    stage.replies(reply("The result is 4", StopReason::Length, vec![]));
    let Some(Message::User { text }) = stage.request().messages.pop() else {
        panic!()
    };
    assert!(text.contains("Go on exactly where it was cut"), "{text}");
    stage.replies(says("2."));
    assert_eq!(
        (stage.result().text.as_str(), stage.result().notes),
        ("The result is 42.", vec![])
    );
}

#[test]
fn d39_an_answer_that_is_always_cut_says_so_after_a_bounded_number_of_pieces() {
    let mut stage = Stage::with(setup());
    for _ in 0..=bounds::CONTINUATIONS_MAX {
        stage.replies(reply("x", StopReason::Length, vec![]));
    }
    assert_eq!(
        (stage.result().text.as_str(), stage.result().notes),
        ("xxxxx", vec![answer::CUT.to_owned()])
    );
}

#[test]
fn d39_nothing_but_cuts_is_a_failure() {
    let mut stage = Stage::with(setup());
    for _ in 0..=bounds::CONTINUATIONS_MAX {
        stage.replies(reply("", StopReason::Length, vec![]));
    }
    assert_eq!(stage.failure().code, "truncated");
}

#[test]
fn the_last_step_asks_for_the_answer_and_takes_it() {
    let mut stage = Stage::with(limited(2));
    assert!(!format!("{:?}", stage.request().messages).contains("last reply"));
    stage.replies(look("a")).answers(&[("a", "seen")]);
    let Some(Message::User { text }) = stage.request().messages.pop() else {
        panic!()
    };
    assert!(text.starts_with("This is your last reply"), "{text}");
    stage.replies(says("All I know."));
    assert_eq!(stage.result().notes, ["this is the answer at the limit of steps"]);
}

#[test]
fn a_loop_of_calls_ends_at_the_limit_of_steps_with_its_last_text_kept() {
    let mut stage = Stage::with(limited(2));
    stage.replies(reply(
        "Looking.",
        StopReason::ToolCalls,
        vec![call("a", "look", json!({}))],
    ));
    stage.answers(&[("a", "seen")]).replies(look("b"));
    let error = stage.failure();
    assert_eq!((error.reason, error.code.as_str()), (FailReason::Limit, "steps"));
    assert_eq!(error.partial.as_deref(), Some("Looking."));
    assert_eq!(
        stage.results(),
        [tool_result("b", "not run: the limit of steps is reached", true)]
    );
}

#[test]
fn a_limit_of_no_steps_asks_no_model() {
    assert_eq!(Stage::with(limited(0)).failure().code, "steps");
}

#[test]
fn s28_an_answer_that_fits_is_given_as_text_and_as_data() {
    for text in [
        "{\"total\": 0.10}",
        "Here you are:\n```json\n{\"total\": 0.10}\n```\nAs asked.",
        "The result: {\"total\": 0.10}",
    ] {
        let mut stage = Stage::with(structured());
        stage.replies(says(text));
        let result = stage.result();
        assert_eq!(result.text, "{\"total\": 0.10}", "decimals survive as written");
        assert_eq!(result.data, Some(json!({"total": 0.1})));
    }
}

#[test]
fn s28_violations_go_back_with_their_paths_a_bounded_number_of_times() {
    let mut stage = Stage::with(structured());
    stage.replies(says("{\"total\": \"many\"}"));
    let Some(Message::User { text }) = stage.request().messages.pop() else {
        panic!()
    };
    assert!(
        text.contains("- at /total: \"many\" is not of type \"number\""),
        "{text}"
    );
    stage.replies(says("I do not know."));
    let Some(Message::User { text }) = stage.request().messages.pop() else {
        panic!()
    };
    assert!(text.contains("not JSON: expected value at line 1 column 1"), "{text}");
    stage.replies(says("{}"));
    stage.replies(says("{\"sum\": 1}"));
    let error = stage.failure();
    assert_eq!((error.reason, error.code.as_str()), (FailReason::Schema, "schema"));
    assert!(
        error.message.contains("4 answers") && error.message.contains("required property"),
        "{}",
        error.message
    );
    assert_eq!(error.partial.as_deref(), Some("{\"sum\": 1}"));
}

#[test]
fn an_answer_over_its_size_is_a_failure_with_its_begin_kept() {
    let limits = JobLimits {
        output_bytes: Some(10),
        ..JobLimits::default()
    };
    let mut stage = Stage::with(Setup { limits, ..setup() });
    stage.replies(says("eleven byte"));
    let error = stage.failure();
    assert_eq!((error.reason, error.code.as_str()), (FailReason::Limit, "output_bytes"));
    assert_eq!(error.partial.as_deref(), Some("eleven byte"));
}

#[test]
fn a_retry_by_a_person_goes_on_with_the_same_conversation_and_fresh_limits() {
    let mut stage = Stage::with(limited(1));
    stage.replies(look("a"));
    assert_eq!(stage.failure().code, "steps");
    stage.on(Input::Retried { generation: 1 });
    assert_eq!(stage.failure().code, "steps", "the first generation is no retry");
    stage.on(Input::Retried { generation: 2 });
    let Some(Message::User { text }) = stage.request().messages.pop() else {
        panic!()
    };
    assert!(text.contains("taken up again"), "{text}");
    stage.replies(says("Now I know."));
    assert_eq!(stage.result().text, "Now I know.");
}

#[test]
fn an_unknown_reason_to_stop_is_noted_on_the_answer() {
    let mut stage = Stage::with(setup());
    stage.replies(reply("So it is.", StopReason::Other("pause".to_owned()), vec![]));
    assert_eq!(stage.result().notes, ["the model stopped for another reason: pause"]);
}
