//! How requests are distributed over the nodes of a cluster, per second.

use serde::Serialize;

use crate::statistics::moments::quantiles;

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

/// The requests of the nodes under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeLoad {
    /// The load.
    pub load: String,
    /// Requests per node and second.
    pub requests: Option<BoxPlot>,
    /// The requests per second of the node with the highest peak.
    pub hottest: Vec<u64>,
}

/// The hot spots of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HotSpots {
    /// The number of nodes that share the slots.
    pub nodes: u32,
    /// Requests per second, as fast as the trace was replayed here.
    pub requests_per_s: u64,
    /// The node loads under each load.
    pub loads: Vec<NodeLoad>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The load on `nodes` nodes that share `all_slots` slots evenly, when `slots` are requested one after the other at
/// `requests_per_s`. An incomplete last second is left out.
pub fn node_load(load: &str, slots: &[u16], all_slots: u16, nodes: u32, requests_per_s: u64) -> NodeLoad {
    let node = |slot: u16| (u64::from(slot) * u64::from(nodes) / u64::from(all_slots)) as usize;
    let window = usize::try_from(requests_per_s.max(1)).unwrap_or(usize::MAX);
    let mut seconds: Vec<Vec<u64>> = Vec::new();
    for second in slots.chunks_exact(window) {
        let mut counts = vec![0; nodes as usize];
        second.iter().for_each(|slot| counts[node(*slot)] += 1);
        seconds.push(counts);
    }
    let all: Vec<f64> = seconds.iter().flatten().map(|count| *count as f64).collect();
    let hottest = (0..nodes as usize).max_by_key(|node| seconds.iter().map(|counts| counts[*node]).max());
    let hottest = hottest.map_or(Vec::new(), |node| seconds.iter().map(|counts| counts[node]).collect());
    NodeLoad { load: load.to_owned(), requests: BoxPlot::of(&all), hottest }
}
