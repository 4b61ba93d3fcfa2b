//! The costs as text.

use manometer_cache::cost::{
    ArrangementCost, ArrangementResult, BreakEven, CostReport, Electricity, GoalVerdict, Price, Prices, SsdLife,
    is_price_old,
};

use super::args::Args;
use super::results::CostResults;
use crate::number::{gap, significant};
use crate::table::table;

pub(super) fn text(args: &Args, results: &CostResults) -> String {
    let mut lines = vec![rule_text(args, results)];
    for workload in workloads(&results.outcomes) {
        lines.push(format!("\n{workload}"));
        lines.push(costs(args, results, workload));
    }
    lines.push(String::new());
    lines.extend(notes(&results.bill));
    if !results.break_even.is_empty() {
        lines.push(format!(
            "\nBreak-even: the price per GB in {} at which a cache costs as much per MB/s as its origin without the \
             cache",
            results.prices.currency
        ));
        lines.push(break_even(results));
    }
    if let Some(verdict) = &results.verdict {
        lines.push(String::new());
        lines.extend(goal(args, results, verdict));
    }
    lines.push("\nPrices".to_owned());
    let Prices { currency, electricity: energy, .. } = &results.prices;
    lines.extend(results.used_prices().map(|one| price(currency, one)));
    let energy = energy.as_ref().filter(|_| args.years.is_some());
    lines.extend(energy.map(|one| electricity(currency, one)));
    lines.extend(old_prices(results, energy));
    lines.join("\n")
}

fn rule_text(args: &Args, results: &CostResults) -> String {
    let currency = &results.prices.currency;
    match args.years {
        _ if args.per_gb => format!("Price per GB in {currency} (c_a), and per MB/s times 1,000 (c_d)"),
        None => format!("Cost in {currency} of the devices; --years adds energy and worn SSDs"),
        Some(years) => {
            let counted =
                [("energy", &results.bill.energy_left_out), ("worn SSDs", &results.bill.replacement_left_out)];
            let counted = counted.into_iter().filter(|(_, left_out)| left_out.is_none()).map(|(what, _)| what);
            let counted: Vec<&str> = std::iter::once("devices").chain(counted).collect();
            format!("Cost in {currency} over {years} years: {}", counted.join(", "))
        }
    }
}

/// The workloads in the order of their first result.
fn workloads(outcomes: &[ArrangementResult]) -> Vec<&str> {
    let mut workloads: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !workloads.contains(&outcome.workload.as_str()) {
            workloads.push(&outcome.workload);
        }
    }
    workloads
}

/// The arrangements under a workload, the lowest cost per MB/s first.
fn costs(args: &Args, results: &CostResults, workload: &str) -> String {
    let mut rows: Vec<(&ArrangementResult, &ArrangementCost)> =
        results.outcomes.iter().zip(&results.bill.costs).filter(|(outcome, _)| outcome.workload == workload).collect();
    rows.sort_by(|(_, a), (_, b)| a.per_mb_per_s.total_cmp(&b.per_mb_per_s));
    let by_requests = rows.iter().any(|(_, cost)| cost.per_1000_requests_per_s.is_some());
    let mut head = vec!["arrangement", "MB/s"];
    head.extend(if args.per_gb { ["c_a", "c_d × 1 000"] } else { ["cost", "per MB/s"] });
    head.extend(by_requests.then_some("per 1 000 requests/s"));
    head.push("SSD life");
    let mut table = table(&head, 1);
    for (outcome, cost) in rows {
        let costs = match args.per_gb {
            true => [format!("{:.4}", cost.total), format!("{:.2}", 1000.0 * cost.per_mb_per_s)],
            false => [cost.total, cost.per_mb_per_s].map(significant),
        };
        let mut row = vec![outcome.arrangement.clone(), significant(outcome.mb_per_s)];
        row.extend(costs);
        row.extend(by_requests.then(|| cost.per_1000_requests_per_s.map_or_else(gap, significant)));
        row.push(life(&cost.life));
        table.add_row(row);
    }
    table.to_string()
}

fn life(life: &SsdLife) -> String {
    match life {
        SsdLife::NoSsd => gap(),
        SsdLife::NoWear => "no wear".to_owned(),
        SsdLife::Years(years) => format!("{} years", significant(*years)),
        SsdLife::Unknown(_) => "not known".to_owned(),
    }
}

fn notes(bill: &CostReport) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let left_out = [("energy", &bill.energy_left_out), ("worn SSDs", &bill.replacement_left_out)];
    for (what, reason) in left_out {
        notes.extend(reason.as_ref().map(|reason| format!("{what}: not counted, because not known for all: {reason}")));
    }
    if !bill.raid_unknown.is_empty() {
        let names = bill.raid_unknown.join(", ");
        notes.push(format!("counted without redundancy, because their `raid` is not given: {names}"));
    }
    for cost in &bill.costs {
        if let SsdLife::Unknown(reason) = &cost.life {
            let note = format!("SSD life not known: {reason}");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

fn break_even(results: &CostResults) -> String {
    let mut table = table(&["workload", "arrangement", "origin", "", "break-even", "now"], 4);
    let of_workload = |workload| {
        let own = results.break_even.iter().filter(move |(index, _)| results.outcomes[*index].workload == workload);
        own.collect::<Vec<_>>()
    };
    for (index, one) in workloads(&results.outcomes).into_iter().flat_map(of_workload) {
        let ArrangementResult { workload, arrangement, .. } = &results.outcomes[*index];
        let (alone, words, at, now) = match one {
            BreakEven::At { alone, per_gb, per_gb_now } => {
                let words = match one.pays() {
                    Some(true) => "pays up to",
                    _ if *per_gb > 0.0 => "would pay below",
                    _ => "never pays, even at no cost:",
                };
                let alone = results.outcomes[*alone].arrangement.clone();
                (alone, words.to_owned(), significant(*per_gb), significant(*per_gb_now))
            }
            BreakEven::Unknown(reason) => (gap(), format!("not known: {reason}"), gap(), gap()),
        };
        table.add_row([workload.clone(), arrangement.clone(), alone, words, at, now]);
    }
    table.to_string()
}

fn goal(args: &Args, results: &CostResults, verdict: &GoalVerdict) -> Vec<String> {
    let goals: Vec<String> = args.goals.iter().map(ToString::to_string).collect();
    let goals = goals.join(" and ");
    let with_cost = |(name, cost): &(String, f64)| format!("{name} ({})", significant(*cost));
    let mut lines = Vec::new();
    match verdict.meeting.as_slice() {
        [] => lines.push(format!("No arrangement is known to reach {goals}")),
        [cheapest, others @ ..] => {
            let unit = if args.per_gb { " per GB of data" } else { "" };
            let unit = format!("{}{unit}", results.prices.currency);
            lines.push(format!("The cheapest arrangement for {goals}: {} {unit}", with_cost(cheapest)));
            if !others.is_empty() {
                lines.push(format!("also: {}", others.iter().map(with_cost).collect::<Vec<_>>().join(", ")));
            }
        }
    }
    lines.extend(verdict.unknown.iter().map(|(name, reason)| format!("unknown for {name}: {reason}")));
    lines
}

fn price(currency: &str, price: &Price) -> String {
    let Price { device, product, date, source, .. } = price;
    let size = price.size_gb.map(|gb| format!(", {gb} GB each")).unwrap_or_default();
    let per_gb = significant(price.per_gb);
    let mut line = format!("{device}: {per_gb} {currency} per GB{size}; {product}, {date} ({source})");
    let ratings = [(price.watts, "W"), (price.endurance_tb, "TB written")];
    let ratings = ratings.into_iter().filter_map(|(rating, unit)| Some(format!("{} {unit}", rating?)));
    let ratings = ratings.collect::<Vec<_>>().join(", ");
    if !ratings.is_empty() {
        line += &format!("; {ratings} ({})", price.data_sheet.as_deref().unwrap_or_default());
    }
    line
}

/// Says that prices are old, if one is.
fn old_prices(results: &CostResults, electricity: Option<&Electricity>) -> Option<String> {
    let dates = results.used_prices().map(|price| &price.date).chain(electricity.map(|electricity| &electricity.date));
    let age_years = dates.map(|date| results.age_years(date)).fold(0.0, f64::max);
    let text = || format!("These prices are up to {age_years:.0} years old: the costs are not today's");
    is_price_old(age_years).then(text)
}

fn electricity(currency: &str, electricity: &Electricity) -> String {
    let Electricity { per_kwh, date, source } = electricity;
    format!("electricity: {per_kwh} {currency} per kWh, {date} ({source})")
}
