//! What is judged, read from its name: `throughput`, a latency such as `latency.read.p99`, or the same from when
//! requests were due, such as `response.read.p99`.

use manometer_measure::LatencyHistogram;
use manometer_measure::histogram::PERCENTILES;
use manometer_measure::plan::Criterion;

/// A criterion that cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CriterionError {
    /// The name means nothing.
    #[error("`{0}` is no criterion: write `throughput`, `latency.read.p99`, `response.read.p99` and the like")]
    UnknownMetric(String),
    /// The unit does not fit.
    #[error("`{unit}` is no unit of {metric}: write {wanted}")]
    UnknownUnit {
        /// The criterion's name.
        metric: String,
        /// The unit as given.
        unit: String,
        /// The units that would fit.
        wanted: &'static str,
    },
}

/// A criterion that can be computed.
#[derive(Debug, Clone, PartialEq)]
pub enum Metric {
    /// Requests or bytes per second.
    Throughput(Throughput),
    /// A percentile of the latencies of one operation, interval by interval.
    Latency {
        /// The operation.
        operation: String,
        /// Whether from when requests were due, instead of from when they were sent.
        response: bool,
        /// Which of them.
        percentile: Percentile,
        /// How many nanoseconds one unit has.
        ns_per_unit: f64,
    },
}

/// What is counted per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throughput {
    /// Requests of all operations: `ops/s`.
    Requests,
    /// Bytes of all operations: `MiB/s`.
    Mebibytes,
}

/// A place in the distribution of latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Percentile {
    /// The latency that this share of requests does not exceed.
    Quantile(f64),
    /// The longest.
    Longest,
}

impl Throughput {
    /// Reads `ops/s` or `MiB/s`.
    ///
    /// # Errors
    /// It is neither.
    pub fn of_unit(unit: &str) -> Result<Self, CriterionError> {
        match unit {
            "ops/s" => Ok(Self::Requests),
            "MiB/s" => Ok(Self::Mebibytes),
            _ => Err(unknown_unit("throughput", unit, "`ops/s` or `MiB/s`")),
        }
    }
}

impl Metric {
    /// Reads `criterion`.
    ///
    /// # Errors
    /// Its metric or its unit means nothing.
    pub fn of(criterion: &Criterion) -> Result<Self, CriterionError> {
        let Criterion { metric, unit, .. } = criterion;
        if metric == "throughput" {
            return Throughput::of_unit(unit).map(Self::Throughput);
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
        quantile.or((name == "max").then_some(Self::Longest))
    }

    /// Its latency in nanoseconds; nothing of an empty histogram.
    pub fn ns(self, histogram: &LatencyHistogram) -> Option<u64> {
        match self {
            Self::Quantile(share) => histogram.quantile_ns(share),
            Self::Longest => histogram.max_ns(),
        }
    }
}

fn unknown_unit(metric: &str, unit: &str, wanted: &'static str) -> CriterionError {
    CriterionError::UnknownUnit { metric: metric.to_owned(), unit: unit.to_owned(), wanted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manometer_measure::plan::Better;

    fn metric(metric: &str, unit: &str) -> Result<Metric, CriterionError> {
        Metric::of(&Criterion { metric: metric.into(), unit: unit.into(), better: Better::Higher })
    }

    #[test]
    fn criteria_read_as_people_write_them() {
        assert_eq!(metric("throughput", "ops/s"), Ok(Metric::Throughput(Throughput::Requests)));
        assert_eq!(metric("throughput", "MiB/s"), Ok(Metric::Throughput(Throughput::Mebibytes)));
        for (name, response) in [("latency.read.p99", false), ("response.read.p99", true)] {
            let percentile = Percentile::Quantile(0.99);
            let p99 = Metric::Latency { operation: "read".into(), response, percentile, ns_per_unit: 1e3 };
            assert_eq!(metric(name, "us"), Ok(p99));
        }
        assert!(metric("latency.read.max", "ms").is_ok());
    }

    #[test]
    fn nonsense_is_refused_with_what_would_be_right() {
        for (name, unit) in [("latency", "us"), ("latency.p99", "us"), ("latency.read.p98", "us"), ("joy", "ops/s")] {
            assert!(matches!(metric(name, unit), Err(CriterionError::UnknownMetric(_))), "{name}");
        }
        assert!(metric("throughput", "furlongs").unwrap_err().to_string().contains("MiB/s"));
        assert!(metric("latency.read.p50", "ops/s").unwrap_err().to_string().contains("us"));
    }
}
