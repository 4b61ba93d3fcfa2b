//! The page of `cache advise`: the decision first, then its grounds.

use std::fmt::Write as _;

use manometer_cache::advise::{
    Advice, MemoryReason, MissPoint, PolicyCurve, PolicyRank, PriceSummary, PricedTier, SensitivityChange,
    SensitivityResult, TierKind, TierOutcome,
};
use manometer_measure::{Grade, human};
use serde::Serialize;
use serde_json::{Map, Value};

use super::figure::figure;
use super::html::escape;
use super::table::table;
use super::whole;
use crate::charts::figures::{advised_tiers, policy_curves};
use crate::charts::{Chart, ChartContent};
use crate::table::Table;
use crate::text;

const MIB: f64 = (1 << 20) as f64;

/// The page of `advice`, as one HTML text that needs no other file.
pub fn cache_advice(advice: &Advice) -> String {
    let facts: Vec<String> = facts(advice).iter().map(|fact| escape(fact)).collect();
    let mut main = format!(
        "<article>\n<header class=\"run\"><h1>{}</h1>\n<p class=\"facts\"><span>{}</span></p></header>\n",
        escape(&format!("Caches for {}", advice.trace)),
        facts.join("</span> <span>"),
    );
    if let Some(damage) = &advice.damage {
        _ = writeln!(
            main,
            "<p class=\"notice error\"><strong>The trace is damaged</strong>: {}. The advice uses the part before the \
             damage.</p>",
            escape(&damage.to_string())
        );
    }
    main.push_str(&decision(advice));
    main.push_str(&character(advice));
    let mut specs = Map::new();
    main.push_str(&chart(&policy_curves::CHART, curves(advice), &mut specs));
    main.push_str(&policies(advice));
    main.push_str(&chart(&advised_tiers::CHART, tiers(advice), &mut specs));
    main.push_str(&costs(advice));
    main.push_str(&varied(advice));
    main.push_str("</article>\n");
    let elsewhere = ["`--format json` prints them too", "`--format json` prints every digit"];
    whole(&format!("Caches for {}", advice.trace), &main, &specs, elsewhere)
}

fn chart(chart: &Chart, drawing: ChartContent, specs: &mut Map<String, Value>) -> String {
    specs.insert(chart.name.to_owned(), serde_json::from_str(chart.spec).unwrap_or(Value::Null));
    figure([chart.name, chart.title, chart.caption], &drawing, 1, 2)
}

fn facts(advice: &Advice) -> Vec<String> {
    let traits = &advice.character;
    let mut facts = vec![
        format!("{} requests", text::count(traits.requests)),
        format!("{} keys", text::count(traits.keys.round() as u64)),
        human::bytes(traits.footprint_bytes),
    ];
    if !advice.basis.by_size {
        facts.push(format!("each object counted as {}", human::bytes(advice.basis.unit_bytes)));
    }
    facts
}

fn decision(advice: &Advice) -> String {
    let mut html = "<section><h2>What to do</h2>\n<ul class=\"findings\">\n".to_owned();
    let mut item = |class: &str, word: &str, text: &str| {
        _ = writeln!(
            html,
            "<li class=\"{class}\"><span class=\"severity\">{word}</span> {}</li>",
            escape(text).replace(" %", "\u{a0}%")
        );
    };
    let verdict = &advice.recommendation.verdict;
    item(
        "info",
        "Verdict",
        &format!("{}.", [&[verdict.grade.name().to_owned()], &verdict.reasons[..]].concat().join("; ")),
    );
    for sentence in &advice.recommendation.sentences {
        let word = match sentence.about {
            "memory" => "Memory",
            "policy" => "Policy",
            "ssd" => "SSD",
            "sensitivity" => "Sensitivity",
            _ => "Care",
        };
        let class = match sentence.grade {
            Some(Grade::Sound | Grade::Indicative) => "info",
            Some(Grade::Void) | None => "warning",
        };
        let grade = sentence.grade.map_or(String::new(), |grade| format!(", {}", grade.name()));
        item(class, &format!("{word}{grade}"), &sentence.text);
    }
    if let Some(goal) = &advice.goal {
        let goals = goal.goals.join(" and ");
        match goal.meeting.first() {
            Some((name, cost)) => {
                let cost = format!("{} {}", text::number(*cost), advice.prices.cost_unit());
                item("info", "Goal", &format!("The cheapest to reach {goals} is {name}, at {cost}."));
            }
            None => item("warning", "Goal", &format!("No arrangement reaches {goals}.")),
        }
    }
    html + "</ul></section>\n"
}

fn character(advice: &Advice) -> String {
    let traits = &advice.character;
    let or_gap = |value: Option<String>| value.unwrap_or_else(|| "not in the trace".to_owned());
    let zipf = match (traits.zipf_exponent, traits.zipf_error, traits.zipf_keys) {
        (Some(exponent), Some(error), Some(keys)) => format!(
            "Zipf's exponent {exponent:.2} ± {error:.2} of the head, the {} most requested keys",
            text::count(keys as u64)
        ),
        _ => format!("no Zipf fitted: {}", traits.zipf_reason.as_deref().unwrap_or("no keys")),
    };
    let rows = [
        ("Reads, writes, drops", {
            let shares = [traits.reads_share, traits.writes_share, traits.drops_share].map(percent);
            shares.join(", ")
        }),
        ("Popularity", zipf),
        ("Keys requested once", or_gap(traits.one_hit_keys_share.map(percent))),
        ("Requests that are the first for their key", percent(traits.first_uses_share)),
        ("Span", or_gap(traits.span_s.map(text::seconds))),
        ("Rate", or_gap(traits.requests_per_s.map(|rate| format!("{} requests/s", text::number(rate))))),
        ("Left out of caches: deletes, or without a size", text::count(advice.left_out)),
    ];
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    table("The trace", "", &["Property", "Value"], &rows)
}

/// A point of a curve.
#[derive(Serialize)]
struct CurveRow<'a> {
    policy: &'a str,
    mib: f64,
    share: f64,
    miss_ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    is_recommended: bool,
}

fn curves(advice: &Advice) -> ChartContent {
    let memory = &advice.memory;
    let row = |policy, point: &MissPoint| CurveRow {
        policy,
        mib: point.bytes.max(1) as f64 / MIB,
        share: point.share,
        miss_ratio: point.miss_ratio,
        low: point.error.map(|error| (point.miss_ratio - error).max(0.0)),
        high: point.error.map(|error| (point.miss_ratio + error).min(1.0)),
        is_recommended: policy == memory.policy && point.capacity == memory.recommended.capacity,
    };
    let mut rows = Vec::new();
    for PolicyCurve { policy, points } in &advice.curves {
        rows.extend(points.iter().map(|point| row(policy, point)));
    }
    let ends = advice.curves.iter().filter_map(|curve| {
        let (first, last) = (curve.points.first()?, curve.points.last()?);
        let [from, to] = [first, last].map(|point| percent(point.miss_ratio));
        Some(format!("{}: from {from} to {to}", curve.policy))
    });
    let alt_text = ends.collect::<Vec<_>>().join(". ");
    ChartContent { table: Table::of(&rows), alt_text, notes: Vec::new() }
}

/// A bar.
#[derive(Serialize)]
struct TierRow<'a> {
    strip: String,
    order: usize,
    arrangement: &'a str,
    tier: &'static str,
    value: f64,
}

fn tiers(advice: &Advice) -> ChartContent {
    let strips = ["throughput, MB/s".to_owned(), format!("cost per MB/s, {}{}", advice.prices.currency, by_gb(advice))];
    let mut rows = Vec::new();
    for (order, strip) in strips.into_iter().enumerate() {
        rows.extend(advice.tiers.iter().map(|tier| TierRow {
            strip: strip.clone(),
            order,
            arrangement: &tier.arrangement,
            tier: name(tier.tier),
            value: if order == 0 { tier.mb_per_s } else { tier.cost_per_mb_per_s },
        }));
    }
    let word = |row: &TierRow<'_>| format!("{}, {}: {}", row.arrangement, row.strip, text::number(row.value));
    let alt_text = rows.iter().map(word).collect::<Vec<_>>().join(". ");
    ChartContent { table: Table::of(&rows), alt_text, notes: vec![replayed(advice)] }
}

fn by_gb(advice: &Advice) -> &'static str {
    if advice.prices.is_per_gb { " by the GB" } else { "" }
}

fn name(tier: TierKind) -> &'static str {
    match tier {
        TierKind::Disks => "disks",
        TierKind::Ssds => "SSDs",
        TierKind::Cached => "SSDs before disks",
    }
}

fn replayed(advice: &Advice) -> String {
    let replay = &advice.replay;
    let cut = if replay.requests < advice.character.requests { "The first " } else { "" };
    let sizes = replay.sizes.map_or_else(
        || "Sizes are those of the arrangements.".to_owned(),
        |sizes| {
            let [origin, cache, ram] = [sizes.origin, sizes.cache, sizes.ram].map(human::bytes);
            format!(
                "The data are on {origin}, the cache has {cache}, memory {ram}. 1h is one disk, 4h0 four disks as RAID 0, \
                 1s one SSD; bcache and dmcache are caches on an SSD in front of the disks that their names end with."
            )
        },
    );
    format!(
        "{cut}{} requests were replayed, {} at a time, on cold caches. {sizes}",
        text::count(replay.requests),
        replay.threads
    )
}

fn policies(advice: &Advice) -> String {
    let ranking = &advice.ranking;
    let shown = ranking.shown(&advice.recommendation.policy.policy);
    let row = |ranked: &PolicyRank| {
        let error = ranked.error.map_or(String::new(), |error| format!(" ± {}", percent(error)));
        let mut row =
            vec![ranked.policy.clone(), format!("{}{error}", signed(ranked.relative)), text::count(ranked.misses)];
        row.extend(ranked.miss_ratios.iter().map(|ratio| percent(*ratio)));
        row
    };
    let rows: Vec<Vec<String>> = shown.map(row).collect();
    let basis = match ranking.rate < 1.0 {
        true => format!("in miniature with {} of the keys", percent(ranking.rate)),
        false => "exactly, with all keys".to_owned(),
    };
    let memory = if advice.memory.reason == MemoryReason::NoHits { "" } else { "the recommended memory, " };
    let caption = format!(
        "The best of {} policies with the recommended one, LRU, and OPT, the bound of those that admit every request, with \
         {memory}{}, simulated {basis}. After ± is half the 95 % interval for other such traffic, which holds for all policies at once; \
         there is none if the trace is too short.",
        ranking.policies.len(),
        human::bytes(advice.memory.recommended.bytes)
    );
    table("Policies against LRU", &caption, &["Policy", "Misses against LRU", "Misses", "Miss ratio"], &rows)
}

fn costs(advice: &Advice) -> String {
    let prices = &advice.prices;
    let old = if prices.is_old { " They are old." } else { "" };
    let caption = match prices.is_per_gb {
        true => format!(
            "Prices of {} in {} ({}). They are per GB: a cost covers each GB of the data, on all disks and on the \
             cache's share of SSDs; it is not the price of whole devices.{old}",
            prices.dates, prices.currency, prices.name
        ),
        false => {
            let PriceSummary { dates, currency, name, .. } = prices;
            format!("Prices of {dates} in {currency} ({name}): the price of whole devices.{old}")
        }
    };
    let columns =
        ["Arrangement", "Requests/s", "Mean", "In memory", "On SSD", "Cost", "Per MB/s", "Per 1,000 requests/s"];
    let columns: Vec<&str> = columns.into_iter().chain(["Break-even"]).collect();
    let rows: Vec<Vec<String>> = advice.tiers.iter().map(cost_row).collect();
    table("Cost", &caption, &columns, &rows)
}

fn cost_row(tier: &PricedTier) -> Vec<String> {
    let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), percent);
    let per_request = tier.cost_per_1000_requests_per_s;
    vec![
        tier.arrangement.clone(),
        text::number(tier.requests_per_s),
        text::latency(tier.latency_mean_us),
        share(tier.ram_hit_ratio),
        share(tier.cache_hit_ratio),
        text::number(tier.cost),
        text::number(tier.cost_per_mb_per_s),
        per_request.map_or_else(|| "–".to_owned(), text::number),
        break_even(tier.break_even_per_gb, tier.break_even_interval),
    ]
}

fn varied(advice: &Advice) -> String {
    let columns = ["With", "Disks only, MB/s", "With SSD, MB/s", "Break-even", "Pays"];
    let row = |varied: &SensitivityResult| {
        let change = match varied.change {
            SensitivityChange::Memory(times) => format!("Memory × {times}"),
            SensitivityChange::MemoryShare(share) => format!("Memory for {:.0} % of the data", 100.0 * share),
            SensitivityChange::Cache(times) => format!("Cache × {times}"),
        };
        vec![
            change,
            text::number(varied.alone_mb_per_s),
            text::number(varied.cached_mb_per_s),
            break_even(varied.break_even_per_gb, varied.break_even_interval),
            outcome(varied.verdict).to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = advice.varied.iter().map(row).collect();
    let caption =
        "The arrangement with an SSD that costs least per MB/s, and its disks without the SSD, with one thing changed.";
    table("Sensitivity of the answer", caption, &columns, &rows)
}

/// A break-even price with its ends.
fn break_even(price: Option<f64>, ends: Option<[f64; 2]>) -> String {
    let Some((price, ends)) = price.zip(ends) else { return "–".to_owned() };
    let [low, high] = ends.map(text::number);
    format!("{} ({low} to {high})", text::number(price))
}

fn outcome(outcome: TierOutcome) -> &'static str {
    match outcome {
        TierOutcome::Pays => "yes",
        TierOutcome::DoesNotPay => "no",
        TierOutcome::TooCloseToCall => "too close to call",
        TierOutcome::Unknown => "not known",
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", 100.0 * share)
}

fn signed(share: f64) -> String {
    format!("{:+.1}\u{a0}%", 100.0 * share).replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::{column_names, required_columns};
    use crate::example::advice;

    #[test]
    fn the_page_has_the_decision_and_is_self_contained() {
        let page = cache_advice(&advice("a <b>trace</b>"));
        for expected in
            ["Caches for a &lt;b&gt;trace&lt;/b&gt;", "No SSD tier", "Use ", "prices-2026.toml", "4 at a time"]
        {
            assert!(page.contains(expected), "{expected}");
        }
        let body = page.split_once("<main>").unwrap().1.split_once("</footer>").unwrap().0;
        assert!(!body.contains("{{") && !body.contains(" src="), "{body}");
    }

    #[test]
    fn the_rows_have_the_required_columns() {
        let advice = advice("a trace");
        assert_eq!(column_names(&curves(&advice)), required_columns(&policy_curves::CHART));
        assert_eq!(column_names(&tiers(&advice)), required_columns(&advised_tiers::CHART));
    }
}
