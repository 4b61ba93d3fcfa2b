//! The recommendation as text.

use manometer_cache::advise::{
    Advice, MemoryReason, MissPoint, PolicyCurve, PolicyRank, PricedTier, SensitivityChange, SensitivityResult,
    TierKind, TierOutcome, TraceTraits,
};
use manometer_measure::human::{bytes, percent};

use crate::number::{count, gap, latency, number, significant};
use crate::table::table;

/// One page.
pub(super) fn text(advice: &Advice) -> String {
    [recommendation(advice), character(advice), policies(advice), memory(advice), tiers(advice), varied(advice)]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn recommendation(advice: &Advice) -> String {
    let verdict = &advice.recommendation.verdict;
    let because = match verdict.reasons.is_empty() {
        true => String::new(),
        false => format!(": {}", verdict.reasons.join("; ")),
    };
    let mut lines = vec![format!("{}: recommendation, {}{because}", advice.trace, verdict.grade.name())];
    lines.extend(advice.recommendation.sentences.iter().map(|sentence| {
        let grade = sentence.grade.map_or(String::new(), |grade| format!(" ({})", grade.name()));
        format!("  {}{grade}: {}", sentence.about, sentence.text)
    }));
    if let Some(goal) = &advice.goal {
        let goals = goal.goals.join(" and ");
        lines.push(match goal.meeting.first() {
            Some((name, cost)) => {
                let unit = advice.prices.cost_unit();
                format!("  The cheapest arrangement for {goals}: {name} ({} {unit}).", significant(*cost))
            }
            None => format!("  No arrangement reaches {goals}."),
        });
    }
    lines.join("\n")
}

fn character(advice: &Advice) -> String {
    let TraceTraits { requests, keys, footprint_bytes, reads_share, writes_share, drops_share, .. } = &advice.character;
    let traits = &advice.character;
    let mut lines = vec!["The trace".to_owned()];
    let size = if advice.basis.by_size {
        String::new()
    } else {
        format!(" (each object taken as {})", bytes(advice.basis.unit_bytes))
    };
    lines.push(format!(
        "  {} requests for {} keys of {}{size}: {} read, {} write, {} drop",
        count(*requests as f64),
        count(*keys),
        bytes(*footprint_bytes),
        percent(*reads_share),
        percent(*writes_share),
        percent(*drops_share)
    ));
    lines.push(match (traits.zipf_exponent, traits.zipf_error, traits.zipf_keys) {
        (Some(exponent), Some(error), Some(keys)) => format!(
            "  popularity: Zipf's exponent {exponent:.2} ± {error:.2} of the head, the {} most requested keys",
            count(keys as f64)
        ),
        _ => {
            format!("  popularity: no Zipf distribution fitted: {}", traits.zipf_reason.as_deref().unwrap_or("no keys"))
        }
    });
    if let (Some(keys), Some(requests)) = (traits.one_hit_keys_share, traits.one_hit_requests_share) {
        lines.push(format!(
            "  requested once: {} of the keys, {} of the requests; first for their key: {} of the requests",
            percent(keys),
            percent(requests),
            percent(traits.first_uses_share)
        ));
    }
    lines.push(match (traits.span_s, traits.requests_per_s) {
        (Some(span), Some(rate)) => format!("  span: {} s, {} requests/s", number(span), number(rate)),
        (Some(_), None) => "  span: all at one time".to_owned(),
        (None, _) => "  span: unknown, the trace has no times".to_owned(),
    });
    if advice.left_out > 0 {
        lines.push(format!("  not simulated: {} requests, deletes or without a size", advice.left_out));
    }
    lines.join("\n")
}

fn policies(advice: &Advice) -> String {
    let ranking = &advice.ranking;
    let mut shown = table(&["policy", "misses vs LRU", "±", "misses", "miss ratio"], 1);
    for ranked in ranking.shown(&advice.recommendation.policy.policy) {
        shown.add_row(row(ranked));
    }
    let basis = match ranking.rate < 1.0 {
        true => format!(
            "simulated in miniature on {} of the keys ({} requests)",
            percent(ranking.rate),
            number(ranking.requests as f64)
        ),
        false => "simulated exactly on all keys".to_owned(),
    };
    let size = bytes(advice.memory.recommended.bytes);
    let memory = match advice.memory.reason {
        MemoryReason::NoHits => size,
        _ => format!("the recommended memory, {size}"),
    };
    format!(
        "Policies with {memory}: the best of {} with the recommended one, and LRU, {basis}; ± is half \
         the 95 % interval for other such traffic, for all policies at once, – where the trace is too short for one; OPT is \
         the bound of policies that admit every request\n{shown}",
        ranking.policies.len()
    )
}

fn row(ranked: &PolicyRank) -> Vec<String> {
    let mut row = vec![
        ranked.policy.clone(),
        signed(ranked.relative),
        ranked.error.map_or_else(gap, percent),
        count(ranked.misses as f64),
    ];
    row.extend(ranked.miss_ratios.iter().map(|ratio| percent(*ratio)));
    row
}

fn memory(advice: &Advice) -> String {
    let curves: Vec<&PolicyCurve> = advice.curves.iter().collect();
    let mut head = vec!["memory", "share"];
    head.extend(curves.iter().map(|curve| curve.policy.as_str()));
    let mut shown = table(&head, 0);
    let Some(lru) = curves.iter().find(|curve| curve.policy == "lru") else { return String::new() };
    let named = [advice.memory.half, Some(advice.memory.recommended), advice.memory.twice].into_iter().flatten();
    let named: Vec<u64> = named.map(|point| point.capacity).collect();
    let is_shown = |(back, point): &(usize, &MissPoint)| back.is_multiple_of(2) || named.contains(&point.capacity);
    let shown_points: Vec<&MissPoint> =
        lru.points.iter().rev().enumerate().filter(is_shown).map(|(_, point)| point).collect();
    for point in shown_points.into_iter().rev() {
        let mut row = vec![bytes(point.bytes), percent(point.share)];
        let at = |curve: &&PolicyCurve| curve.points.iter().find(|other| other.capacity == point.capacity).copied();
        row.extend(curves.iter().map(|curve| at(curve).map_or_else(gap, ratio)));
        shown.add_row(row);
    }
    let knees: Vec<String> = advice.memory.knees.iter().map(|knee| bytes(knee.bytes)).collect();
    let knees = if knees.is_empty() { "none".to_owned() } else { knees.join(", ") };
    format!("Miss ratios by memory; knees of LRU: {knees}\n{shown}")
}

fn ratio(point: MissPoint) -> String {
    percent(point.miss_ratio)
}

fn tiers(advice: &Advice) -> String {
    let replay = &advice.replay;
    let mut head = vec!["arrangement", "", "MB/s", "requests/s", "mean", "in RAM", "on SSD"];
    head.extend(if advice.prices.is_per_gb { ["c_a", "c_d × 1 000"] } else { ["cost", "per MB/s"] });
    head.extend(["per 1 000 requests/s", "break-even"]);
    let mut shown = table(&head, 2);
    for tier in &advice.tiers {
        shown.add_row(tier_row(tier, advice.prices.is_per_gb));
    }
    let cut = if replay.requests < advice.character.requests { "the first " } else { "" };
    let sizes = replay.sizes.map_or_else(String::new, |sizes| {
        let [origin, cache, ram] = [sizes.origin, sizes.cache, sizes.ram].map(bytes);
        format!("; data on {origin}, a cache of {cache}, memory of {ram}")
    });
    let rule = match advice.prices.is_per_gb {
        true => "per GB: c_a is the price of a GB of data, of the disks and of its share of the cache",
        false => "whole devices",
    };
    format!(
        "Tiers: {cut}{} requests, {} at a time, caches cold at first{sizes}\nprices of {}{} in {} ({}), {rule}\n{shown}",
        number(replay.requests as f64),
        replay.threads,
        advice.prices.dates,
        if advice.prices.is_old { ", which are old," } else { "" },
        advice.prices.currency,
        advice.prices.name
    )
}

fn tier_row(tier: &PricedTier, is_per_gb: bool) -> Vec<String> {
    let what = match tier.tier {
        TierKind::Disks => "disks",
        TierKind::Ssds => "SSDs",
        TierKind::Cached => "SSDs before disks",
    };
    let per_mb = tier.cost_per_mb_per_s * if is_per_gb { 1000.0 } else { 1.0 };
    vec![
        tier.arrangement.clone(),
        what.to_owned(),
        significant(tier.mb_per_s),
        number(tier.requests_per_s),
        latency(tier.latency_mean_us),
        tier.ram_hit_ratio.map_or_else(gap, percent),
        tier.cache_hit_ratio.map_or_else(gap, percent),
        significant(tier.cost),
        significant(per_mb),
        tier.cost_per_1000_requests_per_s.map_or_else(gap, significant),
        break_even(tier.break_even_per_gb, tier.break_even_interval),
    ]
}

fn varied(advice: &Advice) -> String {
    if advice.varied.is_empty() {
        return String::new();
    }
    let mut shown = table(&["with", "disks only, MB/s", "with SSD, MB/s", "break-even", "pays"], 1);
    for varied in &advice.varied {
        let SensitivityResult { change, alone_mb_per_s, cached_mb_per_s, .. } = varied;
        shown.add_row([
            change_name(*change),
            significant(*alone_mb_per_s),
            significant(*cached_mb_per_s),
            break_even(varied.break_even_per_gb, varied.break_even_interval),
            outcome(varied.verdict).to_owned(),
        ]);
    }
    format!("Sensitivity of the arrangement with an SSD and the lowest cost per MB/s\n{shown}")
}

/// A break-even price with its ends.
fn break_even(price: Option<f64>, ends: Option<[f64; 2]>) -> String {
    let Some((price, [low, high])) = price.zip(ends) else { return gap() };
    format!("{} ({} to {})", significant(price), significant(low), significant(high))
}

fn outcome(outcome: TierOutcome) -> &'static str {
    match outcome {
        TierOutcome::Pays => "yes",
        TierOutcome::DoesNotPay => "no",
        TierOutcome::TooCloseToCall => "too close to call",
        TierOutcome::Unknown => "unknown",
    }
}

fn change_name(change: SensitivityChange) -> String {
    match change {
        SensitivityChange::Memory(times) => format!("memory × {times}"),
        SensitivityChange::MemoryShare(share) => format!("memory for {:.0} % of the data", 100.0 * share),
        SensitivityChange::Cache(times) => format!("cache × {times}"),
    }
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share).replace('-', "−")
}
