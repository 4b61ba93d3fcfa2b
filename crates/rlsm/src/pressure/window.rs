//! A window of about a second of latencies.

use super::baseline::percentile;
use super::io_sample::IO_KINDS;

/// Fewer latencies of a kind are not judged.
const SAMPLES_MIN: usize = 8;

/// The capacity per kind: newer latencies overwrite older ones.
const SAMPLES_MAX: usize = 256;

/// The latency of a kind of I/O in the last window with enough samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Latency {
    /// The median, in nanoseconds.
    pub now_ns: u64,
    /// The median of the usual latencies of the same operations, in nanoseconds.
    pub usual_ns: u64,
}

#[derive(Default)]
pub(super) struct LatencyWindow {
    pub began_ns: Option<u64>,
    rated: [Vec<RatedLatency>; IO_KINDS],
    counts: [usize; IO_KINDS],
    /// The time spent waiting for operations, by kind, in nanoseconds.
    pub waited_ns: [u64; IO_KINDS],
}

#[derive(Clone, Copy)]
struct RatedLatency {
    latency_ns: u64,
    usual_ns: u64,
}

impl LatencyWindow {
    pub fn add(&mut self, now_ns: u64, kind: usize, latency_ns: u64, usual_ns: Option<u64>) {
        self.began_ns.get_or_insert(now_ns);
        self.waited_ns[kind] += latency_ns;
        let Some(usual_ns) = usual_ns else { return };
        let rated = RatedLatency { latency_ns, usual_ns };
        match self.rated[kind].len() {
            SAMPLES_MAX => self.rated[kind][self.counts[kind] % SAMPLES_MAX] = rated,
            _ => self.rated[kind].push(rated),
        }
        self.counts[kind] += 1;
    }

    /// Whether any kind has enough operations to be judged.
    pub fn has_enough_samples(&self) -> bool {
        self.rated.iter().any(|rated| rated.len() >= SAMPLES_MIN)
    }

    /// The latency by kind; `None` for a kind with too few operations.
    pub fn latencies(&self) -> [Option<Latency>; IO_KINDS] {
        std::array::from_fn(|kind| latency(&self.rated[kind]))
    }

    /// The ratio of latency to usual latency, of the slowest kind; `None` if all kinds have too few operations.
    pub fn slowness(&mut self) -> Option<f64> {
        self.rated.iter_mut().filter_map(|rated| median_slowness(rated)).reduce(f64::max)
    }
}

fn latency(rated: &[RatedLatency]) -> Option<Latency> {
    let median = |of: fn(&RatedLatency) -> u64| percentile(&mut rated.iter().map(of).collect::<Vec<_>>(), 50);
    let latency = Latency { now_ns: median(|one| one.latency_ns)?, usual_ns: median(|one| one.usual_ns)? };
    (rated.len() >= SAMPLES_MIN).then_some(latency)
}

/// The median ratio of latency to usual latency.
fn median_slowness(rated: &mut [RatedLatency]) -> Option<f64> {
    if rated.len() < SAMPLES_MIN {
        return None;
    }
    let slowness = |one: &RatedLatency| one.latency_ns as f64 / one.usual_ns.max(1) as f64;
    let middle = (rated.len() - 1) / 2;
    let (_, median, _) = rated.select_nth_unstable_by(middle, |a, b| slowness(a).total_cmp(&slowness(b)));
    Some(slowness(median))
}
