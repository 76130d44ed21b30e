//! The graph in the language of Mermaid, which many Markdown viewers draw.

use std::fmt::Write;

use super::{Graph, Link, colours};
use legwork_shared::dag::Condition;
use legwork_shared::job::JobState;

/// The text of `graph` for a block marked `mermaid`.
#[must_use]
pub fn mermaid(graph: &Graph) -> String {
    let mut out = String::from("flowchart TD\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let _ = writeln!(
            out,
            "  n{index}[\"{}<br/>{}\"]:::{}",
            escaped(&node.name),
            node.state,
            node.state
        );
    }
    for line in &graph.lines {
        let arrow = match line.link {
            Link::Needs(Condition::Success) => "-->",
            Link::Needs(Condition::Failure) => "-->|failure|",
            Link::Needs(Condition::Finished) => "-->|finished|",
            Link::HandedOut => "-.->",
        };
        let _ = writeln!(out, "  n{} {arrow} n{}", line.from, line.to);
    }
    for state in JobState::ALL {
        if graph.nodes.iter().any(|node| node.state == state) {
            let (fill, border) = colours(state);
            let _ = writeln!(out, "  classDef {state} fill:{fill},stroke:{border},color:#111827");
        }
    }
    out
}

/// A text inside a label. All but letters, digits and harmless marks become entities, so nothing in it is syntax.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | ',') {
            out.push(c);
        } else if c.is_control() {
            out.push(' ');
        } else {
            let _ = write!(out, "#{};", c as u32);
        }
    }
    out
}
