use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// What a model may do in one reply, good and bad.
fn any_call() -> impl Strategy<Value = ToolCall> {
    let id = prop_oneof!["", "a", "b", "c_[0-9]", "ü", "call_[1-4]_[0-2]"];
    let name = prop_oneof![
        Just("look"),
        Just("write_todos"),
        Just("read_todos"),
        Just("task"),
        Just("start_async_task"),
        Just("check_async_task"),
        Just("list_async_tasks"),
        Just("Task"),
        Just(""),
    ];
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        Just(String::new()),
        Just("{]".to_owned()),
        Just(r#"{"todos":[{"content":"x","status":"pending"}]}"#.to_owned()),
        Just(r#"{"description":"x","subagent_type":"analyst"}"#.to_owned()),
        Just(r#"{"description":"x","subagent_type":"analyst","id":"p"}"#.to_owned()),
        Just(r#"{"description":"x","subagent_type":"analyst","id":"q","depends_on":["p"]}"#.to_owned()),
        Just(r#"{"description":"x","subagent_type":"nobody"}"#.to_owned()),
        Just(r#"{"task_id":"analyst"}"#.to_owned()),
    ];
    (id, name, arguments).prop_map(|(id, name, arguments)| raw_call(&id, name, &arguments))
}

fn any_reply() -> impl Strategy<Value = ModelReply> {
    let stop = prop_oneof![
        8 => Just(StopReason::ToolCalls),
        3 => Just(StopReason::End),
        2 => Just(StopReason::Length),
        1 => Just(StopReason::ContentFilter),
        1 => Just(StopReason::Other("odd".to_owned())),
    ];
    let text = prop_oneof![Just(""), Just(" \n"), Just("some text"), Just("{\"total\": 1}")];
    (text, stop, prop::collection::vec(any_call(), 0..5)).prop_map(|(text, stop, calls)| reply(text, stop, calls))
}

/// Carries out one action as a worker would, with odd behaviour decided by `seed`.
fn act(stage: &mut Stage, replies: &mut Vec<ModelReply>, seed: u8) -> bool {
    let input = match stage.machine.next() {
        Action::Open => unreachable!("it was opened"),
        Action::CallModel(request) => {
            well_formed(&request);
            match replies.pop() {
                Some(reply) => Input::Replied(reply),
                None => return false,
            }
        }
        Action::RunTools(_) | Action::Control(_) | Action::Delegate(_) | Action::Await(_) if seed % 11 == 7 => {
            Input::Abandoned {
                why: "interrupted".to_owned(),
            }
        }
        Action::RunTools(calls) => {
            let portion = 1 + usize::from(seed) % calls.len();
            Input::Answered(
                calls
                    .iter()
                    .rev()
                    .take(portion)
                    .map(|call| bounds::refuse(call, "x\ny"))
                    .collect(),
            )
        }
        Action::Control(calls) => {
            let first = &calls[0];
            let call = raw_call(&first.call_id, "check_async_task", "");
            Input::Answered(vec![bounds::refuse(&call, "gone")])
        }
        Action::Delegate(children) if seed % 5 == 3 => Input::Refused {
            room: usize::from(seed) % children.len(),
            why: "full".to_owned(),
        },
        Action::Delegate(children) => {
            let first = stage.machine.children().len() as u128 + 1;
            let jobs = children
                .into_iter()
                .zip(first..)
                .map(|(child, number)| (child.call_id, job(number)));
            Input::Delegated(jobs.collect())
        }
        Action::Await(children) => Input::Ended(
            children
                .into_iter()
                .map(|child| (child.call_id, Outcome::Skipped { cause: child.job }))
                .collect(),
        ),
        Action::Finish(_) if seed.is_multiple_of(2) => Input::Updates(vec![Update {
            id: crate::id::UpdateId::new(Timestamp(0), u128::from(seed)),
            text: "more".to_owned(),
            data: None,
        }]),
        Action::Fail(_) if seed.is_multiple_of(2) => Input::Retried {
            generation: stage.machine.generation() + 1,
        },
        Action::Finish(_) | Action::Fail(_) => return false,
    };
    let before = stage.journal.len();
    stage.on(input);
    assert!(
        stage.journal.len() > before,
        "an action that was carried out makes progress"
    );
    true
}

/// What strict providers demand: unique ids, each call followed at once by its one result, in order; sides alternate.
fn well_formed(request: &ModelRequest) {
    assert!(matches!(request.messages.first(), Some(Message::User { .. })));
    assert!(!matches!(request.messages.last(), Some(Message::Assistant { .. })));
    let mut ids = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    let mut last_was_user = false;
    for message in &request.messages {
        match message {
            Message::User { .. } => {
                assert!(open.is_empty() && !last_was_user, "{:?}", request.messages);
                last_was_user = true;
            }
            Message::Assistant { text, calls } => {
                assert!(open.is_empty() && !(text.trim().is_empty() && calls.is_empty()));
                for call in calls {
                    assert!(
                        !call.id.is_empty() && ids.insert(call.id.clone()),
                        "{} is repeated",
                        call.id
                    );
                }
                open = calls.iter().rev().map(|call| call.id.clone()).collect();
                last_was_user = false;
            }
            Message::Tool(reply) => {
                assert_eq!(open.pop().as_ref(), Some(&reply.call_id));
                last_was_user = false;
            }
        }
    }
    assert!(open.is_empty(), "calls without results: {open:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Invariant 6, and s59: a crash after any entry changes nothing.
    #[test]
    fn any_replies_leave_each_call_one_result_and_a_journal_that_replays(
        replies in prop::collection::vec(any_reply(), 1..8),
        seeds in prop::collection::vec(any::<u8>(), 40),
        structured in any::<bool>(),
    ) {
        let mut setup = coordinator();
        if structured {
            setup.answer = Some(Check::new(|value| value.get("total").map(|_| ()).ok_or_else(|| vec!["no total".to_owned()])));
        }
        let mut replies = replies;
        let mut stage = Stage::with(setup.clone());
        for seed in seeds {
            let goes_on = act(&mut stage, &mut replies, seed);
            let stored: Vec<Value> = stage.journal.iter().map(Entry::to_value).collect();
            let mut again = Machine::new(setup.clone());
            again.apply(&read(&stored).unwrap()).unwrap();
            prop_assert_eq!(&again.state, &stage.machine.state);
            prop_assert_eq!(again.next(), stage.machine.next());
            if !goes_on {
                break;
            }
        }
    }
}

#[test]
fn a_journal_of_a_newer_version_is_refused_with_a_clear_sentence() {
    let newer = json!({"entry": "opened", "v": 2, "system": "", "text": "", "more": 1});
    assert_eq!(
        read([&newer]).unwrap_err().to_string(),
        "the journal has form 2, and this version reads up to 1; use the newer version"
    );
    let strange = json!({"entry": "danced"});
    assert!(
        read([&strange])
            .unwrap_err()
            .to_string()
            .starts_with("journal entry 0 cannot be read: unknown variant `danced`")
    );
}

#[test]
fn a_journal_that_does_not_follow_is_refused() {
    let mut machine = Machine::new(setup());
    let entries = [Entry::Answered { replies: vec![] }];
    assert_eq!(
        machine.apply(&entries).unwrap_err().to_string(),
        "journal entry 0 does not fit what came before: no call waits for answers"
    );
}

#[test]
fn inputs_that_come_too_late_or_twice_change_nothing() {
    let mut stage = Stage::with(setup());
    let machine = &stage.machine;
    assert_eq!(
        machine.on(Input::Opened {
            system: String::new(),
            text: String::new()
        }),
        []
    );
    assert_eq!(machine.on(Input::Delegated(vec![("a".to_owned(), job(1))])), []);
    assert_eq!(machine.on(Input::Abandoned { why: String::new() }), []);
    assert_eq!(machine.on(Input::Updates(vec![])), []);
    stage.replies(says("Done."));
    assert_eq!(stage.machine.on(Input::Replied(says("Again."))), []);
}

#[test]
fn the_stored_form_of_an_entry_is_stable() {
    let mut stage = Stage::with(setup());
    stage
        .replies(reply("Hi", StopReason::ToolCalls, vec![call("a", "look", json!({}))]))
        .answers(&[("a", "seen")]);
    let stored: Vec<Value> = stage.journal.iter().map(Entry::to_value).collect();
    let usage = json!({"input_tokens": 0, "output_tokens": 0, "cost_micro_usd": 0, "model_calls": 0, "tool_calls": 0});
    assert_eq!(
        stored,
        [
            json!({"entry": "opened", "v": 1, "system": "You are a test.", "text": "Do it."}),
            json!({"entry": "replied", "reply": {
                "text": "Hi", "calls": [{"id": "a", "name": "look", "arguments": "{}"}],
                "stop": "tool_calls", "usage": usage, "model": "test"
            }, "then": {"do": "go_on"}}),
            json!({"entry": "answered", "replies": [{"call_id": "a", "name": "look", "content": "seen"}]}),
        ]
    );
}
