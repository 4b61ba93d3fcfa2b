//! Latency histograms: HdrHistograms of nanoseconds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Serialize};

use crate::encoded_counts::EncodedCounts;

/// The longest latency: one hour. Longer ones count as one hour.
pub const MAX_LATENCY_NS: u64 = 3_600_000_000_000;

/// The significant decimal digits of a latency.
const SIGNIFICANT_DIGITS: u8 = 3;

/// The percentiles of every summary, with their names.
pub const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];

/// A text that is not a base64 HdrHistogram V2.
#[derive(Debug, Clone, thiserror::Error)]
#[error("not a base64 HdrHistogram V2: {0}")]
pub struct HistogramError(String);

impl HistogramError {
    fn new(reason: impl std::fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

/// Latencies in nanoseconds from 1 ns to 1 h, with three significant digits. It is serialised as base64.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LatencyHistogram(Histogram<u64>);

impl From<LatencyHistogram> for String {
    fn from(histogram: LatencyHistogram) -> Self {
        histogram.to_base64()
    }
}

impl TryFrom<String> for LatencyHistogram {
    type Error = HistogramError;

    fn try_from(text: String) -> Result<Self, HistogramError> {
        Self::from_base64(&text)
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram.
    pub fn new() -> Self {
        let bounds = Histogram::new_with_bounds(1, MAX_LATENCY_NS, SIGNIFICANT_DIGITS);
        Self(bounds.expect("the constant bounds are valid"))
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.0.saturating_record(latency_ns.max(1));
    }

    /// Counts the same latency `times` times.
    pub fn record_many(&mut self, latency_ns: u64, times: u64) {
        let latency_ns = latency_ns.clamp(1, MAX_LATENCY_NS);
        self.0.record_n(latency_ns, times).expect("the latency lies within the bounds");
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("both histograms have the same bounds");
    }

    /// Removes all counts.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// The number of latencies.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there are no latencies.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The latency in nanoseconds that the share `quantile` (0 to 1) of requests does not exceed; `None` when empty.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.value_at_quantile(quantile))
    }

    /// The longest latency in nanoseconds; `None` when empty.
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.max())
    }

    /// The mean latency in nanoseconds; `None` when empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.0.mean())
    }

    /// The distinct latencies in nanoseconds, each with its count.
    pub fn recorded(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// The histogram as base64 HdrHistogram V2, as in workers' messages and `.hlog` files.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.encode())
    }

    /// The bytes of HdrHistogram V2.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let written = V2Serializer::new().serialize(&self.0, &mut bytes);
        written.expect("a histogram of these bounds fits in memory");
        bytes
    }

    /// Parses the output of [`Self::to_base64`].
    ///
    /// # Errors
    /// The text is not base64, not a V2 histogram, or has values out of range.
    pub fn from_base64(text: &str) -> Result<Self, HistogramError> {
        Self::decode(&decode_base64(text)?)
    }

    /// The histogram of the bytes of HdrHistogram V2.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, HistogramError> {
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut bytes).map_err(HistogramError::new)?;
        if (read.low(), read.high(), read.sigfig()) == (1, MAX_LATENCY_NS, SIGNIFICANT_DIGITS) {
            return Ok(Self(read));
        }
        let mut ours = Self::new();
        ours.0.add(read).map_err(HistogramError::new)?;
        Ok(ours)
    }

    /// Adds the counts of the bytes of HdrHistogram V2, as [`Self::decode`] and [`Self::add`] do.
    ///
    /// # Errors
    /// As those of [`Self::decode`]; some counts may have been added.
    pub(crate) fn add_encoded(&mut self, bytes: &[u8]) -> Result<(), HistogramError> {
        match EncodedCounts::new(bytes, MAX_LATENCY_NS) {
            Some(mut counts) => counts.try_for_each(|count| {
                let (latency_ns, times) = count.map_err(HistogramError::new)?;
                self.0.record_n(latency_ns, times).map_err(HistogramError::new)
            }),
            None => Self::decode(bytes).map(|other| self.add(&other)),
        }
    }
}

/// The bytes that a text of [`LatencyHistogram::to_base64`] stands for.
pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, HistogramError> {
    STANDARD.decode(text).map_err(HistogramError::new)
}

/// Whether [`LatencyHistogram::decode`] reads the bytes.
pub(crate) fn check_encoded(bytes: &[u8]) -> Result<(), HistogramError> {
    match EncodedCounts::new(bytes, MAX_LATENCY_NS) {
        Some(mut counts) => counts.try_for_each(|count| count.map(drop)).map_err(HistogramError::new),
        None => LatencyHistogram::decode(bytes).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_percentiles() {
        let empty = LatencyHistogram::new();
        assert_eq!((empty.quantile_ns(0.5), empty.max_ns(), empty.mean_ns()), (None, None, None));
    }

    #[test]
    fn recorded_latencies_have_their_counts() {
        let mut histogram = LatencyHistogram::new();
        histogram.record_many(100, 3);
        histogram.record(1_000_000);
        let recorded: Vec<(u64, u64)> = histogram.recorded().collect();
        assert_eq!(recorded.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(recorded[0].0, 100);
        assert!((1_000_000..1_001_000).contains(&recorded[1].0), "{recorded:?}");
    }

    #[test]
    fn latencies_beyond_the_bounds_are_counted_at_them() {
        let mut histogram = LatencyHistogram::new();
        histogram.record(0);
        histogram.record(u64::MAX);
        assert_eq!(histogram.len(), 2);
        assert!(histogram.max_ns().unwrap() >= MAX_LATENCY_NS);
    }

    #[test]
    fn the_last_count_is_the_last_of_the_histogram() {
        let header = LatencyHistogram::new().encode()[..40].to_vec();
        let last = LatencyHistogram::new().0.distinct_values() as i64 - 1;
        for (zeros, is_read) in [(last, true), (last + 1, false)] {
            // A run of zeros, three bytes long, and a count of one.
            let run = (zeros * 2 - 1) as u64;
            let counts = [run as u8 | 0x80, (run >> 7) as u8 | 0x80, (run >> 14) as u8, 2];
            let mut bytes = [&header[..], &counts].concat();
            bytes[7] = counts.len() as u8;
            assert_eq!(LatencyHistogram::decode(&bytes).is_ok(), is_read);
            assert_eq!(LatencyHistogram::new().add_encoded(&bytes).is_ok(), is_read);
        }
    }

    proptest! {
        #[test]
        fn a_histogram_survives_its_own_text(latencies in prop::collection::vec(1..MAX_LATENCY_NS, 0..200)) {
            let mut histogram = LatencyHistogram::new();
            latencies.iter().for_each(|ns| histogram.record(*ns));
            prop_assert_eq!(LatencyHistogram::from_base64(&histogram.to_base64()).unwrap(), histogram);
        }

        #[test]
        fn counts_are_added_as_the_histogram_has_them(
            latencies in prop::collection::vec((0..63_u32, any::<u64>(), 1..u64::MAX / 400), 0..200),
            damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            length in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut histogram = LatencyHistogram::new();
            latencies.iter().for_each(|(shift, ns, times)| histogram.record_many(ns >> shift, *times));
            let mut bytes = decode_base64(&histogram.to_base64()).unwrap();
            let whole = bytes.len();
            damages.iter().for_each(|(at, byte)| bytes[at.index(whole)] = *byte);
            length.iter().for_each(|at| bytes.truncate(at.index(whole)));
            let mut sum = LatencyHistogram::new();
            let added = sum.add_encoded(&bytes);
            match LatencyHistogram::decode(&bytes) {
                Ok(decoded) => {
                    prop_assert!(added.is_ok() && check_encoded(&bytes).is_ok(), "{added:?}");
                    // Without the 33,000 counts of either.
                    prop_assert!(sum == decoded, "{:?}", sum.recorded().collect::<Vec<_>>());
                }
                Err(_) => prop_assert!(added.is_err() && check_encoded(&bytes).is_err()),
            }
        }

        #[test]
        fn no_text_can_panic(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = LatencyHistogram::from_base64(&text);
            let _ = LatencyHistogram::from_base64(&STANDARD.encode(bytes));
        }
    }
}
