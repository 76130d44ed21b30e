//! What a scripted model answers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::asked::Asked;
use super::gate::Gate;

/// What a server answers to whom.
pub struct Script {
    source: Source,
    pub(super) strict: bool,
}

enum Source {
    Rules(Vec<CountedRule>),
    Function(Arc<dyn Fn(&Asked) -> Turn + Send + Sync>),
}

struct CountedRule {
    rule: Rule,
    used: AtomicU32,
}

/// One rule. The first that matches and is not used up answers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// A name for what it answers, most often the agent; it stands in the record.
    pub agent: Option<String>,
    /// What it answers to; everything, if it says nothing.
    pub when: When,
    /// How often it answers; for ever, if absent.
    pub times: Option<u32>,
    /// What it answers.
    pub reply: Turn,
}

/// A condition on a request; each part that is given has to hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// The system prompt contains this.
    pub system_contains: Option<String>,
    /// The last message contains this.
    pub last_contains: Option<String>,
    /// Some message contains this.
    pub any_contains: Option<String>,
    /// It is this call of its conversation: 1 for the first; a retry of a call has the number of that call.
    pub turn: Option<u32>,
    /// The model's name is this.
    pub model: Option<String>,
}

/// One answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// The text.
    pub text: String,
    /// The tool calls.
    pub calls: Vec<CallTurn>,
    /// The wire's own word for the stop reason; by default the one that fits.
    pub stop: Option<String>,
    /// The usage; by default a count of the bytes.
    pub usage: UsageTurn,
    /// The wait before the answer begins.
    pub delay_ms: u64,
    /// What else has to open before the answer begins.
    #[serde(skip)]
    pub gate: Option<Gate>,
    /// The wait before each event of the stream after the first.
    pub token_gap_ms: u64,
    /// How the wire misbehaves.
    pub fault: Option<Fault>,
}

/// One tool call of an answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallTurn {
    /// The tool.
    pub name: String,
    /// The arguments as they are sent, malformed ones too. In YAML also a mapping.
    #[serde(deserialize_with = "raw_arguments")]
    pub arguments: String,
    /// The id; by default one that is unique in the conversation.
    pub id: Option<String>,
}

/// The usage of an answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageTurn {
    /// A count of the bytes, a quarter of a token each.
    #[default]
    Counted,
    /// None is sent.
    Absent,
    /// These values, whatever they are.
    Exactly {
        /// The tokens read.
        input: Value,
        /// The tokens written.
        output: Value,
    },
}

/// How the wire misbehaves.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Another status than 200.
    Status {
        /// The status.
        status: u16,
        /// Headers, `retry-after` for example.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The body; by default an error in the shape of the wire.
        #[serde(default)]
        body: Option<String>,
    },
    /// The stream is cut after this many events.
    Cut {
        /// The events that still come.
        after: usize,
        /// How it ends.
        how: Cut,
    },
    /// The stream falls silent after this many events and stays open.
    Stall {
        /// The events that still come.
        after: usize,
    },
    /// This event in place of the one after so many, and then a clean end.
    Event {
        /// The events that still come before it.
        after: usize,
        /// Its data, as it is.
        data: String,
    },
    /// Status 200 with this body and nothing else: empty, a web page, an error, anything.
    Body {
        /// The content type.
        #[serde(default)]
        content_type: String,
        /// The body.
        text: String,
    },
}

/// How a stream that is cut ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// As if it were complete.
    Clean,
    /// By a reset of the connection.
    Reset,
}

fn raw_arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

impl Script {
    /// Answers by the first rule that matches.
    #[must_use]
    pub fn rules(rules: Vec<Rule>) -> Self {
        let counted = rules.into_iter().map(|rule| CountedRule {
            rule,
            used: AtomicU32::new(0),
        });
        Self {
            source: Source::Rules(counted.collect()),
            strict: false,
        }
    }

    /// Answers every request with `turn`.
    #[must_use]
    pub fn always(turn: Turn) -> Self {
        Self::rules(vec![Rule {
            reply: turn,
            ..Rule::default()
        }])
    }

    /// Answers each request with the next of `turns`, and with none after the last.
    #[must_use]
    pub fn sequence(turns: impl IntoIterator<Item = Turn>) -> Self {
        let once = |reply| Rule {
            reply,
            times: Some(1),
            ..Rule::default()
        };
        Self::rules(turns.into_iter().map(once).collect())
    }

    /// Answers as `function` says.
    #[must_use]
    pub fn by(function: impl Fn(&Asked) -> Turn + Send + Sync + 'static) -> Self {
        Self {
            source: Source::Function(Arc::new(function)),
            strict: false,
        }
    }

    /// Reads a list of rules as YAML.
    ///
    /// # Errors
    /// Where the text is no list of rules, with line and column.
    pub fn from_yaml(text: &str) -> Result<Self, serde_saphyr::Error> {
        serde_saphyr::from_str(text).map(Self::rules)
    }

    /// Also refuses, as real providers do, a conversation whose calls and results do not pair.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// The answer to `asked`, and the name of the rule; none if no rule matches.
    pub(super) fn turn(&self, asked: &Asked) -> Option<(Turn, Option<String>)> {
        match &self.source {
            Source::Function(function) => Some((function(asked), None)),
            Source::Rules(rules) => {
                let rule = &rules
                    .iter()
                    .find(|rule| rule.rule.when.holds(asked) && rule.take())?
                    .rule;
                Some((rule.reply.clone(), rule.agent.clone()))
            }
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match &self.source {
            Source::Rules(rules) => format!("{} rules", rules.len()),
            Source::Function(_) => "a function".to_owned(),
        };
        f.debug_struct("Script")
            .field("source", &source)
            .field("strict", &self.strict)
            .finish()
    }
}

impl CountedRule {
    /// Uses the rule once, unless it is used up.
    fn take(&self) -> bool {
        let times = self.rule.times.unwrap_or(u32::MAX);
        let one_more = |used: u32| (used < times).then(|| used.saturating_add(1));
        self.used
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more)
            .is_ok()
    }
}

impl When {
    fn holds(&self, asked: &Asked) -> bool {
        let contains =
            |part: &Option<String>, text: &str| part.as_ref().is_none_or(|part| text.contains(part.as_str()));
        contains(&self.system_contains, &asked.system)
            && contains(&self.last_contains, asked.last())
            && self
                .any_contains
                .as_ref()
                .is_none_or(|part| asked.messages.iter().any(|said| said.text.contains(part)))
            && self.turn.is_none_or(|turn| turn == asked.turn)
            && self.model.as_ref().is_none_or(|model| *model == asked.model)
    }
}

impl Turn {
    /// An answer that is only text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// An answer that calls tools: name and arguments of each.
    #[must_use]
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let call = |(name, arguments): (&str, &str)| CallTurn {
            name: name.into(),
            arguments: arguments.into(),
            id: None,
        };
        Self {
            calls: calls.into_iter().map(call).collect(),
            ..Self::default()
        }
    }

    /// An answer with another status than 200.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::default().with_fault(Fault::Status {
            status,
            headers: BTreeMap::new(),
            body: None,
        })
    }

    /// The same, asking for a wait of `retry_after`.
    #[must_use]
    pub fn status_after(status: u16, retry_after: &str) -> Self {
        let headers = BTreeMap::from([("retry-after".to_owned(), retry_after.to_owned())]);
        Self::default().with_fault(Fault::Status {
            status,
            headers,
            body: None,
        })
    }

    /// The same answer, held back until `gate` opens.
    #[must_use]
    pub fn behind(self, gate: &Gate) -> Self {
        Self {
            gate: Some(gate.clone()),
            ..self
        }
    }

    /// The same answer on a wire that misbehaves.
    #[must_use]
    pub fn with_fault(self, fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::asked::{Role, Said, Wire};
    use super::*;

    fn asked(system: &str, last: &str, turn: u32) -> Asked {
        Asked {
            wire: Wire::OpenAi,
            model: "m".into(),
            system: system.into(),
            messages: vec![Said {
                role: Role::User,
                text: last.into(),
                ..Said::default()
            }],
            tools: vec![],
            turn,
            stream: true,
        }
    }

    fn text_of(script: &Script, asked: &Asked) -> Option<String> {
        script.turn(asked).map(|(turn, _)| turn.text)
    }

    #[test]
    fn a_yaml_script_answers_by_its_first_matching_rule() {
        let script = Script::from_yaml(
            r#"
- agent: planner
  when: { system_contains: plan, turn: 1 }
  reply:
    calls: [{ name: task, arguments: { n: 1 } }, { name: task, arguments: "{oops", id: same }]
- when: { last_contains: hurry }
  times: 1
  reply: { fault: { status: { status: 429, headers: { retry-after: "1" } } } }
- reply: { text: done, usage: absent, token_gap_ms: 5, fault: { cut: { after: 2, how: reset } } }
"#,
        )
        .expect("a script");
        let (turn, agent) = script.turn(&asked("You plan.", "x", 1)).expect("a turn");
        assert_eq!(agent.as_deref(), Some("planner"));
        let calls: Vec<_> = turn
            .calls
            .iter()
            .map(|call| (call.arguments.as_str(), call.id.as_deref()))
            .collect();
        assert_eq!(calls, [(r#"{"n":1}"#, None), ("{oops", Some("same"))]);
        let limited = script.turn(&asked("", "hurry up", 1)).expect("a turn").0;
        assert!(matches!(limited.fault, Some(Fault::Status { status: 429, .. })));
        assert_eq!(text_of(&script, &asked("", "hurry up", 1)).as_deref(), Some("done"));
        assert_eq!(text_of(&script, &asked("You plan.", "x", 2)).as_deref(), Some("done"));
    }

    #[test]
    fn a_script_with_a_misspelt_field_is_refused() {
        let error = Script::from_yaml("- reply: { txt: x }")
            .expect_err("misspelt")
            .to_string();
        assert!(error.contains("txt"), "{error}");
    }

    #[test]
    fn a_sequence_ends() {
        let script = Script::sequence([Turn::text("a"), Turn::text("b")]);
        let answers: Vec<_> = (0..3).map(|_| text_of(&script, &asked("", "", 1))).collect();
        assert_eq!(answers, [Some("a".into()), Some("b".into()), None]);
    }
}
