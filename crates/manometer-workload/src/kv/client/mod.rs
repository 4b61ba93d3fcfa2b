//! A client thread: it sends requests and counts them.

mod batch;
mod request_buffer;

use std::ops::ControlFlow;

use manometer_measure::Clock;
use manometer_target::engine::{EngineSession, ScanDirection, value};
use rand_xoshiro::rand_core::Rng as _;

use super::generator::{RequestGenerator, generator};

use super::distribution::{Random, stream};
use super::error::KvError;
use super::gate::Gate;
use super::keys::KeyBuffer;
use super::pace::{Arrivals, DueTime, Pace};
use super::plan::{KvPlan, Presence, UpdateMode};
use super::plan_history::PlanHistory;
use super::population::Population;
use super::thread_counters::ThreadCounters;

use self::batch::RequestBatch;
use self::request_buffer::RequestBuffer;
use super::request::{KvOperation, KvRequest};
use super::values::ValueGenerator;

/// The context that the threads of a workload share.
pub(super) struct ClientContext<'a, C> {
    /// The plan in force; a thread's own copy may be that of before the last change.
    pub(super) plan: &'a KvPlan,
    pub(super) plans: &'a PlanHistory,
    pub(super) seed: u64,
    pub(super) clock: &'a C,
    pub(super) gate: &'a Gate,
    pub(super) population: &'a Population,
    pub(super) arrivals: &'a Arrivals,
}

impl<C> Clone for ClientContext<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for ClientContext<'_, C> {}

/// A client thread.
pub(super) struct Client<'a, C> {
    context: ClientContext<'a, C>,
    thread: u32,
    counters: &'a ThreadCounters,
    session: Box<dyn EngineSession + 'a>,
    generator: Box<dyn RequestGenerator + 'a>,
    pace: Pace<'a>,
    random: Random,
    values: ValueGenerator,
    buffer: RequestBuffer,
    /// The key of a pipelined request.
    key: KeyBuffer,
    batch: RequestBatch,
    record: Vec<u8>,
    multi_keys: Vec<KeyBuffer>,
    /// The last key of an iteration over all records; nothing before its start and after its end.
    iterator_position: Option<Vec<u8>>,
    turn: u32,
    /// Whether requests are pipelined; background requests never are.
    is_pipelined: bool,
    /// The opening of the gate whose settings are in force here.
    applied: u32,
    /// Requests still to send.
    left: u64,
}

impl<'a, C: Clock> Client<'a, C> {
    /// The client of thread `thread`.
    pub(super) fn new(
        context: &ClientContext<'a, C>,
        thread: u32,
        counters: &'a ThreadCounters,
        session: Box<dyn EngineSession + 'a>,
    ) -> Self {
        let plan = context.plan;
        let mut random = stream(context.seed, thread + 1);
        if plan.background_of(thread).is_none() {
            counters.allocate(&plan.spec.operations());
        }
        Self {
            context: *context,
            thread,
            counters,
            session,
            generator: generator(plan, context.seed, thread, context.population),
            pace: match plan.background_of(thread) {
                Some(background) => Pace::of_background(background.per_second),
                None => Pace::new(&plan.pace, context.arrivals),
            },
            values: ValueGenerator::new(&plan.spec.values, &mut random),
            random,
            buffer: RequestBuffer::new(plan.spec.request_keys()),
            key: KeyBuffer::new(plan.spec.request_keys()),
            batch: RequestBatch::default(),
            record: Vec::new(),
            multi_keys: Vec::new(),
            iterator_position: None,
            turn: 0,
            is_pipelined: plan.pipeline > 1 && plan.background_of(thread).is_none(),
            applied: 0,
            left: plan.operations_of(thread),
        }
    }

    /// Sends requests until the gate is stopped or all requests were sent.
    pub(super) fn run(&mut self) -> Result<(), KvError> {
        while self.left > 0 && self.context.gate.pass(&mut self.turn) {
            if self.turn != self.applied {
                self.apply_latest_plan();
            }
            if self.is_pipelined {
                self.send_pipelined()?;
            } else if matches!(self.pace, Pace::Closed) && self.generator.ahead() {
                self.send_buffered()?;
            } else if let Some(due) = self.pace.next(self.context.clock, self.context.gate, self.turn) {
                self.send_one(due)?;
            }
        }
        Ok(())
    }

    /// Takes over the settings in force. Parts that did not change keep their state.
    #[cold]
    fn apply_latest_plan(&mut self) {
        self.applied = self.turn;
        let (old, new) = (self.context.plan, self.context.plans.latest());
        if std::ptr::eq(old, new) {
            return;
        }
        self.context.plan = new;
        self.buffer.clear();
        if new.background_of(self.thread).is_none() {
            self.counters.allocate(&new.spec.operations());
        }
        match new.background_of(self.thread) {
            Some(background) if old.background_of(self.thread) != Some(background) => {
                self.pace = Pace::of_background(background.per_second);
            }
            None if old.pace != new.pace => self.pace = Pace::new(&new.pace, self.context.arrivals),
            _ => {}
        }
        // A new sequential generator would start again.
        if (&old.spec.mix, old.spec.distribution) != (&new.spec.mix, new.spec.distribution) {
            self.generator = generator(new, self.context.seed, self.thread, self.context.population);
        }
        if old.spec.values != new.spec.values {
            self.values = ValueGenerator::new(&new.spec.values, &mut self.random);
        }
    }

    /// Sends the requests that were chosen ahead, until all are answered or the gate closes. One reading of the clock ends
    /// one request and starts the next.
    #[inline]
    fn send_buffered(&mut self) -> Result<(), KvError> {
        let ClientContext { clock, gate, .. } = self.context;
        let (generator, random) = (&mut self.generator, &mut self.random);
        self.buffer.refill(self.left, || generator.next(random));
        let mut start = clock.ticks();
        while let Some(request) = self.buffer.request() {
            let bytes = self.execute(request)?;
            let end = clock.ticks();
            self.counters.count(request.operation, clock.elapsed_ns(start, end), None, bytes);
            start = end;
            self.buffer.advance();
            self.left -= 1;
            if !gate.is_open(self.turn) {
                break;
            }
        }
        Ok(())
    }

    /// One request. Choosing the record and writing its key is not part of its latency, as in YCSB.
    #[inline]
    fn send_one(&mut self, due: DueTime) -> Result<(), KvError> {
        let request = self.generator.next(&mut self.random);
        if matches!(request.operation, KvOperation::Next | KvOperation::BackgroundScan) {
            return self.iterate(request);
        }
        self.buffer.set_record(request.record);
        if request.operation == KvOperation::MultiRead {
            self.choose_records(request);
        }
        let clock = self.context.clock;
        let start = clock.ticks();
        let bytes = self.execute(request)?;
        let end = clock.ticks();
        let response_ns = match due {
            DueTime::Now => None,
            DueTime::At(due_ns) => Some(clock.now_ns().saturating_sub(due_ns)),
        };
        self.pace.answered(clock);
        self.counters.count(request.operation, clock.elapsed_ns(start, end), response_ns, bytes);
        self.left -= 1;
        Ok(())
    }

    /// Sends `request` and takes the answer; returns the bytes of keys and values that moved.
    #[inline]
    fn execute(&mut self, request: KvRequest) -> Result<usize, KvError> {
        let record = request.record;
        match request.operation {
            KvOperation::Read => self.read(request),
            KvOperation::Update if self.context.plan.spec.update == UpdateMode::Field => self.write_field(record),
            KvOperation::Update | KvOperation::BackgroundUpdate => self.write(request),
            KvOperation::ReadModifyWrite if self.context.plan.spec.update == UpdateMode::Field => {
                self.write_field(record)
            }
            KvOperation::ReadModifyWrite => Ok(self.read(request)? + self.write(request)?),
            KvOperation::Insert => {
                let bytes = self.write(request)?;
                if self.context.plan.spec.grows() {
                    self.context.population.inserted(record);
                }
                Ok(bytes)
            }
            // Only a replay has these, and it sends its own requests.
            KvOperation::Put | KvOperation::Fill => self.write(request),
            KvOperation::Merge | KvOperation::BackgroundMerge => {
                let key = self.buffer.key();
                let operand = self.values.make(key, &mut self.random);
                let bytes = key.len() + operand.len();
                self.session.merge(key, operand)?;
                Ok(bytes)
            }
            KvOperation::Delete => {
                self.session.delete(self.buffer.key())?;
                Ok(self.buffer.key().len())
            }
            KvOperation::MultiRead => self.read_multi(),
            KvOperation::Scan | KvOperation::Next | KvOperation::BackgroundScan => self.scan(request),
        }
    }

    #[inline]
    fn read(&mut self, request: KvRequest) -> Result<usize, KvError> {
        let key = self.buffer.key();
        let found = self.session.get(key)?;
        if found.is_none() {
            self.counters.count_missing(request.operation);
        }
        Ok(key.len() + verify(self.context.plan, request.record, key, found)?.len())
    }

    #[inline]
    fn write(&mut self, request: KvRequest) -> Result<usize, KvError> {
        let key = self.buffer.key();
        let value = self.values.make_for(request, key, &mut self.random);
        self.session.put(key, value)?;
        Ok(key.len() + value.len())
    }

    /// Reads the record, replaces one of its fields, writes it whole.
    fn write_field(&mut self, record: u64) -> Result<usize, KvError> {
        let spec = &self.context.plan.spec;
        let key = self.buffer.key();
        let found = verify(self.context.plan, record, key, self.session.get(key)?)?;
        self.record.clear();
        self.record.extend_from_slice(found);
        let length = (self.record.len() / spec.fields.max(1) as usize).max(1);
        let field = self.random.next_u64() as usize % spec.fields.max(1) as usize;
        let from = (field * length).min(self.record.len());
        let place = from..(from + length).min(self.record.len());
        // A record may be from before a change and longer than the values of now.
        for piece in self.record[place].chunks_mut(spec.values.lengths.max().max(1)) {
            let fresh = self.values.bytes(piece.len(), &mut self.random);
            piece.copy_from_slice(fresh);
        }
        value::write_header(key, &mut self.record);
        self.session.put(key, &self.record)?;
        Ok(2 * (key.len() + self.record.len()))
    }

    /// Chooses the records of a multi-read; the first is that of the request.
    fn choose_records(&mut self, request: KvRequest) {
        if self.multi_keys.len() != request.length as usize {
            self.multi_keys.resize(request.length as usize, KeyBuffer::new(self.context.plan.spec.request_keys()));
        }
        for (place, key) in self.multi_keys.iter_mut().enumerate() {
            let record = if place == 0 { request.record } else { self.generator.record(&mut self.random) };
            key.of_record(record);
        }
    }

    fn read_multi(&mut self) -> Result<usize, KvError> {
        let keys: Vec<&[u8]> = self.multi_keys.iter().map(KeyBuffer::bytes).collect();
        let (mut bytes, mut fault) = (0, None);
        let plan = self.context.plan;
        self.session.get_many(&keys, &mut |place, found| {
            if found.is_none() {
                self.counters.count_missing(KvOperation::MultiRead);
            }
            match verify(plan, u64::MAX, keys[place], found) {
                Ok(found) => bytes += keys[place].len() + found.len(),
                Err(error) => drop(fault.get_or_insert(error)),
            }
        })?;
        fault.map_or(Ok(bytes), Err)
    }

    /// Reads up to `length` records from the key on.
    fn scan(&mut self, request: KvRequest) -> Result<usize, KvError> {
        let plan = self.context.plan;
        let direction = if request.backward { ScanDirection::Backward } else { ScanDirection::Forward };
        let (mut left, mut bytes, mut fault) = (request.length, 0, None);
        let key = self.buffer.key();
        let (mut first, mut sought_is_there) = (true, false);
        self.session.scan(Some(key), direction, &mut |found_key, value| {
            if std::mem::take(&mut first) {
                sought_is_there = found_key == key;
                if !sought_is_there && plan.spec.expect == Presence::Present {
                    return ControlFlow::Break(());
                }
            }
            if let Err(found) = value::verify(found_key, value) {
                fault = Some(wrong_value(plan, u64::MAX, found_key, found));
                return ControlFlow::Break(());
            }
            bytes += found_key.len() + value.len();
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if !sought_is_there && plan.spec.expect == Presence::Present {
            return Err(lost_record(plan, request.record, key));
        }
        if !sought_is_there {
            self.counters.count_missing(request.operation);
        }
        fault.map_or(Ok(bytes), Err)
    }

    /// Iterates over all records until the gate closes or the end is reached, and counts each.
    fn iterate(&mut self, request: KvRequest) -> Result<(), KvError> {
        let ClientContext { plan, clock, gate, .. } = self.context;
        let direction = if request.backward { ScanDirection::Backward } else { ScanDirection::Forward };
        let mut last_ns = clock.now_ns();
        let mut last_key = Vec::new();
        let (mut fault, mut cut) = (None, false);
        let start = self.iterator_position.take();
        let (left, counters, turn) = (&mut self.left, self.counters, self.turn);
        let mut first = true;
        self.session.scan(start.as_deref(), direction, &mut |key, value| {
            // The record where it stopped is already counted. Later keys are not compared, which would take time.
            if std::mem::take(&mut first) && start.as_deref() == Some(key) {
                return ControlFlow::Continue(());
            }
            if let Err(found) = value::verify(key, value) {
                fault = Some(wrong_value(plan, u64::MAX, key, found));
                return ControlFlow::Break(());
            }
            let now_ns = clock.now_ns();
            counters.count(request.operation, now_ns.saturating_sub(last_ns), None, key.len() + value.len());
            last_ns = now_ns;
            *left -= 1;
            cut = *left == 0 || !gate.is_open(turn);
            if !cut {
                return ControlFlow::Continue(());
            }
            last_key.extend_from_slice(key);
            ControlFlow::Break(())
        })?;
        if cut {
            self.iterator_position = Some(last_key);
        }
        fault.map_or(Ok(()), Err)
    }
}

/// The found value, if it is the written one; empty where a missing record is no error.
#[inline]
pub(super) fn verify<'v>(plan: &KvPlan, record: u64, key: &[u8], found: Option<&'v [u8]>) -> Result<&'v [u8], KvError> {
    let Some(found) = found else {
        return if plan.spec.expect == Presence::Present { Err(lost_record(plan, record, key)) } else { Ok(&[]) };
    };
    if plan.spec.expect == Presence::Absent {
        return Err(KvError::Found { engine: plan.engine.name, record, key: text(key) });
    }
    match value::verify(key, found) {
        Ok(()) => Ok(found),
        Err(fault) => Err(wrong_value(plan, record, key, fault)),
    }
}

#[cold]
fn lost_record(plan: &KvPlan, record: u64, key: &[u8]) -> KvError {
    KvError::Lost { engine: plan.engine.name, record, key: text(key) }
}

#[cold]
fn wrong_value(plan: &KvPlan, record: u64, key: &[u8], fault: value::ValueError) -> KvError {
    KvError::Wrong { engine: plan.engine.name, record, key: text(key), fault }
}

/// A key as text, with unprintable bytes escaped.
fn text(key: &[u8]) -> String {
    key.escape_ascii().to_string()
}

#[cfg(test)]
mod tests;
