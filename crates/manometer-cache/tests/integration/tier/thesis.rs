//! The model compared with the measurements of dos Santos 2015: Tables 6.2 and 6.3 as decoded in
//! `arrangements/thesis.json`, and what sections 6.2.2 to 6.3.2 report of hits, flows and micro-workloads.
//! `docs/cache-tiers.md` has the tables that these tests print.

use std::collections::BTreeMap;

use manometer_cache::tier::TierResult;
use rayon::prelude::*;

use super::macro_workloads::{WORKLOADS, cell, modelled, published};
use super::{shipped, under};

/// The least that Kendall's rank correlation may be, and the most of the median error.
const TAU_MIN: f64 = 0.75;
const ERROR_MAX: f64 = 0.30;

/// Kendall's rank correlation with ties (tau-b).
fn tau_b(pairs: &[(f64, f64)]) -> f64 {
    let sign = |a: f64, b: f64| f64::from(i8::from(a > b) - i8::from(a < b));
    let (mut both, mut left, mut right) = (0.0, 0.0, 0.0);
    for (at, one) in pairs.iter().enumerate() {
        for other in &pairs[..at] {
            let (a, b) = (sign(one.0, other.0), sign(one.1, other.1));
            both += a * b;
            left += a * a;
            right += b * b;
        }
    }
    both / (left * right).sqrt()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[test]
fn ties_lower_the_rank_correlation() {
    assert!((tau_b(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]) - 1.0).abs() < 1e-12);
    assert!((tau_b(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]) + 1.0).abs() < 1e-12);
    assert!((tau_b(&[(1.0, 1.0), (2.0, 1.0), (3.0, 2.0)]) - 2.0 / 6.0_f64.sqrt()).abs() < 1e-12);
}

#[test]
fn macro_workloads_rank_and_measure_as_in_the_thesis() {
    let (published, modelled) = (published(), modelled());
    let mut wrong = Vec::new();
    for workload in WORKLOADS {
        println!("| {workload} | thesis, MB/s | model, MB/s | off by |\n| --- | --- | --- | --- |");
        let mut pairs = Vec::new();
        for ((_, name), figure) in published.iter().filter(|((under, _), _)| under == workload) {
            let speed = modelled[&cell(workload, name)];
            println!("| `{name}` | {figure:.1} | {speed:.1} | {:+.0} % |", 100.0 * (speed / figure - 1.0));
            pairs.push((speed, *figure));
        }
        assert_eq!(pairs.len(), 15);
        let tau = tau_b(&pairs);
        let error = median(pairs.iter().map(|(speed, figure)| (speed / figure - 1.0).abs()).collect());
        println!("| rank correlation, median error | | {tau:.2} | {:.0} % |\n", 100.0 * error);
        if tau < TAU_MIN || error > ERROR_MAX {
            wrong.push(format!("{workload}: {tau:.3}, {error:.3}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// What the thesis reports in addition to its tables, each as a number of outcomes of the model.
struct Comparison {
    what: &'static str,
    figure: f64,
    model: f64,
}

#[test]
fn hits_flows_and_micro_workloads_stand_beside_the_thesis() {
    let wanted = [
        ("1h", "read-4KiB read-64KiB read-512KiB read-4MiB write-4KiB write-64KiB fileserver varmail"),
        ("1s", "read-4KiB read-64KiB read-512KiB read-4MiB write-4KiB write-64KiB"),
        ("4h0", "read-64KiB read-512KiB write-64KiB"),
        ("4h10", "read-64KiB read-512KiB write-64KiB"),
        ("dmcache-1s-1h", "read-64KiB read-512KiB read-4MiB write-512KiB fileserver oltp"),
        ("bcache-1s-1h", "read-64KiB read-512KiB read-4MiB write-512KiB fileserver oltp"),
    ];
    let runs: Vec<(&str, &str)> = wanted
        .iter()
        .flat_map(|(name, workloads)| workloads.split(' ').map(move |workload| (*name, workload)))
        .collect();
    let outcomes: BTreeMap<(&str, &str), TierResult> =
        runs.into_par_iter().map(|run| (run, under(&shipped(run.0), run.1))).collect();
    let of = |name: &'static str, workload: &'static str| &outcomes[&(name, workload)];
    let times = |a: &'static str, b: &'static str, workload| of(a, workload).mb_per_s / of(b, workload).mb_per_s;
    let from_ssd = |name| {
        let file = of(name, "read-512KiB").flows.file;
        file.cache_read as f64 / (file.cache_read + file.origin_read) as f64
    };
    let cleaned = of("bcache-1s-1h", "write-512KiB").flows;
    let comparisons = [
        ("`1s` / `1h`, reads of 4 KiB", 50.0, times("1s", "1h", "read-4KiB")),
        ("of 64 KiB", 8.6, times("1s", "1h", "read-64KiB")),
        ("of 512 KiB", 4.1, times("1s", "1h", "read-512KiB")),
        ("of 4 MiB", 2.2, times("1s", "1h", "read-4MiB")),
        ("writes of 4 KiB", 37.0, times("1s", "1h", "write-4KiB")),
        ("writes of 64 KiB", 9.5, times("1s", "1h", "write-64KiB")),
        ("`1h`, writes of 64 KiB, MB/s", 14.6, of("1h", "write-64KiB").mb_per_s),
        ("`4h0` / `1h`, reads of 64 KiB", 1.0, times("4h0", "1h", "read-64KiB")),
        ("of 512 KiB", 1.0, times("4h0", "1h", "read-512KiB")),
        ("writes of 64 KiB", 3.7, times("4h0", "1h", "write-64KiB")),
        ("`4h10` / `1h`, reads of 64 KiB", 1.0, times("4h10", "1h", "read-64KiB")),
        ("of 512 KiB", 1.0, times("4h10", "1h", "read-512KiB")),
        ("writes of 64 KiB", 1.8, times("4h10", "1h", "write-64KiB")),
        ("`dmcache-1s-1h` / `4h0`, reads of 64 KiB", 2.2, times("dmcache-1s-1h", "4h0", "read-64KiB")),
        ("of 512 KiB", 2.2, times("dmcache-1s-1h", "4h0", "read-512KiB")),
        (
            "`dmcache-1s-1h` / `bcache-1s-1h`, reads of 64 KiB",
            1.286,
            times("dmcache-1s-1h", "bcache-1s-1h", "read-64KiB"),
        ),
        ("of 512 KiB", 1.524, times("dmcache-1s-1h", "bcache-1s-1h", "read-512KiB")),
        ("of 4 MiB", 1.504, times("dmcache-1s-1h", "bcache-1s-1h", "read-4MiB")),
        ("dm-cache, bytes read from the SSD", 0.33, from_ssd("dmcache-1s-1h")),
        ("bcache, bytes read from the SSD", 0.42, from_ssd("bcache-1s-1h")),
        ("dm-cache, hits of writes", 0.10, of("dmcache-1s-1h", "write-512KiB").hit_ratio.unwrap_or(0.0)),
        (
            "bcache, bytes written back for each written to the SSD",
            0.74,
            (cleaned.cleaning.cache_read + cleaned.demotion.cache_read) as f64 / cleaned.file.cache_written as f64,
        ),
        ("fileserver, `1h`, hits in memory", 0.938, of("1h", "fileserver").ram_hit_ratio.unwrap_or(0.0)),
        ("fileserver, dm-cache, hits in memory", 0.745, of("dmcache-1s-1h", "fileserver").ram_hit_ratio.unwrap_or(0.0)),
        ("fileserver, bcache, hits in memory", 0.60, of("bcache-1s-1h", "fileserver").ram_hit_ratio.unwrap_or(0.0)),
        ("fileserver, dm-cache, hits on the SSD", 0.588, of("dmcache-1s-1h", "fileserver").hit_ratio.unwrap_or(0.0)),
        ("fileserver, bcache, hits on the SSD", 0.282, of("bcache-1s-1h", "fileserver").hit_ratio.unwrap_or(0.0)),
        ("varmail, `1h`, hits in memory", 0.9928, of("1h", "varmail").ram_hit_ratio.unwrap_or(0.0)),
        ("oltp, dm-cache, hits on the SSD", 0.235, of("dmcache-1s-1h", "oltp").hit_ratio.unwrap_or(0.0)),
        ("oltp, bcache, hits on the SSD", 0.235, of("bcache-1s-1h", "oltp").hit_ratio.unwrap_or(0.0)),
    ]
    .map(|(what, figure, model)| Comparison { what, figure, model });
    println!("| | thesis | model | off by |\n| --- | --- | --- | --- |");
    for Comparison { what, figure, model } in &comparisons {
        println!("| {what} | {figure:.2} | {model:.2} | {:+.0} % |", 100.0 * (model / figure - 1.0));
    }
    let pairs: Vec<(f64, f64)> = comparisons.iter().map(|one| (one.model, one.figure)).collect();
    let error = median(pairs.iter().map(|(model, figure)| (model / figure - 1.0).abs()).collect());
    let tau = tau_b(&pairs);
    println!("| rank correlation, median error | | {tau:.2} | {:.0} % |", 100.0 * error);
    assert!(tau >= TAU_MIN && error <= ERROR_MAX, "{tau:.3} {error:.3}");
}
