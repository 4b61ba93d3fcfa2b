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
use super::request::ReplayRequest;
use super::schedule::{Schedule, SendTime};
use super::scheduling::ThreadScheduling;
use super::settings::MissAction;
use super::values::ReplayValues;
use crate::kv::gate::Gate;
use crate::kv::pace;
use crate::kv::request::KvOperation;
use crate::kv::thread_counters::ThreadCounters;

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

impl<C> ClientContext<'_, C> {
    /// Keeps the text of the first failure.
    #[cold]
    pub(super) fn note_failure(&self, text: impl FnOnce() -> String) {
        self.first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(text);
    }
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
    pub(super) sent: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) order_violations: AtomicU64,
    /// Of the requests that failed, those without an answer in time.
    pub(super) given_up: AtomicU64,
    /// Requests in flight of an open loop, and the most at a time.
    pub(super) open: AtomicU64,
    pub(super) open_max: AtomicU64,
    /// Whether a request is in flight: from when it is due until its answer and its fill are counted.
    in_flight: AtomicBool,
    /// When the thread received its last answer, on the clock; 0 until it ends.
    pub(super) ended_ns: AtomicU64,
}

impl ReplayCounters {
    /// The number of requests sent, of those failed, of those sent out of order, of those given up, and the most in flight.
    pub(super) fn totals(&self) -> [u64; 5] {
        let counts = [&self.sent, &self.errors, &self.order_violations, &self.given_up, &self.open_max];
        counts.map(|count| count.load(Ordering::Relaxed))
    }

    /// Counts requests that failed.
    pub(super) fn fail(&self, requests: u64) {
        self.errors.fetch_add(requests, Ordering::Relaxed);
    }

    /// When the thread received its last answer, on the clock. Set when the thread ends.
    pub(super) fn ended_ns(&self) -> u64 {
        self.ended_ns.load(Ordering::Relaxed)
    }

    /// Whether a request is in flight. Call with the gate closed: a request that began before is then visible.
    pub(super) fn is_in_flight(&self) -> bool {
        fence(Ordering::SeqCst);
        self.in_flight.load(Ordering::Acquire) || self.open.load(Ordering::Acquire) > 0
    }

    /// Marks a request as in flight. The caller then checks that the gate is still open.
    #[inline]
    pub(super) fn begin_request(&self) {
        self.in_flight.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Marks the request as finished and counted.
    #[inline]
    pub(super) fn finish_request(&self) {
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
    values: ReplayValues,
    key: Vec<u8>,
    /// The bound of a scan, and a recorded command.
    bound: Vec<u8>,
    command: Vec<u8>,
    /// The other requests of the command, and their keys; of the latter the first ones count.
    joined: Vec<ReplayRequest>,
    joined_keys: Vec<Vec<u8>>,
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
        counters.counted.allocate(&context.plan.operations);
        Self {
            context: *context,
            counters,
            session,
            order,
            scheduling: ThreadScheduling::none(),
            values: ReplayValues::new(context.plan, context.seed, thread + 1),
            key: Vec::with_capacity(256),
            bound: Vec::new(),
            command: Vec::new(),
            joined: Vec::new(),
            joined_keys: Vec::new(),
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
                    self.form(&request, &mut lane);
                    let Some(time) = self.wait(&request) else { break };
                    count_dispatch(&mut dispatch, &request, time);
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
        self.form(&request, &mut lead.lane);
        leader_followers.set_next_due(&lead.lane);
        let time = self.wait(&request)?;
        count_dispatch(&mut lead.dispatch, &request, time);
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
        let service_ns = self.send_and_count(request, |clock| {
            let end_ns = clock.now_ns();
            (end_ns.saturating_sub(time.now_ns), Some(end_ns.saturating_sub(time.due_ns)))
        });
        if self.scheduling.watch(time.now_ns + service_ns) {
            self.context.schedule.shrink_margin();
        }
        self.counters.finish_request();
    }

    /// Sends a request, or all of its command, counts the answers and returns the service time in nanoseconds.
    /// `latencies_ns` gives it and, where there is a schedule, the response time, once the answer is there.
    #[inline]
    fn send_and_count(&mut self, request: &ReplayRequest, latencies_ns: impl Fn(&C) -> (u64, Option<u64>)) -> u64 {
        let clock = self.context.clock;
        if self.joined.is_empty() {
            let outcome = self.send(request);
            let (service_ns, response_ns) = latencies_ns(clock);
            self.answered(request, outcome, service_ns, response_ns);
            return service_ns;
        }
        let mut answers = vec![Answer::of(0); self.joined.len() + 1];
        let outcome = self.send_joined(request, &mut answers);
        let (service_ns, response_ns) = latencies_ns(clock);
        if let Err(error) = &outcome {
            let text = error.to_string();
            answers.iter().for_each(|_| self.failed(|| text.clone()));
            return service_ns;
        }
        self.answered(request, Ok(answers[0]), service_ns, response_ns);
        for (place, answer) in answers[1..].iter().enumerate() {
            // What follows a miss is put under the key that was missed.
            std::mem::swap(&mut self.key, &mut self.joined_keys[place]);
            let request = self.joined[place];
            self.answered(&request, Ok(*answer), service_ns, response_ns);
        }
        service_ns
    }

    /// Sends all requests of one command together.
    #[cold]
    fn send_joined(&mut self, request: &ReplayRequest, answers: &mut [Answer]) -> Result<(), EngineError> {
        for request in std::iter::once(request).chain(&self.joined) {
            add(&self.counters.order_violations, u64::from(self.order.breaks(request.key, request.number)));
            add(&self.counters.sent, 1);
        }
        if request.command_bytes > 0 {
            let reply = self.session.command(&self.key, &self.command)?;
            answers[0] = Answer::of(self.command.len() + reply.bytes);
            return Ok(());
        }
        let verifies = self.context.plan.verifies;
        let joined_keys = self.joined_keys[..self.joined.len()].iter().map(Vec::as_slice);
        let keys: Vec<&[u8]> = std::iter::once(self.key.as_slice()).chain(joined_keys).collect();
        self.session.get_many(&keys, &mut |place, value| answers[place] = found(keys[place], value, verifies))
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
            self.form(&request, &mut lane);
            let start = clock.ticks();
            self.send_and_count(&request, |clock| (clock.elapsed_ns(start, clock.ticks()), None));
            self.counters.finish_request();
        }
    }

    /// Builds the key and the value, so that only the engine call is left to do. Takes the other requests of its command
    /// from `lane`, which are in the same batch.
    #[inline]
    fn form(&mut self, request: &ReplayRequest, lane: &mut Lane<'_, ReplayRequest>) {
        let bytes = lane.bytes();
        overwrite(&mut self.key, &bytes[request.key()]);
        overwrite(&mut self.bound, request.bound().map_or(&[], |range| &bytes[range]));
        overwrite(&mut self.command, request.command().map_or(&[], |range| &bytes[range]));
        self.joined.clear();
        for place in 0..request.joined as usize {
            let Some(joined) = lane.next() else { break };
            self.joined_keys.resize_with(self.joined_keys.len().max(place + 1), Vec::new);
            overwrite(&mut self.joined_keys[place], &lane.bytes()[joined.key()]);
            self.joined.push(joined);
        }
        if stores(request.operation) && request.command_bytes == 0 {
            self.values.make(request.value_bytes, &self.key);
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
        let verifies = self.context.plan.verifies;
        if request.command_bytes > 0 {
            let reply = self.session.command(&self.key, &self.command)?;
            let is_missing = reply.is_missing && request.operation == KvOperation::Read;
            return Ok(Answer { is_missing, ..Answer::of(self.command.len() + reply.bytes) });
        }
        match request.operation {
            KvOperation::Read => Ok(found(&self.key, self.session.get(&self.key)?, verifies)),
            KvOperation::ReadModifyWrite => {
                let read = found(&self.key, self.session.get(&self.key)?, verifies);
                self.put(request)?;
                Ok(Answer { bytes: read.bytes + self.key.len() + bytes, ..read })
            }
            KvOperation::Delete => {
                self.session.delete(&self.key)?;
                Ok(Answer::of(self.key.len()))
            }
            KvOperation::Scan => self.scan(request),
            _ => {
                self.put(request)?;
                Ok(Answer::of(self.key.len() + bytes))
            }
        }
    }

    /// Puts the value that was made last.
    #[inline]
    fn put(&mut self, request: &ReplayRequest) -> Result<(), EngineError> {
        let value = self.values.made(request.value_bytes);
        match request.ttl_s {
            0 => self.session.put(&self.key, value),
            ttl_s => self.session.put_expiring(&self.key, value, ttl_s),
        }
    }

    /// Reads as many records from the key on as recorded, and none beyond the bound. A forward scan ends before its bound, a
    /// backward one with it.
    fn scan(&mut self, request: &ReplayRequest) -> Result<Answer, EngineError> {
        let mut answer = Answer { is_missing: true, ..Answer::of(0) };
        let (mut left, verifies) = (request.scan_length, self.context.plan.verifies);
        if left == 0 {
            return Ok(answer);
        }
        let direction = if request.is_backward { ScanDirection::Backward } else { ScanDirection::Forward };
        let is_beyond = |key: &[u8]| match direction {
            _ if self.bound.is_empty() => false,
            ScanDirection::Forward => key >= self.bound.as_slice(),
            ScanDirection::Backward => key < self.bound.as_slice(),
        };
        self.session.scan(Some(&self.key), direction, &mut |key, value| {
            if is_beyond(key) {
                return ControlFlow::Break(());
            }
            let record = found(key, Some(value), verifies);
            answer = Answer {
                bytes: answer.bytes + record.bytes,
                is_missing: false,
                is_wrong: answer.is_wrong || record.is_wrong,
            };
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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
            let may_fill = request.operation == KvOperation::Read && request.command_bytes == 0;
            if may_fill && self.context.plan.on_miss == MissAction::Put {
                self.fill(request);
            }
        }
    }

    /// Puts the value that a read missed.
    fn fill(&mut self, request: &ReplayRequest) {
        let clock = self.context.clock;
        let value = self.values.make(request.value_bytes, &self.key);
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
        self.counters.fail(1);
        self.context.note_failure(text);
    }
}

/// Overwrites `buffer` with `bytes`.
#[inline]
fn overwrite(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.clear();
    buffer.extend_from_slice(bytes);
}

/// Counts when a request, and all others of its command, were due and sent.
#[inline]
fn count_dispatch(dispatch: &mut Dispatch, request: &ReplayRequest, time: SendTime) {
    (0..=request.joined).for_each(|_| dispatch.count(request.due_ns, time.now_ns - time.zero_ns));
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
fn found(key: &[u8], found: Option<&[u8]>, verifies: bool) -> Answer {
    match found {
        None => Answer { is_missing: true, ..Answer::of(key.len()) },
        Some(found) => {
            let is_wrong = verifies && value::verify(key, found).is_err();
            Answer { is_wrong, ..Answer::of(key.len() + found.len()) }
        }
    }
}

/// Whether an operation stores a value.
#[inline]
pub(super) fn stores(operation: KvOperation) -> bool {
    matches!(operation, KvOperation::Put | KvOperation::Insert | KvOperation::Update | KvOperation::ReadModifyWrite)
}

/// Adds to a counter that only one thread writes.
#[inline]
pub(super) fn add(counter: &AtomicU64, more: u64) {
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
