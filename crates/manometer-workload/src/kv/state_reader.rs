//! The engine's own state, read by a thread of its own: a server that does not answer leaves a gap in its state
//! and holds up no sample.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::Duration;

use manometer_target::engine::State;

/// What the engine told at one moment.
type Row = BTreeMap<String, f64>;

/// Asks for the state, and waits only so long.
pub(super) struct StateReader {
    ask: Sender<u64>,
    told: Receiver<Row>,
    limit: Duration,
    /// Whether an answer is still under way that came too late for its sample.
    late: bool,
}

impl StateReader {
    /// Reads `state` on a thread of `scope`, for half of the sample interval at most: the next beat is kept.
    pub(super) fn new<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        mut state: Box<dyn State + 'scope>,
        interval_ms: u64,
    ) -> Self {
        let (ask, asked) = channel();
        let (tell, told) = channel();
        scope.spawn(move || {
            // Both ends close with the reader.
            asked.iter().map(|t_ns| state.sample(t_ns)).all(|row| tell.send(row).is_ok());
        });
        Self { ask, told, limit: Duration::from_micros(interval_ms.max(1) * 500), late: false }
    }

    /// The state at `t_ns`; nothing where it does not come in time.
    pub(super) fn read(&mut self, t_ns: u64) -> Row {
        // A late answer is of another moment.
        if self.late && self.told.try_recv().is_err() {
            return Row::new();
        }
        let row = self.ask.send(t_ns).ok().and_then(|()| self.told.recv_timeout(self.limit).ok());
        self.late = row.is_none();
        row.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::Column;

    use super::*;

    /// An engine that answers each question only when it is let.
    struct Held(Receiver<()>);

    impl State for Held {
        fn columns(&self) -> Vec<Column> {
            Vec::new()
        }

        fn sample(&mut self, t_ns: u64) -> Row {
            let _ = self.0.recv();
            Row::from([("t".to_owned(), t_ns as f64)])
        }
    }

    #[test]
    fn what_comes_too_late_is_a_gap_and_is_never_taken_for_a_later_state() {
        let (let_go, held) = channel();
        std::thread::scope(|scope| {
            let mut reader = StateReader::new(scope, Box::new(Held(held)), 2);
            assert!(reader.read(1).is_empty() && reader.late);
            assert!(reader.read(2).is_empty(), "the engine is not asked again while it owes an answer");
            let_go.send(()).unwrap();
            let_go.send(()).unwrap();
            // As long as the late answer is not there this tells nothing, and then the state of its own moment.
            reader.limit = Duration::from_secs(3600);
            let row = (3..).map(|t_ns| (t_ns, reader.read(t_ns))).find(|(_, row)| !row.is_empty()).unwrap();
            assert_eq!(row.1["t"], row.0 as f64);
            drop(let_go);
        });
    }
}
