//! The page of a trace against synthetic loads: their errors, as in the KV-replay thesis.

use std::fmt::Write as _;

use manometer_analysis::real_vs_synthetic::{
    Arrivals, ComparedResult, Decomposition, EXACT, EngineResult, Estimate, LoadComparison, NodeLoad, Property,
    SlabComparison, TRACE, is_shuffled_within,
};
use manometer_measure::human;
use serde::Serialize;
use serde_json::{Map, Value};

use super::figure::figure;
use super::html::{escape, heading};
use super::table::table;
use super::whole;
use crate::charts::{Chart, ChartContent, figures};
use crate::table::Table;
use crate::text;

const MIB: f64 = (1 << 20) as f64;

/// A chart of this page, and what fills it.
type ChartWithData = (Chart, fn(&LoadComparison) -> ChartContent);

const CHARTS: [ChartWithData; 6] = [
    (figures::miss_ratio_curves::CHART, curves),
    (figures::miss_ratio_engines::CHART, curves_by_load),
    (figures::read_speed_up::CHART, speed_ups),
    (figures::slab_sizes::CHART, slabs),
    (figures::hot_spots::CHART, hot_spots),
    (figures::hot_spot_arrivals::CHART, arrivals),
];

/// The page of `comparison`, as one HTML text that needs no other file.
pub fn real_vs_synthetic(comparison: &LoadComparison) -> String {
    let facts: Vec<String> = facts(comparison).iter().map(|fact| escape(fact)).collect();
    let mut main = format!(
        "<article>\n<header class=\"run\"><h1>{}</h1>\n<p class=\"facts\"><span>{}</span></p></header>\n",
        heading(&comparison.headline),
        facts.join("</span> <span>"),
    );
    for finding in &comparison.findings {
        _ = writeln!(main, "<p class=\"note\">{}</p>", escape(&finding.text));
    }
    let mut specs = Map::new();
    for (chart, draw) in CHARTS {
        let drawing = draw(comparison);
        if drawing.table.is_empty() && drawing.notes.is_empty() {
            continue;
        }
        main.push_str(&figure([chart.name, chart.title, chart.caption], &drawing, 1, 2));
        specs.insert(chart.name.to_owned(), serde_json::from_str(chart.spec).unwrap_or(Value::Null));
    }
    main.push_str(&decompositions(comparison));
    main.push_str(&simulated(comparison));
    comparison.engines.iter().for_each(|engine| main.push_str(&above_exact(engine)));
    comparison.engines.iter().for_each(|engine| main.push_str(&differences(engine)));
    main.push_str(&throughput(comparison));
    main.push_str(&loads(comparison));
    main.push_str("</article>\n");
    let elsewhere = ["the data files are in the same directory", "`real-vs-synthetic.json` there has every digit"];
    whole(&comparison.experiment, &main, &specs, elsewhere)
}

fn facts(comparison: &LoadComparison) -> Vec<String> {
    let engine = |engine: &EngineResult| {
        let bytes = human::bytes(engine.footprint_bytes);
        format!("{} {}: all data take {bytes}", engine.engine, engine.version)
    };
    let grade = format!("the sentence is {}", comparison.grade.name());
    let run = [comparison.experiment.clone(), comparison.status.to_owned(), grade];
    run.into_iter().chain(comparison.engines.iter().map(engine)).collect()
}

/// One point of a curve.
#[derive(Serialize)]
struct CurveRow {
    engine: String,
    load: String,
    cache: f64,
    cache_mib: f64,
    miss_ratio: Option<f64>,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    samples: usize,
}

fn curve_rows(comparison: &LoadComparison) -> Vec<CurveRow> {
    let mut rows = Vec::new();
    for engine in &comparison.engines {
        for curve in &engine.curves {
            rows.extend(curve.points.iter().map(|point| CurveRow {
                engine: engine.engine.clone(),
                load: curve.load.clone(),
                cache: point.cache,
                cache_mib: point.cache_bytes as f64 / MIB,
                miss_ratio: point.miss_ratio.mean,
                ci_low: point.miss_ratio.ci_low,
                ci_high: point.miss_ratio.ci_high,
                samples: point.miss_ratio.samples,
            }));
        }
    }
    rows
}

/// The exactly simulated curves. Those of one size are left out where the recorded sizes differ, and those of windows, so that
/// each has a colour of its own; the table has them.
fn exact_rows(comparison: &LoadComparison) -> Vec<CurveRow> {
    let is_drawn =
        |load: &str| !is_shuffled_within(load) && comparison.loads.iter().any(|one| one.name == load && !one.one_size);
    let row = |one: &manometer_analysis::real_vs_synthetic::SimulatedCache| CurveRow {
        engine: EXACT.to_owned(),
        load: one.load.clone(),
        cache: one.cache,
        cache_mib: one.cache_bytes as f64 / MIB,
        miss_ratio: one.miss_ratio,
        ci_low: None,
        ci_high: None,
        samples: 1,
    };
    comparison.simulated.iter().filter(|one| is_drawn(&one.load)).map(row).collect()
}

fn curves(comparison: &LoadComparison) -> ChartContent {
    let mut rows = exact_rows(comparison);
    rows.extend(curve_rows(comparison));
    let words: Vec<String> = comparison
        .engines
        .iter()
        .flat_map(|engine| engine.differences.iter().map(move |one| (engine, one)))
        .map(|(engine, one)| {
            format!("{}, {}: up to {} points from the trace", engine.engine, one.load, points(one.max_abs))
        })
        .collect();
    ChartContent { table: Table::of(&rows), alt_text: words.join(". "), notes: Vec::new() }
}

fn curves_by_load(comparison: &LoadComparison) -> ChartContent {
    if comparison.engine_spreads.is_empty() {
        return ChartContent::default();
    }
    let mut rows = curve_rows(comparison);
    let place = |load: &str| comparison.loads.iter().position(|one| one.name == load);
    rows.sort_by_key(|row| place(&row.load));
    let spreads = comparison.engine_spreads.iter().map(|one| {
        format!(
            "Under {} the engines are {} points apart on average, {} at most",
            one.load,
            points(one.mean),
            points(one.max)
        )
    });
    let words = spreads.collect::<Vec<_>>().join(". ");
    ChartContent { table: Table::of(&rows), notes: vec![format!("{words}.")], alt_text: words }
}

/// One bar.
#[derive(Serialize)]
struct SpeedUpRow {
    engine: String,
    load: String,
    speed_up: Option<f64>,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    smallest_us: Option<f64>,
    largest_us: Option<f64>,
    samples: usize,
}

fn speed_ups(comparison: &LoadComparison) -> ChartContent {
    let mut rows = Vec::new();
    for engine in &comparison.engines {
        rows.extend(engine.curves.iter().filter(|curve| curve.speed_up.mean.is_some()).map(|curve| SpeedUpRow {
            engine: engine.engine.clone(),
            load: curve.load.clone(),
            speed_up: curve.speed_up.mean,
            ci_low: curve.speed_up.ci_low,
            ci_high: curve.speed_up.ci_high,
            smallest_us: curve.points.first().and_then(|point| point.read_us.mean),
            largest_us: curve.points.last().and_then(|point| point.read_us.mean),
            samples: curve.speed_up.samples,
        }));
    }
    let word = |row: &SpeedUpRow| format!("{}, {}: {} times", row.engine, row.load, or_gap(row.speed_up, text::number));
    let alt_text = rows.iter().map(word).collect::<Vec<_>>().join(". ");
    let notes = if rows.is_empty() {
        vec!["No speed-up was measured: it needs an engine, and caches of two sizes.".to_owned()]
    } else {
        Vec::new()
    };
    ChartContent { table: Table::of(&rows), alt_text, notes }
}

/// One bar of one strip.
#[derive(Serialize)]
struct SlabRow {
    strip: &'static str,
    sizes: String,
    value: Option<f64>,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    samples: usize,
}

fn slabs(comparison: &LoadComparison) -> ChartContent {
    let Some(slabs) = &comparison.slabs else { return ChartContent::default() };
    let mut rows = Vec::new();
    for load in &slabs.loads {
        for (strip, mean) in [
            ("latency of writes (µs)", &load.write_us),
            ("miss ratio", &load.miss_ratio),
            ("requests a second", &load.ops_per_s),
        ] {
            rows.push(SlabRow {
                strip,
                sizes: load.sizes.clone(),
                value: mean.mean,
                ci_low: mean.ci_low,
                ci_high: mean.ci_high,
                samples: mean.samples,
            });
        }
    }
    rows.retain(|row| row.value.is_some());
    let word = |row: &SlabRow| format!("{}, {}: {}", row.sizes, row.strip, or_gap(row.value, text::number));
    let alt_text = rows.iter().map(word).collect::<Vec<_>>().join(". ");
    ChartContent { table: Table::of(&rows), alt_text, notes: vec![slab_note(slabs)] }
}

fn slab_note(slabs: &SlabComparison) -> String {
    format!(
        "Spread over {} classes of slabs, {} on average, with {} of memory.",
        slabs.classes,
        human::bytes(slabs.value_bytes_mean),
        human::bytes(slabs.cache_bytes)
    )
}

/// One box.
#[derive(Serialize)]
struct BoxRow {
    load: String,
    min: f64,
    q1: f64,
    median: f64,
    q3: f64,
    max: f64,
    range: f64,
    samples: usize,
}

fn hot_spots(comparison: &LoadComparison) -> ChartContent {
    let Some(spots) = &comparison.hot_spots else { return ChartContent::default() };
    let row = |load: &str, plot: &manometer_analysis::real_vs_synthetic::BoxPlot| BoxRow {
        load: load.to_owned(),
        min: plot.min,
        q1: plot.q1,
        median: plot.median,
        q3: plot.q3,
        max: plot.max,
        range: plot.range,
        samples: plot.samples,
    };
    let computed = spots.loads.iter().map(|load| (label(load), load));
    let measured = spots.measured.iter().map(|own| (format!("{}, measured", label(&own.nodes)), &own.nodes));
    let rows: Vec<BoxRow> =
        computed.chain(measured).filter_map(|(name, load)| Some(row(&name, load.requests.as_ref()?))).collect();
    let word = |row: &BoxRow| format!("{}: {} to {} requests", row.load, text::number(row.min), text::number(row.max));
    let alt_text = rows.iter().map(word).collect::<Vec<_>>().join(". ");
    let faster =
        if spots.speed == 1.0 { String::new() } else { format!(", {} times as fast as recorded", spots.speed) };
    let speed = format!("{} nodes, {} requests a second{faster}.", spots.nodes, text::count(spots.requests_per_s));
    let notes = vec![spots.reason.as_ref().map_or(speed, |reason| format!("Not computed: {reason}."))];
    ChartContent { table: Table::of(&rows), alt_text, notes }
}

/// The load, and when its requests arrive if not at the recorded times.
fn label(load: &NodeLoad) -> String {
    match load.arrivals {
        Arrivals::Recorded => load.load.clone(),
        arrivals => format!("{}, {} rate", load.load, arrivals.name()),
    }
}

/// One second of one load.
#[derive(Serialize)]
struct ArrivalRow {
    load: String,
    second: usize,
    requests: u64,
}

fn arrivals(comparison: &LoadComparison) -> ChartContent {
    let Some(spots) = &comparison.hot_spots else { return ChartContent::default() };
    let rows: Vec<ArrivalRow> = spots
        .loads
        .iter()
        .flat_map(|load| load.hottest.iter().enumerate().map(|(second, requests)| (label(load), second, *requests)))
        .map(|(load, second, requests)| ArrivalRow { load, second, requests })
        .collect();
    // A line needs two seconds.
    if rows.iter().all(|row| row.second == 0) {
        return ChartContent::default();
    }
    let most = |load: &NodeLoad| {
        format!("{}: {} at most", label(load), text::count(load.hottest.iter().copied().max().unwrap_or(0)))
    };
    let alt_text = spots.loads.iter().map(most).collect::<Vec<_>>().join(". ");
    ChartContent { table: Table::of(&rows), alt_text, notes: Vec::new() }
}

/// The difference of the Zipf load from the trace, and its parts.
fn decompositions(comparison: &LoadComparison) -> String {
    let properties =
        [Property::Arrivals, Property::Locality, Property::Sizes, Property::Operations, Property::Popularity];
    let names = properties.iter().map(|property| property.name());
    let columns: Vec<&str> =
        ["Result", "On", "Cache", "Difference"].into_iter().chain(names).chain(["Verdict"]).collect();
    let row = |one: &Decomposition| {
        let (name, value): (&str, fn(&Estimate) -> String) = match one.result {
            ComparedResult::MissRatio => ("miss ratio", points_with_interval),
            ComparedResult::SpeedUp => ("speed-up", percent),
            ComparedResult::HotSpots => ("most requests of a node, in means of a node", signed),
            ComparedResult::SlabWrites => ("write latency", percent),
        };
        let part = |property: &Property| {
            let effect = one.effects.iter().find(|effect| effect.property == *property);
            effect.map_or_else(String::new, |effect| value(&effect.change))
        };
        let cache = one.cache.map_or_else(String::new, |cache| format!("{:.0} %", 100.0 * cache));
        let head = [name.to_owned(), one.on.clone(), cache, value(&one.difference)];
        head.into_iter().chain(properties.iter().map(part)).chain([one.grade.name().to_owned()]).collect()
    };
    let rows: Vec<Vec<String>> = comparison.decompositions.iter().map(row).collect();
    let caption = "What changes from the trace to the synthetic load when one property after the other is lost: the order of \
                   requests (locality), different sizes, which operations which keys get, the popularity of keys. Intervals of 95 %: of miss ratios together \
                   over all caches, by blocks of time where it is simulated, by repeats where it is measured.";
    table("Why Zipf-distributed keys differ from the trace", caption, &columns, &rows)
}

/// The miss ratios of the exact simulation: a row for each load, a column for each cache.
fn simulated(comparison: &LoadComparison) -> String {
    let caches: Vec<f64> = comparison.simulated.iter().filter(|one| one.load == TRACE).map(|one| one.cache).collect();
    let heads: Vec<String> = caches.iter().map(|cache| format!("{:.0} %", 100.0 * cache)).collect();
    let columns: Vec<&str> = std::iter::once("Load").chain(heads.iter().map(String::as_str)).collect();
    let row = |load: &manometer_analysis::real_vs_synthetic::ComparedLoad| {
        let ratio = |cache: &f64| {
            let point = comparison.simulated.iter().find(|one| one.load == load.name && one.cache == *cache);
            or_gap(point.and_then(|one| one.miss_ratio), |ratio| format!("{:.1} %", 100.0 * ratio))
        };
        std::iter::once(load.name.clone()).chain(caches.iter().map(ratio)).collect()
    };
    let rows: Vec<Vec<String>> = comparison.loads.iter().map(row).collect();
    let caption = "The miss ratio of reads on an exact LRU cache of a share of the bytes of all keys and values.";
    table("Exact simulation", caption, &columns, &rows)
}

/// How much more the engine missed than the exact simulation.
fn above_exact(engine: &EngineResult) -> String {
    let caches: Vec<f64> =
        engine.curves.first().map_or(Vec::new(), |curve| curve.points.iter().map(|point| point.cache).collect());
    let heads: Vec<String> = caches.iter().map(|cache| format!("{:.0} %", 100.0 * cache)).collect();
    let columns: Vec<&str> = std::iter::once("Load").chain(heads.iter().map(String::as_str)).collect();
    let row = |curve: &manometer_analysis::real_vs_synthetic::CacheSizeCurve| {
        let point = |cache: &f64| {
            let point = curve.points.iter().find(|point| point.cache == *cache);
            point.map_or_else(|| text::NOT_MEASURED.to_owned(), |point| points_with_interval(&point.above_exact))
        };
        std::iter::once(curve.load.clone()).chain(caches.iter().map(point)).collect()
    };
    let rows: Vec<Vec<String>> = engine.curves.iter().map(row).collect();
    let caption = "Points of miss ratio above an exact LRU cache of the same share of all data.";
    table(&format!("{} against the exact simulation", engine.engine), caption, &columns, &rows)
}

/// The error of each synthetic load, the smallest first.
fn differences(engine: &EngineResult) -> String {
    let columns = ["Load", "RMSE", "Mean error", "Largest error", "Speed-up", "Error of the speed-up"];
    let speed_up = |load: &str| engine.curves.iter().find(|curve| curve.load == load).map(|curve| &curve.speed_up);
    let row = |one: &manometer_analysis::real_vs_synthetic::CurveDifference| {
        vec![
            one.load.clone(),
            format!("{} points", points(one.rmse)),
            format!("{} points", points(one.mean_abs)),
            format!("{} points at {:.0} % cache", points(one.max_abs), 100.0 * one.max_at),
            speed_up(&one.load).map_or_else(|| text::NOT_MEASURED.to_owned(), times),
            percent(&one.speed_up),
        ]
    };
    let rows: Vec<Vec<String>> = engine.differences.iter().map(row).collect();
    let title = format!("Errors on {}, the nearest load first", engine.engine);
    let trace = speed_up(TRACE);
    let caption = trace.map(|trace| format!("The trace's own speed-up is {}.", times(trace)));
    table(&title, &caption.unwrap_or_default(), &columns, &rows)
}

fn times(mean: &Estimate) -> String {
    match (mean.mean, mean.ci_low.zip(mean.ci_high)) {
        (None, _) => text::NOT_MEASURED.to_owned(),
        (Some(mean), None) => format!("{} ×", text::number(mean)),
        (Some(mean), Some((low, high))) => {
            format!("{} × ({} to {})", text::number(mean), text::number(low), text::number(high))
        }
    }
}

fn percent(mean: &Estimate) -> String {
    with_interval(mean, |share| format!("{:+.1} %", 100.0 * share))
}

/// Throughput next to that of a stationary load.
fn throughput(comparison: &LoadComparison) -> String {
    let Some(throughput) = &comparison.throughput else { return String::new() };
    let columns = ["Threads", "Trace", "YCSB", "Trace ÷ YCSB", "Variation, trace", "Variation, YCSB"];
    let share = |value: Option<f64>| or_gap(value, |value| format!("{:.1} %", 100.0 * value));
    let rate = |of: &Estimate| with_interval(of, |rate| text::count(rate.round() as u64));
    let row = |one: &manometer_analysis::real_vs_synthetic::ThroughputResult| {
        let rates = [one.threads.to_string(), rate(&one.trace), rate(&one.stationary), times(&one.ratio)];
        rates.into_iter().chain([share(one.trace_variation), share(one.stationary_variation)]).collect()
    };
    let rows: Vec<Vec<String>> = throughput.results.iter().map(row).collect();
    let caption = format!(
        "Requests per second on {}, as fast as it answers, of the trace's replay and of YCSB's workload with as many \
         requests, {} keys, {:.0} % reads, values of {} and Zipf-distributed keys (exponent {:.2}). Variation: the standard \
         deviation over intervals of {} s divided by the mean. After Boza 2018, Figure 5.10.",
        throughput.engine,
        text::count(throughput.records),
        100.0 * throughput.read_share,
        human::bytes(throughput.value_bytes),
        throughput.exponent,
        throughput.interval_s
    );
    table("Throughput next to a stationary load", &caption, &columns, &rows)
}

fn points_with_interval(of: &Estimate) -> String {
    with_interval(of, |share| format!("{:+.1}", 100.0 * share))
}

fn signed(of: &Estimate) -> String {
    with_interval(of, |value| format!("{value:+.2}"))
}

fn with_interval(of: &Estimate, format: impl Fn(f64) -> String) -> String {
    match (of.mean, of.ci_low.zip(of.ci_high)) {
        (None, _) => text::NOT_MEASURED.to_owned(),
        (Some(mean), None) => format(mean),
        (Some(mean), Some((low, high))) => format!("{} ({} to {})", format(mean), format(low), format(high)),
    }
}

fn loads(comparison: &LoadComparison) -> String {
    let columns = ["Load", "Requests", "Distinct keys", "Drawn from", "Exponent"];
    let row = |load: &manometer_analysis::real_vs_synthetic::ComparedLoad| {
        vec![
            load.name.clone(),
            text::count(load.requests),
            text::count(load.keys),
            load.drawn_from.map_or_else(|| "the trace".to_owned(), |from| format!("{} keys", text::count(from))),
            load.exponent.map_or_else(|| "none".to_owned(), |exponent| format!("{exponent:.3}")),
        ]
    };
    let rows: Vec<Vec<String>> = comparison.loads.iter().map(row).collect();
    let caption = "A shuffled load has the requests of the trace in random order, another one its operations with newly \
                   drawn keys, as many as the trace has.";
    table("Loads", caption, &columns, &rows)
}

/// A share as points of a hundred.
fn points(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn or_gap(value: Option<f64>, format: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| text::NOT_MEASURED.to_owned(), format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::{column_names, required_columns};
    use crate::example::compared;

    #[test]
    fn the_page_has_the_errors_and_is_self_contained() {
        let page = real_vs_synthetic(&compared());
        for expected in [
            "Zipf-distributed keys miss 12.0 points more",
            "the sentence is sound",
            "Why Zipf-distributed keys differ from the trace",
            "Exact simulation",
            "redis against the exact simulation",
            "trace, poisson rate",
            "trace, measured",
            "Throughput next to a stationary load",
            "Errors on redis, the nearest load first",
            "Under zipf the engines are",
            "a &lt;b&gt;note&lt;/b&gt;",
            "Spread over 3 classes of slabs",
            "10 nodes",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
        let body = page.split_once("<main>").unwrap().1.split_once("</footer>").unwrap().0;
        assert!(!body.contains("{{") && !body.contains(" src="), "{body}");
    }

    #[test]
    fn what_was_not_measured_draws_no_chart() {
        let mut comparison = compared();
        (comparison.engines, comparison.engine_spreads) = (Vec::new(), Vec::new());
        (comparison.hot_spots, comparison.slabs) = (None, None);
        comparison.simulated = Vec::new();
        let page = real_vs_synthetic(&comparison);
        assert!(!page.contains("data-chart=\"miss-ratio-curves\"") && page.contains("No speed-up was measured"));
    }

    #[test]
    fn the_rows_have_the_required_columns() {
        let comparison = compared();
        for (chart, draw) in CHARTS {
            assert_eq!(column_names(&draw(&comparison)), required_columns(&chart), "{}", chart.name);
        }
    }
}
