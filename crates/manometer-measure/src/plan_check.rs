//! Whether `plan.json` describes a run that is possible: what it says about time and rounds is used unchecked from here on.

use std::collections::BTreeSet;

use crate::plan::{InterleavedRounds, Plan};

/// Checks `plan`.
///
/// # Errors
/// What is impossible.
pub(crate) fn check(plan: &Plan) -> Result<(), String> {
    if !is_length(plan.interval_s) {
        return Err(format!("`interval_s` is {}", plan.interval_s));
    }
    let mut ids = BTreeSet::new();
    for phase in &plan.phases {
        if !ids.insert(phase.id.as_str()) {
            return Err(format!("two phases have the id `{}`", phase.id));
        }
        if !is_length(phase.duration_s) || !is_length(phase.settle_s) {
            let (duration_s, settle_s) = (phase.duration_s, phase.settle_s);
            return Err(format!(
                "phase `{}` has a `duration_s` of {duration_s} and a `settle_s` of {settle_s}",
                phase.id
            ));
        }
    }
    plan.interleaved.as_ref().map_or(Ok(()), |rounds| check_rounds(rounds, &ids))
}

fn check_rounds(rounds: &InterleavedRounds, ids: &BTreeSet<&str>) -> Result<(), String> {
    let (count, orders) = (rounds.rounds, rounds.orders.len());
    if count as usize > orders {
        return Err(format!("`rounds` is {count}, and `orders` has {orders}"));
    }
    if !is_length(rounds.washout_s) || !is_length(rounds.measured_s()) {
        return Err(format!("a block of {} s has a washout of {} s", rounds.block_s, rounds.washout_s));
    }
    let first: BTreeSet<&str> = rounds.orders.iter().take(1).flatten().map(String::as_str).collect();
    for (index, order) in rounds.orders.iter().enumerate() {
        let phases: BTreeSet<&str> = order.iter().map(String::as_str).collect();
        if phases != first || phases.len() != order.len() || !phases.is_subset(ids) {
            return Err(format!("round {} of `orders` does not have each phase once: {}", index + 1, order.join(", ")));
        }
    }
    Ok(())
}

fn is_length(seconds: f64) -> bool {
    seconds.is_finite() && seconds >= 0.0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn plan() -> Value {
        let phase = |id: &str, kind: &str| json!({ "id": id, "label": id, "kind": kind, "duration_s": 2.0, "settle_s": 0.8, "running": [], "settings": {} });
        json!({
            "experiment": "a test", "interval_s": 0.2, "seed": 1, "workloads": [],
            "criterion": { "metric": "throughput", "unit": "ops/s", "better": "higher" },
            "interleaved": { "rounds": 2, "block_s": 1.4, "washout_s": 0.4, "orders": [["w0", "w1"], ["w1", "w0"]] },
            "phases": [phase("w0", "baseline"), phase("w1", "pressure")],
        })
    }

    fn refused(pointer: &str, value: Value) -> String {
        let mut plan = plan();
        *plan.pointer_mut(pointer).unwrap() = value;
        check(&serde_json::from_value(plan).unwrap()).unwrap_err()
    }

    #[test]
    fn an_impossible_plan_is_refused_with_what_is_wrong() {
        assert_eq!(check(&serde_json::from_value(plan()).unwrap()), Ok(()));
        assert!(refused("/phases/1/duration_s", json!(-1.0)).contains("`w1` has a `duration_s` of -1"));
        assert!(refused("/phases/1/settle_s", json!(-1.0)).contains("`settle_s` of -1"));
        assert_eq!(refused("/phases/1/id", json!("w0")), "two phases have the id `w0`");
        assert_eq!(refused("/interval_s", json!(-0.2)), "`interval_s` is -0.2");
        assert_eq!(
            refused("/interleaved/rounds", json!(4_294_967_295_u32)),
            "`rounds` is 4294967295, and `orders` has 2"
        );
        assert!(refused("/interleaved/washout_s", json!(2.0)).contains("washout of 2 s"));
        for order in [json!(["w0"]), json!(["w0", "w0"]), json!(["w0", "w9"])] {
            assert!(refused("/interleaved/orders/1", order).contains("round 2 of `orders`"));
        }
    }
}
