//! Charts of figures, and charts of nothing, in a real browser: drawn from the files as others than the page draw them.
//!
//! `MANOMETER_PAGES=DIR` keeps the page there, to be looked at.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use manometer_report::{ChartSource, charts, spec};
use serde_json::{Map, Value, json};

use crate::browser_tools::{Browser, Scheme, attribute};

const LIBRARIES: [&str; 3] = [
    include_str!("../../vendor/vega.min.js"),
    include_str!("../../vendor/vega-lite.min.js"),
    include_str!("../../vendor/vega-embed.min.js"),
];

/// A distribution that rises from nothing to `most` over `steps` powers of two.
fn rising(trace: &str, x: &str, most: f64, steps: u32, has_band: bool) -> Vec<Value> {
    let row = |step: u32| {
        let share = most * f64::from(step) / f64::from(steps);
        let [low, high] = [-0.03, 0.03].map(|half| has_band.then(|| (share + half).clamp(0.0, 1.0)));
        let mut row = json!({"trace": trace, "share": share, "low": low, "high": high, "requests": 1_000_000});
        row[x] = json!(f64::from(step).exp2());
        row
    };
    (0..=steps).map(row).collect()
}

fn hot_slots() -> Vec<Value> {
    let mut rows = Vec::new();
    for (load, hot) in [("trace", 11), ("uniform", 99)] {
        for stretch in 0..24_u32 {
            for part in 0..64_u32 {
                let heat = if part == hot && stretch > 9 { 40.0 } else { f64::from((part * 7 + stretch * 13) % 11) };
                rows.push(json!({"load": load, "slot": part * 256, "slot_end": part * 256 + 256,
                    "t_s": stretch * 10, "t_end_s": stretch * 10 + 10, "requests": heat}));
            }
        }
    }
    rows
}

const ARRANGEMENTS: [&str; 5] = ["1h", "4h0", "dmcache-1s-1h", "bcache-1s-4h10", "1s"];

fn arrangement_bars() -> Vec<Value> {
    let mut rows = Vec::new();
    for workload in ["random reads", "random writes"] {
        for (place, arrangement) in ARRANGEMENTS.iter().enumerate() {
            for (order, size) in ["64 KiB", "512 KiB", "4 MiB"].iter().enumerate() {
                let reached = 12.0 * (place + 1) as f64 * (order + 1) as f64;
                let ci = (order != 1).then(|| [0.95, 1.05].map(|factor| reached * factor));
                rows.push(json!({"workload": workload, "arrangement": arrangement, "size": size, "size_order": order,
                    "mb_per_s": reached, "cut_mb_per_s": reached.min(120.0), "ci_low": ci.map(|ci| ci[0]),
                    "ci_high": ci.map(|ci| ci[1]), "samples": 5}));
            }
        }
    }
    rows
}

fn tier_flows() -> Vec<Value> {
    let mut rows = Vec::new();
    for arrangement in &ARRANGEMENTS[2..4] {
        for (order, tier) in ["SSD, read", "SSD, written", "disks, read", "disks, written"].iter().enumerate() {
            for (place, flow) in ["requests", "promotion", "demotion", "cleaning", "metadata"].iter().enumerate() {
                let mib = 400.0 / (place + order + 1) as f64;
                rows.push(
                    json!({"arrangement": arrangement, "tier": tier, "tier_order": order, "flow": flow, "mib": mib}),
                );
            }
        }
    }
    rows
}

fn tier_series() -> Vec<Value> {
    let mut rows = Vec::new();
    let lines = [(0, "share of hits", "hits on SSD"), (1, "MB/s", "throughput"), (1, "MB/s", "promoted")];
    for (order, strip, series) in lines {
        for step in 0..40_u32 {
            let share = 1.0 - (-f64::from(step) / 9.0).exp();
            let value = if order == 0 { share } else { 50.0 + 40.0 * share };
            rows.push(json!({"strip": format!("dmcache-1s-1h, read-64KiB: {strip}"), "order": order, "series": series,
                "unit": if order == 0 { "" } else { "MB/s" }, "t_s": f64::from(step) * 7.5, "value": value,
                "warm_up_s": 150.0}));
        }
    }
    rows
}

fn request_mix() -> Vec<Value> {
    let mut rows = Vec::new();
    for (load_order, load) in ["fileserver on 1h", "oltp on 1h", "varmail on 1h"].iter().enumerate() {
        for by in ["requests", "bytes"] {
            let boundary = 0.2 + 0.3 * load_order as f64;
            for (kind, begin, end) in [("reads", 0.0, boundary), ("writes", boundary, 1.0)] {
                rows.push(json!({"load": load, "load_order": load_order, "by": by, "kind": kind, "amount": 4000,
                    "share": end - begin, "begin": begin, "end": end}));
            }
        }
    }
    rows
}

fn seeks_and_sizes() -> Vec<Value> {
    let mut rows = Vec::new();
    for (order, quantity) in ["distance", "size"].iter().enumerate() {
        for class in 0..12_u32 {
            rows.push(json!({"strip": format!("oltp on 1h: {quantity}"), "order": order, "load": "oltp on 1h",
                "quantity": quantity, "bytes": 4096_u64 << class, "label": format!("{} KiB", 4 << class),
                "below": format!("{} KiB", 8 << class), "requests": 100 * (12 - class),
                "share": f64::from(12 - class) / 78.0}));
        }
    }
    rows
}

fn cost_bars() -> Vec<Value> {
    let mut rows = Vec::new();
    for (place, arrangement) in ARRANGEMENTS.iter().enumerate() {
        for (part, share) in [("devices", 1.0), ("energy", 0.4), ("replacement", 0.1)] {
            rows.push(json!({"strip": "cost (USD)", "order": 0, "arrangement": arrangement, "part": part,
                "value": 200.0 * (place + 1) as f64 * share}));
        }
        rows.push(json!({"strip": "cost per MB/s (USD)", "order": 1, "arrangement": arrangement, "part": "all",
            "value": 9.0 / (place + 1) as f64}));
    }
    rows
}

/// What each of these charts is drawn from here.
fn figures() -> Vec<(&'static str, Vec<Value>)> {
    let traces = |x: &str, has_band: bool| {
        let [trace, synthetic] =
            [("cluster52", 0.9), ("zipf", 0.6)].map(|(trace, most)| rising(trace, x, most, 20, has_band));
        [trace, synthetic].concat()
    };
    let without_band = |mut rows: Vec<Value>| {
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            row.remove("low");
            row.remove("high");
        }
        rows
    };
    vec![
        ("reuse-distance", traces("distance", true)),
        ("inter-arrivals", without_band(traces("gap_us", false))),
        ("hot-slots", hot_slots()),
        ("arrangement-bars", arrangement_bars()),
        ("tier-flows", tier_flows()),
        ("tier-series", tier_series()),
        ("request-mix", request_mix()),
        ("seeks-and-sizes", seeks_and_sizes()),
        ("cost-bars", cost_bars()),
    ]
}

const SCRIPT: &str = concat!(include_str!("../../src/page/interact.js"), include_str!("../../src/page/page.js"));

/// A page of charts, each with its specification and rows, as the report's own page draws them.
fn page(charts: &[(&str, Value, Vec<Value>)]) -> String {
    let (mut main, mut specs) = (String::new(), Map::new());
    for (name, spec, rows) in charts {
        let names: Vec<String> =
            rows.first().and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned().collect();
        let column = |name: &String| {
            (name.clone(), json!({"values": rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>()}))
        };
        let columns: Map<String, Value> = names.iter().map(column).collect();
        let data = json!({"rows": rows.len(), "columns": columns});
        _ = write!(
            main,
            "<h2>{name}</h2><figure data-chart=\"{name}\"><div class=\"plot\"></div><span class=\"save\" \
             data-name=\"{name}\"></span><script type=\"application/json\">{data}</script></figure>"
        );
        specs.insert((*name).to_owned(), spec.clone());
    }
    let scripts = LIBRARIES.iter().fold(String::new(), |all, library| {
        let library = library.replace("</script", "<\\/script");
        all + "<script>" + &library + "</script>\n"
    });
    include_str!("../../src/page/page.html")
        .replace("{{title}}", "gallery")
        .replace("{{version}}", "0")
        .replace("{{style}}", include_str!("../../src/page/page.css"))
        .replace("{{script}}", SCRIPT)
        .replace("{{hashes}}", "'unsafe-inline'")
        .replace("{{colours}}", manometer_report::COLOURS)
        .replace("{{columns}}", &main)
        .replace("{{specs}}", &Value::Object(specs).to_string())
        .replace("{{libraries}}", &scripts)
}

/// Opens the page of `charts` in wide and narrow windows, light and dark; charts with rows must also be rich
/// in marks.
fn check(browser: &Browser, dir: &Path, name: &str, charts: &[(&str, Value, Vec<Value>)], has_rows: bool) {
    let path = dir.join(format!("{name}.html"));
    let html = page(charts);
    std::fs::write(&path, &html).unwrap();
    if let Some(kept) = std::env::var_os("MANOMETER_PAGES") {
        std::fs::write(Path::new(&kept).join(format!("{name}.html")), html).unwrap();
    }
    for (width, scheme) in [(1280, Scheme::Light), (390, Scheme::Dark)] {
        let seen = browser.open_in_frame(&path, width, scheme);
        let value_of = |what: &str| attribute(&seen, what).unwrap_or_else(|| panic!("{name} at {width}: no {what}"));
        assert_eq!(value_of("problems"), "", "{name} at {width}");
        assert_eq!(value_of("drawn"), charts.len().to_string(), "{name} at {width}: charts drawn");
        assert_eq!(value_of("schemes"), scheme.name(), "{name} at {width}");
        assert_eq!(value_of("overflow"), "", "{name} at {width}: wider than the window");
        if has_rows {
            assert_eq!(value_of("empty"), "", "{name} at {width}: charts without marks");
            assert_eq!(value_of("squeezed"), "", "{name} at {width}: charts with most of their width empty");
            assert!(
                width < 1280 || value_of("silent").is_empty(),
                "{name}: charts without their numbers: {}",
                value_of("silent")
            );
        }
    }
}

#[test]
fn charts_of_figures_are_drawn_in_wide_and_narrow_windows() {
    let Some(browser) = Browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let drawn = figures().into_iter().map(|(name, rows)| (name, spec(name, rows.len(), &[]).unwrap(), rows));
    check(&browser, dir.path(), "figures", &drawn.collect::<Vec<_>>(), true);
}

#[test]
fn a_chart_of_nothing_is_drawn_and_says_so() {
    let Some(browser) = Browser::find() else { return };
    let dir = tempfile::tempdir().unwrap();
    let why = ["No recording was chosen, which is why there is nothing here that could be drawn at all.".to_owned()];
    let all = charts();
    let drawn = all.iter().map(|chart| (chart.name, spec(chart.name, 0, &why).unwrap(), Vec::new()));
    check(&browser, dir.path(), "nothing", &drawn.collect::<Vec<_>>(), false);
}

#[test]
fn the_rows_of_this_test_have_the_required_columns() {
    let all = charts();
    for (name, rows) in figures() {
        let chart = all.iter().find(|chart| chart.name == name).unwrap();
        assert_eq!(chart.scope, ChartSource::Figures);
        let mut required: Vec<&str> = chart.columns.iter().map(|column| column.name).collect();
        let mut given: Vec<&str> = rows[0].as_object().unwrap().keys().map(String::as_str).collect();
        required.sort_unstable();
        given.sort_unstable();
        assert_eq!(required, given, "{name}");
    }
}

fn text(path: &str) -> String {
    std::fs::read_to_string(manometer_testing::repository_file(path)).unwrap()
}

#[test]
fn the_manual_has_every_chart_in_the_order_of_the_list() {
    let manual = text("docs/gallery.md");
    let sections: Vec<&str> = manual.split("\n## ").skip(1).map(str::trim_end).collect();
    let expected = charts().into_iter().map(|chart| {
        let (name, title, caption) = (chart.name, chart.title, chart.caption);
        let origin = chart.origin.map(|origin| format!(" After {origin}.")).unwrap_or_default();
        let function = name.replace('-', "_");
        format!("{title}\n\n`{name}`, `manometer.plot.{function}`. {caption}{origin}\n\n![{title}](gallery/{name}.png)")
    });
    assert_eq!(sections, expected.collect::<Vec<_>>(), "run `make gallery`");
}

#[test]
fn the_report_page_of_the_manual_and_python_have_every_chart_and_no_other() {
    let names: BTreeSet<&str> = charts().iter().map(|chart| chart.name).collect();
    let manual = text("docs/report.md");
    let rows = manual.split("## The charts").nth(1).unwrap().lines().filter_map(|line| line.strip_prefix("| `"));
    let listed = rows.flat_map(|row| row.split(" |").next().unwrap_or_default().split(", "));
    assert_eq!(listed.map(|name| name.trim_matches('`')).collect::<BTreeSet<_>>(), names);
    let module = text("python/manometer/plot/_charts.py");
    let drawn = module.lines().filter_map(|line| line.trim().strip_prefix("return of_")?.split('"').nth(1));
    assert_eq!(drawn.collect::<BTreeSet<_>>(), names, "run python/tools/generate_plot.py");
    // Docstrings break lines, and write a backslash as two.
    let words = |text: &str| text.replace("\\\\", "\\").split_whitespace().collect::<Vec<_>>().join(" ");
    let module = words(&module);
    for chart in charts() {
        assert!(module.contains(&words(chart.caption)), "{}: run python/tools/generate_plot.py", chart.name);
    }
}
