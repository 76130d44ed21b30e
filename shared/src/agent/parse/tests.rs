use serde_json::json as value;

use super::*;
use crate::budget::JobLimits;

fn front(fields: &str) -> Result<ParsedAgent, Fault> {
    markdown(&format!("---\n{fields}\n---\nDo it well.\n"), "agents/scout.md")
}

fn said(fault: Result<ParsedAgent, Fault>) -> String {
    fault.expect_err("a fault").to_string()
}

#[test]
fn s06_an_agent_is_read_with_all_its_fields() {
    let read = front(
        "name: scout\ndescription: Finds things.\ntools: [grep, read_file]\nexcluded_tools: shell\nmodel: openai:gpt-5\n\
         fallback_models: [ollama:llama3]\nagents: researcher, reviewer\ntask_template: 'Pick: {agents}'\ntodos: false\nmax_steps: 7\n\
         response_format: {type: object}\ninput_schema: {type: object}\nmax_output_tokens: 100\ntemperature: 0.25\n\
         queue: fast\nlimits: {tokens: 1000, timeout_ms: 5}",
    );
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let spec = AgentSpec {
        name: "scout".to_owned(),
        description: "Finds things.".to_owned(),
        prompt: "Do it well.".to_owned(),
        runner: RunnerSpec::Agent,
        model: Some("openai:gpt-5".to_owned()),
        fallback_models: names(&["ollama:llama3"]),
        tools: Some(names(&["grep", "read_file"])),
        excluded_tools: names(&["shell"]),
        agents: Some(names(&["researcher", "reviewer"])),
        task_template: Some("Pick: {agents}".to_owned()),
        todos: Some(false),
        response_format: Some(value!({"type": "object"})),
        input_schema: Some(value!({"type": "object"})),
        max_output_tokens: Some(100),
        temperature_milli: Some(250),
        queue: Some("fast".to_owned()),
        limits: JobLimits {
            tokens: Some(1000),
            timeout_ms: Some(5),
            steps: Some(7),
            ..JobLimits::default()
        },
    };
    assert_eq!(read, Ok(ParsedAgent { spec, warnings: vec![] }));
}

#[test]
fn the_same_fields_are_read_from_json() {
    let text =
        r#"{"name": "scout", "description": "Finds.", "prompt": "Look.", "tools": "grep, ls", "runner": "extractive"}"#;
    let spec = json(text, "scout.json").unwrap().spec;
    assert_eq!(spec.tools, Some(vec!["grep".to_owned(), "ls".to_owned()]));
    assert_eq!(
        spec.runner,
        RunnerSpec::Extractive {
            role: "scout".to_owned()
        }
    );
    assert_eq!(spec.prompt, "Look.");
}

#[test]
fn an_agent_file_of_a_coding_agent_is_read_and_what_was_done_to_it_is_told() {
    let read = front(
        "name: code-reviewer\ndescription: Reviews code.\ntools: Read, Grep, Bash, TodoWrite, WebSearch\nmodel: sonnet\ncolor: blue\n\
         mode: subagent\npermissionMode: plan\nmaxTurns: 9\ndisallowedTools: Write",
    )
    .unwrap();
    let names = |names: [&str; 3]| Some(names.map(str::to_owned).to_vec());
    assert_eq!(read.spec.tools, names(["read_file", "grep", "shell"]));
    assert_eq!(read.spec.excluded_tools, ["write_file"]);
    assert_eq!((read.spec.model, read.spec.limits.steps), (None, Some(9)));
    assert_eq!(
        read.warnings,
        [
            "agents/scout.md:6: the field `color` is not used",
            "agents/scout.md:7: the field `mode` is not used",
            "agents/scout.md:8: the field `permissionMode` is not used",
            "agents/scout.md: model: `sonnet` names no model here; the run's model is used",
            "agents/scout.md: tools: there is no tool like `WebSearch` here",
        ]
    );
}

#[test]
fn no_name_is_the_files_name_and_inherit_is_no_model() {
    let spec = front("description: Finds.\nmodel: inherit").unwrap().spec;
    assert_eq!((spec.name.as_str(), spec.model), ("scout", None));
}

#[test]
fn a_slip_of_a_field_is_an_error_with_its_line_and_the_nearest_name() {
    assert_eq!(
        said(front("name: scout\ndescription: Finds.\nresponse-fromat: {}")),
        "LW0104: agents/scout.md:4: `response-fromat` is not known here; did you mean `response_format`?"
    );
    assert!(said(front("name: a\ndescription: b\ntool: grep")).contains("did you mean `tools`?"));
    assert!(said(front("name: a\ndescription: b\nmaxsteps: 3")).contains("did you mean `max_steps`?"));
    assert!(said(front("name: a\ndescription: b\nlimits: {token: 3}")).contains("did you mean `tokens`?"));
}

#[test]
fn what_is_wrong_is_told_in_one_sentence() {
    assert!(said(markdown("Just text", "a.md")).starts_with("LW0303: a.md:1: the file has no front matter; begin it"));
    assert!(said(markdown("---\nname: a\n", "a.md")).contains("no front matter"));
    assert!(said(front("name: two words\ndescription: x")).contains("`two words` cannot be the name of an agent"));
    assert!(said(front("name: scout")).contains("agents/scout.md: description: the agent has no description"));
    assert!(said(markdown("---\nname: a\ndescription: b\n---\n \n", "a.md")).contains("the agent has no prompt"));
    assert!(said(front("name: a\ndescription: b\nrunner: process")).contains("needs a command"));
    assert!(said(front("name: a\ndescription: b\ntemperature: 9")).contains("9 is no temperature"));
    assert!(said(front("name: a\ndescription: b\nmax_steps: many")).starts_with("LW0105: agents/scout.md:4:"));
    assert!(said(front("name: [a")).starts_with("LW0103: agents/scout.md:"));
    assert!(said(markdown(&"x".repeat(FILE_BYTES_MAX + 1), "a.md")).contains("an agent may have 262144"));
}

#[test]
fn a_runner_is_named_or_given_in_full() {
    let runner = |text: &str| front(&format!("description: b\nrunner: {text}")).unwrap().spec.runner;
    assert_eq!(runner("agent"), RunnerSpec::Agent);
    assert_eq!(
        runner("mine"),
        RunnerSpec::Custom {
            name: "mine".to_owned()
        }
    );
    let process = RunnerSpec::Process {
        command: vec!["cat".to_owned()],
        env: BTreeMap::new(),
    };
    assert_eq!(runner("{kind: process, command: [cat]}"), process);
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_no_obstacle() {
    let text = "\u{feff}---\r\nname: a\r\ndescription: b\r\n---\r\nOne.\r\nTwo.\r\n";
    assert_eq!(markdown(text, "a.md").unwrap().spec.prompt, "One.\r\nTwo.");
}
