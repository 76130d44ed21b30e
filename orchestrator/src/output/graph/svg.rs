//! The graph as an SVG that needs nothing else: no scripts, no fonts, no links.

use std::fmt::Write;

use super::layout::{BOX_HEIGHT, Point, layout};
use super::{Graph, Line, Link, Node, colours};
use crate::output::{human, symbol};
use legwork_shared::dag::Condition;

/// The longest label, in columns of text; the whole name is in the tool tip.
const LABEL_CHARS_MAX: usize = 30;
/// The width of a character of the label at its size, a little more than most fonts need.
const CHAR_WIDTH: f64 = 7.6;
const BOX_WIDTH_MIN: f64 = 96.0;

/// The arrow, the fonts and the ground, the same in every picture.
const HEAD: &str = r##"<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 L8 4 L0 8 z" fill="#6b7280"/></marker></defs>
<style>text{font-family:system-ui,sans-serif;text-anchor:middle}.n{font-size:13px;fill:#111827}
.s{font-size:11px;fill:#4b5563}.l{fill:none;stroke:#6b7280;stroke-width:1.3}
.c{paint-order:stroke;stroke:#ffffff;stroke-width:4px}</style>
<rect width="100%" height="100%" fill="#ffffff"/>"##;

/// The picture of `graph`.
#[must_use]
pub fn svg(graph: &Graph) -> String {
    let labels: Vec<String> = graph.nodes.iter().map(label_of).collect();
    let widths: Vec<f64> = graph
        .nodes
        .iter()
        .zip(&labels)
        .map(|(node, label)| width_of(node, label))
        .collect();
    let layout = layout(graph, &widths);
    let (width, height, title) = (layout.width, layout.height, escaped(&graph.title));
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" role="img">"#
    );
    let _ = writeln!(out, "\n<title>{title}</title>\n{HEAD}");
    for (line, points) in graph.lines.iter().zip(&layout.lines) {
        draw_line(&mut out, line, points);
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        draw_box(&mut out, node, &labels[index], layout.boxes[index], widths[index]);
    }
    out += "</svg>\n";
    out
}

fn label_of(node: &Node) -> String {
    human::cut(&node.name, LABEL_CHARS_MAX)
}

fn state_text(node: &Node) -> String {
    format!("{} {}", symbol(node.state), node.state)
}

fn width_of(node: &Node, label: &str) -> f64 {
    let columns = columns_of(label).max(columns_of(&state_text(node)));
    (f64::from(u16::try_from(columns).unwrap_or(u16::MAX)) * CHAR_WIDTH + 24.0).max(BOX_WIDTH_MIN)
}

/// Columns of a text: two for each wide character, which are those of East Asian scripts and pictures.
fn columns_of(text: &str) -> usize {
    text.chars().map(|c| if (c as u32) >= 0x2e80 { 2 } else { 1 }).sum()
}

fn draw_line(out: &mut String, line: &Line, points: &[Point]) {
    let (dashes, label) = match line.link {
        Link::Needs(Condition::Success) => ("", None),
        Link::Needs(Condition::Failure) => (r#" stroke-dasharray="6 4""#, Some("on failure")),
        Link::Needs(Condition::Finished) => ("", Some("when finished")),
        Link::HandedOut => (r#" stroke-dasharray="2 3""#, None),
    };
    let mut path = String::new();
    for (index, point) in points.iter().enumerate() {
        let _ = match index.checked_sub(1).and_then(|before| points.get(before)) {
            None => write!(path, "M{:.1} {:.1}", point.x, point.y),
            Some(before) => {
                // Leaves and arrives upright, so that a line through a layer does not brush its boxes.
                let middle = f64::midpoint(before.y, point.y);
                write!(
                    path,
                    " C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}",
                    before.x, point.x, point.x, point.y
                )
            }
        };
    }
    let _ = writeln!(out, r#"<path class="l" d="{path}"{dashes} marker-end="url(#arrow)"/>"#);
    if let (Some(label), [.., before, last]) = (label, points) {
        let (x, y) = (f64::midpoint(before.x, last.x), f64::midpoint(before.y, last.y));
        let _ = writeln!(out, r#"<text class="s c" x="{x:.1}" y="{:.1}">{label}</text>"#, y - 3.0);
    }
}

fn draw_box(out: &mut String, node: &Node, label: &str, at: Point, width: f64) {
    let (fill, border) = colours(node.state);
    let (left, top) = (at.x - width / 2.0, at.y - BOX_HEIGHT / 2.0);
    let tip = escaped(&format!("{} ({}), {}, {}", node.name, node.agent, node.state, node.id));
    let (label, state, x) = (escaped(label), state_text(node), at.x);
    let (name_y, state_y) = (at.y - 3.0, at.y + 14.0);
    let _ = write!(
        out,
        r#"<g><title>{tip}</title><rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{BOX_HEIGHT}""#
    );
    let _ = write!(out, r#" rx="7" fill="{fill}" stroke="{border}" stroke-width="1.5"/>"#);
    let _ = write!(out, r#"<text class="n" x="{x:.1}" y="{name_y:.1}">{label}</text>"#);
    let _ = writeln!(out, r#"<text class="s" x="{x:.1}" y="{state_y:.1}">{state}</text></g>"#);
}

/// Text as XML content: markup is escaped, and characters that XML does not allow are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
