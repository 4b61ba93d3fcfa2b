//! The page of miss-ratio curves: the miss ratio over all cache sizes, and the working set of the trace.

use manometer_measure::human;
use serde::Serialize;
use serde_json::{Map, Value};

use super::figure::figure;
use super::html::escape;
use super::table::table;
use super::whole;
use crate::charts::figures::{cache_curves::CHART as CURVES, working_set::CHART as WORKING_SET};
use crate::charts::{Chart, ChartContent};
use crate::table::Table;
use crate::text;

/// Miss-ratio curves of a trace.
#[derive(Debug, Clone)]
pub struct CacheCurves {
    /// Which trace.
    pub trace: String,
    /// How the curves were computed, and what was left out.
    pub facts: Vec<String>,
    /// Whether capacities are in bytes; else they are in objects.
    pub is_in_bytes: bool,
    /// A curve for each policy.
    pub policies: Vec<CachePolicy>,
    /// The working set, by quantity and unit of windows; empty where it was not requested.
    pub working_set: Vec<WorkingSetStrip>,
}

/// The curve of one policy.
#[derive(Debug, Clone)]
pub struct CachePolicy {
    /// Its name.
    pub name: String,
    /// By capacity.
    pub points: Vec<CachePoint>,
}

/// A capacity and its misses.
#[derive(Debug, Clone, Copy)]
pub struct CachePoint {
    /// Objects, or bytes.
    pub capacity: u64,
    /// Misses for each request.
    pub miss_ratio: f64,
    /// Half of the 95 % interval; nothing where it is exact.
    pub error: Option<f64>,
    /// Whether this is a knee: from it on the curve falls less steeply.
    pub is_knee: bool,
}

/// The working set of one kind.
#[derive(Debug, Clone)]
pub struct WorkingSetStrip {
    /// The quantity: `keys`, `bytes`.
    pub what: &'static str,
    /// The unit of windows: `requests`, `seconds`.
    pub unit: &'static str,
    /// The length of a window, the working set in it, and half of its 95 % interval.
    pub windows: Vec<(f64, f64, Option<f64>)>,
}

#[derive(Serialize)]
struct CurveRow<'a> {
    policy: &'a str,
    capacity: u64,
    unit: &'static str,
    miss_ratio: f64,
    error: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    is_knee: bool,
}

#[derive(Serialize)]
struct WindowRow {
    order: usize,
    strip: String,
    what: &'static str,
    unit: &'static str,
    window: f64,
    amount: f64,
    error: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

/// The page of `curves`, as one HTML text that needs no other file.
pub fn cache_curves(curves: &CacheCurves) -> String {
    let facts: Vec<String> = curves.facts.iter().map(|fact| escape(fact)).collect();
    let mut main = format!(
        "<article>\n<header class=\"run\"><h1>{} of {}</h1>\n<p class=\"facts\"><span>{}</span></p></header>\n",
        CURVES.title,
        escape(&curves.trace),
        facts.join("</span> <span>"),
    );
    main.push_str(&figure([CURVES.name, CURVES.title, &caption(curves)], &drawing(curves), 1, 2));
    main.push_str(&knees(curves));
    let mut specs = vec![CURVES];
    if !curves.working_set.is_empty() {
        main.push_str(&figure([WORKING_SET.name, WORKING_SET.title, WORKING_SET.caption], &working_set(curves), 1, 2));
        specs.push(WORKING_SET);
    }
    main.push_str("</article>\n");
    let parsed = |chart: Chart| (chart.name.to_owned(), serde_json::from_str(chart.spec).unwrap_or(Value::Null));
    let specs: Map<String, Value> = specs.into_iter().map(parsed).collect();
    let elsewhere = ["`--format json` prints them too", "`--format json` and `--parquet` have every digit"];
    whole(CURVES.title, &main, &specs, elsewhere)
}

fn caption(curves: &CacheCurves) -> String {
    let is_estimated = |policy: &CachePolicy| policy.points.iter().any(|point| point.error.is_some());
    let has_knees = |policy: &CachePolicy| policy.points.iter().any(|point| point.is_knee);
    let mut caption =
        format!("The miss ratio (y axis) by the cache's capacity in {} (x axis, logarithmic to base 2).", unit(curves));
    if curves.policies.iter().any(is_estimated) {
        caption += " Pale bands are the 95 % intervals of estimates from a sample.";
    }
    if curves.policies.iter().any(has_knees) {
        caption += " Circles are knees, from which the curve falls less steeply.";
    }
    caption
}

fn drawing(curves: &CacheCurves) -> ChartContent {
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    let mut words = Vec::new();
    for CachePolicy { name, points } in &curves.policies {
        rows.extend(points.iter().map(|point| row(name, unit(curves), point)));
        match (points.first(), points.last()) {
            (Some(first), Some(last)) => words.push(format!(
                "{name}: miss ratio {} at {}, {} at {}",
                text::number(first.miss_ratio),
                capacity(curves, first.capacity),
                text::number(last.miss_ratio),
                capacity(curves, last.capacity),
            )),
            _ => notes.push(format!("No capacity gives a usable estimate for {name}.")),
        }
    }
    ChartContent { table: Table::of(&rows), alt_text: words.join(". "), notes }
}

fn row<'a>(policy: &'a str, unit: &'static str, point: &CachePoint) -> CurveRow<'a> {
    CurveRow {
        policy,
        capacity: point.capacity,
        unit,
        miss_ratio: point.miss_ratio,
        error: point.error,
        low: point.error.map(|error| (point.miss_ratio - error).max(0.0)),
        high: point.error.map(|error| (point.miss_ratio + error).min(1.0)),
        is_knee: point.is_knee,
    }
}

fn unit(curves: &CacheCurves) -> &'static str {
    if curves.is_in_bytes { "bytes" } else { "objects" }
}

fn capacity(curves: &CacheCurves, capacity: u64) -> String {
    if curves.is_in_bytes { human::bytes(capacity) } else { text::counted(capacity, "object") }
}

fn working_set(curves: &CacheCurves) -> ChartContent {
    let mut rows = Vec::new();
    let mut words = Vec::new();
    for (order, WorkingSetStrip { what, unit, windows }) in curves.working_set.iter().enumerate() {
        rows.extend(windows.iter().map(|(window, amount, error)| WindowRow {
            order,
            strip: format!("{what} by window ({unit})"),
            what,
            unit,
            window: *window,
            amount: *amount,
            error: *error,
            // The axis is logarithmic: a band that reaches down to nothing has no lower edge on it.
            low: error.map(|error| (amount - error).max(amount / 10.0)),
            high: error.map(|error| amount + error),
        }));
        if let Some((window, amount, _)) = windows.last() {
            words.push(format!("{} {what} in {} {unit}", text::number(*amount), text::number(*window)));
        }
    }
    ChartContent { table: Table::of(&rows), alt_text: words.join(". "), notes: Vec::new() }
}

/// The knees as a table, for a mark in a chart cannot be read to the digit.
fn knees(curves: &CacheCurves) -> String {
    let row = |policy: &CachePolicy, point: &CachePoint| {
        let error = point.error.map(|error| format!(" ± {}", text::number(error))).unwrap_or_default();
        let miss_ratio = format!("{}{error}", text::number(point.miss_ratio));
        vec![policy.name.clone(), capacity(curves, point.capacity), miss_ratio]
    };
    let knees_of = |policy: &CachePolicy| -> Vec<Vec<String>> {
        policy.points.iter().filter(|point| point.is_knee).map(|point| row(policy, point)).collect()
    };
    let rows: Vec<Vec<String>> = curves.policies.iter().flat_map(knees_of).collect();
    table("Knees of the curves", "", &["Policy", "Capacity", "Miss ratio"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::{column_names, required_columns};

    fn curves() -> CacheCurves {
        let point = |capacity, error| CachePoint { capacity, miss_ratio: 0.25, error, is_knee: capacity == 4096 };
        let policy = |name: &str, points| CachePolicy { name: name.to_owned(), points };
        CacheCurves {
            trace: "<b>trace</b>".to_owned(),
            facts: vec!["1 & more".to_owned()],
            is_in_bytes: true,
            policies: vec![
                policy("lru", vec![point(1024, None), point(4096, Some(0.5))]),
                policy("arc+size:max=5", Vec::new()),
            ],
            working_set: vec![WorkingSetStrip {
                what: "keys",
                unit: "requests",
                windows: vec![(1.0, 1.0, None), (16.0, 5.0, Some(7.0))],
            }],
        }
    }

    #[test]
    fn the_page_is_self_contained() {
        let page = cache_curves(&curves());
        for expected in [
            "Miss-ratio curves of &lt;b&gt;trace&lt;/b&gt;",
            "1 &amp; more",
            "No capacity gives a usable estimate for arc+size:max=5.",
            "4 KiB",
            "0.25 ± 0.5",
            "\"cache-curves\":{",
            "\"working-set\":{",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
        let body = page.split_once("<main>").unwrap().1.split_once("</footer>").unwrap().0;
        assert!(!body.contains("{{") && !body.contains(" src="), "{body}");
        let without = CacheCurves { working_set: Vec::new(), ..curves() };
        assert!(!cache_curves(&without).contains("\"working-set\":{"));
    }

    #[test]
    fn bands_stay_where_ratios_can_be() {
        let row = row("lru", "bytes", &curves().policies[0].points[1]);
        assert_eq!((row.low, row.high), (Some(0.0), Some(0.75)));
    }

    #[test]
    fn the_rows_have_the_required_columns() {
        assert_eq!(column_names(&drawing(&curves())), required_columns(&CURVES));
        assert_eq!(column_names(&working_set(&curves())), required_columns(&WORKING_SET));
    }
}
