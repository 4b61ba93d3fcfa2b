//! How pressure changes from one value of a setting to the next, all else the same.

use super::heat::Heat;
use super::points::{
    Point, alike, amount, axis, difference, neighbouring, of_several_instances, pressures, varying, without,
};
use super::{Chart, Draw, Drawing};
use crate::source::Source;

pub(super) const CHART: Chart = Chart {
    name: "pressure-steps",
    title: "Pressure step by step",
    origin: Some("Lange 2023 (seed 000), Figures 4.23 to 4.25"),
    reading: "Each cell is what the pressure grows by (orange) or falls by (blue) when a setting goes from one value \
              to the next, all else the same. A number is bold where its 95 % interval is on one side of 0; one \
              without an interval never is. Phases of one run share their w0, so that their intervals are wider than \
              they need be.",
    spec: include_str!("../../../../charts/pressure-steps.vl.json"),
    draw: Draw::Any(draw),
};

fn draw(sources: &[Source]) -> Drawing {
    let points = pressures(sources);
    let mut heat = Heat::new();
    let axes = varying(&points);
    let several = of_several_instances(axes.iter().map(|axis| axis.name.as_str()));
    for axis in axes {
        // Facts without a point in their name, such as the kernel, are no settings; those of single instances take one
        // step while the others wait; words are in no order.
        let is_setting = axis.name.contains('.') && !several.contains_key(&axis.name);
        if is_setting && axis.values.iter().all(|value| value.is_empty() || amount(value).is_some()) {
            heat.add(&format!("steps of {}", axis.name), &steps(&points, &axis.name), Some(&axis.name));
        }
    }
    let (cells, words, notes) = heat.finish();
    if cells.iter().all(|cell| cell.value.is_none()) {
        return Drawing::left_out("No setting has several values, all else the same: this chart is left out.");
    }
    Drawing::of(&cells, &words, notes)
}

/// The differences from each value of `name` to the next one that was measured with all else the same, in the order of the
/// values. The phase's id may differ where `name` is a setting of phases.
fn steps(points: &[Point], name: &str) -> Vec<Point> {
    let axis = axis(points, name);
    let rest = |point: &Point| {
        let id = (!point.phase.contains_key(name)).then(|| point.id.clone());
        (id, without(&point.phase, name), without(&point.run, name))
    };
    let groups = alike(points, rest);
    let mut steps: Vec<Point> = Vec::new();
    for (from, to) in groups.iter().flat_map(|group| neighbouring(group, &axis)) {
        steps.push(step(to, from, name, format!("{} → {}", from.under(name), to.under(name))));
    }
    let place =
        |step: &Point| axis.values.iter().position(|value| step.under(name).starts_with(&format!("{value} → ")));
    steps.sort_by_key(place);
    steps
}

fn step(to: &Point, from: &Point, name: &str, value: String) -> Point {
    let (difference, low, high) = difference(to, from);
    let mut point = Point { value: difference, low, high, ..to.clone() };
    if to.value.is_some() {
        point.gap.clone_from(&from.gap);
    }
    let under = if to.phase.contains_key(name) { &mut point.phase } else { &mut point.run };
    under.insert(name.to_owned(), value);
    point
}

#[cfg(test)]
mod tests {
    use super::super::points::Under;
    use super::*;

    fn point(ratio: &str, depth: &str, id: &str, value: f64) -> Point {
        let under = |name: &str, value: &str| -> Under { [(name.to_owned(), value.to_owned())].into() };
        Point {
            run: under("io.write_ratio", ratio),
            phase: under("io.iodepth", depth),
            id: id.to_owned(),
            value: Some(value),
            ..Point::default()
        }
    }

    #[test]
    fn steps_follow_the_order_of_the_values() {
        let points = [
            point("0", "1", "w1", 0.125),
            point("0", "16", "w2", 0.5),
            point("0", "2", "w3", 0.25),
            point("0.5", "1", "w1", 0.375),
        ];
        let told = |name: &str| -> Vec<(String, Option<f64>)> {
            steps(&points, name).iter().map(|point| (point.under(name).to_owned(), point.value)).collect()
        };
        assert_eq!(told("io.iodepth"), [("1 → 2".to_owned(), Some(0.125)), ("2 → 16".to_owned(), Some(0.25))]);
        assert_eq!(told("io.write_ratio"), [("0 → 0.5".to_owned(), Some(0.25))]);
    }

    #[test]
    fn a_step_goes_to_the_next_value_that_was_measured() {
        let points = [point("0", "1", "w1", 0.125), point("0", "16", "w2", 0.5), point("0.5", "4", "w1", 0.75)];
        let told: Vec<(String, Option<f64>)> = steps(&points, "io.iodepth")
            .iter()
            .map(|point| (point.under("io.iodepth").to_owned(), point.value))
            .collect();
        assert_eq!(told, [("1 → 16".to_owned(), Some(0.375))], "4 was measured under another share of writes");
    }

    #[test]
    fn where_two_phases_fit_there_is_no_step() {
        let points = [point("0", "1", "w1", 0.1), point("0", "1", "w2", 0.2), point("0", "2", "w3", 0.3)];
        assert!(steps(&points, "io.iodepth").is_empty());
    }
}
