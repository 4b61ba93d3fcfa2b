//! The page as a text: whole in itself, in order, complete in its numbers, and never fooled by a name.

use std::fs;
use std::path::{Path, PathBuf};

use manometer_analysis::summary::RunSummary;
use manometer_measure::Recording;
use manometer_report::{AnalysedRecording, ReportError, page};

use crate::example;

fn recorded(recording: Recording, summarise: fn(&Recording) -> RunSummary) -> AnalysedRecording {
    let summary = summarise(&recording);
    AnalysedRecording { recording, summary, settings: Default::default() }
}

fn complete(dir: &Path) -> String {
    page(&[recorded(example::complete(dir), example::complete_summary)], dir).unwrap()
}

fn cut(dir: &Path) -> String {
    page(&[recorded(example::cut(dir), example::cut_summary)], dir).unwrap()
}

/// The page without the texts of its scripts, which no browser reads as markup.
fn markup(html: &str) -> String {
    let mut markup = String::new();
    let mut rest = html;
    while let Some((before, script)) = rest.split_once("<script") {
        markup.push_str(before);
        rest = script.split_once("</script>").expect("every script ends").1;
    }
    markup + rest
}

fn in_order(text: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let at = text[from..].find(part).unwrap_or_else(|| panic!("`{part}` is missing or out of order"));
        from += at + part.len();
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let html = complete(dir.path());
    let markup = markup(&html);
    for from in ["src=", "href=\"http", "href=\"//", "@import", "url("] {
        assert!(!markup.contains(from), "{from}");
    }
    assert!(markup.contains("default-src 'none'"), "the page forbids itself every connection");
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
}

#[test]
fn the_first_screen_of_the_demo_names_what_it_speaks_of() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("demo");
    manometer_report::write_demo(&path).unwrap();
    let html = markup(&page(&[AnalysedRecording::open(&path).unwrap()], &path).unwrap());
    let next = html.split_once("What to do next").unwrap().1.split_once("</div>").unwrap().0;
    assert!(next.contains("<li>Stop the foreign processes and repeat the run.</li>"), "{next}");
    let title = html.split_once("<h1>").unwrap().1.split_once("</h1>").unwrap().0;
    assert!(title.contains("\u{a0}%") && !title.contains(" %"), "{title}");
    // A phase without neighbours has none of their settings.
    let first = html.split_once("data-phase=\"w0\"").unwrap().1.split_once("</th>").unwrap().0;
    assert!(first.contains("no neighbour") && !first.contains("writer"), "{first}");
    let second = html.split_once("data-phase=\"w1\"").unwrap().1.split_once("</th>").unwrap().0;
    assert!(second.contains("writer.iodepth = 1"), "{second}");
}

#[test]
fn the_page_has_its_parts_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let html = markup(&complete(dir.path()));
    in_order(
        &html,
        &[
            "<h1>Conditions writer.iodepth = 64 RocksDB keeps 31\u{a0}% (±3) of its throughput</h1>",
            ">Pressure scale<",
            "Holm-corrected",
            "Verdict: indicative",
            "Something happened",
            "What to do next",
            ">Result<",
            ">All phases<",
            ">Distribution of the criterion<",
            ">Over time<",
            ">The run over time<",
            ">Latency<",
            ">Latency spectra<",
            ">Host<",
            ">Device use<",
            ">Processor use<",
            ">Engine<",
            ">LSM levels<",
            ">Environment<",
            "6.1.0-28-amd64",
            "11.8.1",
            ">Findings<",
            "phase-not-steady",
            ">Data<",
            "./plan.json",
        ],
    );
}

#[test]
fn every_number_has_its_unit_interval_and_samples() {
    let dir = tempfile::tempdir().unwrap();
    let html = complete(dir.path());
    in_order(
        &html,
        &["12\u{202f}800 ops/s", "95 % interval 12\u{202f}480 to 13\u{202f}120", "30 samples", "0.69", "0.66 to 0.72"],
    );
    in_order(
        &html,
        &["2.5 ms", "read · 12\u{202f}000 requests", "538 MiB/s", "95 % interval 524.5 to 551.4", "30 samples"],
    );
}

#[test]
fn a_cut_run_says_so_and_shows_its_gaps() {
    let dir = tempfile::tempdir().unwrap();
    let html = cut(dir.path());
    in_order(
        &html,
        &[
            "This run is incomplete",
            "cut short",
            "quantiles 5–95 %",
            "9 samples",
            "no interval: too few",
            "No space left on device",
        ],
    );
    assert!(html.contains("not measured: the worker `writer` died"));
    assert!(html.contains("not run: the run ended before this phase"));
    assert!(html.contains("no level sizes of the primary&#39;s engine: this chart is left out"));
}

#[test]
fn links_lead_to_files_that_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs/a b");
    let recorded = recorded(example::complete(&runs), example::complete_summary);
    fs::write(runs.join("summary.json"), "{}").unwrap();
    let html = page(&[recorded], dir.path()).unwrap();
    let links: Vec<&str> = html.split("<a href=\"./").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.contains(&"runs/a%20b/summary.json"), "{links:?}");
    assert!(links.contains(&"runs/a%20b/samples/primary.parquet"), "{links:?}");
    assert!(links.contains(&"runs/a%20b/latency/primary.hlog"), "{links:?}");
    for link in links {
        assert!(dir.path().join(link.replace("%20", " ")).is_file(), "{link}");
    }
}

#[test]
fn names_that_are_markup_stay_names() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = recorded(example::hostile(dir.path()), example::hostile_summary);
    let html = markup(&page(&[recorded], dir.path()).unwrap());
    for element in ["<b id=", "<img", "<i>it"] {
        assert!(!html.contains(element), "{element}");
    }
    assert!(html.contains("&lt;/script&gt;&lt;b id=&quot;pwned&quot;"));
}

#[test]
fn a_long_run_makes_a_page_that_can_be_mailed() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = recorded(example::long(dir.path()), example::long_summary);
    let html = page(&[recorded], dir.path()).unwrap();
    assert!(html.len() < 4_000_000, "{} bytes", html.len());
    assert!(html.contains("one point is the mean of up to 13 sample intervals of 1 s"));
}

#[test]
fn a_reference_and_repeats_are_named_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let one = |name: &str, reference: bool, size: Option<&str>| {
        let mut recorded = recorded(example::complete(&dir.path().join(name)), example::complete_summary);
        recorded.recording.plan.reference = reference;
        recorded.settings = size.map(|size| ("writer.block_size".to_owned(), size.into())).into_iter().collect();
        recorded.recording.plan.sweep = recorded.settings.clone();
        recorded
    };
    let (first, swept) = (one("001", true, None), one("002", false, Some("4KiB")));
    let names = |runs: &[AnalysedRecording]| {
        let html = page(runs, dir.path()).unwrap();
        let rows = html.split("id=\"runs-table\"").nth(1).unwrap().split("</table>").next().unwrap().to_owned();
        let small = rows.split("</a><small>").skip(1).map(|row| row.split("</small>").next().unwrap().to_owned());
        small.collect::<Vec<_>>()
    };
    let once = [first, swept];
    assert_eq!(names(&once), ["reference", "writer.block_size = 4KiB"]);
    let [first, swept] = once;
    let twice = [first, swept, one("003", false, Some("4KiB")), one("004", true, None)];
    let block = "writer.block_size = 4KiB";
    let expected = [
        "reference · repeat 1",
        &format!("{block} · repeat 1"),
        &format!("{block} · repeat 2"),
        "reference · repeat 2",
    ];
    assert_eq!(names(&twice), expected);
}

#[test]
fn a_page_needs_a_recording() {
    assert!(matches!(page(&[], Path::new(".")), Err(ReportError::NoRecording)));
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_damaged_recording_still_makes_a_page_that_says_so() {
    let original = tempfile::tempdir().unwrap();
    example::complete(original.path());
    for file in files(original.path()) {
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() / 2]).unwrap();
        if let Ok(recording) = Recording::open(original.path()) {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let html = page(&[recorded(recording, example::complete_summary)], original.path()).unwrap();
            let is_reported = html.contains("<code>damaged</code>");
            assert!(is_reported || name == "experiment.toml", "{name} was cut, and the page does not say so");
        }
        fs::write(&file, &whole).unwrap();
    }
}

#[test]
fn an_open_loop_shows_the_response_time_beside_the_service_time() {
    let dir = tempfile::tempdir().unwrap();
    let closed = markup(&complete(dir.path()));
    assert!(!closed.contains("response time, from when they were due"));
    let dir = tempfile::tempdir().unwrap();
    let late = |recording: &Recording| {
        let mut summary = example::complete_summary(recording);
        for phase in &mut summary.phases {
            phase.response_us = phase.latency_us.clone();
            phase.response_us.values_mut().for_each(|latency| latency.p99 = Some(7_000_000.0));
        }
        summary
    };
    let html = markup(&page(&[recorded(example::complete(dir.path()), late)], dir.path()).unwrap());
    in_order(&html, &["p99 of the primary", "read · ", "response time, from when they were due: <b>7", "update · "]);
}
