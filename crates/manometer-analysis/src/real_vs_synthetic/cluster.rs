//! How requests are distributed over the nodes of a cluster, per second.

use serde::Serialize;

use super::decomposition::{Decomposition, Property, PropertyEffect};
use super::estimate::Estimate;
use super::load_names::TRACE;
use crate::statistics::moments::{self, quantiles};

/// The numbers of a box plot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BoxPlot {
    /// The minimum.
    pub min: f64,
    /// The lower quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub q3: f64,
    /// The maximum.
    pub max: f64,
    /// The maximum minus the minimum.
    pub range: f64,
    /// The interquartile range.
    pub iqr: f64,
    /// The number of values.
    pub samples: usize,
}

impl BoxPlot {
    /// The box plot of `values`; `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let [min, q1, median, q3, max] = quantiles(values, [0.0, 0.25, 0.5, 0.75, 1.0])?;
        Some(Self { min, q1, median, q3, max, range: max - min, iqr: q3 - q1, samples: values.len() })
    }
}

/// When requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// At the recorded times.
    Recorded,
    /// Equally far apart.
    Constant,
    /// At random, as the arrivals of a Poisson process of the same number.
    Poisson,
}

impl Arrivals {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Constant => "constant",
            Self::Poisson => "poisson",
        }
    }
}

/// The requests of the nodes under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeLoad {
    /// The load.
    pub load: String,
    /// When its requests arrive.
    pub arrivals: Arrivals,
    /// Requests per node and second.
    pub requests: Option<BoxPlot>,
    /// The requests per second of the node with the highest peak.
    pub hottest: Vec<u64>,
    /// The mean over blocks of time of the most requests of a node in a second, divided by the mean of a node.
    pub peak: Estimate,
    /// The peak of each block.
    #[serde(skip)]
    peaks: Vec<f64>,
}

impl NodeLoad {
    /// The load whose nodes got `seconds` requests, second by second, node by node.
    pub fn new(load: &str, arrivals: Arrivals, seconds: &[Vec<u64>]) -> Self {
        let all: Vec<f64> = seconds.iter().flatten().map(|count| *count as f64).collect();
        let nodes = seconds.first().map_or(0, Vec::len);
        let hottest = (0..nodes).max_by_key(|node| seconds.iter().map(|counts| counts[*node]).max());
        let peaks = peaks(seconds, moments::mean(&all).unwrap_or(0.0));
        Self {
            load: load.to_owned(),
            arrivals,
            requests: BoxPlot::of(&all),
            hottest: hottest.map_or(Vec::new(), |node| seconds.iter().map(|counts| counts[node]).collect()),
            peak: with_enough_blocks(&peaks),
            peaks,
        }
    }

    /// How much higher its peaks are than those of `other`, block by block.
    pub fn peak_above(&self, other: &Self) -> Estimate {
        let pairs = std::iter::zip(&self.peaks, &other.peaks);
        with_enough_blocks(&pairs.map(|(own, other)| own - other).collect::<Vec<_>>())
    }
}

/// What the servers of a cluster counted under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredNodes {
    /// The requests of its nodes.
    #[serde(flatten)]
    pub nodes: NodeLoad,
    /// How much higher the peaks are than computed.
    pub peak_above_computed: Estimate,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that were sent late.
    pub late: u64,
}

/// Fewer blocks of seconds give no interval.
const BLOCKS_MIN: usize = 5;
/// More blocks would be shorter, for little gain.
const BLOCKS_MAX: usize = 20;

/// The peak of each block of equally many seconds. Seconds that are left over at the end are in no block.
fn peaks(seconds: &[Vec<u64>], mean: f64) -> Vec<f64> {
    let length = seconds.len().div_ceil(BLOCKS_MAX).max(1);
    let peak = |block: &[Vec<u64>]| block.iter().flatten().copied().max().unwrap_or(0) as f64 / mean;
    if mean > 0.0 { seconds.chunks_exact(length).map(peak).collect() } else { Vec::new() }
}

fn with_enough_blocks(values: &[f64]) -> Estimate {
    let found = Estimate::of(values);
    if values.len() >= BLOCKS_MIN {
        return found;
    }
    Estimate { mean: found.mean, reason: Some("an interval needs five seconds"), ..Estimate::default() }
}

/// The hot spots of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HotSpots {
    /// The number of nodes that share the slots.
    pub nodes: u32,
    /// The speed of the arrivals relative to the recorded ones.
    pub speed: f64,
    /// Mean requests per second.
    pub requests_per_s: u64,
    /// The node loads under each load, computed.
    pub loads: Vec<NodeLoad>,
    /// Those of a real cluster, if one was measured.
    pub measured: Vec<MeasuredNodes>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The node that holds `slot` where `nodes` nodes share `all_slots` slots evenly, as `start .. next start` with starts
/// rounded down.
fn node_of(slot: u16, all_slots: u16, nodes: u32) -> usize {
    ((u64::from(slot) + 1) * u64::from(nodes) - 1) as usize / usize::from(all_slots)
}

/// The requests of each second and node, when the keys of `slots` are requested in the seconds of `arrivals`. Requests
/// after the last of `seconds` are left out.
pub fn node_seconds(
    slots: &[u16],
    arrivals: impl Iterator<Item = u32>,
    all_slots: u16,
    nodes: u32,
    seconds: u32,
) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; nodes as usize]; seconds as usize];
    for (slot, second) in slots.iter().zip(arrivals) {
        if let Some(counts) = counts.get_mut(second as usize) {
            counts[node_of(*slot, all_slots, nodes)] += 1;
        }
    }
    counts
}

/// What makes the hot spots of the Zipf load differ from those of the trace, block by block: `steps` as for miss ratios,
/// after the step to constant arrivals where the trace has recorded ones. Sizes do not matter here.
pub fn hot_spot_decomposition(loads: &[&NodeLoad], on: &str, steps: &[(Property, String)]) -> Option<Decomposition> {
    let find = |load: &str, arrivals| loads.iter().copied().find(|one| one.load == load && one.arrivals == arrivals);
    let difference = |before: &NodeLoad, after: &NodeLoad| after.peak_above(before);
    let first = find(TRACE, Arrivals::Recorded).or_else(|| find(TRACE, Arrivals::Constant))?;
    let mut path = vec![(None, first)];
    if first.arrivals == Arrivals::Recorded {
        path.push((Some(Property::Arrivals), find(TRACE, Arrivals::Constant)?));
    }
    for (property, load) in steps.iter().filter(|(property, _)| *property != Property::Sizes) {
        path.push((Some(*property), find(load, Arrivals::Constant)?));
    }
    let effect = |pair: &[(Option<Property>, &NodeLoad)]| {
        Some(PropertyEffect { property: pair[1].0?, change: difference(pair[0].1, pair[1].1) })
    };
    let effects = path.windows(2).filter_map(effect).collect();
    let last = path.last()?.1;
    let whole = difference(first, last);
    whole.mean.is_some().then(|| Decomposition::of_hot_spots(on, &last.load, whole, effects))
}
