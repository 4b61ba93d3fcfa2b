//! Latency histograms that one thread writes while another reads.
//!
//! A histogram with one writer needs no lock and no locked instruction: the writer loads, adds and stores; the reader
//! reads at any time and takes the difference to its last reading. A thread that hangs in a stalled write therefore
//! delays no sample. The cells are those of an HdrHistogram with three digits, so that they convert without loss.

use std::sync::atomic::{AtomicU64, Ordering};

use manometer_measure::LatencyHistogram;
use manometer_measure::histogram::MAX_LATENCY_NS;
use manometer_measure::histogram_bins::{bin_of, lowest_value_of};

const CELLS: usize = bin_of(MAX_LATENCY_NS) + 1;

/// One kind of latency of one thread.
#[derive(Debug)]
pub(crate) struct LatencyCells {
    counts: Box<[AtomicU64]>,
    bytes: AtomicU64,
}

/// The last reading of some [`LatencyCells`].
#[derive(Debug, Clone)]
pub(crate) struct CellSnapshot {
    counts: Box<[u64]>,
    bytes: u64,
}

impl Default for LatencyCells {
    fn default() -> Self {
        Self { counts: (0..CELLS).map(|_| AtomicU64::new(0)).collect(), bytes: AtomicU64::new(0) }
    }
}

impl Default for CellSnapshot {
    fn default() -> Self {
        Self { counts: vec![0; CELLS].into(), bytes: 0 }
    }
}

impl LatencyCells {
    /// Counts one latency and the bytes that were moved. Only one thread may do so.
    #[inline]
    pub(crate) fn count(&self, latency_ns: u64, bytes: usize) {
        add(&self.counts[bin_of(latency_ns.min(MAX_LATENCY_NS))], 1);
        add(&self.bytes, bytes as u64);
    }

    /// Adds the counts since `seen` to `histogram`; returns the bytes since then.
    pub(crate) fn read_since(&self, seen: &mut CellSnapshot, histogram: &mut LatencyHistogram) -> u64 {
        for (cell, (now, before)) in self.counts.iter().zip(&mut seen.counts).enumerate() {
            let now = now.load(Ordering::Relaxed);
            if now != *before {
                histogram.record_many(lowest_value_of(cell), now - *before);
                *before = now;
            }
        }
        let bytes = self.bytes.load(Ordering::Relaxed);
        bytes - std::mem::replace(&mut seen.bytes, bytes)
    }
}

#[inline]
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cells_count_as_an_hdr_histogram_does(
            latencies in prop::collection::vec((0..43_u32).prop_flat_map(|bits| 0..1_u64 << bits), 0..300),
            cut in 0..300_usize,
        ) {
            let cells = LatencyCells::default();
            let mut seen = CellSnapshot::default();
            let (first, second) = latencies.split_at(cut.min(latencies.len()));
            for part in [first, second] {
                let mut wanted = LatencyHistogram::new();
                for latency in part {
                    cells.count(*latency, 7);
                    wanted.record((*latency).min(MAX_LATENCY_NS));
                }
                let mut read = LatencyHistogram::new();
                prop_assert_eq!(cells.read_since(&mut seen, &mut read), 7 * part.len() as u64);
                prop_assert_eq!(read.len(), wanted.len());
                for quantile in [0.0, 0.1, 0.5, 0.9, 0.99, 1.0] {
                    prop_assert_eq!(read.quantile_ns(quantile), wanted.quantile_ns(quantile));
                }
            }
        }
    }
}
