//! The headline: the main result of a recording.
//!
//! A claim about harm needs a confidence interval of the pressure that excludes 0. Without one, the headline says what is
//! unknown and what to do.

use manometer_measure::operation::is_background;
use manometer_measure::plan::{BetterDirection, Criterion};
use manometer_measure::{Event, PhaseKind, Recording};

use crate::criterion::{Metric, Percentile};
use crate::phase_result::{PhaseResult, baseline};
use crate::recording_data::RecordingData;
use crate::summary::{IntervalEstimate, MeanEstimate};

/// The headline of `recording`.
pub(crate) fn headline(recording: &Recording, data: &RecordingData, results: &[PhaseResult<'_>]) -> String {
    if recording.plan.primary().is_none() {
        return "No pressure was measured: the experiment has no primary.".to_owned();
    }
    let primary = Primary {
        name: primary_name(recording),
        work: work(recording, data),
        criterion: &recording.plan.criterion,
        baseline: baseline(results).map(|baseline| &baseline.performance.estimate),
    };
    let phases = results.iter().filter(|result| result.phase.kind == PhaseKind::Pressure);
    let phases =
        phases.map(|result| PressurePhase { id: result.id(), label: &result.phase.label, pressure: &result.pressure });
    capitalised(&primary.headline(&phases.collect::<Vec<_>>()))
}

/// The workload whose performance is judged.
struct Primary<'a> {
    name: String,
    /// What it does: its only operation in the plural (`reads`), or `throughput`.
    work: String,
    criterion: &'a Criterion,
    /// Its performance in `w0`.
    baseline: Option<&'a MeanEstimate>,
}

/// A phase with neighbours.
struct PressurePhase<'a> {
    id: &'a str,
    label: &'a str,
    pressure: &'a IntervalEstimate,
}

impl PressurePhase<'_> {
    fn interval(&self) -> Option<(f64, f64)> {
        self.pressure.ci_low.zip(self.pressure.ci_high)
    }

    fn is_measured(&self) -> bool {
        self.pressure.value.is_some()
    }

    fn is_untested(&self) -> bool {
        self.is_measured() && self.interval().is_none()
    }

    fn is_harmful(&self) -> bool {
        self.interval().is_some_and(|(low, _)| low > 0.0)
    }

    fn is_helpful(&self) -> bool {
        self.interval().is_some_and(|(_, high)| high < 0.0)
    }
}

impl Primary<'_> {
    fn headline(&self, phases: &[PressurePhase<'_>]) -> String {
        let name = &self.name;
        let Some(baseline) = self.baseline else {
            return format!(
                "the pressure on {name} is unknown: w0, the phase without neighbours, was not measured. Measure it in the \
                 same run."
            );
        };
        let Some(worst) = largest(phases, PressurePhase::is_measured) else {
            let mean = figure(baseline.mean.unwrap_or_default());
            return format!(
                "{name} reaches {mean} {} without neighbours; no phase with neighbours was measured.",
                baseline.unit
            );
        };
        let claim = if let Some(harmful) = largest(phases, PressurePhase::is_harmful) {
            let untested = ids(phases, PressurePhase::is_untested);
            format!("{}.{}", self.effect(harmful), list(" Without a confidence interval: ", &untested))
        } else if let Some(untested) = largest(phases, PressurePhase::is_untested) {
            let effect = self.effect(untested);
            format!(
                "whether neighbours harm {name} is unknown: {effect}, without a confidence interval. Run longer phases."
            )
        } else if let Some(undecided) = largest(phases, |phase| phase.is_measured() && !phase.is_helpful()) {
            let effect = self.effect(undecided);
            format!(
                "no harm to {name} was detected: {effect}, and the interval of that pressure includes 0. Run longer phases \
                 to detect a smaller effect."
            )
        } else {
            format!("no neighbour harms {name}: even {}.", self.effect(worst))
        };
        claim + &list(" Not measured: ", &ids(phases, |phase| !phase.is_measured()))
    }

    /// `under writer.iodepth = 64 RocksDB keeps 31 % (±3) of its reads`.
    fn effect(&self, phase: &PressurePhase<'_>) -> String {
        let (name, label) = (&self.name, phase.label);
        let pressure = phase.pressure.value.unwrap_or_default();
        let half_width = phase.interval().map(|(low, high)| (high - low) / 2.0);
        let plus_minus =
            |factor: f64| half_width.map_or_else(String::new, |half| format!(" (±{})", figure(factor * half)));
        let times = || format!("{} times{} its value in w0", figure(1.0 + pressure), plus_minus(1.0));
        match (Metric::of(self.criterion), self.criterion.better) {
            (Ok(Metric::Latency { operation, percentile, .. }), _) => {
                format!(
                    "under {label} the {} of {name}'s {operation} latency is {}",
                    percentile_name(percentile),
                    times()
                )
            }
            (_, BetterDirection::Higher) => {
                let kept = figure(100.0 * (1.0 - pressure));
                format!("under {label} {name} keeps {kept} %{} of its {}", plus_minus(100.0), self.work)
            }
            (_, BetterDirection::Lower) => {
                format!("under {label} the {} of {name} is {}", self.criterion.metric, times())
            }
        }
    }
}

/// The phase with the largest pressure among those for which `is_selected` holds.
fn largest<'a, 'b>(
    phases: &'a [PressurePhase<'b>],
    is_selected: impl Fn(&PressurePhase<'b>) -> bool,
) -> Option<&'a PressurePhase<'b>> {
    let value = |phase: &PressurePhase<'_>| phase.pressure.value.unwrap_or(f64::NEG_INFINITY);
    phases.iter().filter(|phase| is_selected(phase)).max_by(|one, other| value(one).total_cmp(&value(other)))
}

fn ids<'a>(phases: &[PressurePhase<'a>], is_selected: impl Fn(&PressurePhase<'a>) -> bool) -> Vec<&'a str> {
    phases.iter().filter(|phase| is_selected(phase)).map(|phase| phase.id).collect()
}

/// A further sentence with a list of phases; empty for none.
fn list(introduction: &str, ids: &[&str]) -> String {
    if ids.is_empty() { String::new() } else { format!("{introduction}{}.", ids.join(", ")) }
}

/// The primary's only operation in the plural, or `throughput` where it has several.
fn work(recording: &Recording, data: &RecordingData) -> String {
    let samples = recording.plan.primary().and_then(|primary| data.samples(&primary.name));
    let columns = samples.map(|samples| samples.columns.iter().zip(&samples.values)).into_iter().flatten();
    let used = columns.filter(|(_, values)| values.iter().flatten().any(|requests| *requests > 0.0));
    let names = used.filter_map(|(column, _)| column.name.strip_suffix(".requests"));
    let operations: Vec<&str> = names.filter(|name| !is_background(name)).collect();
    match operations.as_slice() {
        [only] => format!("{}s", only.replace('_', "-")),
        _ => "throughput".to_owned(),
    }
}

fn percentile_name(percentile: Percentile) -> String {
    match percentile {
        Percentile::Quantile(share) => format!("{}th percentile", (share * 1000.0).round() / 10.0),
        Percentile::Max => "maximum".to_owned(),
    }
}

/// The name of the primary's engine, or of the workload where it has none.
fn primary_name(recording: &Recording) -> String {
    let Some(primary) = recording.plan.primary() else { return String::new() };
    let engine = recording.events.iter().find_map(|line| match &line.event {
        Event::Ready { workload, facts } if *workload == primary.name => facts.get("engine")?.as_str(),
        _ => None,
    });
    match engine {
        Some("rocksdb") => "RocksDB".to_owned(),
        Some("null") => "the null engine".to_owned(),
        Some(other) => other.to_owned(),
        None => format!("`{}`", primary.name),
    }
}

/// A number with two or three significant digits.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 9.95 => format!("{value:.0}"),
        size if size >= 0.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn criterion(metric: &str, better: BetterDirection) -> Criterion {
        Criterion { metric: metric.to_owned(), unit: "us".to_owned(), better }
    }

    fn throughput() -> Criterion {
        Criterion { unit: "ops/s".to_owned(), ..criterion("throughput", BetterDirection::Higher) }
    }

    fn with(value: f64, low: f64, high: f64) -> IntervalEstimate {
        IntervalEstimate::of(value, Some((low, high)), "")
    }

    fn without_interval(value: f64) -> IntervalEstimate {
        IntervalEstimate::of(value, None, "too short")
    }

    fn unmeasured() -> IntervalEstimate {
        IntervalEstimate::missing("the worker died")
    }

    /// The headline of a primary whose phases w1, w2 … have these pressures.
    fn of(criterion: &Criterion, pressures: &[IntervalEstimate]) -> String {
        let baseline = MeanEstimate { mean: Some(1_000.0), unit: "ops/s".to_owned(), ..MeanEstimate::default() };
        let primary =
            Primary { name: "RocksDB".to_owned(), work: "reads".to_owned(), criterion, baseline: Some(&baseline) };
        let names: Vec<(String, String)> =
            (1..=pressures.len()).map(|number| (format!("w{number}"), format!("depth {number}"))).collect();
        let phases = names.iter().zip(pressures).map(|((id, label), pressure)| PressurePhase { id, label, pressure });
        primary.headline(&phases.collect::<Vec<_>>())
    }

    #[test]
    fn an_interval_above_0_is_harm() {
        let text = of(&throughput(), &[with(0.69, 0.66, 0.72)]);
        assert_eq!(text, "under depth 1 RocksDB keeps 31 % (±3.0) of its reads.");
        let latency = criterion("latency.read.p99", BetterDirection::Lower);
        let text = of(&latency, &[with(3.0, 2.9, 3.1)]);
        let expected =
            "under depth 1 the 99th percentile of RocksDB's read latency is 4.0 times (±0.10) its value in w0.";
        assert_eq!(text, expected);
        let text = of(&criterion("throughput", BetterDirection::Lower), &[with(1.0, 0.5, 1.5)]);
        assert_eq!(text, "under depth 1 the throughput of RocksDB is 2.0 times (±0.50) its value in w0.");
    }

    #[test]
    fn an_interval_below_0_is_no_harm() {
        let text = of(&throughput(), &[with(-0.42, -0.43, -0.41)]);
        assert_eq!(text, "no neighbour harms RocksDB: even under depth 1 RocksDB keeps 142 % (±1.0) of its reads.");
    }

    #[test]
    fn an_interval_that_includes_0_is_neither_harm_nor_its_absence() {
        for pressure in
            [with(0.01, -0.02, 0.04), with(-0.01, -0.04, 0.02), with(0.02, 0.0, 0.04), with(-0.02, -0.04, 0.0)]
        {
            let text = of(&throughput(), &[pressure]);
            assert!(text.starts_with("no harm to RocksDB was detected: under depth 1"), "{text}");
            assert!(text.contains("includes 0. Run longer phases"), "{text}");
        }
    }

    #[test]
    fn without_an_interval_nothing_is_claimed() {
        for value in [0.69, 0.0, -0.42] {
            let text = of(&throughput(), &[without_interval(value)]);
            assert!(text.starts_with("whether neighbours harm RocksDB is unknown: under depth 1"), "{text}");
            assert!(
                text.ends_with("without a confidence interval. Run longer phases.") && !text.contains('±'),
                "{text}"
            );
        }
    }

    #[test]
    fn of_several_settings_the_largest_significant_harm_is_the_headline() {
        let text = of(&throughput(), &[with(0.10, 0.08, 0.12), with(0.50, 0.45, 0.55), with(-0.2, -0.3, -0.1)]);
        assert_eq!(text, "under depth 2 RocksDB keeps 50 % (±5.0) of its reads.");
        let text = of(&throughput(), &[with(0.10, 0.08, 0.12), with(0.15, -0.05, 0.35)]);
        assert!(text.starts_with("under depth 1 RocksDB keeps 90 %"), "the larger pressure is not significant: {text}");
    }

    #[test]
    fn of_several_settings_an_untested_one_is_named() {
        let text = of(&throughput(), &[with(0.10, 0.08, 0.12), without_interval(0.9)]);
        assert!(text.starts_with("under depth 1") && text.ends_with("Without a confidence interval: w2."), "{text}");
        for tested in [with(-0.2, -0.3, -0.1), with(0.0, -0.1, 0.1)] {
            let text = of(&throughput(), &[tested, without_interval(-0.5)]);
            assert!(text.starts_with("whether neighbours harm RocksDB is unknown: under depth 2"), "{text}");
        }
    }

    #[test]
    fn no_harm_needs_every_interval_below_0() {
        let text = of(&throughput(), &[with(-0.4, -0.5, -0.3), with(-0.1, -0.3, 0.1)]);
        assert!(text.starts_with("no harm to RocksDB was detected: under depth 2"), "{text}");
        let text = of(&throughput(), &[with(-0.4, -0.5, -0.3), with(-0.2, -0.3, -0.1)]);
        assert!(text.starts_with("no neighbour harms RocksDB: even under depth 2"), "{text}");
    }

    #[test]
    fn phases_that_were_not_measured_are_named() {
        for measured in [with(0.5, 0.4, 0.6), with(0.0, -0.1, 0.1), with(-0.5, -0.6, -0.4), without_interval(0.5)] {
            let text = of(&throughput(), &[unmeasured(), measured, unmeasured()]);
            assert!(text.contains("under depth 2") && text.ends_with("Not measured: w1, w3."), "{text}");
        }
        let text = of(&throughput(), &[unmeasured()]);
        assert_eq!(text, "RocksDB reaches 1000 ops/s without neighbours; no phase with neighbours was measured.");
        assert_eq!(of(&throughput(), &[]), text);
    }

    #[test]
    fn without_w0_the_pressure_is_unknown() {
        let criterion = throughput();
        let primary =
            Primary { name: "RocksDB".to_owned(), work: "reads".to_owned(), criterion: &criterion, baseline: None };
        let pressure = unmeasured();
        let text = primary.headline(&[PressurePhase { id: "w1", label: "depth 1", pressure: &pressure }]);
        assert!(text.starts_with("the pressure on RocksDB is unknown: w0"), "{text}");
    }

    #[test]
    fn figures_have_two_or_three_digits() {
        assert_eq!([312.6, 31.2, 9.99, 3.04, 0.034].map(figure), ["313", "31", "10", "3.0", "0.03"]);
    }

    #[test]
    fn percentiles_have_names() {
        assert_eq!(percentile_name(Percentile::Quantile(0.999)), "99.9th percentile");
        assert_eq!(percentile_name(Percentile::Quantile(0.5)), "50th percentile");
    }
}
