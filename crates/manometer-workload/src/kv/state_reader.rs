//! The engine's own state, read by a thread of its own: an engine that is slow to tell it holds up no sample.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::Duration;

use manometer_measure::Clock;
use manometer_target::engine::State;

use crate::protocol::Sample;

/// What the engine told, and when.
#[derive(Debug, Default, PartialEq)]
struct Told {
    t_ns: u64,
    row: BTreeMap<String, f64>,
}

/// What becomes of an answer that is still under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owed {
    /// A later sample tells it, with its own time.
    Row,
    /// Nothing: rates count from it.
    Start,
}

/// Asks for the state, and waits only so long.
pub(crate) struct StateReader {
    ask: Sender<()>,
    told: Receiver<Told>,
    limit: Duration,
    owed: Option<Owed>,
}

impl StateReader {
    /// Reads `state` on a thread of `scope`, and waits for half of the sample interval at most: the next beat is kept.
    pub(crate) fn new<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        mut state: Box<dyn State + 'scope>,
        clock: &'scope dyn Clock,
        interval_ms: u64,
    ) -> Self {
        let (ask, asked) = channel();
        let (tell, told) = channel();
        scope.spawn(move || {
            // Both ends close with the reader.
            asked.iter().map(|()| answer(&mut *state, clock)).all(|answer| tell.send(answer).is_ok());
        });
        Self { ask, told, limit: Duration::from_micros(interval_ms.max(1) * 500), owed: None }
    }

    /// Has the rates of the next state count from now.
    pub(crate) fn start(&mut self) {
        if self.owed.is_some() && self.told.try_recv().is_err() {
            self.owed = Some(Owed::Start);
        } else {
            self.ask(Owed::Start);
        }
    }

    /// Puts the state that is there in time into `sample`, with its own time where that is another.
    pub(crate) fn add_to(&mut self, sample: &mut Sample) {
        if let Some(Told { t_ns, row }) = self.read(sample.t_ns) {
            sample.state_t_ns = (t_ns != sample.t_ns).then_some(t_ns);
            sample.state = row;
        }
    }

    /// The state at `t_ns`, or else one that was asked for before and came too late for its sample, with the time at
    /// which it came; nothing where neither is there in time.
    fn read(&mut self, t_ns: u64) -> Option<Told> {
        if let Some(owed) = self.owed {
            let late = self.told.try_recv().ok()?;
            self.owed = None;
            if owed == Owed::Row {
                return Some(late);
            }
        }
        self.ask(Owed::Row).map(|told| Told { t_ns, ..told })
    }

    fn ask(&mut self, owed: Owed) -> Option<Told> {
        let told = self.ask.send(()).ok().and_then(|()| self.told.recv_timeout(self.limit).ok());
        self.owed = told.is_none().then_some(owed);
        told
    }
}

fn answer(state: &mut dyn State, clock: &dyn Clock) -> Told {
    let row = state.sample(clock);
    Told { t_ns: clock.now_ns(), row }
}

#[cfg(test)]
mod tests {
    use manometer_measure::{Column, ManualClock};

    use super::*;

    /// An engine that answers each question only when it is let, and the clock moves on to then.
    struct Held(Receiver<u64>);

    impl State for Held {
        fn columns(&self) -> Vec<Column> {
            Vec::new()
        }

        fn sample(&mut self, clock: &dyn Clock) -> BTreeMap<String, f64> {
            if let Ok(t_ns) = self.0.recv() {
                clock.sleep_until(t_ns);
            }
            BTreeMap::from([("t".to_owned(), clock.now_ns() as f64)])
        }
    }

    fn told(row_ns: u64, t_ns: u64) -> Told {
        Told { t_ns, row: BTreeMap::from([("t".to_owned(), row_ns as f64)]) }
    }

    fn until(told: impl FnMut() -> Option<Told>) -> Told {
        std::iter::repeat_with(told).find_map(|told| told).unwrap()
    }

    #[test]
    fn what_comes_too_late_is_told_later_with_its_own_time() {
        let (let_go, held) = channel();
        let clock = ManualClock::at(0);
        std::thread::scope(|scope| {
            let mut reader = StateReader::new(scope, Box::new(Held(held)), &clock, 2);
            assert_eq!(reader.read(10), None);
            assert_eq!(reader.read(20), None, "the engine is not asked again while it owes an answer");
            let_go.send(25).unwrap();
            assert_eq!(until(|| reader.read(30)), told(25, 25));
            reader.limit = Duration::from_secs(3600);
            let_go.send(41).unwrap();
            assert_eq!(reader.read(40), Some(told(41, 40)), "in time it is the state of the beat");
            drop(let_go);
        });
    }

    #[test]
    fn what_rates_count_from_is_never_told() {
        let (let_go, held) = channel();
        let clock = ManualClock::at(0);
        std::thread::scope(|scope| {
            let mut reader = StateReader::new(scope, Box::new(Held(held)), &clock, 2);
            reader.start();
            assert_eq!(reader.owed, Some(Owed::Start));
            reader.limit = Duration::from_secs(3600);
            let_go.send(5).unwrap();
            let_go.send(11).unwrap();
            assert_eq!(until(|| reader.read(10)), told(11, 10));
            reader.limit = Duration::ZERO;
            assert_eq!(reader.read(20), None);
            reader.start();
            assert_eq!(reader.owed, Some(Owed::Start), "a row that was asked for before a pause is not told after it");
            drop(let_go);
        });
    }
}
