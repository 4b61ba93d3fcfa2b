//! The page in a real browser, without a network: every chart is drawn, nothing goes wrong, nothing
//! hangs over the edge of a wide or a narrow window.
//!
//! `MANOMETER_PAGES=DIR` keeps the pages there, to be looked at.

use std::path::Path;

use manometer_analysis::summary::RunSummary;
use manometer_measure::Recording;
use manometer_report::{
    AnalysedRecording, CacheCurves, CachePoint, CachePolicy, RatePoint, RateSearch, RunPages, WorkingSetStrip,
    cache_advice, cache_curves, page, rate_search, real_vs_synthetic,
};

use crate::browser_tools::{Browser, Scheme, attribute};
use crate::example;

type Example = (&'static str, fn(&Path) -> Recording, fn(&Recording) -> RunSummary, usize);

/// Each example with the number of charts its page draws.
const EXAMPLES: [Example; 4] = [
    ("complete", example::complete, example::complete_summary, 22),
    ("cut", example::cut, example::cut_summary, 9),
    ("hostile", example::hostile, example::hostile_summary, 8),
    ("long", example::long, example::long_summary, 19),
];

fn recorded(dir: &Path, (name, record, summarise, _): Example) -> AnalysedRecording {
    let recording = record(&dir.join(name));
    let summary = summarise(&recording);
    AnalysedRecording { recording, summary, settings: Default::default() }
}

fn keep(name: &str, html: &str) {
    if let Some(dir) = std::env::var_os("MANOMETER_PAGES") {
        std::fs::write(Path::new(&dir).join(format!("{name}.html")), html).unwrap();
    }
}

/// Opens `html` in windows of every width and checks the result.
fn check(browser: &Browser, dir: &Path, name: &str, html: &str, charts: usize) {
    let path = dir.join(format!("{name}.html"));
    std::fs::write(&path, html).unwrap();
    keep(name, html);
    for (width, scheme) in [(1280, Scheme::Light), (390, Scheme::Dark)] {
        let seen = browser.open_in_frame(&path, width, scheme);
        let value_of =
            |what: &str| attribute(&seen, what).unwrap_or_else(|| panic!("{name} at {width}: no {what}: {seen}"));
        assert_eq!(value_of("problems"), "", "{name} at {width}");
        assert_eq!(value_of("width"), width.to_string(), "{name}");
        assert_eq!(value_of("drawn"), charts.to_string(), "{name} at {width}: charts drawn");
        assert_eq!(value_of("schemes"), scheme.name(), "{name} at {width}");
        assert_eq!(value_of("empty"), "", "{name} at {width}: charts without marks");
        assert_eq!(value_of("squeezed"), "", "{name} at {width}: charts with most of their width empty");
        assert!(
            width < 1280 || value_of("silent").is_empty(),
            "{name}: charts without their numbers: {}",
            value_of("silent")
        );
        assert_eq!(value_of("overflow"), "", "{name} at {width}: wider than the window");
        assert_eq!(value_of("injected"), "0", "{name} at {width}: markup from a recording");
    }
}

#[test]
fn every_chart_is_drawn_in_wide_and_narrow_windows() {
    let Some(browser) = Browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    for example in EXAMPLES {
        let html = page(&[recorded(dir.path(), example)], dir.path()).unwrap();
        check(&browser, dir.path(), example.0, &html, example.3);
    }
}

#[test]
fn the_browser_shows_the_first_screen_and_follows_its_reader() {
    let Some(browser) = Browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("reader.html");
    std::fs::write(&path, page(&[recorded(dir.path(), EXAMPLES[0])], dir.path()).unwrap()).unwrap();
    for size in [[1280, 720], [390, 844]] {
        let seen = browser.read_in_frame(&path, size);
        let value_of = |what: &str| attribute(&seen, what).unwrap_or_else(|| panic!("{size:?}: no {what}: {seen}"));
        let is = |what: &str, expected: &str| assert_eq!(value_of(what), expected, "{size:?}: {what}");
        is("problems", "");
        is("below", "");
        is("twice", "");
        is("astray", "");
        is("sticks", "true");
        is("here", "1 true");
        is("opens", if size[0] > 1000 { "true true" } else { "false true" });
        let zoomed = value_of("zoomed");
        assert!(zoomed.contains('-') && !zoomed.contains(' '), "{size:?}: one window for all: {zoomed:?}");
        is("relabelled", "true");
        assert!(![zoomed.as_str(), ""].contains(&value_of("moved").as_str()), "{size:?}");
        is("reset", "");
        is("rules", "true");
        assert!(value_of("hint").contains("primary|"), "{size:?}: {}", value_of("hint"));
        let brushed = value_of("brushed");
        assert!(brushed.contains('-') && !brushed.contains(' ') && brushed != zoomed, "{size:?}: {brushed:?}");
        is("unbrushed", "");
        is("off", "read read true");
        is("on", " 0");
        is("table", "w2 true true true true");
        is("none", " 0");
        for way in ["bar", "barkey", "band"] {
            assert!(!value_of(way).is_empty(), "{size:?}: no phase by {way}");
        }
    }
}

/// The pages of nine runs, as `report` writes them.
fn write_pages(dir: &Path) -> std::path::PathBuf {
    let runs: Vec<AnalysedRecording> = (0..9)
        .map(|run| {
            let mut one = recorded(&dir.join(run.to_string()), EXAMPLES[1]);
            one.settings.insert("writer.block_size".into(), format!("{}KiB", 4 << run).into());
            one.recording.environment["host"]["kernel"] = if run < 5 { "5.4" } else { "5.8" }.into();
            one
        })
        .collect();
    let overview = dir.join("report.html");
    let pages = RunPages::new(&runs, &overview);
    std::fs::create_dir(dir.join(pages.folder())).unwrap();
    for run in 0..runs.len() {
        std::fs::write(dir.join(pages.file(run)), pages.run(run).unwrap()).unwrap();
    }
    std::fs::write(&overview, pages.overview().unwrap()).unwrap();
    overview
}

#[test]
fn the_browser_searches_and_sorts_an_overview_of_many_runs() {
    let Some(browser) = Browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let overview = write_pages(dir.path());
    let html = std::fs::read_to_string(&overview).unwrap();
    keep("overview", &html);
    for link in html.split("href=\"./").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(dir.path().join(link).is_file(), "{link}");
    }
    assert!(html.contains("writer.block_size = 4KiB · kernel 5.4"), "labels name what differs");
    let run = dir.path().join("report-runs/005.html");
    let seen = browser.open_in_frame(&run, 1280, Scheme::Light);
    assert_eq!(attribute(&seen, "problems").as_deref(), Some(""));
    let seen = browser.search_in_frame(&overview, 1280);
    let value_of = |what: &str| attribute(&seen, what).unwrap_or_else(|| panic!("no {what}: {seen}"));
    assert_eq!(value_of("problems"), "");
    assert_eq!(value_of("rows"), "9 9 scales");
    assert_eq!(value_of("found"), "1 of 9 runs, 1 row, 1 scale");
    assert_eq!(value_of("sorted"), "Run 9 first, descending");
    assert_eq!(value_of("highlighted"), "9 bars");
    assert_eq!(value_of("escaped"), "0 bars");
}

#[test]
fn several_recordings_share_a_page() {
    let Some(browser) = Browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut runs = [recorded(dir.path(), EXAMPLES[0]), recorded(dir.path(), EXAMPLES[1])];
    runs[0].settings.insert("writer.dsync".into(), false.into());
    runs[1].settings.insert("writer.dsync".into(), true.into());
    let html = page(&runs, dir.path()).unwrap();
    // Those that join recordings are drawn once, of both.
    const JOINED_ALONE: [usize; 2] = [5, 2];
    const JOINED: usize = 8;
    let charts = EXAMPLES[0].3 + EXAMPLES[1].3 - JOINED_ALONE[0] - JOINED_ALONE[1] + JOINED;
    check(&browser, dir.path(), "several", &html, charts);
}

#[test]
fn a_search_for_a_rate_draws_its_chart() {
    let Some(browser) = Browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let point = |rate: f64, latency_us| RatePoint {
        rate,
        achieved: rate,
        latency_us,
        dropped: 0,
        requests: 1000,
        met: latency_us.is_some_and(|us| us <= 50_000.0),
    };
    let latencies = [Some(800.0), Some(1_200.0), Some(3_500.0), Some(48_000.0), Some(2_300_000.0), None];
    let search = RateSearch {
        headline: "The highest rate with p99 of the response time at most 50ms is 8,000 ops/s.".to_owned(),
        facts: vec!["map, ycsb-a, 16 threads".to_owned()],
        percentile: "p99".to_owned(),
        goal_us: 50_000.0,
        highest: Some(8_000.0),
        points: (0..6).map(|place| point(1000.0 * f64::from(1 << place), latencies[place as usize])).collect(),
    };
    check(&browser, dir.path(), "rates", &rate_search(&search), 1);
    let none =
        RateSearch { highest: None, points: [10.0, 40.0].map(|rate| point(rate, Some(60_000.0))).to_vec(), ..search };
    check(&browser, dir.path(), "no-rate", &rate_search(&none), 1);
}

#[test]
fn a_trace_against_synthetic_loads_draws_its_charts() {
    let Some(browser) = Browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    check(&browser, dir.path(), "real-vs-synthetic", &real_vs_synthetic(&example::compared()), 6);
}

#[test]
fn curves_of_caches_are_drawn() {
    let Some(browser) = Browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let point = |at: u32, bend: f64, error: Option<f64>| CachePoint {
        capacity: 1 << at,
        miss_ratio: 0.1 + 0.9 / (1.0 + (bend * f64::from(at) / 8.0).powi(3)),
        error,
        is_knee: at == 12,
    };
    let policy = |name: &str, bend: f64, error| CachePolicy {
        name: name.to_owned(),
        points: (if error { 8 } else { 0 }..24).map(|at| point(at, bend, error.then_some(0.02))).collect(),
    };
    let names = ["arc", "s3-fifo", "w-tinylfu", "lirs", "mq:lifetime=5000", "sieve", "gdsf", "opt", "fifo"];
    let others = names.iter().enumerate().map(|(at, name)| policy(name, 1.1 + 0.1 * at as f64, true));
    let strip = |what, unit, error: Option<f64>| WorkingSetStrip {
        what,
        unit,
        windows: (0..20).map(|at| f64::from(1 << at)).map(|at| (at, at.powf(0.7), error.map(|e| e * at))).collect(),
    };
    let all = CacheCurves {
        trace: "cluster52.csv.zst".to_owned(),
        facts: vec!["1 000 000 requests for 120 000 keys".to_owned(), "arc: made of 6.250 % of the keys".to_owned()],
        is_in_bytes: false,
        policies: std::iter::once(policy("lru", 1.0, false)).chain(others).collect(),
        working_set: vec![strip("keys", "requests", Some(0.1)), strip("bytes", "seconds", None)],
    };
    check(&browser, dir.path(), "cache-curves", &cache_curves(&all), 2);
    let one =
        CacheCurves { is_in_bytes: true, policies: vec![policy("lru", 1.0, false)], working_set: Vec::new(), ..all };
    check(&browser, dir.path(), "cache-curve", &cache_curves(&one), 1);
}

#[test]
fn advice_for_a_trace_draws_its_charts() {
    let Some(browser) = Browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    check(&browser, dir.path(), "cache-advice", &cache_advice(&example::advice("cluster52.csv.zst")), 2);
    check(&browser, dir.path(), "cache-advice-hostile", &cache_advice(&example::advice(example::HOSTILE)), 2);
}
