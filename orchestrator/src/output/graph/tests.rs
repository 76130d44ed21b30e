use super::layout::{Layout, layout};
use super::*;
use crate::output::samples;

/// A graph of `n` jobs with plain lines.
fn graph(n: usize, lines: &[(usize, usize)]) -> Graph {
    let nodes = (0..n).map(|place| Node {
        id: samples::id(u32::try_from(place).expect("a small number")),
        name: format!("n{place}"),
        agent: "a".into(),
        state: JobState::Queued,
    });
    let link = Link::Needs(Condition::Success);
    Graph {
        title: "t".into(),
        nodes: nodes.collect(),
        lines: lines
            .iter()
            .map(|(from, to)| Line {
                from: *from,
                to: *to,
                link,
            })
            .collect(),
    }
}

fn laid_out(n: usize, lines: &[(usize, usize)]) -> Layout {
    layout(&graph(n, lines), &vec![100.0; n])
}

fn hostile() -> Graph {
    let mut graph = graph(2, &[(0, 1)]);
    graph.nodes[0].name = "</title><script>alert(\"1\")</script>\x1b\\N".into();
    graph.nodes[1].name = "\"]; click x\n`b` #quot;".into();
    graph.lines[0].link = Link::Needs(Condition::Failure);
    graph
}

#[test]
fn a_diamond_is_symmetric() {
    let layout = laid_out(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
    let [top, left, right, bottom] = layout.boxes[..] else {
        panic!("four boxes")
    };
    assert!((top.x - bottom.x).abs() < 0.01 && (top.x - f64::midpoint(left.x, right.x)).abs() < 0.01);
    assert!((right.x - left.x - 124.0).abs() < 0.01, "a box and a gap apart");
    assert!(top.y < left.y && (left.y - right.y).abs() < 0.01 && right.y < bottom.y);
    assert!(bottom.y < layout.height && right.x < layout.width);
}

#[test]
fn boxes_of_a_layer_do_not_overlap_and_stay_inside() {
    let lines: Vec<(usize, usize)> = (1..40)
        .flat_map(|n| [(n / 3, n), (n / 2, n)])
        .filter(|(a, b)| a != b)
        .collect();
    let layout = laid_out(40, &lines);
    for (place, one) in layout.boxes.iter().enumerate() {
        assert!(one.x >= 50.0 && one.x <= layout.width - 50.0);
        for other in &layout.boxes[place + 1..] {
            let apart = (one.x - other.x).abs() >= 100.0 || (one.y - other.y).abs() > 1.0;
            assert!(apart, "{one:?} {other:?}");
        }
    }
}

#[test]
fn lines_of_two_parents_are_untangled() {
    // Drawn in the given order, the lines 0-3 and 1-2 would cross.
    let layout = laid_out(4, &[(0, 3), (1, 2)]);
    let [zero, one, two, three] = layout.boxes[..] else {
        panic!("four boxes")
    };
    assert_eq!(zero.x < one.x, three.x < two.x);
}

#[test]
fn a_long_line_goes_around_the_boxes_between() {
    let layout = laid_out(3, &[(0, 1), (1, 2), (0, 2)]);
    let [_, waypoint, _] = layout.lines[2][..] else {
        panic!("three points")
    };
    let middle = layout.boxes[1];
    assert!((waypoint.y - middle.y).abs() < 0.01 && (waypoint.x - middle.x).abs() > 50.0);
}

#[test]
fn large_graphs_are_laid_out() {
    let wide: Vec<(usize, usize)> = (0..10_000).map(|n| (n, 10_000)).collect();
    assert_eq!(laid_out(10_001, &wide).boxes.len(), 10_001);
    let mut chain: Vec<(usize, usize)> = (1..10_000).map(|n| (n - 1, n)).collect();
    chain.extend((0..100).map(|n| (n, 9_999)));
    assert_eq!(laid_out(10_000, &chain).lines.len(), 10_099);
    assert!(laid_out(0, &[]).boxes.is_empty());
}

#[test]
fn names_from_outside_are_text_in_every_language() {
    let picture = svg(&hostile());
    assert!(!picture.contains("<script") && !picture.contains('\x1b'), "{picture}");
    assert!(picture.contains("&lt;script&gt;alert(&quot;1&quot;)"));
    insta::assert_snapshot!(dot(&hostile()) + &mermaid(&hostile()));
}

#[test]
fn a_run_has_its_dependencies_and_the_jobs_it_handed_out() {
    let graph = Graph::of(&samples::status());
    let lines: Vec<(usize, usize, Link)> = graph.lines.iter().map(|line| (line.from, line.to, line.link)).collect();
    let needs = Link::Needs;
    let expected = [
        (0, 1, Link::HandedOut),
        (0, 2, Link::HandedOut),
        (0, 5, needs(Condition::Success)),
        (4, 5, needs(Condition::Finished)),
        (6, 8, needs(Condition::Success)),
    ];
    assert_eq!(lines, expected);
    insta::assert_snapshot!(svg(&graph));
}
