//! The criterion of an experiment, parsed from its name: `throughput`, a latency such as `latency.read.p99`, or a response
//! time such as `response.read.p99`.

use manometer_measure::LatencyHistogram;
use manometer_measure::histogram::PERCENTILES;
use manometer_measure::plan::Criterion;

/// A criterion that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CriterionError {
    /// The name is unknown.
    #[error(
        "unknown criterion `{0}`: use `throughput`, `latency.<operation>.<percentile>` or `response.<operation>.<percentile>`, such as `latency.read.p99`"
    )]
    UnknownMetric(String),
    /// The unit does not fit the criterion.
    #[error("unknown unit `{unit}` for {metric}: use {expected}")]
    UnknownUnit {
        /// The criterion's name.
        metric: String,
        /// The given unit.
        unit: String,
        /// The units that fit.
        expected: &'static str,
    },
}

/// A parsed criterion.
#[derive(Debug, Clone, PartialEq)]
pub enum Metric {
    /// Requests or bytes per second.
    Throughput(ThroughputUnit),
    /// A percentile of the latencies of one operation, per sample interval.
    Latency {
        /// The operation.
        operation: String,
        /// Whether it is the response time, from when a request was due, instead of the service time, from when it was
        /// sent.
        response: bool,
        /// The percentile.
        percentile: Percentile,
        /// Nanoseconds per unit.
        ns_per_unit: f64,
    },
}

/// The unit of a throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThroughputUnit {
    /// Requests per second of all operations: `ops/s`.
    Requests,
    /// Mebibytes per second of all operations: `MiB/s`.
    Mebibytes,
}

/// A percentile of a latency distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Percentile {
    /// The latency that this share of requests does not exceed.
    Quantile(f64),
    /// The maximum.
    Max,
}

impl ThroughputUnit {
    /// Parses `ops/s` or `MiB/s`.
    ///
    /// # Errors
    /// The unit is neither.
    pub fn of(unit: &str) -> Result<Self, CriterionError> {
        match unit {
            "ops/s" => Ok(Self::Requests),
            "MiB/s" => Ok(Self::Mebibytes),
            _ => Err(unknown_unit("throughput", unit, "`ops/s` or `MiB/s`")),
        }
    }
}

impl Metric {
    /// Parses `criterion`.
    ///
    /// # Errors
    /// Its metric or its unit is unknown.
    pub fn of(criterion: &Criterion) -> Result<Self, CriterionError> {
        let Criterion { metric, unit, .. } = criterion;
        if metric == "throughput" {
            return ThroughputUnit::of(unit).map(Self::Throughput);
        }
        let unknown = || CriterionError::UnknownMetric(metric.clone());
        let (kind, rest) = metric.split_once('.').ok_or_else(unknown)?;
        let (operation, percentile) = rest.rsplit_once('.').ok_or_else(unknown)?;
        let response = match kind {
            "latency" => false,
            "response" => true,
            _ => return Err(unknown()),
        };
        let percentile = Percentile::of_name(percentile).filter(|_| !operation.is_empty()).ok_or_else(unknown)?;
        let ns_per_unit = match unit.as_str() {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return Err(unknown_unit(metric, unit, "`us`, `ns`, `ms` or `s`")),
        };
        Ok(Self::Latency { operation: operation.to_owned(), response, percentile, ns_per_unit })
    }
}

impl Percentile {
    fn of_name(name: &str) -> Option<Self> {
        let quantile = PERCENTILES.iter().find(|(known, _)| *known == name).map(|(_, share)| Self::Quantile(*share));
        quantile.or((name == "max").then_some(Self::Max))
    }

    /// Its latency in nanoseconds; `None` for an empty histogram.
    pub fn ns(self, histogram: &LatencyHistogram) -> Option<u64> {
        match self {
            Self::Quantile(share) => histogram.quantile_ns(share),
            Self::Max => histogram.max_ns(),
        }
    }
}

fn unknown_unit(metric: &str, unit: &str, expected: &'static str) -> CriterionError {
    CriterionError::UnknownUnit { metric: metric.to_owned(), unit: unit.to_owned(), expected }
}

/// Whether a criterion is a percentile of latencies.
pub(crate) fn is_latency(criterion: &Criterion) -> bool {
    matches!(Metric::of(criterion), Ok(Metric::Latency { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use manometer_measure::plan::BetterDirection;

    fn metric(metric: &str, unit: &str) -> Result<Metric, CriterionError> {
        Metric::of(&Criterion { metric: metric.into(), unit: unit.into(), better: BetterDirection::Higher })
    }

    #[test]
    fn criteria_are_parsed() {
        assert_eq!(metric("throughput", "ops/s"), Ok(Metric::Throughput(ThroughputUnit::Requests)));
        assert_eq!(metric("throughput", "MiB/s"), Ok(Metric::Throughput(ThroughputUnit::Mebibytes)));
        for (name, response) in [("latency.read.p99", false), ("response.read.p99", true)] {
            let percentile = Percentile::Quantile(0.99);
            let p99 = Metric::Latency { operation: "read".into(), response, percentile, ns_per_unit: 1e3 };
            assert_eq!(metric(name, "us"), Ok(p99));
        }
        assert!(metric("latency.read.max", "ms").is_ok());
    }

    #[test]
    fn unknown_criteria_and_units_are_refused_with_the_valid_ones() {
        for (name, unit) in [("latency", "us"), ("latency.p99", "us"), ("latency.read.p98", "us"), ("joy", "ops/s")] {
            assert!(matches!(metric(name, unit), Err(CriterionError::UnknownMetric(_))), "{name}");
        }
        assert!(metric("throughput", "furlongs").unwrap_err().to_string().contains("MiB/s"));
        assert!(metric("latency.read.p50", "ops/s").unwrap_err().to_string().contains("us"));
    }
}
