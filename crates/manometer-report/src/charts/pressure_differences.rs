//! How pressure differs between primaries, engines, kernels and devices, all else the same.

use super::heat::Heat;
use super::points::{PHASE, Point, axis, difference, pressures};
use super::{Chart, Draw, Drawing};
use crate::runs::KERNEL;
use crate::source::Source;

pub(super) const CHART: Chart = Chart {
    name: "pressure-differences",
    title: "Differences of pressure",
    reading: "Each cell is the pressure of one primary, engine, kernel or device less that of another, under the same \
              settings: orange where the first named suffers more, blue where it suffers less. A number is bold where its \
              95 % interval is on one side of 0.",
    spec: include_str!("../../../../charts/pressure-differences.vl.json"),
    draw: Draw::Joined(draw),
};

/// What recordings are set against one another by.
const SIDES: [&str; 4] = ["primary", "engine", KERNEL, "device"];

fn draw(sources: &[Source]) -> Drawing {
    let points = pressures(sources);
    let mut heat = Heat::new();
    for side in SIDES {
        for (title, differences) in between(&points, side) {
            heat.add(&title, &differences, None);
        }
    }
    let (cells, words, notes) = heat.finish();
    if cells.iter().all(|cell| cell.value.is_none()) {
        return Drawing::left_out(
            "No two recordings differ by their primary, engine, kernel or device alone: this chart is left out.",
        );
    }
    Drawing::of(&cells, &words, notes)
}

/// The differences from each value of `side` to the next, where all else is the same.
fn between(points: &[Point], side: &str) -> Vec<(String, Vec<Point>)> {
    let values = axis(points, side).values;
    let pair = |pair: &[String]| {
        let differences: Vec<Point> = points
            .iter()
            .filter(|to| to.under(side) == pair[1])
            .filter_map(|to| Some(less(to, points.iter().find(|from| is_pair(from, to, side, &pair[0]))?, side)))
            .collect();
        (format!("{side} {} − {}", pair[1], pair[0]), differences)
    };
    let told = values.windows(2).filter(|pair| pair.iter().all(|value| !value.is_empty()));
    told.map(pair).filter(|(_, differences)| !differences.is_empty()).collect()
}

/// Whether `from` has the value `value` of `side`, and all else as `to` has it, the phase's id included.
fn is_pair(from: &Point, to: &Point, side: &str, value: &str) -> bool {
    let others = |point: &Point| {
        point
            .run
            .iter()
            .filter(|(name, _)| *name != side)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Vec<_>>()
    };
    from.under(side) == value
        && from.under(PHASE) == to.under(PHASE)
        && from.phase == to.phase
        && others(from) == others(to)
}

fn less(to: &Point, from: &Point, side: &str) -> Point {
    let (value, low, high) = difference(to, from);
    let mut point = Point { value, low, high, ..to.clone() };
    point.run.remove(side);
    if to.value.is_some() {
        point.gap.clone_from(&from.gap);
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(primary: &str, kernel: &str, id: &str, value: Option<f64>) -> Point {
        let run = [("primary", primary), ("kernel", kernel)].map(|(name, value)| (name.to_owned(), value.to_owned()));
        Point { run: run.into(), id: id.to_owned(), value, gap: format!("{primary} failed"), ..Point::default() }
    }

    #[test]
    fn only_what_differs_by_one_thing_is_set_against_another() {
        let points = [
            point("ycsb-a", "5.4", "w1", Some(0.25)),
            point("ycsb-a", "5.4", "w2", None),
            point("ycsb-b", "5.4", "w1", Some(0.75)),
            point("ycsb-b", "5.4", "w2", Some(0.5)),
            point("ycsb-b", "5.11", "w1", Some(0.875)),
        ];
        let primaries = between(&points, "primary");
        assert_eq!(primaries.len(), 1);
        assert_eq!(primaries[0].0, "primary ycsb-b − ycsb-a");
        let values: Vec<_> = primaries[0].1.iter().map(|point| (point.id.as_str(), point.value)).collect();
        assert_eq!(values, [("w1", Some(0.5)), ("w2", None)], "5.11 has no ycsb-a beside it");
        assert_eq!(primaries[0].1[1].gap, "ycsb-a failed");
        let kernels = between(&points, "kernel");
        assert_eq!(kernels[0].0, "kernel 5.11 − 5.4");
        assert_eq!(kernels[0].1.iter().map(|point| point.value).collect::<Vec<_>>(), [Some(0.125)]);
        assert!(between(&points, "device").is_empty());
    }
}
