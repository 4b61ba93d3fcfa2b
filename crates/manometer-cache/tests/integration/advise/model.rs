//! The error of the tier model that advice carries, against the cache thesis.

use std::collections::BTreeMap;

use manometer_cache::advise::SPEED_UP_ERROR;
use rayon::prelude::*;
use serde_json::Value;

use crate::tier::{folder, shipped, under};

const WORKLOADS: [&str; 3] = ["fileserver", "varmail", "oltp"];
/// The arrangements that are compared, each with its origin alone.
const PAIRS: [(&str, &str); 4] =
    [("bcache-1s-1h", "1h"), ("dmcache-1s-1h", "1h"), ("bcache-1s-4h0", "4h0"), ("dmcache-1s-4h0", "4h0")];
/// How much more than the largest error the constant may be: beyond it the model is better than advice says.
const GENEROUS: f64 = 1.25;

/// The thesis's throughputs by arrangement and workload.
fn published() -> BTreeMap<(String, String), f64> {
    let text = std::fs::read_to_string(folder().join("thesis.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let result = |result: &Value| {
        let text = |field: &str| result[field].as_str().unwrap().to_owned();
        ((text("arrangement"), text("workload")), result["mb_per_s"].as_f64().unwrap())
    };
    document["results"].as_array().unwrap().iter().map(result).collect()
}

#[test]
fn the_error_of_the_speed_up_is_that_of_the_ratios_of_the_thesis() {
    let published = published();
    let mut names: Vec<&str> = PAIRS.iter().flat_map(|(cached, alone)| [*cached, *alone]).collect();
    names.sort_unstable();
    names.dedup();
    let runs: Vec<(&str, &str)> =
        names.iter().flat_map(|name| WORKLOADS.iter().map(move |workload| (*name, *workload))).collect();
    let model: BTreeMap<(&str, &str), f64> =
        runs.into_par_iter().map(|run| (run, under(&shipped(run.0), run.1).mb_per_s)).collect();
    let mut errors = Vec::new();
    for workload in WORKLOADS {
        for (cached, alone) in PAIRS {
            let of = |name: &str| published[&(name.to_owned(), workload.to_owned())];
            let (ours, thesis) = (model[&(cached, workload)] / model[&(alone, workload)], of(cached) / of(alone));
            println!(
                "| {workload} | `{cached}` / `{alone}` | {thesis:.2} | {ours:.2} | {:+.0} % |",
                100.0 * (ours / thesis - 1.0)
            );
            errors.push((ours / thesis).max(thesis / ours));
        }
    }
    errors.sort_by(f64::total_cmp);
    let (middle, largest) = (f64::midpoint(errors[5], errors[6]), errors[11]);
    println!("the median error is a factor of {middle:.2}, the largest of {largest:.2}");
    assert!(
        (largest..largest * GENEROUS).contains(&SPEED_UP_ERROR),
        "the largest error is a factor of {largest:.2}: set SPEED_UP_ERROR to it, rounded up to a tenth"
    );
}
