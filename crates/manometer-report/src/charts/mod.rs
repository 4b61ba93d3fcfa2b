//! The charts, one per file: each turns recordings into the rows of one Vega-Lite chart, or says what figures it is
//! drawn from.

mod cpu;
mod cpu_cores;
mod criterion_distribution;
mod device;
mod device_health;
mod distribution_grid;
mod empty;
pub(crate) mod figures;
mod heat;
mod io_stacked;
mod joined;
mod latency_heat_map;
mod latency_spectrum;
mod levels;
mod neighbour_throughput;
mod points;
mod pressure_bars;
mod pressure_differences;
mod pressure_heat_map;
mod pressure_lines;
mod pressure_scale;
mod pressure_steps;
mod pressure_twins;
mod replay;
mod replay_dispatch;
mod replay_interarrivals;
mod replay_windows;
mod response_service;
mod scatter_matrix;
mod throughput_latency;
mod timeline;
mod warm_up;
mod write_amplification_size;

use serde::Serialize;
use serde_json::Value;

use crate::gallery::ColumnInfo;
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
    /// The work that it comes from.
    pub(crate) origin: Option<&'static str>,
    /// How to read it.
    pub(crate) reading: &'static str,
    /// The Vega-Lite file.
    pub(crate) spec: &'static str,
    /// What fills it.
    pub(crate) draw: Draw,
}

/// What fills a chart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Draw {
    /// One recording.
    One(fn(&Source) -> Drawing),
    /// Recordings, several or one.
    Any(fn(&[Source]) -> Drawing),
    /// Several recordings, joined. It can be drawn of one, of which other charts tell the same.
    Joined(fn(&[Source]) -> Drawing),
    /// Figures that are no recording's, in these columns.
    Figures(&'static [ColumnInfo]),
}

impl Chart {
    /// The chart as the page or a notebook draws it: its file; without rows a text that says so, and `why`.
    pub(crate) fn spec_of(&self, rows: usize, why: &[String]) -> Value {
        let spec: Value = serde_json::from_str(self.spec).unwrap_or(Value::Null);
        if rows > 0 { spec } else { empty::spec(self, &spec, why) }
    }
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
    /// The chart of `rows`, each a struct of plain fields.
    fn of<T: Serialize>(rows: &[T], words: &[String], notes: Vec<String>) -> Self {
        Self { table: Table::of(rows), in_words: words.join(". "), notes }
    }

    /// A chart that is left out, and why.
    pub(crate) fn left_out(why: &str) -> Self {
        Self { notes: vec![why.to_owned()], ..Self::default() }
    }

    /// A chart of `strips` over time.
    fn of_strips(strips: &[Strip], phases: &[PhaseSpan], notes: Vec<String>) -> Self {
        let words: Vec<String> = strips.iter().map(Strip::in_words).collect();
        Self { table: Table::of(&time::rows(strips, phases)), in_words: words.join(". "), notes }
    }
}

/// The charts, in the order of the page and of the gallery.
pub(crate) const CHARTS: &[Chart] = &[
    pressure_scale::CHART,
    pressure_lines::CHART,
    pressure_bars::CHART,
    pressure_twins::CHART,
    pressure_heat_map::CHART,
    pressure_differences::CHART,
    pressure_steps::CHART,
    timeline::CHART,
    latency_spectrum::CHART,
    criterion_distribution::CHART,
    distribution_grid::CHART,
    throughput_latency::CHART,
    neighbour_throughput::CHART,
    latency_heat_map::CHART,
    response_service::CHART,
    warm_up::CHART,
    device::CHART,
    io_stacked::CHART,
    device_health::CHART,
    cpu::CHART,
    cpu_cores::CHART,
    levels::CHART,
    write_amplification_size::CHART,
    scatter_matrix::CHART,
    replay_dispatch::CHART,
    replay_interarrivals::CHART,
    replay_windows::CHART,
    figures::latency_against_rate::CHART,
    figures::cache_curves::CHART,
    figures::working_set::CHART,
    figures::reuse_distance::CHART,
    figures::inter_arrivals::CHART,
    figures::policy_curves::CHART,
    figures::miss_ratio_curves::CHART,
    figures::miss_ratio_engines::CHART,
    figures::read_speed_up::CHART,
    figures::slab_sizes::CHART,
    figures::hot_spots::CHART,
    figures::hot_spot_arrivals::CHART,
    figures::hot_slots::CHART,
    figures::advised_tiers::CHART,
    figures::arrangement_bars::CHART,
    figures::tier_flows::CHART,
    figures::cost_bars::CHART,
];

/// A phase's name as charts show it: its id and what is special about it.
fn phase_name(id: &str, label: &str) -> String {
    if label.is_empty() { id.to_owned() } else { format!("{id} · {label}") }
}

#[cfg(test)]
mod many_tests;
#[cfg(test)]
mod row_tests;

/// The columns of a drawing's rows.
#[cfg(test)]
pub(crate) fn column_names(drawing: &Drawing) -> Vec<String> {
    let table = serde_json::to_value(&drawing.table).unwrap_or_default();
    table["columns"].as_object().map_or_else(Vec::new, |columns| columns.keys().cloned().collect())
}

/// The columns that a chart of figures says it needs.
#[cfg(test)]
pub(crate) fn told(chart: &Chart) -> Vec<String> {
    let Draw::Figures(columns) = chart.draw else { return Vec::new() };
    columns.iter().map(|column| column.name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use manometer_testing::repository_file;

    use serde_json::Value;

    use super::{CHARTS, Draw};

    #[test]
    fn every_chart_file_has_the_dataset_of_its_name() {
        for chart in CHARTS {
            let spec: Value = serde_json::from_str(chart.spec).expect(chart.name);
            assert_eq!(spec["data"]["name"], chart.name);
            assert!(spec["description"].is_string(), "{}", chart.name);
            assert_eq!(spec["$schema"], "https://vega.github.io/schema/vega-lite/v6.json");
            assert!(!chart.title.is_empty() && chart.reading.ends_with('.'), "{}", chart.name);
        }
    }

    #[test]
    fn every_chart_file_is_listed_once() {
        let folder = repository_file("charts");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let files: BTreeSet<String> =
            names.filter_map(|name| Some(name.strip_suffix(".vl.json")?.to_owned())).collect();
        let listed: BTreeSet<String> = CHARTS.iter().map(|chart| chart.name.to_owned()).collect();
        assert_eq!(files, listed);
        assert_eq!(listed.len(), CHARTS.len(), "a name is listed twice");
    }

    /// What a chart draws from figures has no rows here that could be looked at: its file must read the columns that
    /// it asks for, and no others.
    #[test]
    fn a_chart_of_figures_reads_the_columns_that_it_asks_for() {
        for chart in CHARTS {
            let Draw::Figures(columns) = chart.draw else { continue };
            let spec: Value = serde_json::from_str(chart.spec).expect(chart.name);
            for field in fields(&spec) {
                assert!(columns.iter().any(|column| column.name == field), "{}: {field}", chart.name);
            }
            for column in columns {
                assert!(chart.spec.contains(column.name), "{}: {} is not read", chart.name, column.name);
                assert!(column.meaning.ends_with('.'), "{}: {}", chart.name, column.name);
            }
        }
    }

    /// Every `"field": "…"` of a chart.
    fn fields(spec: &Value) -> Vec<String> {
        match spec {
            Value::Object(object) => {
                let own = object.get("field").and_then(Value::as_str).map(str::to_owned);
                own.into_iter().chain(object.values().flat_map(fields)).collect()
            }
            Value::Array(all) => all.iter().flat_map(fields).collect(),
            _ => Vec::new(),
        }
    }
}
