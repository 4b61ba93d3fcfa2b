//! Fairness: how evenly a phase slows down the workloads that share the device.
//!
//! The proportional slowdown of a tenant is its performance alone divided by its performance in the phase (inverted for
//! a latency): 1 means no slowdown, 2 half the speed. Jain's index (Jain, Chiu & Hawe 1984) of the slowdowns is 1 where
//! all are equal and tends to 1 / n where one of n is slowed down far more than the others.

use std::collections::BTreeMap;

use manometer_measure::plan::BetterDirection;

use crate::summary::Fairness;

/// A workload's performance alone and in the phase.
pub(crate) struct Tenant {
    pub(crate) name: String,
    pub(crate) alone: Option<f64>,
    pub(crate) shared: Option<f64>,
    pub(crate) better: BetterDirection,
}

impl Tenant {
    fn slowdown(&self) -> Option<f64> {
        let (alone, shared) = (self.alone?, self.shared?);
        let slowdown = match self.better {
            BetterDirection::Higher => alone / shared,
            BetterDirection::Lower => shared / alone,
        };
        (slowdown.is_finite() && slowdown > 0.0).then_some(slowdown)
    }
}

/// The fairness among `tenants`; `None` for fewer than two tenants, or where fewer than two were measured alone.
pub(crate) fn fairness(tenants: &[Tenant]) -> Option<Fairness> {
    if tenants.iter().filter(|tenant| tenant.alone.is_some()).count() < 2 {
        return None;
    }
    let slowdown: BTreeMap<String, Option<f64>> =
        tenants.iter().map(|tenant| (tenant.name.clone(), tenant.slowdown())).collect();
    let all: Option<Vec<f64>> = slowdown.values().copied().collect();
    let unknown: Vec<&str> =
        slowdown.iter().filter(|(_, slowdown)| slowdown.is_none()).map(|(name, _)| name.as_str()).collect();
    let reason = format!(
        "the slowdown of {} is unknown: it was not measured alone or here, or its performance is 0",
        unknown.join(", ")
    );
    let jain_index = all.map(|all| jain(&all));
    Some(Fairness { slowdown, jain_index, reason: jain_index.is_none().then_some(reason) })
}

/// (Σ x)² / (n Σ x²).
fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    sum * sum / (values.len() as f64 * values.iter().map(|value| value * value).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str, alone: f64, shared: f64) -> Tenant {
        Tenant { name: name.to_owned(), alone: Some(alone), shared: Some(shared), better: BetterDirection::Higher }
    }

    #[test]
    fn equal_slowdowns_are_fair_and_unequal_ones_are_not() {
        let even = fairness(&[tenant("a", 100.0, 50.0), tenant("b", 8.0, 4.0)]).unwrap();
        assert_eq!((even.jain_index, even.slowdown["a"]), (Some(1.0), Some(2.0)));
        let uneven = fairness(&[tenant("a", 100.0, 100.0), tenant("b", 100.0, 25.0)]).unwrap();
        assert!((uneven.jain_index.unwrap() - 25.0 / 34.0).abs() < 1e-12);
    }

    #[test]
    fn a_longer_latency_is_a_slowdown() {
        let latency = Tenant { better: BetterDirection::Lower, ..tenant("a", 100.0, 300.0) };
        assert_eq!(fairness(&[latency, tenant("b", 3.0, 1.0)]).unwrap().jain_index, Some(1.0));
    }

    #[test]
    fn an_unknown_slowdown_has_no_index_and_a_reason() {
        let starved = fairness(&[tenant("a", 100.0, 50.0), tenant("b", 100.0, 0.0)]).unwrap();
        assert!(starved.jain_index.is_none() && starved.reason.unwrap().contains('b'));
        let never_alone = Tenant { alone: None, ..tenant("b", 0.0, 1.0) };
        assert_eq!(fairness(&[tenant("a", 100.0, 50.0), never_alone]), None);
        assert_eq!(fairness(&[tenant("a", 100.0, 50.0)]), None);
    }
}
