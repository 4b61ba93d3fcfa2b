//! The charts: a Vega-Lite file of the folder `charts/` and a file of [`figures`] each.
//!
//! [`figures`] has the list of all charts; what several of them share is in the other modules here.

mod chart;
pub(crate) mod figures;
mod heat_map;
mod phase_points;
mod phase_rows;
mod placeholder;
mod replay;

pub use chart::ColumnInfo;
pub(crate) use chart::{Chart, ChartContent, ChartInput};
pub(crate) use figures::CHARTS;

#[cfg(test)]
mod recording_tests;
#[cfg(test)]
mod sweep_tests;

/// The columns of a drawing's rows.
#[cfg(test)]
pub(crate) fn column_names(drawing: &ChartContent) -> Vec<String> {
    let table = serde_json::to_value(&drawing.table).unwrap_or_default();
    table["columns"].as_object().map_or_else(Vec::new, |columns| columns.keys().cloned().collect())
}

/// The columns that a chart of figures requires.
#[cfg(test)]
pub(crate) fn required_columns(chart: &Chart) -> Vec<String> {
    let ChartInput::Columns(columns) = chart.input else { return Vec::new() };
    columns.iter().map(|column| column.name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use manometer_testing::repository_file;

    use serde_json::Value;

    use super::{CHARTS, ChartInput};

    #[test]
    fn every_chart_file_has_the_dataset_of_its_name() {
        for chart in CHARTS {
            let spec: Value = serde_json::from_str(chart.spec).expect(chart.name);
            assert_eq!(spec["data"]["name"], chart.name);
            assert!(spec["description"].is_string(), "{}", chart.name);
            assert_eq!(spec["$schema"], "https://vega.github.io/schema/vega-lite/v6.json");
            assert!(!chart.title.is_empty() && chart.caption.ends_with('.'), "{}", chart.name);
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

    /// A chart of figures has no rows to check: its file must read exactly the columns that it requires.
    #[test]
    fn a_chart_of_figures_reads_the_columns_that_it_requires() {
        for chart in CHARTS {
            let ChartInput::Columns(columns) = chart.input else { continue };
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
