//! Checks a graph before anything of it is stored.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Condition;

/// One job of a graph, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node<'a> {
    /// Its name.
    pub name: &'a str,
    /// The names it depends on.
    pub needs: Vec<(&'a str, Condition)>,
}

/// Why a graph is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A job has no name.
    #[error("job number {index} has an empty id; give it one")]
    EmptyName {
        /// Its place, from 1.
        index: usize,
    },
    /// Two jobs have one name.
    #[error("the id `{name}` is given to two jobs; rename one")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A job depends on itself.
    #[error("job `{name}` depends on itself; remove the edge")]
    SelfEdge {
        /// The name.
        name: String,
    },
    /// A job depends on one that is not there.
    #[error("job `{name}` depends on `{missing}`, which is not in the run{}", nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    Unknown {
        /// Who depends.
        name: String,
        /// On what.
        missing: String,
        /// The most similar name there is.
        nearest: Option<String>,
    },
    /// One job needs two different outcomes of another.
    #[error("job `{name}` depends on `{on}` twice with different conditions; keep one")]
    Contradiction {
        /// Who depends.
        name: String,
        /// On whom.
        on: String,
    },
    /// Jobs wait for each other in a ring.
    #[error("the jobs wait for each other in a ring: {}; remove one of these edges", path.join(" → "))]
    Cycle {
        /// The ring, its first name repeated at the end.
        path: Vec<String>,
    },
}

/// Checks that `nodes` form a graph without rings over themselves and the jobs that `exists` knows.
///
/// Returns the edges of each node with duplicates removed, in the order of `nodes`. Takes time and memory linear in
/// nodes and edges (times a logarithm), and no recursion: a chain of any length is fine.
///
/// # Errors
/// The first fault found, in the order of the variants of [`GraphError`].
pub fn validate<'a>(
    nodes: &[Node<'a>],
    exists: &dyn Fn(&str) -> bool,
) -> Result<Vec<Vec<(&'a str, Condition)>>, GraphError> {
    let mut index_of = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        if node.name.trim().is_empty() {
            return Err(GraphError::EmptyName { index: index + 1 });
        }
        if index_of.insert(node.name, index).is_some() || exists(node.name) {
            return Err(GraphError::Duplicate {
                name: node.name.to_owned(),
            });
        }
    }
    let mut edges = Vec::with_capacity(nodes.len());
    for node in nodes {
        edges.push(edges_of(node, &index_of, exists)?);
    }
    match find_cycle(&edges, &index_of) {
        Some(ring) => Err(GraphError::Cycle {
            path: ring.into_iter().map(|at| nodes[at].name.to_owned()).collect(),
        }),
        None => Ok(edges),
    }
}

fn edges_of<'a>(
    node: &Node<'a>,
    index_of: &BTreeMap<&str, usize>,
    exists: &dyn Fn(&str) -> bool,
) -> Result<Vec<(&'a str, Condition)>, GraphError> {
    let name = || node.name.to_owned();
    let mut kept: BTreeMap<&str, Condition> = BTreeMap::new();
    let mut edges = Vec::with_capacity(node.needs.len());
    for (on, condition) in &node.needs {
        if *on == node.name {
            return Err(GraphError::SelfEdge { name: name() });
        }
        if !index_of.contains_key(on) && !exists(on) {
            let nearest = crate::nearest::nearest(on, index_of.keys().copied()).map(str::to_owned);
            return Err(GraphError::Unknown {
                name: name(),
                missing: (*on).to_owned(),
                nearest,
            });
        }
        match kept.insert(on, *condition) {
            None => edges.push((*on, *condition)),
            Some(before) if before == *condition => {}
            Some(_) => {
                return Err(GraphError::Contradiction {
                    name: name(),
                    on: (*on).to_owned(),
                });
            }
        }
    }
    Ok(edges)
}

/// A ring of indices, its first repeated at the end; found by taking away what is ready (Kahn, 1962) until only rings
/// and what hangs on them are left, then walking backwards.
fn find_cycle(edges: &[Vec<(&str, Condition)>], index_of: &BTreeMap<&str, usize>) -> Option<Vec<usize>> {
    let parents: Vec<Vec<usize>> = edges
        .iter()
        .map(|needs| needs.iter().filter_map(|(on, _)| index_of.get(on).copied()).collect())
        .collect();
    let mut unmet: Vec<usize> = parents.iter().map(Vec::len).collect();
    let mut children = vec![Vec::new(); edges.len()];
    for (child, needs) in parents.iter().enumerate() {
        for parent in needs {
            children[*parent].push(child);
        }
    }
    let mut ready: VecDeque<usize> = (0..edges.len()).filter(|at| unmet[*at] == 0).collect();
    let mut left: BTreeSet<usize> = (0..edges.len()).collect();
    while let Some(at) = ready.pop_front() {
        left.remove(&at);
        for child in &children[at] {
            unmet[*child] -= 1;
            if unmet[*child] == 0 {
                ready.push_back(*child);
            }
        }
    }
    let mut at = *left.first()?;
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    let mut walk = Vec::new();
    // Each job that is left waits for another that is left, so this walk must meet itself.
    while !seen.contains_key(&at) {
        seen.insert(at, walk.len());
        walk.push(at);
        at = parents[at].iter().copied().find(|parent| left.contains(parent))?;
    }
    let mut ring: Vec<usize> = walk[seen[&at]..].to_vec();
    ring.push(at);
    ring.reverse();
    Some(ring)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes<'a>(list: &[(&'a str, &[&'a str])]) -> Vec<Node<'a>> {
        let needs = |on: &[&'a str]| on.iter().map(|name| (*name, Condition::Success)).collect();
        list.iter().map(|(name, on)| Node { name, needs: needs(on) }).collect()
    }

    fn check(list: &[(&str, &[&str])]) -> Result<usize, GraphError> {
        validate(&nodes(list), &|name| name == "old").map(|edges| edges.iter().map(Vec::len).sum())
    }

    #[test]
    fn a_diamond_is_accepted_and_duplicate_edges_count_once() {
        assert_eq!(
            check(&[("a", &[]), ("b", &["a"]), ("c", &["a", "a"]), ("d", &["b", "c", "old"])]),
            Ok(5)
        );
    }

    #[test]
    fn d24_a_ring_is_refused_with_its_path() {
        let path = ["a", "c", "b", "a"].map(str::to_owned).to_vec();
        let ring = check(&[("x", &["a"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"])]);
        let Err(GraphError::Cycle { path: found }) = ring else {
            panic!("{ring:?}")
        };
        assert_eq!(found.len(), path.len());
        assert_eq!(found.first(), found.last());
        assert_eq!(found.iter().collect::<BTreeSet<_>>(), path.iter().collect());
    }

    #[test]
    fn d24_self_edges_unknown_empty_and_duplicate_ids_are_refused() {
        assert_eq!(check(&[("a", &["a"])]), Err(GraphError::SelfEdge { name: "a".into() }));
        assert_eq!(check(&[(" ", &[])]), Err(GraphError::EmptyName { index: 1 }));
        assert_eq!(
            check(&[("a", &[]), ("a", &[])]),
            Err(GraphError::Duplicate { name: "a".into() })
        );
        assert_eq!(
            check(&[("old", &[])]),
            Err(GraphError::Duplicate { name: "old".into() })
        );
        let missing = GraphError::Unknown {
            name: "b".into(),
            missing: "analyts".into(),
            nearest: Some("analyst".into()),
        };
        assert_eq!(check(&[("analyst", &[]), ("b", &["analyts"])]), Err(missing));
    }

    #[test]
    fn s24_one_edge_cannot_need_two_outcomes() {
        let both = vec![("a", Condition::Success), ("a", Condition::Failure)];
        let list = [
            Node {
                name: "a",
                needs: vec![],
            },
            Node { name: "b", needs: both },
        ];
        let error = GraphError::Contradiction {
            name: "b".into(),
            on: "a".into(),
        };
        assert_eq!(validate(&list, &|_| false), Err(error));
    }

    #[test]
    fn d26_a_chain_of_100_000_does_not_overflow_the_stack() {
        let names: Vec<String> = (0..100_000).map(|n| format!("n{n:06}")).collect();
        let chain: Vec<Node<'_>> = (0..names.len())
            .map(|n| Node {
                name: &names[n],
                needs: n
                    .checked_sub(1)
                    .map(|p| (names[p].as_str(), Condition::Success))
                    .into_iter()
                    .collect(),
            })
            .collect();
        assert!(validate(&chain, &|_| false).is_ok());
    }
}
