//! A script: the turns of a model, as YAML.

use legwork_shared::agent::StopReason;
use legwork_shared::budget::Usage;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::plan;
use serde::Deserialize;
use serde_json::Value;

/// What a scripted agent says, turn by turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The turns.
    pub turns: Vec<ScriptTurn>,
    /// Whether the last turn is said again and again when all are said.
    #[serde(default)]
    pub repeat_last: bool,
}

/// One reply.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptTurn {
    /// Its text. `{last_user}` and `{last_results}` stand for what the conversation holds.
    pub text: String,
    /// The tools it calls.
    pub calls: Vec<ScriptCall>,
    /// Why it stops; by default what its calls imply.
    pub stop: Option<StopReason>,
    /// How long it takes, in milliseconds.
    pub delay_ms: u64,
    /// What it costs; by default an estimate.
    pub usage: Option<Usage>,
    /// That it fails before it succeeds.
    pub fail: Option<Fail>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Value,
    /// Its arguments as text, instead; may be malformed.
    #[serde(default)]
    pub raw: Option<String>,
    /// Its id; made up if absent.
    #[serde(default)]
    pub id: Option<String>,
}

/// A failure of the model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fail {
    /// In how many attempts the turn fails before it succeeds.
    #[serde(default = "once")]
    pub times: u32,
    /// Whether no other attempt may help.
    #[serde(default)]
    pub fatal: bool,
    /// How long the provider asks to wait, in milliseconds.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
    /// What it says.
    #[serde(default = "unavailable")]
    pub message: String,
}

fn once() -> u32 {
    1
}

fn unavailable() -> String {
    "the scripted model is not available".to_owned()
}

impl Script {
    /// The turn at a place, from 0.
    #[must_use]
    pub fn turn(&self, step: u32) -> Option<&ScriptTurn> {
        let last = if self.repeat_last { self.turns.last() } else { None };
        self.turns.get(step as usize).or(last)
    }
}

/// Reads a script from YAML or JSON. `file` is named in faults.
///
/// # Errors
/// A [`Fault`] with line and column.
pub fn parse(text: &str, file: &str) -> Result<Script, Fault> {
    let script: Script = plan::read(text, file)?;
    if script.turns.is_empty() {
        return Err(Fault::new(
            Code::WrongValue,
            "the script has no turns",
            "add at least one under `turns`",
        )
        .at(file));
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_script_is_read_with_its_turns() {
        let script = parse(
            "turns:\n- text: I look.\n  calls:\n  - {tool: grep, arguments: {pattern: x}}\n  - {tool: ls, raw: '{', id: a}\n\
             - {text: Done., stop: length, delay_ms: 5, fail: {times: 2, retry_after_ms: 7}}\nrepeat_last: true\n",
            "demo.yaml",
        )
        .unwrap();
        assert_eq!(script.turns[0].calls[0].arguments, json!({"pattern": "x"}));
        assert_eq!(script.turns[0].calls[1].raw.as_deref(), Some("{"));
        assert_eq!(script.turns[1].stop, Some(StopReason::Length));
        assert_eq!(
            script.turns[1]
                .fail
                .as_ref()
                .map(|fail| (fail.times, fail.retry_after_ms)),
            Some((2, Some(7)))
        );
        assert_eq!(script.turn(9).map(|turn| turn.text.as_str()), Some("Done."));
    }

    #[test]
    fn a_slip_in_a_script_is_told_with_its_place() {
        let told = parse("turns:\n- txet: x\n", "demo.yaml").unwrap_err().to_string();
        assert_eq!(
            told,
            "LW0104: demo.yaml:2:3: `txet` is not known here; did you mean `text`?"
        );
        assert!(
            parse("turns: []", "demo.yaml")
                .unwrap_err()
                .to_string()
                .contains("the script has no turns")
        );
    }
}
