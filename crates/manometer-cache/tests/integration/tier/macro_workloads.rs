//! The fifteen arrangements under the three workloads of the thesis's section 6.3, as measured there and as simulated at
//! the shipped scale. The tests that compare them share one simulation.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use manometer_cache::tier::TierResult;
use rayon::prelude::*;
use serde_json::Value;

use super::{folder, shipped, under};

pub(crate) const WORKLOADS: [&str; 3] = ["fileserver", "varmail", "oltp"];

/// A workload and an arrangement.
pub(crate) type Cell = (String, String);

pub(crate) fn cell(workload: &str, arrangement: &str) -> Cell {
    (workload.to_owned(), arrangement.to_owned())
}

/// The thesis's throughputs in MB/s.
pub(crate) fn published() -> BTreeMap<Cell, f64> {
    let text = std::fs::read_to_string(folder().join("thesis.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let result = |result: &Value| {
        let text = |field: &str| result[field].as_str().unwrap().to_owned();
        ((text("workload"), text("arrangement")), result["mb_per_s"].as_f64().unwrap())
    };
    document["results"].as_array().unwrap().iter().map(result).collect()
}

/// The model's results for the same.
pub(crate) fn simulated() -> &'static BTreeMap<Cell, TierResult> {
    static SIMULATED: LazyLock<BTreeMap<Cell, TierResult>> = LazyLock::new(|| {
        let cells: Vec<Cell> = published().into_keys().collect();
        cells.into_par_iter().with_max_len(1).map(|cell| (cell.clone(), under(&shipped(&cell.1), &cell.0))).collect()
    });
    &SIMULATED
}

/// The model's throughputs in MB/s.
pub(crate) fn modelled() -> BTreeMap<Cell, f64> {
    simulated().iter().map(|(cell, result)| (cell.clone(), result.mb_per_s)).collect()
}
