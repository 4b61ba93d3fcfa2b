//! The page of `cache tier`: simulated arrangements over time, their load at the devices, and how fast they are.

use manometer_cache::tier::workload::TierWorkloadKind;
use manometer_cache::tier::{
    BlockRequests, FlowBytes, IntervalCounts, PowerOfTwoCount, Steadiness, TierInterval, TierLoad, TierOutcome,
};
use manometer_measure::human;
use serde::Serialize;
use serde_json::{Map, Value};

use super::figure::figure;
use super::html::escape;
use super::whole;
use crate::charts::figures::{arrangement_bars, request_mix, seeks_and_sizes, tier_series};
use crate::charts::{Chart, ChartContent};
use crate::table::Table;
use crate::text;

/// Simulations whose course is drawn; [`manometer_cache::tier::write_series`] writes that of all.
const COURSES_MAX: usize = 6;
/// Sentences of a caption.
const SENTENCES_MAX: usize = 12;
/// A longer bar than so many times the median of its panel is cut.
const CUT_ABOVE_MEDIAN: f64 = 4.0;

/// The page of `outcomes`, as one HTML text that needs no other file.
pub fn cache_tiers(outcomes: &[TierOutcome]) -> String {
    let title = "Simulated arrangements";
    let facts: Vec<String> = facts(outcomes).iter().map(|fact| escape(fact)).collect();
    let mut main = format!(
        "<article>\n<header class=\"run\"><h1>{title}</h1>\n<p class=\"facts\"><span>{}</span></p></header>\n",
        facts.join("</span> <span>"),
    );
    let mut specs = Map::new();
    let drawn = [
        (&arrangement_bars::CHART, bars(outcomes), bar_sentences(outcomes)),
        (&tier_series::CHART, courses(outcomes), course_sentences(outcomes)),
        (&request_mix::CHART, mixes(outcomes), mix_sentences(outcomes)),
        (&seeks_and_sizes::CHART, seeks_and_sizes(outcomes), seek_sentences(outcomes)),
    ];
    for (chart, content, sentences) in drawn {
        main.push_str(&section(chart, &content, sentences, &mut specs));
    }
    main.push_str("</article>\n");
    let elsewhere = ["`--format json` and `--series` have them too", "`--format json` and `--series` have every digit"];
    whole(title, &main, &specs, elsewhere)
}

fn section(
    chart: &Chart,
    content: &ChartContent,
    mut sentences: Vec<String>,
    specs: &mut Map<String, Value>,
) -> String {
    specs.insert(chart.name.to_owned(), serde_json::from_str(chart.spec).unwrap_or(Value::Null));
    let more = sentences.len().saturating_sub(SENTENCES_MAX);
    sentences.truncate(SENTENCES_MAX);
    sentences.push(chart.caption.to_owned());
    if more > 0 {
        sentences.push(format!("{} not described here.", text::counted(more as u64, "panel")));
    }
    figure([chart.name, chart.title, &escape(&sentences.join(" "))], content, 1, 2)
}

fn facts(outcomes: &[TierOutcome]) -> Vec<String> {
    let mut scales: Vec<u64> = outcomes.iter().map(|outcome| outcome.arrangement.scale).collect();
    scales.sort_unstable();
    scales.dedup();
    let scale = |scale: &u64| match scale {
        1 => "full size".to_owned(),
        scale => format!("sizes and periods divided by {scale}"),
    };
    let count = text::counted(outcomes.len() as u64, "simulation");
    std::iter::once(count).chain(scales.iter().map(scale)).chain(["a model, not a measurement".to_owned()]).collect()
}

/// The name of a simulation.
fn name(outcome: &TierOutcome) -> String {
    format!("{}, {}", outcome.arrangement.name, outcome.load.name)
}

// Throughputs.

#[derive(Serialize)]
struct BarRow {
    workload: String,
    arrangement: String,
    size: String,
    size_order: u64,
    mb_per_s: f64,
    cut_mb_per_s: f64,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    samples: u32,
}

/// The panel of a load, its request size, and the place of that size.
fn panel(outcome: &TierOutcome) -> (String, String, u64) {
    let mixed = || (outcome.load.name.clone(), "requests of the load".to_owned(), 0);
    let TierLoad::Workload(workload) = &outcome.load.load else { return mixed() };
    let TierWorkloadKind::Random(random) = &workload.kind else { return mixed() };
    let panel = match random.writes {
        writes if writes <= 0.0 => "random reads".to_owned(),
        writes if writes >= 1.0 => "random writes".to_owned(),
        writes => format!("random reads and {} of writes", human::percent(writes)),
    };
    (panel, human::bytes(random.block_size.0), random.block_size.0)
}

fn bar_rows(outcomes: &[TierOutcome]) -> Vec<BarRow> {
    let mut rows: Vec<BarRow> = outcomes
        .iter()
        .map(|outcome| {
            let (workload, size, size_order) = panel(outcome);
            let (arrangement, mb_per_s) = (outcome.arrangement.name.clone(), outcome.result.mb_per_s);
            let cut_mb_per_s = mb_per_s;
            BarRow {
                workload,
                arrangement,
                size,
                size_order,
                mb_per_s,
                cut_mb_per_s,
                ci_low: None,
                ci_high: None,
                samples: 1,
            }
        })
        .collect();
    let limits: Vec<f64> = rows.iter().map(|row| CUT_ABOVE_MEDIAN * median(&rows, &row.workload)).collect();
    rows.iter_mut().zip(limits).for_each(|(row, limit)| row.cut_mb_per_s = row.mb_per_s.min(limit));
    rows
}

fn median(rows: &[BarRow], workload: &str) -> f64 {
    let mut values: Vec<f64> = rows.iter().filter(|row| row.workload == workload).map(|row| row.mb_per_s).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn bars(outcomes: &[TierOutcome]) -> ChartContent {
    let rows = bar_rows(outcomes);
    ChartContent { table: Table::of(&rows), alt_text: bar_sentences(outcomes).join(" "), notes: Vec::new() }
}

/// Which arrangement is the fastest under each load.
fn bar_sentences(outcomes: &[TierOutcome]) -> Vec<String> {
    let rows = bar_rows(outcomes);
    let mut panels: Vec<(&str, &str)> = Vec::new();
    for row in &rows {
        if !panels.contains(&(&row.workload, &row.size)) {
            panels.push((&row.workload, &row.size));
        }
    }
    let sentence = |(workload, size): (&str, &str)| {
        let of = |row: &&BarRow| row.workload == workload && row.size == size;
        let fastest = rows.iter().filter(of).max_by(|one, other| one.mb_per_s.total_cmp(&other.mb_per_s))?;
        let slowest = rows.iter().filter(of).min_by(|one, other| one.mb_per_s.total_cmp(&other.mb_per_s))?;
        let (most, least) = (text::number(fastest.mb_per_s), text::number(slowest.mb_per_s));
        let load = if size.starts_with("requests") { workload.to_owned() } else { format!("{workload} of {size}") };
        Some(if fastest.arrangement == slowest.arrangement {
            format!("{load}: {} reaches {most} MB/s in the model.", fastest.arrangement)
        } else {
            format!(
                "{load}: in the model {} is the fastest with {most} MB/s, {} the slowest with {least} MB/s.",
                fastest.arrangement, slowest.arrangement
            )
        })
    };
    panels.into_iter().filter_map(sentence).collect()
}

// The course.

#[derive(Serialize)]
struct CourseRow {
    strip: String,
    order: usize,
    series: &'static str,
    unit: &'static str,
    t_s: f64,
    value: Option<f64>,
    warm_up_s: f64,
}

/// A line: its name and its value in an interval.
type CourseLine = (&'static str, fn(&TierInterval) -> Option<f64>);

/// The hits.
const HITS: [CourseLine; 2] =
    [("hits in memory", TierInterval::ram_hit_ratio), ("hits on SSD", TierInterval::hit_ratio)];
/// The throughput and the flows, in MB/s.
const RATES: [CourseLine; 5] = [
    ("throughput", |interval| Some(interval.mb_per_s())),
    ("disks", |interval| Some(interval.rate(sum(&interval.counts, |flow| flow.origin_read + flow.origin_written)))),
    ("SSD", |interval| Some(interval.rate(sum(&interval.counts, |flow| flow.cache_read + flow.cache_written)))),
    ("promoted", |interval| Some(interval.rate(interval.counts.flows.promotion.cache_written))),
    ("written back", |interval| {
        let flows = &interval.counts.flows;
        Some(interval.rate(flows.demotion.origin_written + flows.cleaning.origin_written))
    }),
];
/// Those of the rates that an arrangement without a cache has.
const UNCACHED_RATES: usize = 2;

fn sum(counts: &IntervalCounts, bytes: fn(&FlowBytes) -> u64) -> u64 {
    counts.flows.all().iter().map(bytes).sum()
}

fn courses(outcomes: &[TierOutcome]) -> ChartContent {
    let mut rows = Vec::new();
    for (place, outcome) in outcomes.iter().take(COURSES_MAX).enumerate() {
        let rates = if outcome.arrangement.cache.is_some() { &RATES[..] } else { &RATES[..UNCACHED_RATES] };
        for (order, what, unit, lines) in
            [(2 * place, "share of hits", "", &HITS[..]), (2 * place + 1, "MB/s", "MB/s", rates)]
        {
            for (series, value) in lines {
                let line = || outcome.series.iter().map(value);
                if line().all(|value| value.is_none()) {
                    continue;
                }
                rows.extend(outcome.series.iter().map(|interval| CourseRow {
                    strip: format!("{}: {what}", name(outcome)),
                    order,
                    series,
                    unit,
                    t_s: f64::midpoint(interval.begin_s, interval.end_s),
                    value: value(interval),
                    warm_up_s: warm_up_s(outcome),
                }));
            }
        }
    }
    let left_out = outcomes.len().saturating_sub(COURSES_MAX);
    let note = format!(
        "{} not drawn: the first {COURSES_MAX} are; `--series` writes all.",
        text::counted(left_out as u64, "more simulation")
    );
    ChartContent {
        table: Table::of(&rows),
        alt_text: course_sentences(outcomes).join(" "),
        notes: (left_out > 0).then_some(note).into_iter().collect(),
    }
}

/// Where the warm-up ends.
fn warm_up_s(outcome: &TierOutcome) -> f64 {
    outcome.series.iter().filter(|interval| interval.is_warm_up).map(|interval| interval.end_s).fold(0.0, f64::max)
}

/// From when on each drawn simulation is steady.
fn course_sentences(outcomes: &[TierOutcome]) -> Vec<String> {
    outcomes.iter().take(COURSES_MAX).filter_map(course_sentence).collect()
}

fn course_sentence(outcome: &TierOutcome) -> Option<String> {
    let Steadiness { level_mb_per_s, from_s, end_s, .. } = Steadiness::of(&outcome.series)?;
    let (name, level, whole) = (name(outcome), text::number(level_mb_per_s), text::seconds(end_s));
    Some(match from_s {
        Some(from_s) if from_s <= 0.0 => {
            format!("{name}: from the start within 10 % of {level} MB/s, the mean of the last quarter of {whole}.")
        }
        Some(from_s) => format!(
            "{name}: from {} of {whole} on within 10 % of {level} MB/s, the mean of the last quarter, in twentieths of \
             that time.",
            text::seconds(from_s)
        ),
        None => format!(
            "{name}: not steady: in the last quarter of {whole} a twentieth of that time is more than 10 % from the \
             mean of {level} MB/s."
        ),
    })
}

// The load at the devices.

/// The first simulation of each load.
fn by_load(outcomes: &[TierOutcome]) -> Vec<&TierOutcome> {
    let mut first: Vec<&TierOutcome> = Vec::new();
    for outcome in outcomes {
        if !first.iter().any(|known| known.load.name == outcome.load.name) {
            first.push(outcome);
        }
    }
    first
}

/// The name of a load with the arrangement that serves it.
fn load_name(outcome: &TierOutcome) -> String {
    format!("{} on {}", outcome.load.name, outcome.arrangement.name)
}

#[derive(Serialize)]
struct MixRow {
    load: String,
    load_order: usize,
    by: &'static str,
    kind: &'static str,
    amount: u64,
    share: f64,
    begin: f64,
    end: f64,
}

fn mixes(outcomes: &[TierOutcome]) -> ChartContent {
    let mut rows = Vec::new();
    for (load_order, outcome) in by_load(outcomes).into_iter().enumerate() {
        let BlockRequests { reads, writes, read_bytes, written_bytes, .. } = outcome.block_requests;
        for (by, read, written) in [("requests", reads, writes), ("bytes", read_bytes, written_bytes)] {
            let all = read + written;
            if all == 0 {
                continue;
            }
            let boundary = read as f64 / all as f64;
            for (kind, amount, begin, end) in [("reads", read, 0.0, boundary), ("writes", written, boundary, 1.0)] {
                let load = load_name(outcome);
                rows.push(MixRow { load, load_order, by, kind, amount, share: end - begin, begin, end });
            }
        }
    }
    ChartContent { table: Table::of(&rows), alt_text: mix_sentences(outcomes).join(" "), notes: Vec::new() }
}

fn mix_sentences(outcomes: &[TierOutcome]) -> Vec<String> {
    let sentence = |outcome: &TierOutcome| {
        let BlockRequests { reads, writes, read_bytes, written_bytes, .. } = outcome.block_requests;
        let share = |part: u64, other: u64| human::percent(part as f64 / (part + other) as f64);
        (reads + writes > 0 && read_bytes + written_bytes > 0).then(|| {
            let [requests, bytes] = [share(reads, writes), share(read_bytes, written_bytes)];
            format!("{}: reads are {requests} of the requests and {bytes} of the bytes.", load_name(outcome))
        })
    };
    by_load(outcomes).into_iter().filter_map(sentence).collect()
}

#[derive(Serialize)]
struct ClassRow {
    strip: String,
    order: usize,
    load: String,
    quantity: &'static str,
    bytes: u64,
    label: String,
    below: String,
    requests: u64,
    share: f64,
}

fn seeks_and_sizes(outcomes: &[TierOutcome]) -> ChartContent {
    let mut rows = Vec::new();
    for (place, outcome) in by_load(outcomes).into_iter().enumerate() {
        let requests = &outcome.block_requests;
        let in_place = PowerOfTwoCount { bytes: 0, requests: requests.in_place };
        let distances = std::iter::once(in_place).filter(|class| class.requests > 0).chain(requests.distances());
        let both = [("distance", distances.collect()), ("size", requests.sizes())];
        for (part, (quantity, classes)) in both.into_iter().enumerate() {
            let all: u64 = classes.iter().map(|class| class.requests).sum();
            rows.extend(classes.iter().map(|class| ClassRow {
                strip: format!("{}: {quantity}", load_name(outcome)),
                order: 2 * place + part,
                load: load_name(outcome),
                quantity,
                bytes: class.bytes,
                label: human::bytes(class.bytes),
                below: human::bytes(class.bytes.saturating_mul(2).max(1)),
                requests: class.requests,
                share: class.requests as f64 / all as f64,
            }));
        }
    }
    ChartContent { table: Table::of(&rows), alt_text: seek_sentences(outcomes).join(" "), notes: Vec::new() }
}

fn seek_sentences(outcomes: &[TierOutcome]) -> Vec<String> {
    let sentence = |outcome: &TierOutcome| {
        let requests = &outcome.block_requests;
        let sizes = requests.sizes();
        let commonest = sizes.iter().max_by_key(|class| class.requests)?;
        let of_all = |part: u64| human::percent(part as f64 / requests.requests() as f64);
        Some(format!(
            "{}: {} of the requests start where the one before ended, and {} are of {} up to {}.",
            load_name(outcome),
            of_all(requests.sequential),
            of_all(commonest.requests),
            human::bytes(commonest.bytes),
            human::bytes(commonest.bytes.saturating_mul(2)),
        ))
    };
    by_load(outcomes).into_iter().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use manometer_cache::tier::{Arrangement, ArrangementLoads, SimulationProgress, simulate_all, workload_loads};
    use manometer_testing::repository_file;

    use super::*;
    use crate::charts::{column_names, required_columns};

    struct Silent;

    impl SimulationProgress for Silent {
        fn add_steps(&self, _steps: u64) {}
        fn advance(&self, _steps: u64) {}
    }

    fn outcomes() -> Vec<TierOutcome> {
        let loads = |name: &str| {
            let mut arrangement = Arrangement::load(&repository_file(&format!("arrangements/{name}.toml"))).unwrap();
            arrangement.scale = 512;
            let names = ["fileserver", "read-64KiB"].map(str::to_owned);
            let loads = workload_loads(&arrangement, &names).unwrap();
            ArrangementLoads { arrangement, loads }
        };
        simulate_all(&["1h", "dmcache-1s-1h"].map(loads), &Silent).unwrap()
    }

    #[test]
    fn the_page_draws_all_and_says_what_is_seen() {
        let outcomes = outcomes();
        let page = cache_tiers(&outcomes);
        for expected in [
            "4 simulations",
            "sizes and periods divided by 512",
            "fileserver: in the model ",
            "random reads of 64 KiB: in the model ",
            "dmcache-1s-1h, read-64KiB: ",
            "read-64KiB on 1h: reads are 100",
            "\"tier-series\":{",
            "\"request-mix\":{",
            "\"seeks-and-sizes\":{",
            "\"arrangement-bars\":{",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
        let body = page.split_once("<main>").unwrap().1.split_once("</footer>").unwrap().0;
        assert!(!body.contains("{{") && !body.contains(" src="), "{body}");
    }

    #[test]
    fn the_rows_have_the_required_columns() {
        let outcomes = outcomes();
        assert_eq!(column_names(&bars(&outcomes)), required_columns(&arrangement_bars::CHART));
        assert_eq!(column_names(&courses(&outcomes)), required_columns(&tier_series::CHART));
        assert_eq!(column_names(&mixes(&outcomes)), required_columns(&request_mix::CHART));
        assert_eq!(column_names(&seeks_and_sizes(&outcomes)), required_columns(&seeks_and_sizes::CHART));
    }

    #[test]
    fn a_course_is_steady_from_where_it_stays_near_its_end() {
        let outcomes = outcomes();
        let course = |mb_per_s: fn(usize) -> u64| {
            let interval = |place: usize| TierInterval {
                begin_s: place as f64,
                end_s: place as f64 + 1.0,
                is_warm_up: false,
                counts: IntervalCounts { bytes: mb_per_s(place) * 1_000_000, ..IntervalCounts::default() },
            };
            let series = (0..100).map(interval).collect();
            course_sentence(&TierOutcome { series, ..outcomes[0].clone() }).unwrap()
        };
        assert!(course(|_| 50).contains(": from the start within 10 % of 50 MB/s"));
        assert!(course(|place| if place < 30 { 10 } else { 50 }).contains(": from 30 s of 100 s on within 10 % of 50"));
        assert!(course(|place| place as u64).contains(": not steady"));
    }
}
