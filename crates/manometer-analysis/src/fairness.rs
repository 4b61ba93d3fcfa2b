//! How evenly the harm of a phase falls on those who share the device.
//!
//! Proportional slowdown is what a tenant reaches alone by what it reaches in the phase (for a latency the other way
//! round): 1 is no harm, 2 half the speed. Jain's index (Jain, Chiu & Hawe 1984) on the slowdowns is 1 where all suffer
//! alike, and 1 / n where one of n suffers infinitely more.

use std::collections::BTreeMap;

use crate::summary::Fairness;

/// What a tenant reached alone and in the phase, and whether less is better.
pub(crate) struct Tenant {
    pub(crate) name: String,
    pub(crate) alone: Option<f64>,
    pub(crate) beside: Option<f64>,
    pub(crate) less_is_better: bool,
}

impl Tenant {
    fn slowdown(&self) -> Option<f64> {
        let (alone, beside) = (self.alone?, self.beside?);
        let slowdown = if self.less_is_better { beside / alone } else { alone / beside };
        (slowdown.is_finite() && slowdown > 0.0).then_some(slowdown)
    }
}

/// The fairness among `tenants`; nothing where none but one runs, or nobody but the primary was measured alone.
pub(crate) fn fairness(tenants: &[Tenant]) -> Option<Fairness> {
    let known = tenants.iter().filter(|tenant| tenant.alone.is_some()).count();
    if tenants.len() < 2 || known < 2 {
        return None;
    }
    let slowdown: BTreeMap<String, Option<f64>> =
        tenants.iter().map(|tenant| (tenant.name.clone(), tenant.slowdown())).collect();
    let all: Option<Vec<f64>> = slowdown.values().copied().collect();
    let unknown: Vec<&str> =
        slowdown.iter().filter(|(_, slowdown)| slowdown.is_none()).map(|(name, _)| name.as_str()).collect();
    let reason = format!(
        "no slowdown is known of {}: it was not measured, alone or here, or reached nothing",
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

    fn tenant(name: &str, alone: f64, beside: f64) -> Tenant {
        Tenant { name: name.to_owned(), alone: Some(alone), beside: Some(beside), less_is_better: false }
    }

    #[test]
    fn like_harm_is_fair_and_unlike_harm_is_not() {
        let even = fairness(&[tenant("a", 100.0, 50.0), tenant("b", 8.0, 4.0)]).unwrap();
        assert_eq!((even.jain_index, even.slowdown["a"]), (Some(1.0), Some(2.0)));
        let uneven = fairness(&[tenant("a", 100.0, 100.0), tenant("b", 100.0, 25.0)]).unwrap();
        assert!((uneven.jain_index.unwrap() - 25.0 / 34.0).abs() < 1e-12);
    }

    #[test]
    fn a_longer_latency_is_a_slowdown() {
        let latency = Tenant { less_is_better: true, ..tenant("a", 100.0, 300.0) };
        assert_eq!(fairness(&[latency, tenant("b", 3.0, 1.0)]).unwrap().jain_index, Some(1.0));
    }

    #[test]
    fn what_is_not_known_is_null_with_a_reason() {
        let starved = fairness(&[tenant("a", 100.0, 50.0), tenant("b", 100.0, 0.0)]).unwrap();
        assert!(starved.jain_index.is_none() && starved.reason.unwrap().contains('b'));
        let never_alone = Tenant { alone: None, ..tenant("b", 0.0, 1.0) };
        assert_eq!(fairness(&[tenant("a", 100.0, 50.0), never_alone]), None);
        assert_eq!(fairness(&[tenant("a", 100.0, 50.0)]), None);
    }
}
