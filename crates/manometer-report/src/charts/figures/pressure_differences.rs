//! How pressure differs between primaries, engines, kernels and devices, all else the same.

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::charts::heat_map::HeatMap;
use crate::charts::phase_points::{PhasePoint, axis, difference, group_alike, neighbouring, pressures, without};
use crate::recording_reader::RecordingReader;
use crate::run_names::KERNEL;

pub(crate) const CHART: Chart = Chart {
    name: "pressure-differences",
    title: "Differences of pressure",
    origin: Some("Lange 2023, Figures 4.15, 4.19, 4.22 and 4.26"),
    caption: "Each cell is the pressure on one primary, engine, kernel or device minus that on another, under the same \
              settings: orange where the first suffers more, blue where it suffers less. A bold number has a 95 % \
              interval on one side of 0; a number without an interval is never bold. The shade is the share of the \
              panel's largest value.",
    spec: include_str!("../../../charts/pressure-differences.vl.json"),
    input: ChartInput::SeveralRecordings(draw),
};

/// What recordings are set against one another by.
const SIDES: [&str; 4] = ["primary", "engine", KERNEL, "device"];

fn draw(readers: &[RecordingReader]) -> ChartContent {
    let points = pressures(readers);
    let mut heat = HeatMap::new();
    for side in SIDES {
        for (title, differences) in between(&points, side) {
            heat.add(&title, &differences, None);
        }
    }
    let (cells, words, notes) = heat.finish();
    if cells.iter().all(|cell| cell.value.is_none()) {
        return ChartContent::empty(
            "No two recordings differ only by their primary, engine, kernel or device: this chart is left out.",
        );
    }
    ChartContent::of(&cells, &words, notes)
}

/// The differences from each value of `side` to the next one that was measured with all else the same, the phase's id
/// included, by what they are between.
fn between(points: &[PhasePoint], side: &str) -> Vec<(String, Vec<PhasePoint>)> {
    let axis = axis(points, side);
    let groups = group_alike(points, |point| (point.id.clone(), point.phase.clone(), without(&point.run, side)));
    let mut between: Vec<(String, Vec<PhasePoint>)> = Vec::new();
    for (from, to) in groups.iter().flat_map(|group| neighbouring(group, &axis)) {
        let title = format!("{side} {} − {}", to.condition(side), from.condition(side));
        let difference = less(to, from, side);
        match between.iter_mut().find(|(known, _)| *known == title) {
            Some((_, differences)) => differences.push(difference),
            None => between.push((title, vec![difference])),
        }
    }
    between
}

fn less(to: &PhasePoint, from: &PhasePoint, side: &str) -> PhasePoint {
    let (value, low, high) = difference(to, from);
    let mut point = PhasePoint { value, low, high, ..to.clone() };
    point.run.remove(side);
    if to.value.is_some() {
        point.gap.clone_from(&from.gap);
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(primary: &str, kernel: &str, id: &str, value: Option<f64>) -> PhasePoint {
        let run = [("primary", primary), ("kernel", kernel)].map(|(name, value)| (name.to_owned(), value.to_owned()));
        PhasePoint {
            run: run.into(),
            id: id.to_owned(),
            value,
            gap: format!("{primary} failed"),
            ..PhasePoint::default()
        }
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
        assert_eq!(values, [("w1", Some(0.5)), ("w2", None)], "5.11 has no ycsb-a to compare with");
        assert_eq!(primaries[0].1[1].gap, "ycsb-a failed");
        let kernels = between(&points, "kernel");
        assert_eq!(kernels[0].0, "kernel 5.11 − 5.4");
        assert_eq!(kernels[0].1.iter().map(|point| point.value).collect::<Vec<_>>(), [Some(0.125)]);
        assert!(between(&points, "device").is_empty());
    }
}
