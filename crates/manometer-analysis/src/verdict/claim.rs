//! What a phase with neighbours does to the primary, in words and with its interval.

use manometer_measure::plan::{BetterDirection, Criterion};

use super::setting::SentenceSubject;
use crate::criterion::{Metric, Percentile};
use crate::estimate::{IntervalEstimate, MeanEstimate};

/// The main result of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Claim {
    /// In a sentence without its full stop.
    pub(super) sentence: String,
    /// Further sentences.
    pub(super) more: Vec<String>,
    /// How long phases would have to be, as a further sentence: of no use where more than their length is wrong.
    pub(super) length_advice: Option<String>,
    /// The phase that the sentence is about; none where it is about no single one.
    pub(super) phase: Option<String>,
    /// Whether the sentence says itself that phases are too short.
    pub(super) says_too_short: bool,
}

/// The effect of a phase: `a writer at queue depth 64 costs RocksDB 67 % of its throughput (95 % interval 64 to 70 %)`.
pub(super) fn effect(
    criterion: &Criterion,
    primary: &str,
    subject: &SentenceSubject,
    pressure: &IntervalEstimate,
) -> String {
    let value = pressure.value.unwrap_or_default();
    let about = if pressure.ci_low.is_none() { "about " } else { "" };
    if criterion.better == BetterDirection::Higher {
        let percent = Percent::of(pressure);
        let interval = percent.interval(if value < 0.0 { -1.0 } else { 1.0 });
        let amount = percent.text(value.abs());
        return match value < 0.0 {
            false => {
                format!(
                    "{} {primary} {about}{amount} of its {}{interval}",
                    subject.verb("costs", "cost"),
                    criterion.metric
                )
            }
            true => format!(
                "{} the {} of {primary} by {about}{amount}{interval}",
                subject.verb("raises", "raise"),
                criterion.metric
            ),
        };
    }
    let interval = match (pressure.ci_low, pressure.ci_high) {
        // A latency is above 0, even if the interval is wider.
        (Some(low), Some(high)) if low <= -1.0 => format!(" (95 % interval up to {})", figure(1.0 + high)),
        (Some(low), Some(high)) => format!(" (95 % interval {} to {})", figure(1.0 + low), figure(1.0 + high)),
        _ => String::new(),
    };
    let metric = metric_name(criterion, primary);
    format!("{} {metric} by {about}{}{interval}", subject.verb("multiplies", "multiply"), figure(1.0 + value))
}

/// Where the performance in a phase lies against `w0`, without a claim that the phase changed it: `with a writer at queue
/// depth 4 the throughput of RocksDB lies between 129 % above and 62 % below that of w0 (95 % interval)`.
pub(super) fn range(
    criterion: &Criterion,
    primary: &str,
    subject: &SentenceSubject,
    pressure: &IntervalEstimate,
) -> String {
    let what = format!("with {} {}", subject.text, metric_name(criterion, primary));
    let (ends, value) = (pressure.ci_low.zip(pressure.ci_high), pressure.value.unwrap_or_default());
    let loss = |share: f64| format!("{} {}", Percent::of(pressure).text(share.abs()), side(share));
    let times = |share: f64| figure(1.0 + share);
    match (criterion.better, ends) {
        (BetterDirection::Higher, Some((low, high))) => {
            format!("{what} lies between {} and {} that of w0 (95 % interval)", loss(low), loss(high))
        }
        (BetterDirection::Lower, Some((low, high))) if low <= -1.0 => {
            format!("{what} is at most {} times that of w0 (upper end of the 95 % interval)", times(high))
        }
        (BetterDirection::Lower, Some((low, high))) => {
            format!("{what} lies between {} and {} times that of w0 (95 % interval)", times(low), times(high))
        }
        (BetterDirection::Higher, None) => format!("{what} was about {} that of w0", loss(value)),
        (BetterDirection::Lower, None) => format!("{what} was about {} times that of w0", times(value)),
    }
}

/// Whether a loss is one, or a gain.
fn side(loss: f64) -> &'static str {
    if loss < 0.0 { "above" } else { "below" }
}

/// `the 99th percentile of RocksDB's read latency`.
pub(super) fn metric_name(criterion: &Criterion, primary: &str) -> String {
    match Metric::of(criterion) {
        Ok(Metric::Latency { operation, response, percentile, .. }) => {
            let kind = if response { "response time" } else { "latency" };
            format!("the {} of {primary}'s {} {kind}", percentile_name(percentile), operation.replace('_', "-"))
        }
        _ => format!("the {} of {primary}", criterion.metric),
    }
}

/// How the shares of one pressure and its interval are rounded: to whole per cents, a narrow interval to tenths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Percent {
    decimals: usize,
    ends: Option<(f64, f64)>,
}

impl Percent {
    pub(super) fn of(pressure: &IntervalEstimate) -> Self {
        let ends = pressure.ci_low.zip(pressure.ci_high);
        let is_narrow = ends.is_some_and(|(low, high)| high - low < 0.04);
        Self { decimals: usize::from(is_narrow), ends }
    }

    /// `67 %`.
    pub(super) fn text(self, share: f64) -> String {
        format!("{} %", self.digits(share))
    }

    /// ` (95 % interval 64 to 70 %)`, with the sign turned where `sign` is negative; empty without an interval.
    pub(super) fn interval(self, sign: f64) -> String {
        let Some((low, high)) = self.ends else { return String::new() };
        let (one, other) = (sign * low, sign * high);
        format!(" (95 % interval {} to {} %)", self.digits(one.min(other)), self.digits(one.max(other)))
    }

    fn digits(self, share: f64) -> String {
        let text = format!("{:.*}", self.decimals, 100.0 * share);
        match text.strip_prefix('-') {
            Some(zero) if zero.chars().all(|digit| matches!(digit, '0' | '.')) => zero.to_owned(),
            _ => text.replace('-', "−"),
        }
    }
}

fn percentile_name(percentile: Percentile) -> String {
    match percentile {
        Percentile::Quantile(0.5) => "median".to_owned(),
        Percentile::Quantile(share) => format!("{}th percentile", (share * 1000.0).round() / 10.0),
        Percentile::Max => "maximum".to_owned(),
    }
}

/// `RocksDB reaches 104 572 ops/s (95 % interval 98 200 to 110 944)`, or of a latency `the median of … is 120 us (…)`.
pub(super) fn reach(criterion: &Criterion, who: &SentenceSubject, mean: &MeanEstimate) -> String {
    let value = amount(mean.mean.unwrap_or_default());
    let (about, interval) = match mean.ci_low.zip(mean.ci_high) {
        Some((low, high)) => ("", format!(" (95 % interval {} to {})", amount(low.max(0.0)), amount(high))),
        None => ("about ", " (without a confidence interval)".to_owned()),
    };
    match criterion.better {
        BetterDirection::Higher => {
            format!("{} {about}{value} {}{interval}", who.verb("reaches", "reach"), mean.unit)
        }
        BetterDirection::Lower => {
            format!("{} is {about}{value} {}{interval}", metric_name(criterion, &who.text), mean.unit)
        }
    }
}

/// A number with two or three significant digits, or a whole one with separators between its thousands.
fn amount(value: f64) -> String {
    if value.abs() < 999.5 {
        return figure(value);
    }
    let digits = format!("{:.0}", value.abs());
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    format!("{}{}", if value < 0.0 { "−" } else { "" }, groups.join("\u{202f}"))
}

/// A number with two or three significant digits.
pub(super) fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 9.95 => format!("{value:.0}"),
        size if size >= 0.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn criterion(metric: &str, better: BetterDirection) -> Criterion {
        let unit = if better == BetterDirection::Higher { "ops/s" } else { "us" };
        Criterion { metric: metric.to_owned(), unit: unit.to_owned(), better }
    }

    fn of(metric: &str, better: BetterDirection, value: f64, ends: Option<(f64, f64)>) -> String {
        let subject = SentenceSubject { text: "a writer".to_owned(), is_plural: false };
        effect(&criterion(metric, better), "RocksDB", &subject, &IntervalEstimate::of(value, ends, "too short"))
    }

    #[test]
    fn a_loss_and_a_gain_of_throughput_have_their_intervals() {
        let throughput = |value, ends| of("throughput", BetterDirection::Higher, value, ends);
        let text = throughput(0.67, Some((0.64, 0.70)));
        assert_eq!(text, "a writer costs RocksDB 67 % of its throughput (95 % interval 64 to 70 %)");
        let text = throughput(0.034, Some((0.021, 0.047)));
        assert_eq!(text, "a writer costs RocksDB 3.4 % of its throughput (95 % interval 2.1 to 4.7 %)");
        let text = throughput(-0.42, Some((-0.50, -0.34)));
        assert_eq!(text, "a writer raises the throughput of RocksDB by 42 % (95 % interval 34 to 50 %)");
        let text = throughput(0.01, Some((-0.04, 0.06)));
        assert_eq!(text, "a writer costs RocksDB 1 % of its throughput (95 % interval −4 to 6 %)");
        assert_eq!(throughput(0.5, None), "a writer costs RocksDB about 50 % of its throughput");
    }

    #[test]
    fn a_latency_is_multiplied() {
        let text = of("latency.read.p99", BetterDirection::Lower, 3.0, Some((2.9, 3.1)));
        assert_eq!(
            text,
            "a writer multiplies the 99th percentile of RocksDB's read latency by 4.0 (95 % interval 3.9 to 4.1)"
        );
        let text = of("latency.read.p99", BetterDirection::Lower, 0.2, Some((-1.15, 4.1)));
        assert!(text.ends_with("by 1.2 (95 % interval up to 5.1)"), "{text}");
        let text = of("response.read.p50", BetterDirection::Lower, -0.5, None);
        assert_eq!(text, "a writer multiplies the median of RocksDB's read response time by about 0.50");
        let text = of("throughput", BetterDirection::Lower, 1.0, Some((0.5, 1.5)));
        assert_eq!(text, "a writer multiplies the throughput of RocksDB by 2.0 (95 % interval 1.5 to 2.5)");
    }

    #[test]
    fn a_range_says_no_sign_that_its_interval_does_not_have() {
        let range_of = |metric: &str, better, value, ends| {
            let subject = SentenceSubject { text: "a writer".to_owned(), is_plural: false };
            let pressure = IntervalEstimate::of(value, ends, "too short");
            range(&criterion(metric, better), "RocksDB", &subject, &pressure)
        };
        let throughput = |value, ends| range_of("throughput", BetterDirection::Higher, value, ends);
        let latency = |value, ends| range_of("latency.read.p50", BetterDirection::Lower, value, ends);
        let lead = "with a writer the throughput of RocksDB ";
        let text = throughput(0.19, Some((-1.29, 0.62)));
        assert_eq!(text, format!("{lead}lies between 129 % above and 62 % below that of w0 (95 % interval)"));
        let text = throughput(0.36, Some((0.19, 1.0)));
        assert_eq!(text, format!("{lead}lies between 19 % below and 100 % below that of w0 (95 % interval)"));
        assert_eq!(throughput(0.5, None), format!("{lead}was about 50 % below that of w0"));
        let lead = "with a writer the median of RocksDB's read latency ";
        let text = latency(-0.1, Some((-0.36, 0.5)));
        assert_eq!(text, format!("{lead}lies between 0.64 and 1.5 times that of w0 (95 % interval)"));
        let text = latency(2.0, Some((-1.37, 26.59)));
        assert_eq!(text, format!("{lead}is at most 28 times that of w0 (upper end of the 95 % interval)"));
        assert_eq!(latency(0.4, None), format!("{lead}was about 1.4 times that of w0"));
    }

    #[test]
    fn a_performance_has_its_interval_or_says_that_it_has_none() {
        let who = SentenceSubject { text: "RocksDB".to_owned(), is_plural: false };
        let mean = |ends: Option<(f64, f64)>| MeanEstimate {
            mean: Some(104_571.7),
            ci_low: ends.map(|(low, _)| low),
            ci_high: ends.map(|(_, high)| high),
            unit: "ops/s".to_owned(),
            ..MeanEstimate::default()
        };
        let of = |metric, better, ends| reach(&criterion(metric, better), &who, &mean(ends));
        assert_eq!(
            of("throughput", BetterDirection::Higher, Some((98_200.0, 1_110_944.0))),
            "RocksDB reaches 104\u{202f}572 ops/s (95 % interval 98\u{202f}200 to 1\u{202f}110\u{202f}944)"
        );
        assert_eq!(
            of("latency.read.p50", BetterDirection::Lower, None),
            "the median of RocksDB's read latency is about 104\u{202f}572 ops/s (without a confidence interval)"
        );
        assert_eq!([999.4, 999.6, -1000.0].map(amount), ["999", "1\u{202f}000", "−1\u{202f}000"]);
    }

    #[test]
    fn figures_have_two_or_three_digits() {
        assert_eq!([312.6, 31.2, 9.99, 3.04, 0.034].map(figure), ["313", "31", "10", "3.0", "0.03"]);
        assert_eq!(percentile_name(Percentile::Quantile(0.999)), "99.9th percentile");
    }
}
