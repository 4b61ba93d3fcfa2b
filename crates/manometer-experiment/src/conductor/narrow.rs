//! How wide the interval of the phase that runs is, while it runs, and whether that is narrow enough.
//!
//! The numbers are those of the analysis, computed from the same samples by the same formulas. Deciding looks at the
//! width alone, never at whether a difference is significant: stopping at the first significant one would find some
//! where there are none.

use manometer_analysis::criterion::{Metric, Percentile, Throughput};
use manometer_analysis::pressure::pressure_of;
use manometer_analysis::statistics::Measured;
use manometer_measure::LatencyHistogram;
use manometer_measure::operation::is_background;
use manometer_measure::plan::{Phase, PhaseKind, Plan, Role};
use manometer_workload::protocol::Sample;

use crate::file::PhaseStop;

/// How many times its length a phase is measured at most, where the file does not say.
const USUAL_MOST: f64 = 10.0;

/// Every pressure is a share of `w0`: measured no better than a phase itself, it would widen the interval of each.
const BASELINE_SHARE: f64 = 0.5;

const BYTES_PER_MIB: f64 = (1 << 20) as f64;

/// How long a phase of `length_s` is measured at most, in seconds.
pub(crate) fn most_s(stop: PhaseStop, length_s: f64) -> f64 {
    stop.at_most.map_or(USUAL_MOST * length_s, |at_most| at_most.seconds())
}

/// What a phase that has been measured for a while should do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// End: it is narrow enough.
    Narrow,
    /// Go on for so long.
    Longer(u64),
    /// End: it may take no longer.
    Limit,
}

/// What to do after `measured_ns`, with an interval `width` wide where `wanted` would do: prolong by the phase's own
/// length, in whole intervals, up to `most_ns`.
pub(super) fn next(
    width: Option<f64>,
    wanted: f64,
    (measured_ns, length_ns, most_ns): (u64, u64, u64),
    interval_ns: u64,
) -> Next {
    if width.is_some_and(|width| width <= wanted) {
        return Next::Narrow;
    }
    let left_ns = most_ns.saturating_sub(measured_ns) / interval_ns * interval_ns;
    match left_ns.min(length_ns) {
        0 => Next::Limit,
        by_ns => Next::Longer(by_ns),
    }
}

/// The criterion of the phase that runs, one number per sample interval and workload.
pub(super) struct Live {
    /// By workload, in the order of the plan: what is judged of it.
    metrics: Vec<Metric>,
    values: Vec<Vec<f64>>,
    begin_ns: u64,
    /// The primary's numbers in `w0`, once it has been measured.
    alone: Vec<f64>,
}

impl Live {
    pub(super) fn new(plan: &Plan) -> Self {
        let metric = |workload: &manometer_measure::plan::Workload| {
            let own = (workload.role == Role::Primary).then(|| Metric::of(&plan.criterion).ok()).flatten();
            let unit = Throughput::of_unit(&workload.unit).unwrap_or(Throughput::Requests);
            own.unwrap_or(Metric::Throughput(unit))
        };
        let metrics: Vec<Metric> = plan.workloads.iter().map(metric).collect();
        Self { values: vec![Vec::new(); metrics.len()], metrics, begin_ns: u64::MAX, alone: Vec::new() }
    }

    /// A phase begins to be measured at `begin_ns`.
    pub(super) fn begin(&mut self, begin_ns: u64) {
        self.begin_ns = begin_ns;
        self.values.iter_mut().for_each(Vec::clear);
    }

    /// Takes in a sample of the workload `index`; one that began before the phase saw other settings.
    pub(super) fn hear(&mut self, index: usize, sample: &Sample) {
        if sample.t_ns.saturating_sub(sample.length_ns) >= self.begin_ns {
            self.values[index].extend(value(&self.metrics[index], sample));
        }
    }

    /// The phase has been measured: `w0` is what pressures are compared with.
    pub(super) fn end(&mut self, plan: &Plan, phase: &Phase) {
        if let Some(primary) = primary_of(plan).filter(|_| is_first_baseline(plan, phase)) {
            self.alone.clone_from(&self.values[primary]);
        }
        self.begin_ns = u64::MAX;
    }

    /// How wide the interval of `phase` is by now, and how wide it may be where `interval` is wanted; no width where
    /// there is no interval yet.
    pub(super) fn width(&self, plan: &Plan, phase: &Phase, interval: f64) -> (Option<f64>, f64) {
        match primary_of(plan).filter(|_| phase.kind != PhaseKind::Solo) {
            Some(primary) if is_first_baseline(plan, phase) => {
                (relative_width(&self.values[primary]), interval * BASELINE_SHARE)
            }
            Some(primary) => {
                let criterion = &plan.criterion;
                let ratio = pressure_of(&self.alone, &self.values[primary], &criterion.unit, criterion.better);
                (ratio.ci_low.zip(ratio.ci_high).map(|(low, high)| high - low), interval)
            }
            None => {
                let running = plan.workloads.iter().zip(&self.values);
                let widths = running
                    .filter(|(workload, _)| phase.running.contains(&workload.name))
                    .map(|(_, values)| relative_width(values));
                (widths.collect::<Option<Vec<f64>>>().map(|all| all.into_iter().fold(0.0, f64::max)), interval)
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

/// The width of the 95 % interval of the mean, as a share of the mean.
fn relative_width(values: &[f64]) -> Option<f64> {
    let measured = Measured::of(values)?;
    let (low, high) = measured.interval()?;
    (measured.mean > 0.0).then(|| (high - low) / measured.mean)
}

/// What `metric` is in one sample; nothing where nothing was asked.
fn value(metric: &Metric, sample: &Sample) -> Option<f64> {
    let own = || sample.operations.iter().filter(|(operation, _)| !is_background(operation)).map(|(_, done)| done);
    let seconds = sample.length_ns as f64 / 1e9;
    match metric {
        _ if sample.length_ns == 0 || own().next().is_none() => None,
        Metric::Throughput(Throughput::Requests) => Some(own().map(|done| done.requests as f64).sum::<f64>() / seconds),
        Metric::Throughput(Throughput::Mebibytes) => {
            Some(own().map(|done| done.bytes as f64).sum::<f64>() / BYTES_PER_MIB / seconds)
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
    use std::collections::BTreeMap;

    use manometer_measure::Share;
    use manometer_measure::plan::{Better, Criterion, Workload};
    use manometer_workload::protocol::OperationSample;

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
            criterion: Criterion { metric: metric.to_owned(), unit: unit.to_owned(), better: Better::Higher },
            interval_s: 1.0,
            seed: 1,
            sweep: Default::default(),
            reference: false,
            workloads: vec![Workload {
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
    fn a_phase_is_prolonged_by_its_length_until_it_is_narrow_or_at_its_limit() {
        let next = |width, measured| next(width, 0.05, (measured * SECOND, 10 * SECOND, 35 * SECOND), SECOND);
        assert_eq!(next(Some(0.05), 10), Next::Narrow);
        assert_eq!(next(Some(0.051), 10), Next::Longer(10 * SECOND));
        assert_eq!(next(None, 20), Next::Longer(10 * SECOND));
        assert_eq!(next(Some(0.2), 30), Next::Longer(5 * SECOND), "the last step is what is left");
        assert_eq!(next(Some(0.2), 35), Next::Limit);
    }

    #[test]
    fn the_limit_is_ten_lengths_unless_said() {
        let stop = PhaseStop { interval: Share(0.05), at_most: None };
        assert_eq!(most_s(stop, 60.0), 600.0);
        let at_most = Some("30m".parse().unwrap());
        assert_eq!(most_s(PhaseStop { at_most, ..stop }, 60.0), 1800.0);
    }

    #[test]
    fn the_pressure_is_as_wide_as_the_analysis_says() {
        let plan = plan("throughput", "ops/s");
        let mut live = Live::new(&plan);
        let noisy = |second: u64, mean: u64| mean + (second * 7919) % 13;
        live.begin(0);
        (1..=60).for_each(|second| live.hear(0, &sample(second, noisy(second, 1000))));
        let (width, wanted) = live.width(&plan, &plan.phases[0], 0.05);
        assert!(width.unwrap() < 0.01 && wanted == 0.025, "{width:?}");
        live.end(&plan, &plan.phases[0]);
        live.begin(100 * SECOND);
        (100..=160).for_each(|second| live.hear(0, &sample(second, noisy(second, 500))));
        assert_eq!(live.values[0].len(), 60, "the sample that began before the phase is left out");
        let values = |from: u64, mean| (from..from + 60).map(|second| noisy(second, mean) as f64).collect::<Vec<_>>();
        let told = pressure_of(&values(1, 1000), &values(101, 500), "ops/s", Better::Higher);
        let expected = told.ci_high.unwrap() - told.ci_low.unwrap();
        assert_eq!(live.width(&plan, &plan.phases[1], 0.05), (Some(expected), 0.05));
    }

    #[test]
    fn a_phase_too_short_for_an_interval_has_no_width() {
        let plan = plan("throughput", "ops/s");
        let mut live = Live::new(&plan);
        live.begin(0);
        (1..=5).for_each(|second| live.hear(0, &sample(second, 1000)));
        assert_eq!(live.width(&plan, &plan.phases[0], 0.05).0, None);
        assert_eq!(live.width(&plan, &plan.phases[1], 0.05).0, None);
    }

    #[test]
    fn latencies_are_judged_in_their_unit() {
        let plan = plan("latency.read.p99", "us");
        let live = Live::new(&plan);
        assert!((value(&live.metrics[0], &sample(1, 5)).unwrap() - 2.0).abs() < 0.01);
        assert_eq!(value(&Metric::Throughput(Throughput::Mebibytes), &sample(1, 5)), Some(1.0));
    }
}
