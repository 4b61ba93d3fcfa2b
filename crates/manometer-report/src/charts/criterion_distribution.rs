//! The cumulative distribution of the criterion over the sample intervals of each phase.

use manometer_measure::plan::PhaseKind;
use serde::Serialize;

use super::{Chart, Drawing, phase_name};
use crate::source::{LatencyCriterion, Source};
use crate::table::Table;
use crate::text;

pub(super) const CHART: Chart = Chart {
    name: "criterion-distribution",
    title: "Distribution of the criterion",
    reading: "The share of a phase's sample intervals (upwards) in which the criterion was at most so much (across). \
              A steep line is a steady phase; where a line lies to the left of another, less was done.",
    spec: include_str!("../../../../charts/criterion-distribution.vl.json"),
    draw,
};

/// Steps of one line; longer phases show this many evenly spaced quantiles.
const LIMIT: usize = 400;

/// One step of the distribution of one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    criterion: String,
    phase: String,
    order: usize,
    baseline: bool,
    value: f64,
    share: f64,
    samples: usize,
}

fn draw(source: &Source) -> Drawing {
    let rows = rows(source);
    if rows.is_empty() {
        let notes = vec!["No phase has samples of the criterion: this chart is left out.".to_owned()];
        return Drawing { notes, ..Drawing::default() };
    }
    let mut words = Vec::new();
    for phase in rows.chunk_by(|left, right| left.order == right.order) {
        let median = phase.iter().find(|row| row.share >= 0.5).map_or(0.0, |row| row.value);
        words.push(format!("{}: median {} of {} samples", phase[0].phase, text::number(median), phase[0].samples));
    }
    Drawing { table: Table::of(&rows), in_words: words.join(". "), notes: Vec::new() }
}

fn rows(source: &Source) -> Vec<Row> {
    let points = source.criterion();
    let title = title(source);
    let mut rows = Vec::new();
    for (order, phase) in source.summary.phases.iter().enumerate() {
        let (Some(begin_s), Some(end_s)) = (phase.start_s, phase.end_s) else { continue };
        // A sample carries its interval's end, a moment after the beat: one that began before the phase is not its own.
        let half_s = source.recording.plan.interval_s / 2.0;
        let ours = points.iter().filter(|point| point.t_s > begin_s + half_s && point.t_s <= end_s);
        let values: Vec<f64> = ours.filter_map(|point| point.mean).collect();
        let samples = values.len();
        rows.extend(distribution(values).into_iter().map(|(value, share)| Row {
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
fn title(source: &Source) -> String {
    let of = source.primary().map_or_else(String::new, |primary| format!(" of {}", primary.name));
    match LatencyCriterion::of(&source.summary.criterion) {
        Some(latency) => format!("{} latency {}{of}, per sample interval (µs)", latency.operation, latency.name),
        None => {
            let criterion = &source.summary.criterion;
            format!("{}{of}, per sample interval ({})", criterion.metric, criterion.unit)
        }
    }
}

/// The values in order, each with the share of values that do not exceed it.
fn distribution(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let steps = count.min(LIMIT);
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
        assert_eq!(distribution(vec![3.0, 1.0]), [(1.0, 0.5), (3.0, 1.0)]);
        assert!(distribution(Vec::new()).is_empty());
    }

    #[test]
    fn a_long_phase_keeps_its_ends() {
        let steps = distribution((0..7200).map(f64::from).collect());
        assert_eq!(steps.len(), LIMIT);
        assert_eq!(steps[LIMIT - 1], (7199.0, 1.0));
        assert!(steps.is_sorted_by(|left, right| left.1 < right.1));
    }
}
