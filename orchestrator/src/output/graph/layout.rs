//! Places boxes in layers from top to bottom and draws lines between them around other boxes.
//!
//! The usual four steps: layers by the longest way from a root; a waypoint in each layer that a line crosses; an order
//! in each layer that keeps neighbours close; columns that pull each box below its parents. Time is linear in boxes,
//! lines and waypoints, up to the sorting of each layer.

use super::Graph;

/// The height of a box.
pub(super) const BOX_HEIGHT: f64 = 44.0;
const LAYER_GAP: f64 = 56.0;
const BOX_GAP: f64 = 24.0;
const MARGIN: f64 = 24.0;
/// Rounds of ordering: the first ones matter, and after eight hardly a crossing goes away.
const ORDER_ROUNDS: usize = 8;
/// Rounds of placing columns.
const COLUMN_ROUNDS: usize = 6;
/// Waypoints that are worth their time. Beyond that, long lines are drawn straight.
const WAYPOINTS_MAX: usize = 50_000;

/// A point of the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// Where everything is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    /// The width of the picture.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// The middle of each box, in the order of the graph's nodes.
    pub boxes: Vec<Point>,
    /// The points of each line from its first box to its last, in the order of the graph's lines.
    pub lines: Vec<Vec<Point>>,
}

/// Lays out a graph whose boxes have these `widths`.
pub(super) fn layout(graph: &Graph, widths: &[f64]) -> Layout {
    let layers = layers_of(graph);
    let mut grid = Grid::new(graph, &layers, widths);
    grid.order();
    let columns = grid.columns();
    grid.finish(graph, &columns)
}

/// The layer of each node: one below the lowest of those it comes after. Nodes in a ring, which no run has, stay at 0.
fn layers_of(graph: &Graph) -> Vec<usize> {
    let mut layers = vec![0; graph.nodes.len()];
    let mut waits = vec![0_usize; graph.nodes.len()];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for line in &graph.lines {
        waits[line.to] += 1;
        below[line.from].push(line.to);
    }
    let mut ready: Vec<usize> = (0..graph.nodes.len()).filter(|node| waits[*node] == 0).collect();
    while let Some(node) = ready.pop() {
        for next in &below[node] {
            layers[*next] = layers[*next].max(layers[node] + 1);
            waits[*next] -= 1;
            if waits[*next] == 0 {
                ready.push(*next);
            }
        }
    }
    layers
}

/// Boxes and waypoints in layers. Both are spots; the first ones are the graph's nodes.
struct Grid {
    layer: Vec<usize>,
    width: Vec<f64>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    /// The spots of each layer from left to right.
    rows: Vec<Vec<usize>>,
    /// The spots of each line of the graph.
    routes: Vec<Vec<usize>>,
    waypoints: usize,
}

impl Grid {
    fn new(graph: &Graph, layers: &[usize], widths: &[f64]) -> Self {
        let spots = layers.len();
        let mut grid = Self {
            layer: layers.to_vec(),
            width: widths.to_vec(),
            above: vec![Vec::new(); spots],
            below: vec![Vec::new(); spots],
            rows: vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)],
            routes: Vec::with_capacity(graph.lines.len()),
            waypoints: 0,
        };
        for line in &graph.lines {
            let route = grid.route(line.from, line.to);
            for pair in route.windows(2) {
                grid.below[pair[0]].push(pair[1]);
                grid.above[pair[1]].push(pair[0]);
            }
            grid.routes.push(route);
        }
        for (spot, layer) in grid.layer.iter().enumerate() {
            grid.rows[*layer].push(spot);
        }
        grid
    }

    /// The spots from one box to another, with new waypoints in the layers between them.
    fn route(&mut self, from: usize, to: usize) -> Vec<usize> {
        let crossed = self.layer[from] + 1..self.layer[to];
        let mut route = vec![from];
        if self.waypoints + crossed.len() <= WAYPOINTS_MAX {
            self.waypoints += crossed.len();
            for layer in crossed {
                route.push(self.layer.len());
                self.layer.push(layer);
                self.width.push(0.0);
                self.above.push(Vec::new());
                self.below.push(Vec::new());
            }
        }
        route.push(to);
        route
    }

    /// Orders each layer by the mean place of the neighbours above, then below, and so on.
    fn order(&mut self) {
        let mut place = vec![0.0; self.layer.len()];
        for row in &self.rows {
            number(row, &mut place);
        }
        for round in 0..ORDER_ROUNDS {
            let downward = round % 2 == 0;
            let neighbours = if downward { &self.above } else { &self.below };
            let count = self.rows.len();
            for step in 0..count {
                let row = &mut self.rows[if downward { step } else { count - 1 - step }];
                let mut keyed: Vec<(f64, usize)> = row
                    .iter()
                    .map(|spot| (mean(&neighbours[*spot], &place).unwrap_or(place[*spot]), *spot))
                    .collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                *row = keyed.into_iter().map(|(_, spot)| spot).collect();
                number(row, &mut place);
            }
        }
    }

    /// The column of each spot: as close to its neighbours' as the order and the widths allow.
    fn columns(&self) -> Vec<f64> {
        let mut x = vec![0.0; self.layer.len()];
        for row in &self.rows {
            let wanted: Vec<f64> = vec![0.0; row.len()];
            self.place_row(row, &wanted, &mut x);
        }
        for round in 0..COLUMN_ROUNDS {
            let downward = round % 2 == 0;
            let neighbours = if downward { &self.above } else { &self.below };
            let count = self.rows.len();
            for step in 0..count {
                let row = &self.rows[if downward { step } else { count - 1 - step }];
                let wanted: Vec<f64> = row
                    .iter()
                    .map(|spot| mean(&neighbours[*spot], &x).unwrap_or(x[*spot]))
                    .collect();
                self.place_row(row, &wanted, &mut x);
            }
        }
        x
    }

    /// Places a row with the least squared distance to where its spots want to be, in order and without overlap.
    ///
    /// With each spot moved left by the room that those before it need, this is an isotonic regression: neighbours that
    /// want to pass each other are pooled at their mean.
    fn place_row(&self, row: &[usize], wanted: &[f64], x: &mut [f64]) {
        let mut offsets = Vec::with_capacity(row.len());
        let mut offset = 0.0;
        for (place, spot) in row.iter().enumerate() {
            if place > 0 {
                offset += f64::midpoint(self.width[row[place - 1]], self.width[*spot]) + BOX_GAP;
            }
            offsets.push(offset);
        }
        // Each pool is a sum and how many spots share it.
        let mut pools: Vec<(f64, f64)> = Vec::new();
        for (wish, offset) in wanted.iter().zip(&offsets) {
            let mut pool = (wish - offset, 1.0);
            while let Some(last) = pools.pop_if(|last| last.0 / last.1 > pool.0 / pool.1) {
                pool = (last.0 + pool.0, last.1 + pool.1);
            }
            pools.push(pool);
        }
        let mut places = row.iter().zip(&offsets);
        for (sum, shared) in pools {
            let mut left = shared;
            while left > 0.5 {
                if let Some((spot, offset)) = places.next() {
                    x[*spot] = sum / shared + offset;
                }
                left -= 1.0;
            }
        }
    }

    /// The picture with its upper left corner at zero.
    fn finish(&self, graph: &Graph, x: &[f64]) -> Layout {
        let left = x
            .iter()
            .zip(&self.width)
            .map(|(x, width)| x - width / 2.0)
            .fold(f64::INFINITY, f64::min);
        let right = x
            .iter()
            .zip(&self.width)
            .map(|(x, width)| x + width / 2.0)
            .fold(f64::NEG_INFINITY, f64::max);
        let point = |spot: usize| Point {
            x: x[spot] - left + MARGIN,
            y: MARGIN + BOX_HEIGHT / 2.0 + to_f64(self.layer[spot]) * (BOX_HEIGHT + LAYER_GAP),
        };
        let line = |route: &Vec<usize>| {
            let mut points: Vec<Point> = route.iter().map(|spot| point(*spot)).collect();
            if let Some(first) = points.first_mut() {
                first.y += BOX_HEIGHT / 2.0;
            }
            if let Some(last) = points.last_mut() {
                last.y -= BOX_HEIGHT / 2.0;
            }
            points
        };
        let rows = to_f64(self.rows.len());
        Layout {
            width: (right - left).max(0.0) + 2.0 * MARGIN,
            height: (rows * (BOX_HEIGHT + LAYER_GAP) - LAYER_GAP).max(0.0) + 2.0 * MARGIN,
            boxes: (0..graph.nodes.len()).map(point).collect(),
            lines: self.routes.iter().map(line).collect(),
        }
    }
}

fn number(row: &[usize], place: &mut [f64]) {
    for (index, spot) in row.iter().enumerate() {
        place[*spot] = to_f64(index);
    }
}

fn mean(spots: &[usize], values: &[f64]) -> Option<f64> {
    (!spots.is_empty()).then(|| spots.iter().map(|spot| values[*spot]).sum::<f64>() / to_f64(spots.len()))
}

/// A count as a coordinate. Counts of boxes are far below the 2^52 at which this would lose digits.
fn to_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
