//! One thread: takes requests, waits for their times, sends them, counts.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use manometer_measure::{Clock, Dispatch};
use manometer_target::engine::{EngineError, ScanDirection, Session, value};

use super::lane::Lane;
use super::order::Order;
use super::plan::ReplayPlan;
use super::request::{ReplayRequest, write_key};
use super::settings::OnMiss;
use super::turns::Turns;
use super::urgency::Urgency;
use super::wait::{Moment, Schedule};
use crate::kv::counted::Counted;
use crate::kv::distribution::{Random, stream};
use crate::kv::gate::Gate;
use crate::kv::request::Operation;
use crate::kv::values::{ValueForm, Values};
use crate::kv::{Lengths, pace};

/// What the threads of a replay share.
pub(super) struct Shared<'a, C> {
    pub(super) plan: &'a ReplayPlan,
    pub(super) seed: u64,
    pub(super) clock: &'a C,
    pub(super) gate: &'a Gate,
    pub(super) schedule: &'a Schedule,
    /// The first thing that went wrong with a request.
    pub(super) first_error: &'a Mutex<Option<String>>,
}

impl<C> Clone for Shared<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Shared<'_, C> {}

/// What one thread counts, for others to read.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) counted: Counted,
    sent: AtomicU64,
    errors: AtomicU64,
    order_violations: AtomicU64,
    /// Whether a request is under way: from its time on until all that it brings about is counted.
    under_way: AtomicBool,
    /// When the thread had its last answer, on the clock; 0 before that.
    ended_ns: AtomicU64,
}

impl Tally {
    /// Requests that were sent, those that failed among them, and those out of order.
    pub(super) fn totals(&self) -> [u64; 3] {
        [&self.sent, &self.errors, &self.order_violations].map(|count| count.load(Ordering::Relaxed))
    }

    /// When the thread had its last answer, once it has ended.
    pub(super) fn ended_ns(&self) -> u64 {
        self.ended_ns.load(Ordering::Relaxed)
    }

    /// Whether a request is under way, for whoever has closed the gate: one that began before shows.
    pub(super) fn is_under_way(&self) -> bool {
        fence(Ordering::SeqCst);
        self.under_way.load(Ordering::Acquire)
    }

    /// From here on a request is under way, unless the gate is found closed after this.
    #[inline]
    fn begin(&self) {
        self.under_way.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// None is, and what it did is counted.
    #[inline]
    fn land(&self) {
        self.under_way.store(false, Ordering::Release);
    }
}

/// Where a thread's requests come from.
pub(super) enum Source<'t, 'o> {
    /// Whoever's turn it is takes the next of all.
    Turns(&'t Turns<'o>),
    /// A lane, at its requests' times.
    Paced(Lane<'o, ReplayRequest>, Box<Dispatch>),
    /// A lane, as fast as they are answered.
    Full(Lane<'o, ReplayRequest>),
}

/// A thread that sends.
pub(super) struct Client<'a, C> {
    shared: Shared<'a, C>,
    tally: &'a Tally,
    session: Box<dyn Session + 'a>,
    order: Order<'a>,
    urgency: Urgency,
    random: Random,
    values: Values,
    key: Vec<u8>,
    turn: u32,
}

impl<'a, C: Clock> Client<'a, C> {
    /// The client of thread `thread`.
    pub(super) fn new(
        shared: &Shared<'a, C>,
        thread: u32,
        tally: &'a Tally,
        session: Box<dyn Session + 'a>,
        order: Order<'a>,
    ) -> Self {
        let mut random = stream(shared.seed, thread + 1);
        tally.counted.expect(&shared.plan.operations);
        let form = ValueForm::random(Lengths::Constant(shared.plan.value_bytes_max));
        Self {
            shared: *shared,
            tally,
            session,
            order,
            urgency: Urgency::none(),
            values: Values::new(&form, &mut random),
            random,
            key: Vec::with_capacity(256),
            turn: 0,
        }
    }

    /// Sends what comes out of `source` until its end, or until it is time to go home; tells how the schedule was kept,
    /// where this thread alone knows.
    pub(super) fn run(mut self, source: Source<'_, '_>) -> Option<Dispatch> {
        let kept = match source {
            Source::Turns(turns) => {
                self.ask_for_urgency();
                let _over = Over(turns);
                while self.take_turn(turns).is_some() {}
                None
            }
            Source::Paced(mut lane, mut kept) => {
                self.ask_for_urgency();
                while let Some(ready) = lane.next() {
                    self.form(&ready);
                    let Some(moment) = self.wait(&ready) else { break };
                    kept.count(ready.due_ns, moment.now_ns - moment.zero_ns);
                    self.send_at(&ready, moment);
                }
                Some(*kept)
            }
            Source::Full(lane) => {
                self.send_all(lane);
                None
            }
        };
        self.tally.ended_ns.store(self.shared.clock.now_ns(), Ordering::Relaxed);
        kept
    }

    fn ask_for_urgency(&mut self) {
        pace::wake_precisely();
        self.urgency = Urgency::most(self.shared.clock);
    }

    /// Takes the lead, the next request, and sends it at its time; nothing when all is over.
    #[inline]
    fn take_turn(&mut self, turns: &Turns<'_>) -> Option<()> {
        let Shared { clock, gate, schedule, .. } = self.shared;
        let mut lead = turns.lead(clock, gate, &mut self.turn, schedule)?;
        let ready = lead.lane.next()?;
        self.form(&ready);
        turns.tell_next(&lead.lane);
        let moment = self.wait(&ready)?;
        lead.kept.count(ready.due_ns, moment.now_ns - moment.zero_ns);
        drop(lead);
        self.send_at(&ready, moment);
        Some(())
    }

    /// Waits for the request's time; then it is under way. Nothing when it is time to go home.
    #[inline]
    fn wait(&mut self, ready: &ReplayRequest) -> Option<Moment> {
        let Shared { clock, gate, schedule, .. } = self.shared;
        loop {
            let moment = schedule.wait(ready.due_ns, clock, gate, &mut self.turn)?;
            if self.is_off() {
                return Some(moment);
            }
        }
    }

    /// Has the next request be under way, unless a pause began just before.
    #[inline]
    fn is_off(&self) -> bool {
        self.tally.begin();
        let is_open = self.shared.gate.is_open(self.turn);
        if !is_open {
            self.tally.land();
        }
        is_open
    }

    /// Sends a request whose time has come. It was due then, and is sent now.
    #[inline]
    fn send_at(&mut self, ready: &ReplayRequest, moment: Moment) {
        let clock = self.shared.clock;
        let outcome = self.send(ready);
        let end_ns = clock.now_ns();
        if self.urgency.watch(end_ns) {
            self.shared.schedule.shrink_margin();
        }
        let response_ns = end_ns.saturating_sub(moment.due_ns);
        self.answered(ready, outcome, end_ns.saturating_sub(moment.now_ns), Some(response_ns));
        self.tally.land();
    }

    /// Sends one request when the one before it was answered.
    fn send_all(&mut self, mut lane: Lane<'_, ReplayRequest>) {
        let Shared { clock, gate, .. } = self.shared;
        while let Some(ready) = lane.next() {
            while !self.is_off() {
                if !gate.pass(&mut self.turn) {
                    return;
                }
            }
            self.form(&ready);
            let start = clock.ticks();
            let outcome = self.send(&ready);
            let latency_ns = clock.elapsed_ns(start, clock.ticks());
            self.answered(&ready, outcome, latency_ns, None);
            self.tally.land();
        }
    }

    /// Writes the key and makes the value, so that nothing but sending is left to do.
    #[inline]
    fn form(&mut self, ready: &ReplayRequest) {
        write_key(ready.key, ready.key_bytes, &mut self.key);
        if stores(ready.operation) {
            self.values.make_of(ready.value_bytes as usize, &self.key, &mut self.random);
        }
    }

    #[inline]
    fn send(&mut self, ready: &ReplayRequest) -> Result<Answer, EngineError> {
        add(&self.tally.order_violations, u64::from(self.order.breaks(ready.key, ready.number)));
        add(&self.tally.sent, 1);
        self.ask(ready)
    }

    #[inline]
    fn ask(&mut self, ready: &ReplayRequest) -> Result<Answer, EngineError> {
        let bytes = ready.value_bytes as usize;
        match ready.operation {
            Operation::Read => Ok(found(&self.key, self.session.get(&self.key)?)),
            Operation::ReadModifyWrite => {
                let read = found(&self.key, self.session.get(&self.key)?);
                self.session.put(&self.key, self.values.made(bytes))?;
                Ok(Answer { bytes: read.bytes + self.key.len() + bytes, ..read })
            }
            Operation::Delete => {
                self.session.delete(&self.key)?;
                Ok(Answer::of(self.key.len()))
            }
            Operation::Scan => self.seek(),
            _ => {
                self.session.put(&self.key, self.values.made(bytes))?;
                Ok(Answer::of(self.key.len() + bytes))
            }
        }
    }

    /// The first record from the key on: traces tell where a scan begins, not where it ends.
    fn seek(&mut self) -> Result<Answer, EngineError> {
        let mut answer = Answer { is_missing: true, ..Answer::of(0) };
        self.session.scan(Some(&self.key), ScanDirection::Forward, &mut |key, value| {
            answer = found(key, Some(value));
            ControlFlow::Break(())
        })?;
        Ok(answer)
    }

    /// Counts the answer, and puts what a read did not find where that is wanted.
    #[inline]
    fn answered(
        &mut self,
        ready: &ReplayRequest,
        outcome: Result<Answer, EngineError>,
        service_ns: u64,
        response_ns: Option<u64>,
    ) {
        let answer = match outcome {
            Ok(answer) => answer,
            Err(error) => return self.failed(|| error.to_string()),
        };
        self.tally.counted.count(ready.operation, service_ns, response_ns, answer.bytes);
        if answer.is_wrong {
            self.failed(|| format!("the value of key {} is not one that was put there", ready.key));
        }
        if answer.is_missing {
            self.tally.counted.miss(ready.operation);
            if ready.operation == Operation::Read && self.shared.plan.on_miss == OnMiss::Put {
                self.fill(ready);
            }
        }
    }

    /// Puts what a read did not find.
    fn fill(&mut self, ready: &ReplayRequest) {
        let clock = self.shared.clock;
        let value = self.values.make_of(ready.value_bytes as usize, &self.key, &mut self.random);
        let bytes = self.key.len() + value.len();
        let start = clock.ticks();
        match self.session.put(&self.key, value) {
            Ok(()) => {
                let latency_ns = clock.elapsed_ns(start, clock.ticks());
                self.tally.counted.count(Operation::Fill, latency_ns, None, bytes);
            }
            Err(error) => self.failed(|| error.to_string()),
        }
    }

    #[cold]
    fn failed(&self, text: impl FnOnce() -> String) {
        add(&self.tally.errors, 1);
        self.shared.first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(text);
    }
}

/// What an engine answered.
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// Bytes of keys and values that moved.
    bytes: usize,
    is_missing: bool,
    /// Whether a value was found that nobody put there.
    is_wrong: bool,
}

impl Answer {
    fn of(bytes: usize) -> Self {
        Self { bytes, is_missing: false, is_wrong: false }
    }
}

#[inline]
fn found(key: &[u8], found: Option<&[u8]>) -> Answer {
    match found {
        None => Answer { is_missing: true, ..Answer::of(key.len()) },
        Some(found) => Answer { is_wrong: value::verify(key, found).is_err(), ..Answer::of(key.len() + found.len()) },
    }
}

/// Whether an operation brings a value.
#[inline]
fn stores(operation: Operation) -> bool {
    matches!(operation, Operation::Put | Operation::Insert | Operation::Update | Operation::ReadModifyWrite)
}

/// Only one thread counts there.
#[inline]
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// Tells the others that all is over, however the thread ends.
struct Over<'t, 'a>(&'t Turns<'a>);

impl Drop for Over<'_, '_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
