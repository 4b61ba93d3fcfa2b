//! What the charts that join recordings make of a sweep, of other kernels, and of what was not measured.

use std::path::Path;

use manometer_analysis::summary::IntervalEstimate;
use serde_json::{Value, json};

use crate::example;
use crate::gallery::draw;
use crate::{AnalysedRecording, ChartData};

/// A run of the sweep over `writer.write_ratio`: its pressures are greater by a tenth for each step, and its neighbour was
/// measured alone.
fn run(dir: &Path, ratio: f64, kernel: &str, step: f64) -> AnalysedRecording {
    let recording = example::complete(dir);
    let summary = example::complete_summary(&recording);
    let mut recorded = AnalysedRecording { recording, summary, settings: Default::default() };
    recorded.settings.insert("writer.write_ratio".into(), json!(ratio));
    recorded.recording.plan.sweep = recorded.settings.clone();
    recorded.recording.environment["host"]["kernel"] = kernel.into();
    for phase in recorded.summary.phases.iter_mut().filter(|phase| phase.id != "w0") {
        for end in [&mut phase.pressure.value, &mut phase.pressure.ci_low, &mut phase.pressure.ci_high] {
            *end = end.map(|value| value + step / 10.0);
        }
        for neighbour in phase.neighbours.values_mut() {
            neighbour.pressure =
                IntervalEstimate { value: Some(0.25), ci_low: Some(0.2), ci_high: Some(0.3), ..Default::default() };
        }
    }
    recorded
}

fn sweep(dir: &Path) -> Vec<AnalysedRecording> {
    vec![
        run(&dir.join("1"), 0.0, "6.1", 0.0),
        run(&dir.join("2"), 0.5, "6.1", 1.0),
        run(&dir.join("3"), 0.5, "6.12", 2.0),
    ]
}

fn column<'a>(drawn: &'a ChartData, name: &str) -> Vec<&'a Value> {
    drawn.rows.iter().map(|row| &row[name]).collect()
}

/// The column `name` with every value once.
fn distinct<'a>(drawn: &'a ChartData, name: &str) -> Vec<&'a Value> {
    let mut values: Vec<&Value> = Vec::new();
    for value in column(drawn, name) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// The rows of which `is` holds.
fn rows<'a>(drawn: &'a ChartData, is: &[(&str, Value)]) -> Vec<&'a serde_json::Map<String, Value>> {
    drawn.rows.iter().filter(|row| is.iter().all(|(name, value)| row[*name] == *value)).collect()
}

fn near(value: &Value, expected: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - expected).abs() < 1e-3)
}

#[test]
fn a_sweep_fills_every_chart_of_many_recordings() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = sweep(dir.path());
    for chart in crate::charts().iter().filter(|chart| chart.scope == crate::ChartSource::ManyRecordings) {
        let drawn = draw(chart.name, &recorded).unwrap();
        assert!(!drawn.rows.is_empty(), "{}: {:?}", chart.name, drawn.notes);
        assert!(!drawn.alt_text.is_empty(), "{}", chart.name);
    }
}

#[test]
fn pressure_lies_by_queue_depth_and_share_of_writes() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = draw("pressure-heat-map", &sweep(dir.path())[..2]).unwrap();
    assert_eq!(drawn.rows.len(), 6);
    assert_eq!(distinct(&drawn, "panel"), ["writer.iodepth (x axis), writer.write_ratio (y axis)"]);
    assert_eq!(distinct(&drawn, "x"), ["1", "16", "64"]);
    assert_eq!(distinct(&drawn, "y"), ["0.0", "0.5"]);
    let cell = rows(&drawn, &[("x", "1".into()), ("y", "0.5".into())])[0];
    assert!(near(&cell["value"], 0.2772), "{cell:?}");
    assert_eq!(cell["is_sure"], true);
    let shades = column(&drawn, "shade");
    assert!(shades.iter().any(|shade| near(shade, 1.0)), "the largest has the full colour");
}

#[test]
fn kernels_are_set_against_one_another_where_all_else_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = draw("pressure-differences", &sweep(dir.path())).unwrap();
    assert_eq!(drawn.rows.len(), 3, "only a share of 0.5 was measured on both");
    assert!(column(&drawn, "panel")[0].as_str().unwrap().starts_with("kernel 6.12 − 6.1\nwriter.iodepth"));
    assert!(column(&drawn, "value").iter().all(|value| near(value, 0.1)));
    let same = draw("pressure-differences", &sweep(dir.path().join("again").as_path())[..2]).unwrap();
    assert!(same.rows.is_empty() && same.notes[0].contains("No two recordings differ"));
}

#[test]
fn steps_go_from_one_value_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = draw("pressure-steps", &sweep(dir.path())[..2]).unwrap();
    let depths = rows(&drawn, &[("x_name", "writer.iodepth".into()), ("y", "0.0".into())]);
    let steps: Vec<(&Value, bool)> = depths.iter().map(|row| (&row["x"], near(&row["value"], 0.40291))).collect();
    assert_eq!(steps, [(&Value::from("1 → 16"), true), (&Value::from("16 → 64"), false)]);
    let ratios = rows(&drawn, &[("x_name", "writer.write_ratio".into())]);
    assert!(ratios.len() == 3 && ratios.iter().all(|row| near(&row["value"], 0.1) && row["x"] == "0.0 → 0.5"));
}

#[test]
fn runs_are_lines_over_the_same_phases() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = draw("pressure-lines", &sweep(dir.path())).unwrap();
    assert_eq!(distinct(&drawn, "strip"), ["throughput of the primary (ops/s)", "pressure against w0"]);
    assert_eq!(distinct(&drawn, "phase"), ["w0", "w1", "w2", "w3"]);
    assert_eq!(distinct(&drawn, "run").len(), 3, "two runs with the same settings have different names");
    let bars = draw("pressure-bars", &sweep(dir.path().join("again").as_path())).unwrap();
    assert_eq!(bars.rows.len(), 9);
    assert!(bars.alt_text.contains("greatest pressure"), "{}", bars.alt_text);
}

#[test]
fn what_was_not_measured_is_a_gap_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let recording = example::cut(dir.path());
    let summary = example::cut_summary(&recording);
    let recorded = [AnalysedRecording { recording, summary, settings: Default::default() }];
    let drawn = draw("pressure-lines", &recorded).unwrap();
    let gaps: Vec<_> = drawn.rows.iter().filter(|row| row["value"].is_null()).collect();
    assert!(gaps.iter().all(|row| row["text"].as_str().unwrap().contains(": ")), "{gaps:?}");
    assert_eq!(gaps.len(), 4, "w2 and w3, in both strips");
    assert!(draw("pressure-twins", &recorded).unwrap().notes[0].contains("No neighbour was measured alone"));
}

#[test]
fn twin_bars_are_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = draw("pressure-twins", &sweep(dir.path())[..1]).unwrap();
    assert_eq!(column(&drawn, "who"), ["primary", "writer", "primary", "writer", "primary", "writer"]);
    assert!(near(&drawn.rows[1]["value"], 0.25) && near(&drawn.rows[1]["low"], 0.2));
}

#[test]
fn neighbours_are_drawn_by_queue_depth_with_a_line_for_each_share_of_writes() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = draw("neighbour-throughput", &sweep(dir.path())[..2]).unwrap();
    assert_eq!(distinct(&drawn, "panel"), ["writer (MiB/s); by iodepth, a line for each write_ratio"]);
    assert_eq!(distinct(&drawn, "x"), ["1", "16", "64"]);
    assert_eq!(distinct(&drawn, "line"), ["write_ratio 0.0", "write_ratio 0.5"]);
    assert!(near(&drawn.rows[0]["value"], 61.0), "{:?}", drawn.rows[0]);
}

#[test]
fn each_phase_is_a_point_of_latency_against_throughput() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = draw("throughput-latency", &sweep(dir.path())[..1]).unwrap();
    assert_eq!(
        distinct(&drawn, "panel"),
        [
            "read: median of the latency; throughput in ops/s",
            "read: 99th percentile of the latency; throughput in ops/s",
            "update: median of the latency; throughput in ops/s",
            "update: 99th percentile of the latency; throughput in ops/s",
        ]
    );
    let w0 = rows(&drawn, &[("phase", "w0".into())])[0];
    assert!(near(&w0["throughput"], 41_200.0) && w0["baseline"] == true, "{w0:?}");
}

#[test]
fn lines_of_latency_against_throughput_do_not_pass_what_was_not_measured() {
    let dir = tempfile::tempdir().unwrap();
    let mut runs = sweep(dir.path());
    let phases = &mut runs[0].summary.phases;
    let ids: Vec<String> = phases.iter().map(|phase| phase.id.clone()).collect();
    phases[1].performance.mean = None;
    let drawn = draw("throughput-latency", &runs[..1]).unwrap();
    let line = rows(&drawn, &[("panel", drawn.rows[0]["panel"].clone())]);
    let parts: Vec<_> =
        line.iter().map(|row| (row["phase"].as_str().unwrap(), row["part"].as_u64().unwrap())).collect();
    assert_eq!(parts[..2], [(ids[0].as_str(), 0), (ids[2].as_str(), 1)]);
}

#[test]
fn write_amplification_follows_the_sum_of_the_levels() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = draw("write-amplification-size", &sweep(dir.path())[..1]).unwrap();
    assert!(drawn.rows.len() <= 200);
    let last = &drawn.rows[drawn.rows.len() - 1];
    assert_eq!(column(&drawn, "is_last").iter().filter(|is_last| **is_last == true).count(), 1);
    let seconds = last["t_s"].as_f64().unwrap();
    assert!((last["amplification"].as_f64().unwrap() - (8.0 + seconds / 40.0)).abs() < 0.1, "{last:?}");
    let gib = last["size_gib"].as_f64().unwrap() * 1024.0;
    assert!((790.0 + 2.0 * seconds..890.0 + 2.0 * seconds).contains(&gib), "{gib} MiB at {seconds} s");
}

#[test]
fn each_run_has_its_distributions_in_a_panel() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = draw("distribution-grid", &sweep(dir.path())[..2]).unwrap();
    let panels = distinct(&drawn, "panel");
    assert_eq!(panels.len(), 2);
    assert!(
        panels[0].as_str().unwrap().ends_with("\nthroughput of primary, per sample interval (ops/s)"),
        "{panels:?}"
    );
    let shares = rows(&drawn, &[("phase", "w0 · no neighbour".into()), ("run_order", 1.into())]);
    assert_eq!(shares.last().unwrap()["share"], 1);
}
