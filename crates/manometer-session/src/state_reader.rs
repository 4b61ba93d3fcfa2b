//! Reads the engine's state on a separate thread, so that a slow engine delays no sample.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::Duration;

use manometer_measure::Clock;
use manometer_target::engine::StateSampler;

use manometer_workload::sample::Sample;

/// The engine's state by column name, and when it was read.
#[derive(Debug, Default, PartialEq)]
struct StateSample {
    t_ns: u64,
    columns: BTreeMap<String, f64>,
}

/// The purpose of a pending reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingRead {
    /// A later sample, with its own time.
    Sample,
    /// The baseline of rates.
    Baseline,
}

/// Reads the state within a time limit.
pub(crate) struct StateReader {
    requests: Sender<()>,
    samples: Receiver<StateSample>,
    limit: Duration,
    pending: Option<PendingRead>,
}

impl StateReader {
    /// Reads `state` on a thread of `scope`. Waits for at most half of the sample interval, so that the next tick is
    /// kept.
    pub(crate) fn new<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        mut state: Box<dyn StateSampler + 'scope>,
        clock: &'scope dyn Clock,
        interval_ns: u64,
    ) -> Self {
        let (requests, requested) = channel();
        let (sender, samples) = channel();
        scope.spawn(move || {
            // Both channels close with the reader.
            requested.iter().map(|()| sample(&mut *state, clock)).all(|sample| sender.send(sample).is_ok());
        });
        Self { requests, samples, limit: Duration::from_nanos(interval_ns / 2), pending: None }
    }

    /// Sets the baseline of the next state's rates to now.
    pub(crate) fn start(&mut self) {
        if self.pending.is_some() && self.samples.try_recv().is_err() {
            self.pending = Some(PendingRead::Baseline);
        } else {
            self.request(PendingRead::Baseline);
        }
    }

    /// Adds the state to `sample` if it is read in time, with its own time if that differs.
    pub(crate) fn add_to(&mut self, sample: &mut Sample) {
        if let Some(StateSample { t_ns, columns }) = self.read(sample.t_ns) {
            sample.state_t_ns = (t_ns != sample.t_ns).then_some(t_ns);
            sample.state = columns;
        }
    }

    /// The state at `t_ns`, or one requested earlier that was too late for its sample, with its time; `None` if neither
    /// is available in time.
    fn read(&mut self, t_ns: u64) -> Option<StateSample> {
        if let Some(pending) = self.pending {
            let late = self.samples.try_recv().ok()?;
            self.pending = None;
            if pending == PendingRead::Sample {
                return Some(late);
            }
        }
        self.request(PendingRead::Sample).map(|sample| StateSample { t_ns, ..sample })
    }

    fn request(&mut self, purpose: PendingRead) -> Option<StateSample> {
        let sample = self.requests.send(()).ok().and_then(|()| self.samples.recv_timeout(self.limit).ok());
        self.pending = sample.is_none().then_some(purpose);
        sample
    }
}

fn sample(state: &mut dyn StateSampler, clock: &dyn Clock) -> StateSample {
    let columns = state.sample(clock);
    StateSample { t_ns: clock.now_ns(), columns }
}

#[cfg(test)]
mod tests {
    use manometer_measure::{Column, ManualClock};

    use super::*;

    /// An engine that reports its state only when released, and then advances the clock.
    struct HeldSampler(Receiver<u64>);

    impl StateSampler for HeldSampler {
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

    fn state_at(read_ns: u64, t_ns: u64) -> StateSample {
        StateSample { t_ns, columns: BTreeMap::from([("t".to_owned(), read_ns as f64)]) }
    }

    fn until(read: impl FnMut() -> Option<StateSample>) -> StateSample {
        std::iter::repeat_with(read).find_map(|sample| sample).unwrap()
    }

    #[test]
    fn a_late_state_goes_into_a_later_sample_with_its_own_time() {
        let (let_go, held) = channel();
        let clock = ManualClock::at(0);
        std::thread::scope(|scope| {
            let mut reader = StateReader::new(scope, Box::new(HeldSampler(held)), &clock, 2_000_000);
            assert_eq!(reader.read(10), None);
            assert_eq!(reader.read(20), None, "the engine is not asked again while a reading is pending");
            let_go.send(25).unwrap();
            assert_eq!(until(|| reader.read(30)), state_at(25, 25));
            reader.limit = Duration::from_secs(3600);
            let_go.send(41).unwrap();
            assert_eq!(reader.read(40), Some(state_at(41, 40)), "in time it is the state of the tick");
            drop(let_go);
        });
    }

    #[test]
    fn the_baseline_of_rates_is_not_read_as_a_state() {
        let (let_go, held) = channel();
        let clock = ManualClock::at(0);
        std::thread::scope(|scope| {
            let mut reader = StateReader::new(scope, Box::new(HeldSampler(held)), &clock, 2_000_000);
            reader.start();
            assert_eq!(reader.pending, Some(PendingRead::Baseline));
            reader.limit = Duration::from_secs(3600);
            let_go.send(5).unwrap();
            let_go.send(11).unwrap();
            assert_eq!(until(|| reader.read(10)), state_at(11, 10));
            reader.limit = Duration::ZERO;
            assert_eq!(reader.read(20), None);
            reader.start();
            assert_eq!(
                reader.pending,
                Some(PendingRead::Baseline),
                "a state requested before a pause is in no sample after it"
            );
            drop(let_go);
        });
    }
}
