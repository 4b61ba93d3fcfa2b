//! The charts of the page, one per file: each turns a recording into the rows of one Vega-Lite chart.

mod cpu;
mod criterion_distribution;
mod device;
mod latency_spectrum;
mod levels;
mod pressure_scale;
mod replay;
mod replay_dispatch;
mod replay_interarrivals;
mod replay_windows;
mod timeline;

use crate::phases::PhaseSpan;
use crate::source::Source;
use crate::table::Table;
use crate::time::{self, Strip};

/// A chart: a file of the folder `charts/`, and what fills it.
pub(crate) struct Chart {
    /// Its name: that of its file and of the dataset in it.
    pub(crate) name: &'static str,
    /// Its title on the page.
    pub(crate) title: &'static str,
    /// How to read it.
    pub(crate) reading: &'static str,
    /// The Vega-Lite file.
    pub(crate) spec: &'static str,
    /// What it shows of a recording.
    pub(crate) draw: fn(&Source) -> Drawing,
}

/// What a chart shows of one recording.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Drawing {
    /// Its data; empty where there is nothing to draw.
    pub(crate) table: Table,
    /// The chart in words, for those who do not see it.
    pub(crate) in_words: String,
    /// What a reader must know of this chart: what is missing, and why. With neither data nor notes there was nothing
    /// that it could have shown.
    pub(crate) notes: Vec<String>,
}

impl Drawing {
    /// A chart of `strips` over time.
    fn of_strips(strips: &[Strip], phases: &[PhaseSpan], notes: Vec<String>) -> Self {
        let words: Vec<String> = strips.iter().map(Strip::in_words).collect();
        Self { table: Table::of(&time::rows(strips, phases)), in_words: words.join(". "), notes }
    }
}

/// The charts, in the order of the page.
pub(crate) const CHARTS: [Chart; 10] = [
    pressure_scale::CHART,
    timeline::CHART,
    latency_spectrum::CHART,
    criterion_distribution::CHART,
    device::CHART,
    cpu::CHART,
    levels::CHART,
    replay_dispatch::CHART,
    replay_interarrivals::CHART,
    replay_windows::CHART,
];

/// A phase's name as charts show it: its id and what is special about it.
fn phase_name(id: &str, label: &str) -> String {
    if label.is_empty() { id.to_owned() } else { format!("{id} · {label}") }
}

#[cfg(test)]
mod row_tests;

#[cfg(test)]
mod tests {
    use super::CHARTS;

    #[test]
    fn every_chart_file_has_the_dataset_of_its_name() {
        for chart in CHARTS {
            let spec: serde_json::Value = serde_json::from_str(chart.spec).expect(chart.name);
            assert_eq!(spec["data"]["name"], chart.name);
            assert!(spec["description"].is_string(), "{}", chart.name);
            assert_eq!(spec["$schema"], "https://vega.github.io/schema/vega-lite/v6.json");
        }
    }
}
