//! What the charts make of recordings: complete, cut short, and damaged.

use std::path::Path;

use serde_json::Value;

use super::{CHARTS, ChartContent, ChartInput};
use crate::AnalysedRecording;
use crate::example;
use crate::recording_reader::RecordingReader;

fn complete(dir: &Path) -> AnalysedRecording {
    let recording = example::complete(dir);
    let summary = example::complete_summary(&recording);
    AnalysedRecording { recording, summary, settings: Default::default() }
}

fn cut(dir: &Path) -> AnalysedRecording {
    let recording = example::cut(dir);
    let summary = example::cut_summary(&recording);
    AnalysedRecording { recording, summary, settings: Default::default() }
}

fn draw(recorded: &AnalysedRecording, name: &str) -> ChartContent {
    let chart = CHARTS.iter().find(|chart| chart.name == name).unwrap();
    let ChartInput::OneRecording(draw) = chart.input else { panic!("{name} is not drawn from one recording") };
    draw(&RecordingReader::new(recorded))
}

/// The column `name` of a drawing's table, one value per row.
fn column(drawing: &ChartContent, name: &str) -> Vec<Value> {
    let table = serde_json::to_value(&drawing.table).unwrap();
    let column = &table["columns"][name];
    if let Value::Array(values) = &column["values"] {
        return values.clone();
    }
    let runs = column["runs"].as_array().unwrap().iter();
    runs.flat_map(|run| vec![run[0].clone(); run[1].as_u64().unwrap() as usize]).collect()
}

#[test]
fn a_complete_recording_fills_every_chart() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = complete(dir.path());
    // The recording is one of a ladder, which has no blocks.
    let charts = CHARTS.iter().filter(|chart| chart.name != "blocks");
    for chart in charts.filter(|chart| matches!(chart.input, ChartInput::OneRecording(_))) {
        let drawing = draw(&recorded, chart.name);
        assert!(!drawing.table.is_empty(), "{}", chart.name);
        assert!(!drawing.alt_text.is_empty(), "{}", chart.name);
    }
}

#[test]
fn the_scale_has_every_phase_with_its_step_and_interval() {
    let dir = tempfile::tempdir().unwrap();
    let drawing = draw(&complete(dir.path()), "pressure-scale");
    assert_eq!(column(&drawing, "phase"), ["w0", "w1", "w2", "w3"]);
    assert_eq!(column(&drawing, "step"), [1, 2, 3, 3]);
    assert_eq!(column(&drawing, "text")[1], "0.18 (0.15 to 0.21)");
    assert!(column(&drawing, "low")[0].is_null(), "w0 against itself has no whisker");
    assert_eq!(column(&drawing, "whisker")[1], "95 % confidence interval");
    assert!(drawing.notes[0].contains("Holm"));
}

#[test]
fn without_an_interval_the_scale_shows_quantiles_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let drawing = draw(&cut(dir.path()), "pressure-scale");
    assert!(column(&drawing, "step").iter().all(|step| step.is_null()), "untested phases are on no step");
    assert_eq!(column(&drawing, "step_name")[0], "untested");
    assert!(column(&drawing, "whisker")[1].as_str().unwrap().contains("no confidence interval"));
    // w1 keeps 33,900 of 41,200; its 5 % quantile is 0.84 of its mean.
    let high = column(&drawing, "high")[1].as_f64().unwrap();
    assert!((high - (1.0 - 0.84 * 33_900.0 / 41_200.0)).abs() < 1e-4, "{high}");
    assert!(drawing.notes.iter().any(|note| note.contains("quantiles")));
}

#[test]
fn a_phase_that_was_not_run_has_its_reason_instead_of_a_bar() {
    let dir = tempfile::tempdir().unwrap();
    let drawing = draw(&cut(dir.path()), "pressure-scale");
    assert!(column(&drawing, "pressure")[3].is_null());
    assert_eq!(column(&drawing, "text")[2], "not measured: the worker `writer` died");
    assert_eq!(column(&drawing, "text")[3], "not run: the run ended before this phase");
}

#[test]
fn the_timeline_shows_the_throughput_that_was_measured() {
    let dir = tempfile::tempdir().unwrap();
    let drawing = draw(&complete(dir.path()), "timeline");
    let strips = column(&drawing, "strip");
    assert_eq!(strips[0], "primary: throughput (ops/s)");
    for title in ["Neighbours (MiB/s)", "Compactions (count)", "Compactions (MiB/s)"] {
        assert!(strips.iter().any(|strip| strip == title), "{title}");
    }
    let (means, times) = (column(&drawing, "mean"), column(&drawing, "t_s"));
    let in_w0 = |index: &usize| strips[*index] == strips[0] && (34.0..64.0).contains(&times[*index].as_f64().unwrap());
    let w0: Vec<f64> = (0..means.len()).filter(in_w0).filter_map(|index| means[index].as_f64()).collect();
    let mean = w0.iter().sum::<f64>() / w0.len() as f64;
    assert!((mean - 41_200.0).abs() < 2_000.0, "{mean}");
}

#[test]
fn silence_is_a_gap_and_a_lost_phase_a_marked_band() {
    let dir = tempfile::tempdir().unwrap();
    let drawing = draw(&cut(dir.path()), "timeline");
    let (rows, series) = (column(&drawing, "row"), column(&drawing, "series"));
    let (means, times) = (column(&drawing, "mean"), column(&drawing, "t_s"));
    let gaps: Vec<f64> = (0..rows.len())
        .filter(|index| rows[*index] == "line" && series[*index] == "primary" && means[*index].is_null())
        .filter_map(|index| times[index].as_f64())
        .collect();
    assert_eq!(gaps, [17.0], "the primary was silent from its second 17 on");
    assert!(series.contains(&Value::from("gap")));
    assert!(drawing.notes.iter().any(|note| note.contains("compaction")));
}

#[test]
fn what_was_not_observed_is_left_out_with_a_word() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = cut(dir.path());
    for name in ["device", "cpu", "levels"] {
        let drawing = draw(&recorded, name);
        assert!(drawing.table.is_empty(), "{name}");
        assert!(drawing.notes[0].contains("left out"), "{name}");
    }
}

#[test]
fn levels_that_stayed_empty_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut strips = column(&draw(&complete(dir.path()), "levels"), "strip");
    strips.dedup();
    let files = ["Files (count)", "Files being compacted (count)"];
    assert_eq!(
        strips,
        ["Level 0 (MiB)", "Level 1 (MiB)", "Level 2 (MiB)"].into_iter().chain(files).collect::<Vec<_>>()
    );
}

#[test]
fn spectra_and_distributions_are_of_measured_phases_only() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = cut(dir.path());
    for name in ["latency-spectrum", "criterion-distribution"] {
        let mut phases = column(&draw(&recorded, name), "phase");
        phases.sort_by_key(Value::to_string);
        phases.dedup();
        assert_eq!(phases, ["w0 · no neighbour", "w1 · writer.iodepth = 1"], "{name}");
    }
    // Of the nine intervals of w1, three were silent.
    let drawing = draw(&recorded, "criterion-distribution");
    assert_eq!(column(&drawing, "samples").last().unwrap(), 6);
}

#[test]
fn response_times_are_drawn_beside_service_times() {
    let dir = tempfile::tempdir().unwrap();
    let drawing = draw(&complete(dir.path()), "latency-spectrum");
    let (operations, due) = (column(&drawing, "operation"), column(&drawing, "due"));
    let lines = |operation: &str, is_due: bool| {
        operations.iter().zip(&due).filter(|(name, due)| **name == operation && **due == is_due).count()
    };
    assert!(operations.iter().all(|name| name == "read" || name == "update"));
    assert_eq!(lines("read", true), lines("read", false), "the same requests, counted from when they were due");
    assert_eq!(lines("update", true), 0, "what was not recorded is not drawn");
}

#[test]
fn a_replay_is_laid_over_its_trace() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = complete(dir.path());
    let dispatch = draw(&recorded, "replay-dispatch");
    assert_eq!(column(&dispatch, "workload"), ["writer"]);
    let number = |drawing: &ChartContent, name: &str, row: usize| column(drawing, name)[row].as_f64().unwrap();
    assert!((number(&dispatch, "p50", 0) - 4.2).abs() < 0.5 && number(&dispatch, "max", 0) >= 150.0);
    assert_eq!(
        (column(&dispatch, "requests")[0].as_u64(), column(&dispatch, "late")[0].as_u64()),
        (Some(4_000), Some(80))
    );
    let gaps = draw(&recorded, "replay-interarrivals");
    let sides = column(&gaps, "side");
    let halves = sides.iter().filter(|side| **side == "trace").count();
    assert_eq!((halves, sides.len()), (200, 400));
    assert_eq!(number(&gaps, "gap_us", 99), 20.0, "three of four come 20 µs after the one before");
    assert!(gaps.alt_text.contains("Kolmogorov-Smirnov distance 0."), "{}", gaps.alt_text);
    let windows = draw(&recorded, "replay-windows");
    let requests: f64 = (0..column(&windows, "side").len()).map(|row| number(&windows, "requests", row)).sum();
    assert_eq!(requests, 8_000.0, "both sides have every request");
    assert!(windows.alt_text.contains("Hurst exponent"), "{}", windows.alt_text);
}

#[test]
fn what_replayed_nothing_has_no_word_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = cut(dir.path());
    for name in ["replay-dispatch", "replay-interarrivals", "replay-windows"] {
        assert_eq!(draw(&recorded, name), ChartContent::default(), "{name}");
    }
}

#[test]
fn a_latency_can_be_the_criterion() {
    let dir = tempfile::tempdir().unwrap();
    let mut recorded = complete(dir.path());
    recorded.summary.criterion.metric = "latency.read.p99".into();
    recorded.summary.criterion.unit = "µs".into();
    let timeline = draw(&recorded, "timeline");
    assert!(column(&timeline, "strip").contains(&Value::from("primary: p99 of read (µs)")));
    let distribution = draw(&recorded, "criterion-distribution");
    assert_eq!(column(&distribution, "criterion")[0], "read latency p99 of primary, per sample interval (µs)");
    // In w3 the median latency is some 156 µs, and the tail well above it.
    assert!(column(&distribution, "value").last().unwrap().as_f64().unwrap() > 500.0);
}

/// The rows of a drawing.
fn rows(drawing: ChartContent) -> Vec<serde_json::Map<String, Value>> {
    drawing.table.into_rows()
}

#[test]
fn narrow_bands_are_named_by_what_is_shorter() {
    let dir = tempfile::tempdir().unwrap();
    let mut recorded = complete(dir.path());
    let phases = &mut recorded.recording.plan.phases;
    phases.iter_mut().find(|phase| phase.id == "w2").unwrap().label = "deep".into();
    let rows = rows(draw(&recorded, "timeline"));
    let band = rows.iter().find(|row| row["order"] == 0 && row["label"] == "w2").unwrap();
    assert_eq!((&band["more"], &band["short"]), (&"writer iodepth 16".into(), &"deep".into()));
}

#[test]
fn the_timeline_names_the_neighbours_of_each_phase() {
    let dir = tempfile::tempdir().unwrap();
    let rows = rows(draw(&complete(dir.path()), "timeline"));
    let bands = rows.iter().filter(|row| row["row"] == "phase" && row["order"] == 0);
    let labels: Vec<(&Value, &Value)> = bands.clone().map(|row| (&row["label"], &row["more"])).collect();
    let short: Vec<Option<&str>> = bands.take(4).map(|row| row["short"].as_str()).collect();
    let expected = [("warmup", ""), ("w0", ""), ("w1", "writer iodepth 1"), ("w2", "writer iodepth 16")];
    assert!(labels.len() >= expected.len(), "{labels:?}");
    for ((label, more), (phase, neighbours)) in labels.iter().zip(expected) {
        assert_eq!((label.as_str(), more.as_str()), (Some(phase), Some(neighbours)));
    }
    assert_eq!(short, [None, None, Some("writer iodepth 1"), Some("writer iodepth 16")]);
    assert!(
        rows.iter().filter(|row| row["order"] == 1).all(|row| row["more"].is_null()),
        "only the uppermost strip has texts"
    );
}

#[test]
fn files_and_compactions_are_drawn_by_level() {
    let dir = tempfile::tempdir().unwrap();
    let rows = rows(draw(&complete(dir.path()), "levels"));
    let lines = |strip: &str| {
        let ours = rows.iter().filter(|row| row["row"] == "line" && row["strip"] == strip);
        let mut lines: Vec<&str> = ours.filter_map(|row| row["series"].as_str()).collect();
        lines.dedup();
        lines
    };
    assert_eq!(lines("Files (count)"), ["level 0", "level 1", "level 2"]);
    assert_eq!(lines("Files being compacted (count)"), ["level 0", "level 1"], "nothing of level 2 was compacted");
}

#[test]
fn every_counter_meets_every_other_once() {
    let dir = tempfile::tempdir().unwrap();
    let drawing = draw(&complete(dir.path()), "scatter-matrix");
    assert!(drawing.notes[0].contains("throughput (ops/s) with read p99 (µs): correlation −0."), "{:?}", drawing.notes);
    let rows = rows(drawing);
    let mut panels: Vec<&str> = rows.iter().map(|row| row["panel"].as_str().unwrap()).collect();
    panels.dedup();
    assert_eq!(panels.len(), 10, "five counters: {panels:?}");
    assert_eq!(panels[0], "read p99 (µs) against throughput (ops/s)");
    assert_eq!(panels[9], "compaction writes (MiB/s) against device writes (MiB/s)");
    assert!(rows.len() <= 10 * 240);
}

#[test]
fn the_stack_reaches_what_the_device_did() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = complete(dir.path());
    let stack = rows(draw(&recorded, "io-stacked"));
    let device = rows(draw(&recorded, "device"));
    let at = |rows: &[serde_json::Map<String, Value>], strip: &str, series: &str, column: &str| -> Vec<f64> {
        let ours = rows.iter().filter(|row| row["strip"] == strip && row["series"] == series);
        ours.filter_map(|row| row[column].as_f64()).collect()
    };
    let tops = at(&stack, "Read (MiB/s)", "others", "high");
    let reads = at(&device, "Bandwidth (MiB/s)", "read", "mean");
    assert_eq!(tops.len(), reads.len());
    assert!(tops.iter().zip(&reads).all(|(top, read)| (top - read).abs() < 0.01 * read), "{tops:?} {reads:?}");
    let bottoms = at(&stack, "Read (MiB/s)", "primary", "low");
    assert!(!bottoms.is_empty() && bottoms.iter().all(|low| *low == 0.0));
}

#[test]
fn every_core_is_a_row_over_the_whole_run() {
    let dir = tempfile::tempdir().unwrap();
    let drawing = draw(&complete(dir.path()), "cpu-cores");
    assert!(drawing.alt_text.starts_with("core 0 busy for "), "{}", drawing.alt_text);
    let rows = rows(drawing);
    let cells: Vec<_> = rows.iter().filter(|row| row["row"] == "core").collect();
    let of_core = |core: &str| cells.iter().filter(|row| row["core"] == core).count();
    assert_eq!((cells.len(), of_core("0")), (4 * of_core("3"), of_core("3")));
    assert!(of_core("0") <= 150);
    for pair in cells.windows(2).filter(|pair| pair[0]["core"] == pair[1]["core"]) {
        assert_eq!(pair[0]["end_s"], pair[1]["t_s"], "no time is missing or drawn twice");
    }
    assert!(cells.iter().all(|row| row["busy"].as_f64().is_some_and(|busy| (0.0..=1.0).contains(&busy))));
    assert_eq!(rows.iter().filter(|row| row["row"] == "phase").count(), 5);
}

#[test]
fn readings_of_the_device_are_points_without_gaps_between() {
    let dir = tempfile::tempdir().unwrap();
    let rows = rows(draw(&complete(dir.path()), "device-health"));
    let written: Vec<f64> = rows
        .iter()
        .filter(|row| row["row"] == "line" && row["series"] == "by the host")
        .map(|row| row["mean"].as_f64().expect("every reading has a number"))
        .collect();
    assert_eq!(written[0], 0.0, "counted from the start");
    assert!(written.len() > 3 && written.is_sorted(), "{written:?}");
}

#[test]
fn each_stretch_of_time_has_all_of_its_requests_in_the_heat_map() {
    let dir = tempfile::tempdir().unwrap();
    let rows = rows(draw(&complete(dir.path()), "latency-heat-map"));
    let cells: Vec<_> = rows.iter().filter(|row| row["row"] == "cell" && row["operation"] == "read").collect();
    let mut stretches = 0;
    for stretch in cells.chunk_by(|left, right| left["t_s"] == right["t_s"]) {
        let share: f64 = stretch.iter().filter_map(|row| row["share"].as_f64()).sum();
        assert!((share - 1.0).abs() < 1e-4, "{share}");
        stretches += 1;
    }
    assert!((40..=80).contains(&stretches), "{stretches}");
    assert!(rows.iter().all(|row| !row["operation"].as_str().unwrap().ends_with(".response")));
}

#[test]
fn response_times_lie_above_service_times_by_what_was_waited() {
    let dir = tempfile::tempdir().unwrap();
    let rows = rows(draw(&complete(dir.path()), "response-service"));
    assert!(rows.iter().all(|row| row["operation"] == "read"), "updates have no response times");
    for row in &rows {
        let (service, response) = (row["service_us"].as_f64().unwrap(), row["response_us"].as_f64().unwrap());
        assert!((response / service - 3.0).abs() < 0.3, "{row:?}");
    }
}

#[test]
fn a_cache_that_fills_shows_a_rising_hit_ratio() {
    let dir = tempfile::tempdir().unwrap();
    let rows = rows(draw(&complete(dir.path()), "warm-up"));
    let ratios: Vec<f64> = rows
        .iter()
        .filter(|row| row["row"] == "line" && row["series"] == "block cache")
        .filter_map(|row| row["mean"].as_f64())
        .collect();
    assert!(ratios[0] < 0.4 && *ratios.last().unwrap() > 0.95 && ratios.is_sorted(), "{ratios:?}");
    assert!(rows.iter().any(|row| row["strip"] == "primary: throughput (ops/s)"));
}
