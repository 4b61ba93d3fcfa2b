//! The page of a search for the highest rate: latency against rate, and a table of all measured rates.

use serde::Serialize;
use serde_json::{Map, Value};

use super::figure::figure;
use super::html::{escape, heading};
use super::table::table;
use super::whole;
use crate::charts::ChartContent;
use crate::charts::figures::latency_against_rate::CHART;
use crate::table::Table;
use crate::text;

/// A search for the highest rate that meets a goal.
#[derive(Debug, Clone)]
pub struct RateSearch {
    /// What was found, in a sentence.
    pub headline: String,
    /// What was measured, and how: engine, workload, threads.
    pub facts: Vec<String>,
    /// The percentile that is judged, such as `p99`.
    pub percentile: String,
    /// Its longest response time.
    pub goal_us: f64,
    /// The highest rate that meets the goal; nothing where none does.
    pub highest: Option<f64>,
    /// Every rate that was measured, in ascending order.
    pub points: Vec<RatePoint>,
}

/// One measured rate.
#[derive(Debug, Clone, Copy)]
pub struct RatePoint {
    /// Requested rate, per second.
    pub rate: f64,
    /// Answered requests per second.
    pub achieved: f64,
    /// The percentile of the response time; nothing where no request was answered.
    pub latency_us: Option<f64>,
    /// Requests that did not fit into the queue.
    pub dropped: u64,
    /// Answered requests.
    pub requests: u64,
    /// Whether the goal was met.
    pub met: bool,
}

impl RatePoint {
    fn verdict(&self) -> &'static str {
        if self.met { "met" } else { "missed" }
    }
}

/// One rate in the chart.
#[derive(Serialize)]
struct RateRow {
    rate: f64,
    achieved: f64,
    latency_us: Option<f64>,
    dropped: u64,
    requests: u64,
    goal: &'static str,
    goal_us: f64,
    highest: Option<f64>,
}

/// The page of `search`, as one HTML text that needs no other file.
pub fn rate_search(search: &RateSearch) -> String {
    let facts: Vec<String> = search.facts.iter().map(|fact| escape(fact)).collect();
    let mut main = format!(
        "<article>\n<header class=\"run\"><h1>{}</h1>\n<p class=\"facts\"><span>{}</span></p></header>\n",
        heading(&search.headline),
        facts.join("</span> <span>"),
    );
    main.push_str(&figure([CHART.name, CHART.title, CHART.caption], &drawing(search), 1, 2));
    main.push_str(&rates_table(search));
    main.push_str("</article>\n");
    let spec: Value = serde_json::from_str(CHART.spec).unwrap_or(Value::Null);
    let elsewhere = ["`--format json` prints them too", "`--format json` prints every digit"];
    whole(CHART.title, &main, &Map::from_iter([(CHART.name.to_owned(), spec)]), elsewhere)
}

fn drawing(search: &RateSearch) -> ChartContent {
    let row = |point: &RatePoint| RateRow {
        rate: point.rate,
        achieved: point.achieved,
        latency_us: point.latency_us,
        dropped: point.dropped,
        requests: point.requests,
        goal: point.verdict(),
        goal_us: search.goal_us,
        highest: search.highest,
    };
    let rows: Vec<RateRow> = search.points.iter().map(row).collect();
    let words: Vec<String> = search
        .points
        .iter()
        .map(|point| format!("{} ops/s: {}, {}", text::number(point.rate), latency(point), point.verdict()))
        .collect();
    let unanswered = search.points.iter().filter(|point| point.latency_us.is_none()).count();
    let notes = match unanswered {
        0 => Vec::new(),
        some => {
            vec![format!("At {} no request completed, so there is no latency.", text::counted(some as u64, "rate"))]
        }
    };
    ChartContent { table: Table::of(&rows), alt_text: words.join(". "), notes }
}

fn latency(point: &RatePoint) -> String {
    point.latency_us.map_or_else(|| text::NOT_MEASURED.to_owned(), text::latency)
}

fn rates_table(search: &RateSearch) -> String {
    let response = format!("{} of the response time", search.percentile);
    let columns = ["Requested", "Achieved", &response, "Dropped", "Requests", "Goal"];
    let row = |point: &RatePoint| {
        vec![
            format!("{} ops/s", text::number(point.rate)),
            format!("{} ops/s", text::number(point.achieved)),
            latency(point),
            text::count(point.dropped),
            text::count(point.requests),
            point.verdict().to_owned(),
        ]
    };
    table("Every rate", "", &columns, &search.points.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::{column_names, required_columns};

    fn search() -> RateSearch {
        let point =
            |rate, latency_us, met| RatePoint { rate, achieved: rate, latency_us, dropped: 3, requests: 10, met };
        RateSearch {
            headline: "The highest rate is <b>2,000</b> ops/s".to_owned(),
            facts: vec!["null 1 & more".to_owned()],
            percentile: "p99".to_owned(),
            goal_us: 50_000.0,
            highest: Some(2000.0),
            points: vec![point(2000.0, Some(900.0), true), point(4000.0, Some(2e6), false), point(8000.0, None, false)],
        }
    }

    #[test]
    fn the_page_has_every_rate_and_is_self_contained() {
        let page = rate_search(&search());
        for expected in [
            "The highest rate is &lt;b&gt;2,000&lt;/b&gt; ops/s",
            "null 1 &amp; more",
            &format!("{} ops/s", text::number(8000.0)),
            "not measured",
            "At 1 rate no request completed",
            "\"latency-against-rate\":{",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
        let body = page.split_once("<main>").unwrap().1.split_once("</footer>").unwrap().0;
        assert!(!body.contains("{{") && !body.contains(" src="), "{body}");
    }

    #[test]
    fn the_rows_have_the_required_columns() {
        assert_eq!(column_names(&drawing(&search())), required_columns(&CHART));
    }
}
