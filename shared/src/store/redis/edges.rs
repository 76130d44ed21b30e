//! The edges of the graph as they are stored: at each end, under the other end and the kind.

use super::packed::{condition_byte, kind_byte};
use crate::dag::{Condition, Edge, EdgeKind};
use crate::id::JobId;
use crate::store::StoreError;
use crate::store::document::corrupt;

const KINDS: [EdgeKind; 2] = [EdgeKind::Dependency, EdgeKind::Await];
const CONDITIONS: [Condition; 3] = [Condition::Success, Condition::Failure, Condition::Finished];

/// The edges in which `parent` is the parent, in the order of the children.
pub(super) fn dependents<B: AsRef<[u8]>>(
    parent: JobId,
    stored: impl Iterator<Item = (B, B)>,
) -> Result<Vec<Edge>, StoreError> {
    sorted(stored, |child, kind, condition| Edge {
        parent,
        child,
        condition,
        kind,
    })
}

/// The edges in which `child` is the child, in the order of the parents.
pub(super) fn dependencies<B: AsRef<[u8]>>(
    child: JobId,
    stored: impl Iterator<Item = (B, B)>,
) -> Result<Vec<Edge>, StoreError> {
    sorted(stored, |parent, kind, condition| Edge {
        parent,
        child,
        condition,
        kind,
    })
}

fn sorted<B: AsRef<[u8]>>(
    stored: impl Iterator<Item = (B, B)>,
    edge: impl Fn(JobId, EdgeKind, Condition) -> Edge,
) -> Result<Vec<Edge>, StoreError> {
    let edges = stored.map(|(name, condition)| {
        let (id, kind) = name
            .as_ref()
            .split_at_checked(16)
            .ok_or_else(|| corrupt("an edge", "its name is too short"))?;
        let kind = KINDS.into_iter().find(|known| kind == [kind_byte(*known)]);
        let condition = CONDITIONS
            .into_iter()
            .find(|known| condition.as_ref() == [condition_byte(*known)]);
        let (Some(kind), Some(condition)) = (kind, condition) else {
            return Err(corrupt("an edge", "its kind or condition is unknown"));
        };
        Ok(edge(JobId::from_bytes(super::pack::id(id)?), kind, condition))
    });
    let mut edges: Vec<Edge> = edges.collect::<Result<_, _>>()?;
    edges.sort_unstable_by_key(|edge| (edge.child, edge.parent, edge.kind));
    Ok(edges)
}
