//! Requests per second as a series, from which burstiness and the Hurst exponent are computed.
//!
//! Windows of 1 s from the first request on; of 2 s, 4 s … where there would be too many.

use std::collections::VecDeque;

use serde::Serialize;

/// The window width of traces of up to [`WINDOWS_MAX`] seconds.
pub const WINDOW_NS: u64 = 1_000_000_000;
/// The largest number of windows.
pub const WINDOWS_MAX: usize = 1 << 22;
/// The fewest windows for an index of dispersion.
const DISPERSION_WINDOWS_MIN: usize = 10;

/// Requests by windows of equal length.
#[derive(Debug, Clone, Default)]
pub struct ArrivalCounts {
    zero_ns: Option<u64>,
    /// The window width is [`WINDOW_NS`] times two to this power.
    doublings: u32,
    /// The number of the first window; negative if times go back behind the first request.
    first: i64,
    windows: VecDeque<u32>,
    last_ns: u64,
}

/// The index of dispersion: variance divided by mean of the counts. 1 for a Poisson process, more for bursts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dispersion {
    /// The length of a window.
    pub window_s: f64,
    /// The number of windows.
    pub windows: usize,
    /// The index of dispersion.
    pub index: f64,
}

impl ArrivalCounts {
    /// Counts a request.
    pub fn add(&mut self, time_ns: u64) {
        let zero = *self.zero_ns.get_or_insert(time_ns);
        self.last_ns = self.last_ns.max(time_ns);
        let mut window = self.window_of(time_ns, zero);
        while self.span_with(window) > WINDOWS_MAX as u64 {
            self.double();
            window = self.window_of(time_ns, zero);
        }
        if self.windows.is_empty() {
            self.first = window;
        }
        while window < self.first {
            self.windows.push_front(0);
            self.first -= 1;
        }
        let at = (window - self.first) as usize;
        if self.windows.len() <= at {
            self.windows.resize(at + 1, 0);
        }
        self.windows[at] = self.windows[at].saturating_add(1);
    }

    fn window_of(&self, time_ns: u64, zero_ns: u64) -> i64 {
        let distance = (i128::from(time_ns) - i128::from(zero_ns)).div_euclid(i128::from(self.window_ns()));
        distance as i64
    }

    fn span_with(&self, window: i64) -> u64 {
        if self.windows.is_empty() {
            return 1;
        }
        let last = self.first + self.windows.len() as i64 - 1;
        window.max(last).abs_diff(window.min(self.first)) + 1
    }

    fn double(&mut self) {
        if self.first.rem_euclid(2) == 1 {
            self.windows.push_front(0);
            self.first -= 1;
        }
        let pairs = self.windows.make_contiguous().chunks(2);
        self.windows = pairs.map(|pair| pair.iter().fold(0, |sum: u32, count| sum.saturating_add(*count))).collect();
        self.first = self.first.div_euclid(2);
        self.doublings += 1;
    }

    /// The width of a window in nanoseconds.
    pub fn window_ns(&self) -> u64 {
        WINDOW_NS << self.doublings
    }

    /// The start of the first window, in nanoseconds of the trace.
    pub fn begin_ns(&self) -> i128 {
        i128::from(self.zero_ns.unwrap_or(0)) + i128::from(self.first) * i128::from(self.window_ns())
    }

    /// The requests of each window that lies completely within the trace.
    pub fn whole(&self) -> Vec<f64> {
        let end = self.begin_ns() + self.windows.len() as i128 * i128::from(self.window_ns());
        let is_whole = i128::from(self.last_ns) + 1 >= end;
        let count = if is_whole { self.windows.len() } else { self.windows.len().saturating_sub(1) };
        self.windows.iter().take(count).map(|count| f64::from(*count)).collect()
    }

    /// The requests of each window; the last one may be partial.
    pub fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.windows.iter().copied()
    }
}

/// The index of dispersion over windows 1, 10, 100 … times as long.
pub fn dispersion(counts: &[f64], window_s: f64) -> Vec<Dispersion> {
    let of = |times: usize| {
        let sums: Vec<f64> = counts.chunks_exact(times).map(|chunk| chunk.iter().sum()).collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let squares: f64 = sums.iter().map(|sum| (sum - mean).powi(2)).sum();
        let index = squares / (sums.len() as f64 - 1.0) / mean;
        Dispersion { window_s: window_s * times as f64, windows: sums.len(), index }
    };
    let enough = |times: &usize| counts.len() / times >= DISPERSION_WINDOWS_MIN;
    let lengths = std::iter::successors(Some(1_usize), |times| times.checked_mul(10)).take_while(enough);
    lengths.map(of).filter(|dispersion| dispersion.index.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(times_s: &[f64]) -> ArrivalCounts {
        let mut counts = ArrivalCounts::default();
        times_s.iter().for_each(|time| counts.add((time * 1e9) as u64));
        counts
    }

    #[test]
    fn seconds_are_counted_from_the_first_request() {
        let counts = counted(&[10.5, 10.6, 11.4, 11.6, 13.6]);
        assert_eq!(counts.all().collect::<Vec<_>>(), [3, 1, 0, 1]);
        assert_eq!(counts.whole(), [3.0, 1.0, 0.0]);
    }

    #[test]
    fn times_that_go_back_have_windows_too() {
        let counts = counted(&[10.0, 8.5, 7.2]);
        assert_eq!((counts.all().collect::<Vec<_>>(), counts.begin_ns()), (vec![1, 1, 0, 1], 7_000_000_000));
    }

    #[test]
    fn long_traces_have_wider_windows() {
        let year = 365.0 * 86_400.0;
        let counts = counted(&[0.0, year, 3.0, 100.0 * year]);
        assert_eq!(counts.window_ns(), 1024 * WINDOW_NS);
        assert_eq!(counts.all().map(u64::from).sum::<u64>(), 4);
        assert!(counts.all().count() <= WINDOWS_MAX);
        let mut counts = counted(&[100.0]);
        counts.add(u64::MAX);
        counts.add(0);
        assert!(counts.all().count() <= WINDOWS_MAX && counts.all().sum::<u32>() == 3);
    }

    #[test]
    fn dispersion_is_variance_by_mean() {
        let even = dispersion(&[5.0; 100], 1.0);
        assert_eq!(even.iter().map(|of| (of.windows, of.index)).collect::<Vec<_>>(), [(100, 0.0), (10, 0.0)]);
        let alternating: Vec<f64> = (0..20).map(|at| f64::from(at % 2) * 10.0).collect();
        assert!((dispersion(&alternating, 1.0)[0].index - 500.0 / 19.0 / 5.0).abs() < 1e-12);
        assert!(dispersion(&[1.0; 9], 1.0).is_empty() && dispersion(&[0.0; 20], 1.0).is_empty());
    }
}
