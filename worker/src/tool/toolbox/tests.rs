use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::*;
use crate::tool::ToolLimits;
use crate::tool::files::testing::Tools;

/// What a test tool does when it is called.
#[derive(Clone, Copy)]
enum Act {
    Echo,
    Panic,
    Hang,
    PanicOnAThread,
}

struct Acting {
    name: &'static str,
    act: Act,
}

#[async_trait]
impl Tool for Acting {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            effect: Effect::None,
        }
    }

    async fn call(&self, args: Value, _ctx: &ToolContext) -> Result<String, ToolError> {
        match self.act {
            Act::Echo => Ok(args.to_string()),
            Act::Panic => panic!("a tool that breaks"),
            Act::Hang => futures::future::pending().await,
            Act::PanicOnAThread => tokio::task::spawn_blocking(|| panic!("a thread that breaks"))
                .await
                .map_err(|_| ToolError::broken()),
        }
    }

    fn time_ms(&self, limits: &ToolLimits) -> u64 {
        if matches!(self.act, Act::Hang) {
            5
        } else {
            limits.call_time_ms
        }
    }
}

fn toolbox(tools: &[(&'static str, Act)]) -> ToolBox {
    let mut toolbox = ToolBox::empty();
    for (name, act) in tools {
        toolbox.add(Arc::new(Acting { name, act: *act })).unwrap();
    }
    toolbox
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: "call_7".to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

async fn dispatch(toolbox: &ToolBox, name: &str, arguments: &str) -> ToolReply {
    toolbox.dispatch(&call(name, arguments), &Tools::new(&[]).ctx).await
}

fn reply(name: &str, content: &str, error: bool) -> ToolReply {
    ToolReply {
        call_id: "call_7".to_owned(),
        name: name.to_owned(),
        content: content.to_owned(),
        error,
    }
}

#[tokio::test]
async fn a_call_is_answered_under_its_own_id() {
    let toolbox = toolbox(&[("echo", Act::Echo)]);
    assert_eq!(
        dispatch(&toolbox, "echo", r#"{"b":1,"a":2}"#).await,
        reply("echo", r#"{"b":1,"a":2}"#, false)
    );
    assert_eq!(dispatch(&toolbox, "echo", "").await, reply("echo", "{}", false));
}

#[tokio::test]
async fn d30_surrogates_are_one_character_as_a_pair_and_a_typed_error_alone() {
    let toolbox = toolbox(&[("echo", Act::Echo)]);
    let pair = dispatch(&toolbox, "echo", r#"{"t":"\ud83c\udf78"}"#).await;
    assert_eq!(pair, reply("echo", "{\"t\":\"\u{1F378}\"}", false));
    for half in [r#"{"t":"\ud800"}"#, r#"{"t":"\udf78\ud83c"}"#] {
        let answer = dispatch(&toolbox, "echo", half).await;
        assert!(
            answer.error && answer.content.starts_with("malformed_arguments: "),
            "{}",
            answer.content
        );
    }
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_the_nearest_and_all_names() {
    let toolbox = toolbox(&[("read_file", Act::Echo), ("ls", Act::Echo)]);
    let message = "unknown_tool: there is no tool `read_fil`, did you mean `read_file`?; there are: ls, read_file";
    assert_eq!(
        dispatch(&toolbox, "read_fil", "{").await,
        reply("read_fil", message, true)
    );
    let far = dispatch(&toolbox, "zzz", "").await;
    assert_eq!(
        far.content,
        "unknown_tool: there is no tool `zzz`; there are: ls, read_file"
    );
    let absurd = dispatch(&toolbox, &"x\0".repeat(500_000), "").await;
    assert_eq!(
        absurd.content,
        format!(
            "unknown_tool: there is no tool `{}`; there are: ls, read_file",
            "x".repeat(64)
        )
    );
    let none = dispatch(&ToolBox::empty(), "ls", "").await;
    assert_eq!(
        none.content,
        "unknown_tool: there is no tool `ls`, nor any other: answer without tools"
    );
}

#[tokio::test]
async fn a_panicking_tool_is_an_error_reply_and_the_next_call_works() {
    let toolbox = toolbox(&[
        ("breaks", Act::Panic),
        ("thread", Act::PanicOnAThread),
        ("echo", Act::Echo),
    ]);
    let message = "failed: the tool broke on this call; go on without it, or call it with other arguments";
    assert_eq!(dispatch(&toolbox, "breaks", "").await, reply("breaks", message, true));
    assert_eq!(dispatch(&toolbox, "thread", "").await, reply("thread", message, true));
    assert_eq!(dispatch(&toolbox, "echo", "").await, reply("echo", "{}", false));
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_stopped() {
    let toolbox = toolbox(&[("hangs", Act::Hang)]);
    let message = "timed_out: the call was stopped after 5 ms; ask for less at once";
    assert_eq!(dispatch(&toolbox, "hangs", "").await, reply("hangs", message, true));
}

#[tokio::test]
async fn a_cancelled_job_gets_no_more_out_of_a_call() {
    let toolbox = toolbox(&[("echo", Act::Echo)]);
    let ctx = Tools::new(&[]).ctx;
    ctx.cancel.cancel();
    let answer = toolbox.dispatch(&call("echo", ""), &ctx).await;
    assert_eq!(answer, reply("echo", "cancelled: the job is being cancelled", true));
}

#[tokio::test]
async fn d21_a_reply_is_cut_at_the_bound_and_says_its_true_size() {
    let toolbox = toolbox(&[("echo", Act::Echo)]);
    let arguments = json!({"t": "x".repeat(1_000_000)}).to_string();
    let answer = dispatch(&toolbox, "echo", &arguments).await;
    let marker = "\n[cut here: the first 65536 of 1000008 bytes are shown; ask for less at once to see the rest]";
    assert_eq!(answer.content, format!("{}{marker}", &arguments[..65_536]));
}

/// Hands its cancellation to the test and then hangs.
struct Handing(mpsc::UnboundedSender<tokio_util::sync::CancellationToken>);

#[async_trait]
impl Tool for Handing {
    fn spec(&self) -> ToolSpec {
        Acting {
            name: "hands",
            act: Act::Hang,
        }
        .spec()
    }

    async fn call(&self, _args: Value, ctx: &ToolContext) -> Result<String, ToolError> {
        self.0.send(ctx.cancel.clone()).unwrap();
        futures::future::pending().await
    }
}

#[tokio::test]
async fn what_a_tool_began_is_told_to_stop_when_its_time_is_up_and_the_job_goes_on() {
    let (sender, mut handed) = mpsc::unbounded_channel();
    let mut toolbox = ToolBox::empty();
    toolbox.add(Arc::new(Handing(sender))).unwrap();
    let mut ctx = Tools::new(&[]).ctx;
    ctx.limits.call_time_ms = 5;
    let answer = toolbox.dispatch(&call("hands", ""), &ctx).await;
    assert!(answer.content.starts_with("timed_out: "), "{}", answer.content);
    assert!(handed.recv().await.unwrap().is_cancelled());
    assert!(!ctx.cancel.is_cancelled());
}

/// Writes, one part before and one after the test lets it, and counts how many do so at once.
struct Writing {
    running: AtomicUsize,
    gate: tokio::sync::Mutex<Option<oneshot::Receiver<()>>>,
    entered: mpsc::UnboundedSender<usize>,
}

#[async_trait]
impl Tool for Writing {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            effect: Effect::Local,
            ..Acting {
                name: "writes",
                act: Act::Echo,
            }
            .spec()
        }
    }

    async fn call(&self, _args: Value, _ctx: &ToolContext) -> Result<String, ToolError> {
        let at_once = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.entered.send(at_once).unwrap();
        if let Some(gate) = self.gate.lock().await.take() {
            gate.await.unwrap();
        }
        tokio::task::yield_now().await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok(String::new())
    }
}

#[tokio::test]
async fn calls_that_write_run_one_after_another() {
    let (open, gate) = oneshot::channel();
    let (entered, mut entries) = mpsc::unbounded_channel();
    let mut toolbox = ToolBox::empty();
    let gate = tokio::sync::Mutex::new(Some(gate));
    toolbox
        .add(Arc::new(Writing {
            running: AtomicUsize::new(0),
            gate,
            entered,
        }))
        .unwrap();
    let ctx = Tools::new(&[]).ctx;
    let call = call("writes", "");
    let calls = futures::future::join_all((0..4).map(|_| toolbox.dispatch(&call, &ctx)));
    let opener = async {
        assert_eq!(entries.recv().await, Some(1));
        open.send(()).unwrap();
    };
    let (replies, ()) = futures::join!(calls, opener);
    assert!(replies.iter().all(|answer| !answer.error));
    for _ in 1..4 {
        assert_eq!(entries.recv().await, Some(1));
    }
}

fn names(toolbox: &ToolBox) -> Vec<String> {
    toolbox.specs().iter().map(|spec| spec.name.clone()).collect()
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn s15_an_empty_list_leaves_the_file_tools_and_only_exclusion_removes_them() {
    let standard = ToolBox::standard();
    let all = [
        "calculate",
        "edit_file",
        "glob",
        "grep",
        "ls",
        "read_file",
        "search_docs",
        "write_file",
    ];
    assert_eq!(names(&standard), all);
    assert_eq!(names(&standard.select(None, &[]).unwrap()), all);
    let files = ["edit_file", "glob", "grep", "ls", "read_file", "write_file"];
    assert_eq!(names(&standard.select(Some(&[]), &[]).unwrap()), files);
    let chosen = standard
        .select(Some(&list(&["calculate"])), &list(&["write_file", "edit_file"]))
        .unwrap();
    assert_eq!(names(&chosen), ["calculate", "glob", "grep", "ls", "read_file"]);
    assert!(names(&standard.select(Some(&list(&["ls"])), &list(&files)).unwrap()).is_empty());
}

#[test]
fn s33_only_the_tools_that_write_have_an_effect() {
    let toolbox = ToolBox::standard();
    for spec in toolbox.specs() {
        let expected = if ["write_file", "edit_file"].contains(&spec.name.as_str()) {
            Effect::Local
        } else {
            Effect::None
        };
        assert_eq!(spec.effect, expected, "{}", spec.name);
        assert_eq!(spec.parameters["type"], "object");
    }
    assert_eq!(toolbox.spec("ls").map(|spec| spec.name.as_str()), Some("ls"));
    assert_eq!(toolbox.spec("rm"), None);
}

#[test]
fn a_name_that_no_tool_has_is_refused_in_either_list() {
    let toolbox = toolbox(&[("calculate", Act::Echo), ("ls", Act::Echo)]);
    let message = "there is no tool `calculater`, did you mean `calculate`?; there are: calculate, ls";
    let wrong = list(&["calculater"]);
    assert_eq!(toolbox.select(Some(&wrong), &[]).err().unwrap().to_string(), message);
    assert_eq!(toolbox.select(None, &wrong).err().unwrap().to_string(), message);
}

struct Spec(&'static str, Value);

#[async_trait]
impl Tool for Spec {
    fn spec(&self) -> ToolSpec {
        let (name, parameters) = (self.0.to_owned(), self.1.clone());
        ToolSpec {
            name,
            description: String::new(),
            parameters,
            effect: Effect::External,
        }
    }

    async fn call(&self, _args: Value, _ctx: &ToolContext) -> Result<String, ToolError> {
        Ok(String::new())
    }
}

#[test]
fn tools_with_bad_names_doubled_names_or_broken_schemas_do_not_join() {
    let mut toolbox = toolbox(&[("ls", Act::Echo)]);
    let long: &'static str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    for name in ["", "Ls", "a-b", "a b", "é", long] {
        let bad = ToolBoxError::BadName { name: name.to_owned() };
        assert_eq!(toolbox.add(Arc::new(Spec(name, json!({})))), Err(bad));
    }
    let doubled = ToolBoxError::DuplicateName { name: "ls".to_owned() };
    assert_eq!(toolbox.add(Arc::new(Spec("ls", json!({})))), Err(doubled));
    let broken = toolbox.add(Arc::new(Spec("odd", json!({"type": "nonsense"}))));
    assert!(matches!(broken, Err(ToolBoxError::BadSchema { name, .. }) if name == "odd"));
    let remote = json!({"$ref": "https://schemas.example/tool.json"});
    assert!(matches!(
        toolbox.add(Arc::new(Spec("remote", remote))),
        Err(ToolBoxError::BadSchema { .. })
    ));
    assert_eq!(toolbox.add(Arc::new(Spec(&long[1..], json!({})))), Ok(()));
    assert_eq!(names(&toolbox), ["ls", &long[1..]]);
}

#[tokio::test]
async fn d56_every_file_tool_refuses_every_path_that_points_outside_and_the_run_goes_on() {
    let tools = Tools::new(&[("a.md", b"inside")]);
    let long = "x".repeat(5_000);
    let outside = [
        "/etc/passwd",
        "../../x",
        "a/../../x",
        "~/x",
        "C:\\x",
        "file:///x",
        "a\0b",
        long.as_str(),
        "sources/../../x",
    ];
    for path in outside {
        for (name, arguments) in [
            ("ls", json!({"path": path})),
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old_string": "a", "new_string": "b"})),
            ("glob", json!({"pattern": path})),
            ("grep", json!({"pattern": "root", "path": path})),
            ("grep", json!({"pattern": "root", "glob": path})),
        ] {
            let answer = tools.error(name, arguments).await;
            assert!(answer.starts_with("refused: "), "{name}: {answer}");
            assert!(answer.len() < 300, "{answer}");
        }
    }
    assert_eq!(
        tools.ok("read_file", json!({"path": "sources/a.md"})).await,
        "     1\tinside"
    );
    assert_eq!(tools.ok("ls", json!({})).await, "sources/\t1 file");
}

/// Pieces of text that have broken parsers, paths and patterns elsewhere.
fn awkward() -> impl Strategy<Value = String> {
    const PIECES: [&str; 21] = [
        "a.md", "sources/", "/", "..", "~", "*", "**", "[", "{a,", "(", "|", "\\", "\0", "\n", "\r\n", "é", "\u{202e}",
        "1", "9", "e", "-",
    ];
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    // Each case builds a box and makes sixteen calls.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_a_model_writes_gets_one_reply_and_breaks_no_tool(
        raw in "[ -~]{0,20}", texts in prop::array::uniform3(awkward()), number in prop_oneof![0_u64..5, Just(u64::MAX)],
    ) {
        let [one, two, three] = texts;
        let calls = [
            ("ls", json!({"path": one})),
            ("read_file", json!({"path": one, "offset": number, "limit": number})),
            ("write_file", json!({"path": one, "content": two})),
            ("edit_file", json!({"path": "a.md", "old_string": one, "new_string": two, "replace_all": number == 0})),
            ("glob", json!({"pattern": one})),
            ("grep", json!({"pattern": one, "path": two, "glob": three, "context": number})),
            ("search_docs", json!({"query": one, "limit": number})),
            ("calculate", json!({"expression": one})),
        ];
        let raw_calls = calls.iter().map(|(name, _)| (*name, raw.clone())).collect::<Vec<_>>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (tools, toolbox) = (Tools::new(&[("a.md", b"a\r\n1")]), ToolBox::standard());
            tools.write("a.md", "a\r\né9 a".as_bytes()).await;
            for (name, arguments) in calls.into_iter().map(|(name, args)| (name, args.to_string())).chain(raw_calls) {
                let answer = toolbox.dispatch(&call(name, &arguments), &tools.ctx).await;
                assert!(!answer.content.starts_with("failed: "), "{name} {arguments}: {}", answer.content);
                assert!(!answer.content.is_empty(), "{name} {arguments}");
            }
        });
    }
}
