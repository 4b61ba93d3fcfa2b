//! The costs as JSON.

use manometer_cache::cost::{ArrangementCost, ArrangementResult, BreakEven, GoalVerdict, Price, SsdLife, is_price_old};
use serde_json::{Value, json};

use super::args::Args;
use super::results::CostResults;

pub(super) fn document(args: &Args, results: &CostResults) -> Value {
    let CostResults { outcomes, prices, bill, break_even, verdict, .. } = results;
    let used = results.used_prices().map(|one| price(one, results.age_years(&one.date)));
    let costs = outcomes.iter().zip(&bill.costs).map(|(outcome, cost)| result(outcome, cost));
    let electricity = prices.electricity.as_ref().map(|electricity| {
        let (date, source) = (&electricity.date, &electricity.source);
        let age_years = results.age_years(date);
        json!({
            "price_per_kwh": electricity.per_kwh,
            "date": date,
            "age_years": age_years,
            "is_old": is_price_old(age_years),
            "source": source,
        })
    });
    json!({
        "rule": if args.per_gb { "per_gb" } else { "money" },
        "currency": prices.currency,
        "years": args.years,
        "results": costs.collect::<Vec<Value>>(),
        "break_even": break_even.iter().map(|one| price_of_break_even(outcomes, one)).collect::<Vec<Value>>(),
        "goal": verdict.as_ref().map(|verdict| goal(args, verdict)),
        "left_out": { "energy": bill.energy_left_out, "replacement": bill.replacement_left_out },
        "raid_unknown": bill.raid_unknown,
        "prices": used.collect::<Vec<Value>>(),
        "electricity": electricity,
    })
}

fn result(outcome: &ArrangementResult, cost: &ArrangementCost) -> Value {
    let (life, reason) = match &cost.life {
        SsdLife::Years(years) => (Some(*years), None),
        SsdLife::NoSsd => (None, Some("there is no SSD")),
        SsdLife::NoWear => (None, Some("nothing was written to SSDs")),
        SsdLife::Unknown(reason) => (None, Some(reason.as_str())),
    };
    json!({
        "arrangement": outcome.arrangement,
        "workload": outcome.workload,
        "mb_per_s": outcome.mb_per_s,
        "requests_per_s": outcome.requests_per_s,
        "cost": cost.total,
        "parts": { "devices": cost.devices, "energy": cost.energy, "replacement": cost.replacement },
        "cost_per_mb_per_s": cost.per_mb_per_s,
        "cost_per_1000_requests_per_s": cost.per_1000_requests_per_s,
        "ssd_life_years": life,
        "ssd_life_reason": reason,
    })
}

fn price_of_break_even(outcomes: &[ArrangementResult], (index, break_even): &(usize, BreakEven)) -> Value {
    let ArrangementResult { arrangement, workload, .. } = &outcomes[*index];
    let (alone, per_gb, now, reason) = match break_even {
        BreakEven::At { alone, per_gb, per_gb_now } => {
            (Some(&outcomes[*alone].arrangement), Some(*per_gb), Some(*per_gb_now), None)
        }
        BreakEven::Unknown(reason) => (None, None, None, Some(reason)),
    };
    json!({
        "arrangement": arrangement,
        "workload": workload,
        "alone": alone,
        "price_per_gb": per_gb,
        "price_per_gb_now": now,
        "pays": break_even.pays(),
        "reason": reason,
    })
}

fn goal(args: &Args, verdict: &GoalVerdict) -> Value {
    let meeting = |(name, cost): &(String, f64)| json!({ "arrangement": name, "cost": cost });
    let unknown = |(name, reason): &(String, String)| json!({ "arrangement": name, "reason": reason });
    json!({
        "goals": args.goals.iter().map(ToString::to_string).collect::<Vec<String>>(),
        "cheapest": verdict.meeting.first().map(|(name, _)| name),
        "meeting": verdict.meeting.iter().map(meeting).collect::<Vec<Value>>(),
        "unknown": verdict.unknown.iter().map(unknown).collect::<Vec<Value>>(),
    })
}

fn price(price: &Price, age_years: f64) -> Value {
    json!({
        "device": price.device,
        "product": price.product,
        "price_per_gb": price.per_gb,
        "price_per_gb_interval": price.per_gb_interval,
        "size_gb": price.size_gb,
        "date": price.date,
        "age_years": age_years,
        "is_old": is_price_old(age_years),
        "source": price.source,
        "watts": price.watts,
        "endurance_tb": price.endurance_tb,
        "data_sheet": price.data_sheet,
    })
}
