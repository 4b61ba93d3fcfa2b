//! A client thread: takes requests, waits until they are due, sends them and counts the answers.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use manometer_measure::{Clock, Dispatch};
use manometer_target::engine::{EngineError, EngineSession, ScanDirection, value};

use super::lane::Lane;
use super::leader_followers::LeaderFollowers;
use super::order::Order;
use super::plan::ReplayPlan;
use super::request::{ReplayRequest, write_key};
use super::schedule::{Schedule, SendTime};
use super::scheduling::ThreadScheduling;
use super::settings::MissAction;
use crate::kv::distribution::{Random, stream};
use crate::kv::gate::Gate;
use crate::kv::request::KvOperation;
use crate::kv::thread_counters::ThreadCounters;
use crate::kv::values::{ValueForm, ValueGenerator};
use crate::kv::{ValueLengths, pace};

/// The context that the threads of a replay share.
pub(super) struct ClientContext<'a, C> {
    pub(super) plan: &'a ReplayPlan,
    pub(super) seed: u64,
    pub(super) clock: &'a C,
    pub(super) gate: &'a Gate,
    pub(super) schedule: &'a Schedule,
    /// The error of the first request that failed.
    pub(super) first_error: &'a Mutex<Option<String>>,
}

impl<C> Clone for ClientContext<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for ClientContext<'_, C> {}

/// One thread's counters.
#[derive(Debug, Default)]
pub(super) struct ReplayCounters {
    pub(super) counted: ThreadCounters,
    sent: AtomicU64,
    errors: AtomicU64,
    order_violations: AtomicU64,
    /// Whether a request is in flight: from when it is due until its answer and its fill are counted.
    in_flight: AtomicBool,
    /// When the thread received its last answer, on the clock; 0 until it ends.
    ended_ns: AtomicU64,
}

impl ReplayCounters {
    /// The number of requests sent, of those failed, and of those sent out of order.
    pub(super) fn totals(&self) -> [u64; 3] {
        [&self.sent, &self.errors, &self.order_violations].map(|count| count.load(Ordering::Relaxed))
    }

    /// When the thread received its last answer, on the clock. Set when the thread ends.
    pub(super) fn ended_ns(&self) -> u64 {
        self.ended_ns.load(Ordering::Relaxed)
    }

    /// Whether a request is in flight. Call with the gate closed: a request that began before is then visible.
    pub(super) fn is_in_flight(&self) -> bool {
        fence(Ordering::SeqCst);
        self.in_flight.load(Ordering::Acquire)
    }

    /// Marks a request as in flight. The caller then checks that the gate is still open.
    #[inline]
    fn begin_request(&self) {
        self.in_flight.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Marks the request as finished and counted.
    #[inline]
    fn finish_request(&self) {
        self.in_flight.store(false, Ordering::Release);
    }
}

/// Where a thread's requests come from.
pub(super) enum RequestSource<'t, 'o> {
    /// All threads take the next request of one lane in turn.
    LeaderFollowers(&'t LeaderFollowers<'o>),
    /// A lane of this thread, paced by due times.
    Paced(Lane<'o, ReplayRequest>, Box<Dispatch>),
    /// A lane of this thread, at full speed.
    Full(Lane<'o, ReplayRequest>),
}

/// A client thread.
pub(super) struct Client<'a, C> {
    context: ClientContext<'a, C>,
    counters: &'a ReplayCounters,
    session: Box<dyn EngineSession + 'a>,
    order: Order<'a>,
    scheduling: ThreadScheduling,
    random: Random,
    values: ValueGenerator,
    key: Vec<u8>,
    turn: u32,
}

impl<'a, C: Clock> Client<'a, C> {
    /// The client of thread `thread`.
    pub(super) fn new(
        context: &ClientContext<'a, C>,
        thread: u32,
        counters: &'a ReplayCounters,
        session: Box<dyn EngineSession + 'a>,
        order: Order<'a>,
    ) -> Self {
        let mut random = stream(context.seed, thread + 1);
        counters.counted.allocate(&context.plan.operations);
        let form = ValueForm::random(ValueLengths::Constant(context.plan.value_bytes_max));
        Self {
            context: *context,
            counters,
            session,
            order,
            scheduling: ThreadScheduling::none(),
            values: ValueGenerator::new(&form, &mut random),
            random,
            key: Vec::with_capacity(256),
            turn: 0,
        }
    }

    /// Sends the requests of `source` until it ends or the gate is stopped. Returns the dispatch delays where only this
    /// thread knows them.
    pub(super) fn run(mut self, source: RequestSource<'_, '_>) -> Option<Dispatch> {
        let dispatch = match source {
            RequestSource::LeaderFollowers(leader_followers) => {
                self.request_scheduling();
                let _over = EndGuard(leader_followers);
                while self.take_turn(leader_followers).is_some() {}
                None
            }
            RequestSource::Paced(mut lane, mut dispatch) => {
                self.request_scheduling();
                while let Some(request) = lane.next() {
                    self.form(&request);
                    let Some(time) = self.wait(&request) else { break };
                    dispatch.count(request.due_ns, time.now_ns - time.zero_ns);
                    self.send_at(&request, time);
                }
                Some(*dispatch)
            }
            RequestSource::Full(lane) => {
                self.send_all(lane);
                None
            }
        };
        self.counters.ended_ns.store(self.context.clock.now_ns(), Ordering::Relaxed);
        dispatch
    }

    fn request_scheduling(&mut self) {
        pace::wake_precisely();
        self.scheduling = ThreadScheduling::most(self.context.clock);
    }

    /// Becomes the leader, takes the next request and sends it when it is due. Returns `None` at the end.
    #[inline]
    fn take_turn(&mut self, leader_followers: &LeaderFollowers<'_>) -> Option<()> {
        let ClientContext { clock, gate, schedule, .. } = self.context;
        let mut lead = leader_followers.lead(clock, gate, &mut self.turn, schedule)?;
        let request = lead.lane.next()?;
        self.form(&request);
        leader_followers.set_next_due(&lead.lane);
        let time = self.wait(&request)?;
        lead.dispatch.count(request.due_ns, time.now_ns - time.zero_ns);
        drop(lead);
        self.send_at(&request, time);
        Some(())
    }

    /// Waits until `request` is due and marks it as in flight. Returns `None` when the gate is stopped.
    #[inline]
    fn wait(&mut self, request: &ReplayRequest) -> Option<SendTime> {
        let ClientContext { clock, gate, schedule, .. } = self.context;
        loop {
            let time = schedule.wait(request.due_ns, clock, gate, &mut self.turn)?;
            if self.try_begin_request() {
                return Some(time);
            }
        }
    }

    /// Marks the next request as in flight, unless a pause has just begun.
    #[inline]
    fn try_begin_request(&self) -> bool {
        self.counters.begin_request();
        let is_open = self.context.gate.is_open(self.turn);
        if !is_open {
            self.counters.finish_request();
        }
        is_open
    }

    /// Sends a request that is due.
    #[inline]
    fn send_at(&mut self, request: &ReplayRequest, time: SendTime) {
        let clock = self.context.clock;
        let outcome = self.send(request);
        let end_ns = clock.now_ns();
        if self.scheduling.watch(end_ns) {
            self.context.schedule.shrink_margin();
        }
        let response_ns = end_ns.saturating_sub(time.due_ns);
        self.answered(request, outcome, end_ns.saturating_sub(time.now_ns), Some(response_ns));
        self.counters.finish_request();
    }

    /// Sends each request when the one before it is answered.
    fn send_all(&mut self, mut lane: Lane<'_, ReplayRequest>) {
        let ClientContext { clock, gate, .. } = self.context;
        while let Some(request) = lane.next() {
            while !self.try_begin_request() {
                if !gate.pass(&mut self.turn) {
                    return;
                }
            }
            self.form(&request);
            let start = clock.ticks();
            let outcome = self.send(&request);
            let latency_ns = clock.elapsed_ns(start, clock.ticks());
            self.answered(&request, outcome, latency_ns, None);
            self.counters.finish_request();
        }
    }

    /// Builds the key and the value, so that only the engine call is left to do.
    #[inline]
    fn form(&mut self, request: &ReplayRequest) {
        write_key(request.key, request.key_bytes, &mut self.key);
        if stores(request.operation) {
            self.values.make_of(request.value_bytes as usize, &self.key, &mut self.random);
        }
    }

    #[inline]
    fn send(&mut self, request: &ReplayRequest) -> Result<Answer, EngineError> {
        add(&self.counters.order_violations, u64::from(self.order.breaks(request.key, request.number)));
        add(&self.counters.sent, 1);
        self.execute(request)
    }

    #[inline]
    fn execute(&mut self, request: &ReplayRequest) -> Result<Answer, EngineError> {
        let bytes = request.value_bytes as usize;
        match request.operation {
            KvOperation::Read => Ok(found(&self.key, self.session.get(&self.key)?)),
            KvOperation::ReadModifyWrite => {
                let read = found(&self.key, self.session.get(&self.key)?);
                self.session.put(&self.key, self.values.made(bytes))?;
                Ok(Answer { bytes: read.bytes + self.key.len() + bytes, ..read })
            }
            KvOperation::Delete => {
                self.session.delete(&self.key)?;
                Ok(Answer::of(self.key.len()))
            }
            KvOperation::Scan => self.seek(),
            _ => {
                self.session.put(&self.key, self.values.made(bytes))?;
                Ok(Answer::of(self.key.len() + bytes))
            }
        }
    }

    /// The first record from the key on: traces record where a scan starts, not where it ends.
    fn seek(&mut self) -> Result<Answer, EngineError> {
        let mut answer = Answer { is_missing: true, ..Answer::of(0) };
        self.session.scan(Some(&self.key), ScanDirection::Forward, &mut |key, value| {
            answer = found(key, Some(value));
            ControlFlow::Break(())
        })?;
        Ok(answer)
    }

    /// Counts the answer and, if configured, puts the value that a read missed.
    #[inline]
    fn answered(
        &mut self,
        request: &ReplayRequest,
        outcome: Result<Answer, EngineError>,
        service_ns: u64,
        response_ns: Option<u64>,
    ) {
        let answer = match outcome {
            Ok(answer) => answer,
            Err(error) => return self.failed(|| error.to_string()),
        };
        self.counters.counted.count(request.operation, service_ns, response_ns, answer.bytes);
        if answer.is_wrong {
            self.failed(|| format!("the value of key {} is not one that was put there", request.key));
        }
        if answer.is_missing {
            self.counters.counted.count_missing(request.operation);
            if request.operation == KvOperation::Read && self.context.plan.on_miss == MissAction::Put {
                self.fill(request);
            }
        }
    }

    /// Puts the value that a read missed.
    fn fill(&mut self, request: &ReplayRequest) {
        let clock = self.context.clock;
        let value = self.values.make_of(request.value_bytes as usize, &self.key, &mut self.random);
        let bytes = self.key.len() + value.len();
        let start = clock.ticks();
        match self.session.put(&self.key, value) {
            Ok(()) => {
                let latency_ns = clock.elapsed_ns(start, clock.ticks());
                self.counters.counted.count(KvOperation::Fill, latency_ns, None, bytes);
            }
            Err(error) => self.failed(|| error.to_string()),
        }
    }

    #[cold]
    fn failed(&self, text: impl FnOnce() -> String) {
        add(&self.counters.errors, 1);
        self.context.first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(text);
    }
}

/// The answer of an engine.
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// Bytes of keys and values transferred.
    bytes: usize,
    is_missing: bool,
    /// Whether the value found was not written by this replay.
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

/// Whether an operation stores a value.
#[inline]
fn stores(operation: KvOperation) -> bool {
    matches!(operation, KvOperation::Put | KvOperation::Insert | KvOperation::Update | KvOperation::ReadModifyWrite)
}

/// Adds to a counter that only one thread writes.
#[inline]
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// Ends the other threads when dropped, also by a panic.
struct EndGuard<'t, 'a>(&'t LeaderFollowers<'a>);

impl Drop for EndGuard<'_, '_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
