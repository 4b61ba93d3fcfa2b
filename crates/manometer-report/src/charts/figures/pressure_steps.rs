//! How pressure changes from one value of a setting to the next, all else the same.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::heat_map::HeatMap;
use crate::charts::phase_points::{
    PhasePoint, amount, axis, difference, group_alike, neighbouring, of_several_instances, pressures, varying, without,
};
use crate::recording_reader::RecordingReader;

pub(crate) const CHART: Chart = Chart {
    name: "pressure-steps",
    title: "Growth of pressure from value to value",
    origin: Some("Lange 2023, Figures 4.23 to 4.25"),
    caption: "Each cell is the growth (orange) or fall (blue) of the pressure when a setting goes from one value to \
              the next, all else the same. A bold number has a 95 % interval on one side of 0; a number without an \
              interval is never bold. Phases of one run share their w0, so their intervals are wider than necessary.",
    spec: include_str!("../../../charts/pressure-steps.vl.json"),
    input: ChartInput::Recordings(draw),
};

fn draw(readers: &[RecordingReader]) -> ChartContent {
    let points = pressures(readers);
    let mut heat = HeatMap::new();
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
        return ChartContent::empty("No setting has several values, all else the same: this chart is left out.");
    }
    ChartContent::of(&cells, &words, notes)
}

/// The differences from each value of `name` to the next one that was measured with all else the same, in the order of the
/// values. The phase's id may differ where `name` is a setting of phases.
fn steps(points: &[PhasePoint], name: &str) -> Vec<PhasePoint> {
    let axis = axis(points, name);
    let rest = |point: &PhasePoint| {
        let id = (!point.phase.contains_key(name)).then(|| point.id.clone());
        (id, without(&point.phase, name), without(&point.run, name))
    };
    let groups = group_alike(points, rest);
    let mut steps: Vec<PhasePoint> = Vec::new();
    for (from, to) in groups.iter().flat_map(|group| neighbouring(group, &axis)) {
        steps.push(step(to, from, name, format!("{} → {}", from.condition(name), to.condition(name))));
    }
    let place = |step: &PhasePoint| {
        axis.values.iter().position(|value| step.condition(name).starts_with(&format!("{value} → ")))
    };
    steps.sort_by_key(place);
    steps
}

fn step(to: &PhasePoint, from: &PhasePoint, name: &str, value: String) -> PhasePoint {
    let (difference, low, high) = difference(to, from);
    let mut point = PhasePoint { value: difference, low, high, ..to.clone() };
    if to.value.is_some() {
        point.gap.clone_from(&from.gap);
    }
    let under = if to.phase.contains_key(name) { &mut point.phase } else { &mut point.run };
    under.insert(name.to_owned(), value);
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::phase_points::Conditions;

    fn point(ratio: &str, depth: &str, id: &str, value: f64) -> PhasePoint {
        let under = |name: &str, value: &str| -> Conditions { [(name.to_owned(), value.to_owned())].into() };
        PhasePoint {
            run: under("io.write_ratio", ratio),
            phase: under("io.iodepth", depth),
            id: id.to_owned(),
            value: Some(value),
            ..PhasePoint::default()
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
        let values = |name: &str| -> Vec<(String, Option<f64>)> {
            steps(&points, name).iter().map(|point| (point.condition(name).to_owned(), point.value)).collect()
        };
        assert_eq!(values("io.iodepth"), [("1 → 2".to_owned(), Some(0.125)), ("2 → 16".to_owned(), Some(0.25))]);
        assert_eq!(values("io.write_ratio"), [("0 → 0.5".to_owned(), Some(0.25))]);
    }

    #[test]
    fn a_step_goes_to_the_next_value_that_was_measured() {
        let points = [point("0", "1", "w1", 0.125), point("0", "16", "w2", 0.5), point("0.5", "4", "w1", 0.75)];
        let values: Vec<(String, Option<f64>)> = steps(&points, "io.iodepth")
            .iter()
            .map(|point| (point.condition("io.iodepth").to_owned(), point.value))
            .collect();
        assert_eq!(values, [("1 → 16".to_owned(), Some(0.375))], "4 was measured under another share of writes");
    }

    #[test]
    fn where_two_phases_fit_there_is_no_step() {
        let points = [point("0", "1", "w1", 0.1), point("0", "1", "w2", 0.2), point("0", "2", "w3", 0.3)];
        assert!(steps(&points, "io.iodepth").is_empty());
    }
}
