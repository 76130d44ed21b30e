//! Finds where a field of a plan stands in its text, for faults that are found after it was read.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

/// Where `field`, such as `jobs[2].depends_on`, stands in the text of a plan; of a field that is left out, where the
/// nearest thing around it stands.
#[must_use]
pub fn locate(text: &str, field: &str) -> Option<Place> {
    let root: Spanned<Node> = serde_saphyr::from_str(text).ok()?;
    let mut at = &root;
    let mut found = None;
    for step in steps(field) {
        let Some(next) = at.value.step(step) else { break };
        at = next;
        found = Some(at);
    }
    let location = found?.referenced;
    (location.line() > 0).then(|| Place {
        line: location.line(),
        column: location.column(),
    })
}

/// The names and numbers of a path: `jobs[2].agent` is `jobs`, `2`, `agent`.
fn steps(field: &str) -> impl Iterator<Item = &str> {
    field.split(['.', '[', ']']).filter(|step| !step.is_empty())
}

/// What a text holds, as far as it has parts.
enum Node {
    Map(BTreeMap<String, Spanned<Node>>),
    List(Vec<Spanned<Node>>),
    Leaf,
}

impl Node {
    fn step(&self, step: &str) -> Option<&Spanned<Self>> {
        match self {
            Self::Map(map) => map.get(step),
            Self::List(list) => list.get(step.parse::<usize>().ok()?),
            Self::Leaf => None,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut parts = BTreeMap::new();
        while let Some(name) = map.next_key()? {
            parts.insert(name, map.next_value()?);
        }
        Ok(Node::Map(parts))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = list.next_element()? {
            parts.push(part);
        }
        Ok(Node::List(parts))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_in_every_form_in_which_plans_are_written() {
        let block = "title: x\njobs:\n  - id: a\n    priority: 3\n  - id: b\n    depends_on:\n      - job: a\n        on: failure\n";
        let flow = "jobs:\n  - {id: a, description: x}\n  - {id: b, depends_on: [a], description: \"y\"}\n";
        let json =
            "{\"jobs\": [{\"id\": \"a\"},\n  {\"id\": \"b\", \"priority\": null, \"context\": {\"deep\": true}}]}";
        let found = |text, field| locate(text, field).map(|place| (place.line, place.column));
        assert_eq!(found(block, "title"), Some((1, 8)));
        assert_eq!(found(block, "jobs[1].id"), Some((5, 9)));
        assert_eq!(found(block, "jobs[1].depends_on[0].on"), Some((8, 13)));
        assert_eq!(found(flow, "jobs[1].depends_on"), Some((3, 25)));
        assert_eq!(found(json, "jobs[1].context.deep"), Some((2, 53)));
    }

    #[test]
    fn of_what_is_left_out_the_nearest_thing_around_it_is_found() {
        let text = "jobs:\n  - {id: a, description: x}\n";
        let found = |field| locate(text, field).map(|place| (place.line, place.column));
        assert_eq!(found("jobs[0].agent"), Some((2, 5)));
        assert_eq!(found("jobs[7].agent"), found("jobs"));
        assert_eq!(found("result"), None);
        assert_eq!(locate("jobs: [", "jobs"), None);
    }
}
