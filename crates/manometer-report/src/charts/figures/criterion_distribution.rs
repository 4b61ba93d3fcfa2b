//! The cumulative distribution of the criterion over the sample intervals of each phase.

use manometer_measure::plan::PhaseKind;
use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput, phase_name};
use crate::recording_reader::{LatencyCriterion, RecordingReader};
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "criterion-distribution",
    title: "Distribution of the criterion",
    origin: Some("Lange 2023, Figures 4.8 and 4.17"),
    caption: "The cumulative distribution of the criterion: the share of a phase's sample intervals (y axis) with at \
              most this value (x axis). The dashed line is w0. A steep line is a steady phase. Of a throughput, a line \
              further to the left is lower.",
    spec: include_str!("../../../charts/criterion-distribution.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Steps of one line; longer phases show this many evenly spaced quantiles.
const LIMIT: usize = 400;

/// One step of the distribution of one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct DistributionStep {
    pub(super) criterion: String,
    pub(super) phase: String,
    pub(super) order: usize,
    pub(super) baseline: bool,
    pub(super) value: f64,
    pub(super) share: f64,
    pub(super) samples: usize,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let rows = rows(reader, LIMIT);
    if rows.is_empty() {
        return ChartContent::empty("No phase has samples of the criterion: this chart is left out.");
    }
    ChartContent::of(&rows, &describe(&rows), Vec::new())
}

/// The median of each phase.
pub(super) fn describe(rows: &[DistributionStep]) -> Vec<String> {
    let median = |phase: &[DistributionStep]| {
        let median = phase.iter().find(|row| row.share >= 0.5).map_or(0.0, |row| row.value);
        format!("{}: median {} of {} samples", phase[0].phase, text::number(median), phase[0].samples)
    };
    rows.chunk_by(|left, right| left.order == right.order).map(median).collect()
}

/// The distributions of all phases, of at most `limit` steps each.
pub(super) fn rows(reader: &RecordingReader, limit: usize) -> Vec<DistributionStep> {
    let points = reader.criterion();
    let title = title(reader);
    let mut rows = Vec::new();
    for (order, phase) in reader.summary.phases.iter().enumerate() {
        let ours = points.iter().filter(|point| reader.is_in(phase, point.t_s));
        let values: Vec<f64> = ours.filter_map(|point| point.mean).collect();
        let samples = values.len();
        rows.extend(distribution(values, limit).into_iter().map(|(value, share)| DistributionStep {
            criterion: title.clone(),
            phase: phase_name(&phase.id, &phase.label),
            order,
            baseline: phase.kind == PhaseKind::Baseline,
            value,
            share,
            samples,
        }));
    }
    rows
}

/// What the values across are, with their unit.
fn title(reader: &RecordingReader) -> String {
    let of = reader.primary().map_or_else(String::new, |primary| format!(" of {}", primary.name));
    match LatencyCriterion::of(&reader.summary.criterion) {
        Some(latency) => format!("{} latency {}{of}, per sample interval (µs)", latency.operation, latency.name),
        None => {
            let criterion = &reader.summary.criterion;
            format!("{}{of}, per sample interval ({})", criterion.metric, criterion.unit)
        }
    }
}

/// The values in order, each with the share of values that do not exceed it.
fn distribution(mut values: Vec<f64>, limit: usize) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let steps = count.min(limit);
    // The value of rank n·i/steps, rounded up, so that the last step is the largest value.
    (1..=steps)
        .map(|step| {
            let rank = (count * step).div_ceil(steps);
            (values[rank - 1], rank as f64 / count as f64)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_rises_to_one() {
        assert_eq!(distribution(vec![3.0, 1.0], LIMIT), [(1.0, 0.5), (3.0, 1.0)]);
        assert!(distribution(Vec::new(), LIMIT).is_empty());
    }

    #[test]
    fn a_long_phase_keeps_its_ends() {
        let steps = distribution((0..7200).map(f64::from).collect(), LIMIT);
        assert_eq!(steps.len(), LIMIT);
        assert_eq!(steps[LIMIT - 1], (7199.0, 1.0));
        assert!(steps.is_sorted_by(|left, right| left.1 < right.1));
    }
}
