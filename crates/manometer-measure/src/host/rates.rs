//! Counters as rates per second.

/// A number as the kernel shows it; `None` where it is not shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RawValue {
    /// A total that only grows: recorded as its growth per second.
    Counter(Option<f64>),
    /// A current value: recorded as it is.
    Gauge(Option<f64>),
}

/// Turns counters into rates per second.
#[derive(Debug, Default)]
pub(super) struct RateCalculator {
    last: Option<(u64, Vec<RawValue>)>,
}

impl RateCalculator {
    /// The values to record. A rate is missing in the first sample, for a missing counter, and for a counter that fell
    /// because it was reset.
    pub(super) fn rates(&mut self, t_ns: u64, values: Vec<RawValue>) -> Vec<Option<f64>> {
        let rates = match &self.last {
            Some((last_ns, last)) if t_ns > *last_ns => {
                let seconds = (t_ns - last_ns) as f64 / 1e9;
                values.iter().zip(last).map(|(now, before)| value(*now, Some(*before), seconds)).collect()
            }
            _ => values.iter().map(|now| value(*now, None, 1.0)).collect(),
        };
        self.last = Some((t_ns, values));
        rates
    }
}

fn value(now: RawValue, before: Option<RawValue>, seconds: f64) -> Option<f64> {
    match (now, before) {
        (RawValue::Gauge(now), _) => now,
        (RawValue::Counter(Some(now)), Some(RawValue::Counter(Some(before)))) => {
            (now >= before).then(|| (now - before) / seconds)
        }
        (RawValue::Counter(_), _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(values: [Option<f64>; 3]) -> Vec<RawValue> {
        values.map(RawValue::Counter).to_vec()
    }

    #[test]
    fn rates_need_two_samples_and_survive_a_counter_reset() {
        let mut rates = RateCalculator::default();
        assert_eq!(rates.rates(0, totals([Some(10.0), Some(10.0), None])), [None; 3]);
        assert_eq!(rates.rates(2_000_000_000, totals([Some(14.0), Some(5.0), None])), [Some(2.0), None, None]);
        assert_eq!(
            rates.rates(3_000_000_000, totals([Some(14.0), Some(6.0), Some(1.0)])),
            [Some(0.0), Some(1.0), None]
        );
    }

    #[test]
    fn a_gauge_is_recorded_as_it_is() {
        assert_eq!(
            RateCalculator::default().rates(0, vec![RawValue::Gauge(Some(3.0)), RawValue::Gauge(None)]),
            [Some(3.0), None]
        );
    }
}
