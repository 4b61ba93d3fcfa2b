//! The latencies of about a second, judged together.

use super::baseline::percentile;
use super::gauge::KINDS;

/// Fewer latencies of a kind are not judged.
const SAMPLES_MIN: usize = 8;

/// More of a kind are not kept: the newest take the oldest ones' places.
const SAMPLES_MAX: usize = 256;

/// What one kind of operation took in the last window that told something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Latency {
    /// The median, in nanoseconds.
    pub now_ns: u64,
    /// The median of what the same operations usually take, in nanoseconds.
    pub usual_ns: u64,
}

#[derive(Default)]
pub(super) struct Window {
    pub began_ns: Option<u64>,
    judged: [Vec<Judged>; KINDS],
    counts: [usize; KINDS],
    /// How long was waited for operations, by kind, in nanoseconds.
    pub waited_ns: [u64; KINDS],
}

#[derive(Clone, Copy)]
struct Judged {
    latency_ns: u64,
    usual_ns: u64,
}

impl Window {
    pub fn add(&mut self, now_ns: u64, kind: usize, latency_ns: u64, usual_ns: Option<u64>) {
        self.began_ns.get_or_insert(now_ns);
        self.waited_ns[kind] += latency_ns;
        let Some(usual_ns) = usual_ns else { return };
        let judged = Judged { latency_ns, usual_ns };
        match self.judged[kind].len() {
            SAMPLES_MAX => self.judged[kind][self.counts[kind] % SAMPLES_MAX] = judged,
            _ => self.judged[kind].push(judged),
        }
        self.counts[kind] += 1;
    }

    /// Whether there are enough operations of a kind to be judged.
    pub fn tells(&self) -> bool {
        self.judged.iter().any(|judged| judged.len() >= SAMPLES_MIN)
    }

    /// What each kind of operation took; `None` for one of which there are too few.
    pub fn latencies(&self) -> [Option<Latency>; KINDS] {
        std::array::from_fn(|kind| latency(&self.judged[kind]))
    }

    /// How many times as long as usual operations took, of the kind that was slowest; `None` if there are too few of any.
    pub fn slowness(&mut self) -> Option<f64> {
        self.judged.iter_mut().filter_map(|judged| median_slowness(judged)).reduce(f64::max)
    }
}

fn latency(judged: &[Judged]) -> Option<Latency> {
    let median = |of: fn(&Judged) -> u64| percentile(&mut judged.iter().map(of).collect::<Vec<_>>(), 50);
    let latency = Latency { now_ns: median(|one| one.latency_ns)?, usual_ns: median(|one| one.usual_ns)? };
    (judged.len() >= SAMPLES_MIN).then_some(latency)
}

/// The median of how many times as long as usual each operation took.
fn median_slowness(judged: &mut [Judged]) -> Option<f64> {
    if judged.len() < SAMPLES_MIN {
        return None;
    }
    let slowness = |one: &Judged| one.latency_ns as f64 / one.usual_ns.max(1) as f64;
    let middle = (judged.len() - 1) / 2;
    let (_, median, _) = judged.select_nth_unstable_by(middle, |a, b| slowness(a).total_cmp(&slowness(b)));
    Some(slowness(median))
}
