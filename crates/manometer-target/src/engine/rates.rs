//! Rates of counters that only grow.

use std::collections::BTreeMap;

/// The last reading of some counters.
#[derive(Default)]
pub(super) struct Rates {
    last: Option<(u64, BTreeMap<String, f64>)>,
}

impl Rates {
    /// Adds the growth per second of each of `counters` since the last reading to `row`. The first reading adds
    /// nothing, nor does a counter that shrank: its server was restarted, or it was reset.
    pub(super) fn add(&mut self, t_ns: u64, counters: BTreeMap<String, f64>, row: &mut BTreeMap<String, f64>) {
        if let Some((last_ns, last)) = self.last.as_ref().filter(|(last_ns, _)| t_ns > *last_ns) {
            let seconds = (t_ns - last_ns) as f64 / 1e9;
            for (name, now) in &counters {
                if let Some(grown) = last.get(name).map(|then| now - then).filter(|grown| *grown >= 0.0) {
                    row.insert(name.clone(), grown / seconds);
                }
            }
        }
        self.last = Some((t_ns, counters));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_two_looks_and_a_counter_that_grows() {
        let mut rates = Rates::default();
        let mut look = |t_ns, grows, shrinks| {
            let mut row = BTreeMap::new();
            rates.add(t_ns, BTreeMap::from([("grows".to_owned(), grows), ("shrinks".to_owned(), shrinks)]), &mut row);
            row
        };
        assert!(look(0, 10.0, 10.0).is_empty());
        assert_eq!(look(2_000_000_000, 30.0, 9.0), BTreeMap::from([("grows".to_owned(), 10.0)]));
    }
}
