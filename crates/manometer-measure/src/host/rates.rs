//! Counters that only grow, as rates per second.

/// A number as the kernel shows it; nothing where it does not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Raw {
    /// A total that only grows: recorded as its growth per second.
    Total(Option<f64>),
    /// How it is now: recorded as it is.
    Now(Option<f64>),
}

/// Turns rows of totals into rates per second.
#[derive(Debug, Default)]
pub(super) struct Rates {
    last: Option<(u64, Vec<Raw>)>,
}

impl Rates {
    /// The row to record: a rate is missing at the first look, for a total that is missing, and for one that fell
    /// (it began anew).
    pub(super) fn row(&mut self, t_ns: u64, raws: Vec<Raw>) -> Vec<Option<f64>> {
        let row = match &self.last {
            Some((last_ns, last)) if t_ns > *last_ns => {
                let seconds = (t_ns - last_ns) as f64 / 1e9;
                raws.iter().zip(last).map(|(now, before)| value(*now, Some(*before), seconds)).collect()
            }
            _ => raws.iter().map(|now| value(*now, None, 1.0)).collect(),
        };
        self.last = Some((t_ns, raws));
        row
    }
}

fn value(now: Raw, before: Option<Raw>, seconds: f64) -> Option<f64> {
    match (now, before) {
        (Raw::Now(now), _) => now,
        (Raw::Total(Some(now)), Some(Raw::Total(Some(before)))) => (now >= before).then(|| (now - before) / seconds),
        (Raw::Total(_), _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(values: [Option<f64>; 3]) -> Vec<Raw> {
        values.map(Raw::Total).to_vec()
    }

    #[test]
    fn rates_need_two_looks_and_survive_a_counter_that_begins_anew() {
        let mut rates = Rates::default();
        assert_eq!(rates.row(0, totals([Some(10.0), Some(10.0), None])), [None; 3]);
        assert_eq!(rates.row(2_000_000_000, totals([Some(14.0), Some(5.0), None])), [Some(2.0), None, None]);
        assert_eq!(rates.row(3_000_000_000, totals([Some(14.0), Some(6.0), Some(1.0)])), [Some(0.0), Some(1.0), None]);
    }

    #[test]
    fn what_is_now_is_told_as_it_is() {
        assert_eq!(Rates::default().row(0, vec![Raw::Now(Some(3.0)), Raw::Now(None)]), [Some(3.0), None]);
    }
}
