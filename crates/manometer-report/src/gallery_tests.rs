//! The charts as others than the page ask for them.

use std::path::Path;

use super::*;
use crate::example;

fn complete(dir: &Path) -> AnalysedRecording {
    let recording = example::complete(dir);
    let summary = example::complete_summary(&recording);
    AnalysedRecording { recording, summary, settings: Default::default() }
}

#[test]
fn every_chart_is_listed_with_what_it_is_made_from() {
    let charts = charts();
    let scope = |name: &str| charts.iter().find(|chart| chart.name == name).map(|chart| chart.scope);
    assert_eq!(scope("timeline"), Some(ChartSource::OneRecording));
    assert_eq!(scope("cache-curves"), Some(ChartSource::Figures));
    for chart in &charts {
        assert_eq!(chart.columns.is_empty(), chart.scope != ChartSource::Figures, "{}", chart.name);
    }
}

#[test]
fn a_chart_has_the_rows_of_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let drawn = draw("pressure-scale", &[complete(dir.path())]).unwrap();
    let phases: Vec<&Value> = drawn.rows.iter().map(|row| &row["phase"]).collect();
    assert_eq!(phases, ["w0", "w1", "w2", "w3"]);
    assert!(drawn.alt_text.contains("w1 writer.iodepth = 1: 0.18"), "{}", drawn.alt_text);
}

#[test]
fn an_empty_selection_is_a_chart_that_says_so() {
    for chart in charts().iter().filter(|chart| chart.scope != ChartSource::Figures) {
        let drawn = draw(chart.name, &[]).unwrap();
        assert!(drawn.rows.is_empty() && drawn.alt_text.is_empty());
        assert_eq!(drawn.notes, ["No recording was chosen."]);
        let text = spec(chart.name, drawn.rows.len(), &drawn.notes).unwrap()["layer"][0]["mark"]["text"].clone();
        assert_eq!(text[1], "No recording was chosen.");
    }
    assert_eq!(spec("timeline", 1, &[]).unwrap()["data"]["name"], "timeline");
    assert!(spec("timeline", 1, &[]).unwrap()["facet"].is_object());
}

#[test]
fn what_nothing_can_be_drawn_of_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let recording = example::cut(dir.path());
    let summary = example::cut_summary(&recording);
    let recorded = [AnalysedRecording { recording, summary, settings: Default::default() }];
    let mut silent = Vec::new();
    for chart in charts().iter().filter(|chart| chart.scope != ChartSource::Figures) {
        let drawn = draw(chart.name, &recorded).unwrap();
        if drawn.rows.is_empty() && drawn.notes[0].starts_with("The recordings have no data") {
            silent.push(chart.name);
        }
    }
    // Of what was no replay there is nothing to say.
    assert_eq!(silent, ["replay-dispatch", "replay-interarrivals", "replay-windows"]);
}

#[test]
fn wrong_requests_are_refused_with_what_would_be_right() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = complete(dir.path());
    let refusal = |name: &str, recorded: &[AnalysedRecording]| draw(name, recorded).unwrap_err().to_string();
    assert_eq!(refusal("timelines", &[]), "there is no chart `timelines`; did you mean `timeline`?");
    let of_figures = refusal("inter-arrivals", &[]);
    assert!(of_figures.ends_with("give it rows with the columns trace, gap_us, share, requests"), "{of_figures}");
    let two = [recorded.clone(), recorded];
    assert_eq!(refusal("cpu", &two), "the chart `cpu` shows one recording, got 2: draw one chart for each");
}
