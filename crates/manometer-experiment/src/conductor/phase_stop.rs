//! The width of the confidence interval of the running phase, and whether the phase is prolonged.
//!
//! The interval is the one of the analysis, computed from the same samples by the same formulas. The decision depends on
//! the width alone, never on significance: stopping at the first significant difference would find differences where
//! there are none.

use std::collections::BTreeMap;

use manometer_analysis::criterion::{Metric, Percentile, ThroughputUnit};
use manometer_analysis::interleaved::pressure_of_rounds;
use manometer_analysis::pressure::pressure_of;
use manometer_analysis::statistics::SampleMean;
use manometer_analysis::statistics::moments::mean;
use manometer_measure::LatencyHistogram;
use manometer_measure::operation::is_background;
use manometer_measure::plan::{Phase, PhaseKind, Plan, Role};
use manometer_workload::sample::Sample;

/// `w0` is measured until its interval has this share of the requested width: it is a part of every pressure, and would
/// widen all their intervals otherwise.
const BASELINE_SHARE: f64 = 0.5;

const BYTES_PER_MIB: f64 = (1 << 20) as f64;

/// What happens to a phase at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PhaseDecision {
    /// It ends: its interval is narrow enough.
    Sufficient,
    /// It is prolonged by this time.
    Prolong(u64),
    /// It ends: it has reached its maximum length.
    LimitReached,
}

/// Decides after `measured_ns`, by the `width` of the interval and the requested `max_width`. A phase is prolonged by its
/// own length, in whole sample intervals, up to `max_ns`.
pub(super) fn decide(
    width: Option<f64>,
    max_width: f64,
    (measured_ns, length_ns, max_ns): (u64, u64, u64),
    interval_ns: u64,
) -> PhaseDecision {
    if width.is_some_and(|width| width <= max_width) {
        return PhaseDecision::Sufficient;
    }
    let left_ns = max_ns.saturating_sub(measured_ns) / interval_ns * interval_ns;
    match left_ns.min(length_ns) {
        0 => PhaseDecision::LimitReached,
        by_ns => PhaseDecision::Prolong(by_ns),
    }
}

/// The values of the judged metrics in the running phase, one per sample interval and workload.
pub(super) struct LiveMetrics {
    /// The judged metric of each workload, in the order of the plan.
    metrics: Vec<Metric>,
    values: Vec<Vec<f64>>,
    begin_ns: u64,
    /// The primary's values in `w0`, once it has been measured.
    baseline: Vec<f64>,
    /// The mean of the primary's values in each block so far, by phase.
    blocks: BTreeMap<String, Vec<f64>>,
}

impl LiveMetrics {
    pub(super) fn new(plan: &Plan) -> Self {
        let metric = |workload: &manometer_measure::plan::PlannedWorkload| {
            let own = (workload.role == Role::Primary).then(|| Metric::of(&plan.criterion).ok()).flatten();
            let unit = ThroughputUnit::of(&workload.unit).unwrap_or(ThroughputUnit::Requests);
            own.unwrap_or(Metric::Throughput(unit))
        };
        let metrics: Vec<Metric> = plan.workloads.iter().map(metric).collect();
        Self {
            values: vec![Vec::new(); metrics.len()],
            metrics,
            begin_ns: u64::MAX,
            baseline: Vec::new(),
            blocks: BTreeMap::new(),
        }
    }

    /// Starts a phase that is measured from `begin_ns` on.
    pub(super) fn begin_phase(&mut self, begin_ns: u64) {
        self.begin_ns = begin_ns;
        self.values.iter_mut().for_each(Vec::clear);
    }

    /// Adds a sample of the workload `index`. A sample that began before the phase has other settings and is ignored.
    pub(super) fn add_sample(&mut self, index: usize, sample: &Sample) {
        if sample.t_ns.saturating_sub(sample.length_ns) >= self.begin_ns {
            self.values[index].extend(value(&self.metrics[index], sample));
        }
    }

    /// Ends a phase. The values of `w0` are kept as the baseline of all pressures.
    pub(super) fn end_phase(&mut self, plan: &Plan, phase: &Phase) {
        if let Some(primary) = primary_of(plan).filter(|_| is_first_baseline(plan, phase)) {
            self.baseline.clone_from(&self.values[primary]);
        }
        self.begin_ns = u64::MAX;
    }

    /// Ends a block of `phase`.
    pub(super) fn end_block(&mut self, plan: &Plan, phase: &Phase) {
        let values = primary_of(plan).map_or(&[][..], |primary| &self.values[primary]);
        self.blocks.entry(phase.id.clone()).or_default().push(mean(values).unwrap_or(f64::NAN));
        self.begin_ns = u64::MAX;
    }

    /// The width of the widest interval of a pressure over the rounds so far; none where one has no interval.
    pub(super) fn widest_pressure(&self, plan: &Plan) -> Option<f64> {
        let baseline = plan.phases.iter().find(|phase| phase.kind == PhaseKind::Baseline)?;
        let baseline = self.blocks.get(&baseline.id)?;
        let others = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Pressure);
        let width = |phase: &Phase| {
            let pairs = baseline.iter().copied().zip(self.blocks.get(&phase.id)?.iter().copied());
            let pressure = pressure_of_rounds(&pairs.collect::<Vec<_>>(), plan.criterion.better);
            Some(pressure.ci_high? - pressure.ci_low?)
        };
        others.map(width).try_fold(0.0, |widest, width| Some(f64::max(widest, width?)))
    }

    /// The width of the interval of `phase`, none while there is no interval, and the maximum width where `max_width` is
    /// requested.
    pub(super) fn width(&self, plan: &Plan, phase: &Phase, max_width: f64) -> (Option<f64>, f64) {
        match primary_of(plan).filter(|_| phase.kind != PhaseKind::Solo) {
            Some(primary) if is_first_baseline(plan, phase) => {
                (relative_width(&self.values[primary]), max_width * BASELINE_SHARE)
            }
            Some(primary) => {
                let criterion = &plan.criterion;
                let ratio = pressure_of(&self.baseline, &self.values[primary], &criterion.unit, criterion.better);
                (ratio.ci_low.zip(ratio.ci_high).map(|(low, high)| high - low), max_width)
            }
            None => {
                let running = plan.workloads.iter().zip(&self.values);
                let widths = running
                    .filter(|(workload, _)| phase.running.contains(&workload.name))
                    .map(|(_, values)| relative_width(values));
                (widths.collect::<Option<Vec<f64>>>().map(|all| all.into_iter().fold(0.0, f64::max)), max_width)
            }
        }
    }
}

fn primary_of(plan: &Plan) -> Option<usize> {
    plan.workloads.iter().position(|workload| workload.role == Role::Primary)
}

fn is_first_baseline(plan: &Plan, phase: &Phase) -> bool {
    plan.phases.iter().find(|other| other.kind == PhaseKind::Baseline).is_some_and(|first| first.id == phase.id)
}

/// The width of the 95 % interval of the mean, relative to the mean.
fn relative_width(values: &[f64]) -> Option<f64> {
    let measured = SampleMean::of(values)?;
    let (low, high) = measured.interval()?;
    (measured.mean > 0.0).then(|| (high - low) / measured.mean)
}

/// The value of `metric` in one sample; nothing without foreground requests.
fn value(metric: &Metric, sample: &Sample) -> Option<f64> {
    let foreground =
        || sample.operations.iter().filter(|(operation, _)| !is_background(operation)).map(|(_, done)| done);
    let seconds = sample.length_ns as f64 / 1e9;
    match metric {
        _ if sample.length_ns == 0 || foreground().next().is_none() => None,
        Metric::Throughput(ThroughputUnit::Requests) => {
            Some(foreground().map(|done| done.requests as f64).sum::<f64>() / seconds)
        }
        Metric::Throughput(ThroughputUnit::Mebibytes) => {
            Some(foreground().map(|done| done.bytes as f64).sum::<f64>() / BYTES_PER_MIB / seconds)
        }
        Metric::Latency { operation, response, percentile, ns_per_unit } => {
            let done = sample.operations.get(operation)?;
            let text = if *response && !done.response.is_empty() { &done.response } else { &done.latency };
            percentile_ns(text, *percentile).map(|ns| ns as f64 / ns_per_unit)
        }
    }
}

fn percentile_ns(text: &str, percentile: Percentile) -> Option<u64> {
    percentile.ns(&LatencyHistogram::from_base64(text).ok()?)
}

#[cfg(test)]
mod tests {
    use manometer_measure::plan::{BetterDirection, Criterion, PlannedWorkload};
    use manometer_workload::sample::OperationSample;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn phase(id: &str, kind: PhaseKind) -> Phase {
        Phase {
            id: id.to_owned(),
            label: String::new(),
            kind,
            duration_s: 60.0,
            settle_s: 0.0,
            running: vec!["db".to_owned()],
            settings: Default::default(),
        }
    }

    fn plan(metric: &str, unit: &str) -> Plan {
        Plan {
            experiment: "a test".to_owned(),
            criterion: Criterion { metric: metric.to_owned(), unit: unit.to_owned(), better: BetterDirection::Higher },
            interval_s: 1.0,
            seed: 1,
            sweep: Default::default(),
            reference: false,
            goal: None,
            interleaved: None,
            workloads: vec![PlannedWorkload {
                name: "db".to_owned(),
                role: Role::Primary,
                kind: "kv".to_owned(),
                unit: "ops/s".to_owned(),
            }],
            phases: vec![phase("w0", PhaseKind::Baseline), phase("w1", PhaseKind::Pressure)],
        }
    }

    fn sample(second: u64, requests: u64) -> Sample {
        let mut histogram = LatencyHistogram::new();
        histogram.record(2_000);
        let done = OperationSample {
            requests,
            bytes: 1 << 20,
            retries: 0,
            missing: 0,
            latency: histogram.to_base64(),
            response: String::new(),
        };
        let operations = BTreeMap::from([("read".to_owned(), done)]);
        Sample {
            t_ns: second * SECOND,
            length_ns: SECOND,
            operations,
            dropped: 0,
            state: BTreeMap::new(),
            state_t_ns: None,
        }
    }

    #[test]
    fn a_phase_is_prolonged_by_its_length_up_to_its_maximum() {
        let decide = |width, measured| decide(width, 0.05, (measured * SECOND, 10 * SECOND, 35 * SECOND), SECOND);
        assert_eq!(decide(Some(0.05), 10), PhaseDecision::Sufficient);
        assert_eq!(decide(Some(0.051), 10), PhaseDecision::Prolong(10 * SECOND));
        assert_eq!(decide(None, 20), PhaseDecision::Prolong(10 * SECOND));
        assert_eq!(decide(Some(0.2), 30), PhaseDecision::Prolong(5 * SECOND), "the last step is what is left");
        assert_eq!(decide(Some(0.2), 35), PhaseDecision::LimitReached);
    }

    #[test]
    fn the_widest_pressure_over_rounds_counts_and_one_without_an_interval_is_none() {
        let plan = plan("throughput", "ops/s");
        let mut live = LiveMetrics::new(&plan);
        assert_eq!(live.widest_pressure(&plan), None);
        let mut widths = Vec::new();
        for round in 0..6 {
            for (index, share) in [(0, 1.0), (1, 0.5)] {
                let begin = 10 * (2 * round + index as u64);
                live.begin_phase(begin * SECOND);
                let reads = (1000.0 + 300.0 * round as f64) * share + (round * 7919 % 13) as f64;
                (begin + 1..begin + 4).for_each(|second| live.add_sample(0, &sample(second, reads as u64)));
                live.end_block(&plan, &plan.phases[index]);
            }
            widths.push(live.widest_pressure(&plan));
        }
        assert_eq!(widths[..4], [None; 4], "fewer than five rounds have no interval");
        assert!(widths[5].is_some_and(|width| width > 0.0 && width < 0.05), "{widths:?}");
    }

    #[test]
    fn the_width_is_that_of_the_analysis() {
        let plan = plan("throughput", "ops/s");
        let mut live = LiveMetrics::new(&plan);
        let noisy = |second: u64, mean: u64| mean + (second * 7919) % 13;
        live.begin_phase(0);
        (1..=60).for_each(|second| live.add_sample(0, &sample(second, noisy(second, 1000))));
        let (width, max_width) = live.width(&plan, &plan.phases[0], 0.05);
        assert!(width.unwrap() < 0.01 && max_width == 0.025, "{width:?}");
        live.end_phase(&plan, &plan.phases[0]);
        live.begin_phase(100 * SECOND);
        (100..=160).for_each(|second| live.add_sample(0, &sample(second, noisy(second, 500))));
        assert_eq!(live.values[0].len(), 60, "the sample that began before the phase is ignored");
        let values = |from: u64, mean| (from..from + 60).map(|second| noisy(second, mean) as f64).collect::<Vec<_>>();
        let pressure = pressure_of(&values(1, 1000), &values(101, 500), "ops/s", BetterDirection::Higher);
        let expected = pressure.ci_high.unwrap() - pressure.ci_low.unwrap();
        assert_eq!(live.width(&plan, &plan.phases[1], 0.05), (Some(expected), 0.05));
    }

    #[test]
    fn a_phase_too_short_for_an_interval_has_no_width() {
        let plan = plan("throughput", "ops/s");
        let mut live = LiveMetrics::new(&plan);
        live.begin_phase(0);
        (1..=5).for_each(|second| live.add_sample(0, &sample(second, 1000)));
        assert_eq!(live.width(&plan, &plan.phases[0], 0.05).0, None);
        assert_eq!(live.width(&plan, &plan.phases[1], 0.05).0, None);
    }

    #[test]
    fn values_are_in_the_unit_of_the_metric() {
        let plan = plan("latency.read.p99", "us");
        let live = LiveMetrics::new(&plan);
        assert!((value(&live.metrics[0], &sample(1, 5)).unwrap() - 2.0).abs() < 0.01);
        assert_eq!(value(&Metric::Throughput(ThroughputUnit::Mebibytes), &sample(1, 5)), Some(1.0));
    }
}
