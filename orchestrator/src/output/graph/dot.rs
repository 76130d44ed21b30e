//! The graph in the language of Graphviz.

use std::fmt::Write;

use super::{Graph, Link, colours};
use legwork_shared::dag::Condition;

/// The text of `graph` for `dot -Tsvg`.
#[must_use]
pub fn dot(graph: &Graph) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&graph.title));
    out += "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n";
    for (index, node) in graph.nodes.iter().enumerate() {
        let (fill, border) = colours(node.state);
        let label = quoted(&format!("{}\n{}", node.name, node.state));
        let _ = writeln!(
            out,
            "  n{index} [label={label}, fillcolor=\"{fill}\", color=\"{border}\"];"
        );
    }
    for line in &graph.lines {
        let style = match line.link {
            Link::Needs(Condition::Success) => "",
            Link::Needs(Condition::Failure) => " [label=\"failure\", style=dashed]",
            Link::Needs(Condition::Finished) => " [label=\"finished\"]",
            Link::HandedOut => " [style=dotted]",
        };
        let _ = writeln!(out, "  n{} -> n{}{style};", line.from, line.to);
    }
    out += "}\n";
    out
}

/// A text as a quoted string. Backslashes are doubled, since `\N` and the like would be replaced.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
