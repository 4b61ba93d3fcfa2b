//! One thread's requests, one after the other.

use std::ops::ControlFlow;

use manometer_measure::Clock;
use manometer_target::engine::{ScanDirection, Session, value};
use rand_xoshiro::rand_core::Rng as _;

use super::asker::{Asker, asker};
use super::batch::Batch;
use super::counted::Counted;
use super::distribution::{Random, stream};
use super::error::KvError;
use super::gate::Gate;
use super::keys::KeyBuffer;
use super::pace::{Arrivals, Due, Pace};
use super::plan::{Expect, KvPlan, Update};
use super::plans::Plans;
use super::population::Population;
use super::ready::Ready;
use super::request::{Operation, Request};
use super::values::Values;

/// What the threads of a workload share.
pub(super) struct Shared<'a, C> {
    /// The plan in force; a thread's own copy may be that of before the last change.
    pub(super) plan: &'a KvPlan,
    pub(super) plans: &'a Plans,
    pub(super) seed: u64,
    pub(super) clock: &'a C,
    pub(super) gate: &'a Gate,
    pub(super) population: &'a Population,
    pub(super) arrivals: &'a Arrivals,
}

impl<C> Clone for Shared<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Shared<'_, C> {}

/// A thread that asks.
pub(super) struct Client<'a, C> {
    pub(super) shared: Shared<'a, C>,
    thread: u32,
    pub(super) counted: &'a Counted,
    pub(super) session: Box<dyn Session + 'a>,
    pub(super) asker: Box<dyn Asker + 'a>,
    pace: Pace<'a>,
    pub(super) random: Random,
    pub(super) values: Values,
    ready: Ready,
    /// The key of a request that is sent together with others.
    pub(super) key: KeyBuffer,
    pub(super) batch: Batch,
    record: Vec<u8>,
    many: Vec<KeyBuffer>,
    /// Where a walk through all records has come to; nowhere before it begins and after its end.
    walked_to: Option<Vec<u8>>,
    turn: u32,
    /// Whether requests are sent together; those in the background never are.
    together: bool,
    /// The turn whose settings are in force here.
    followed: u32,
    /// Requests still to send.
    pub(super) left: u64,
}

impl<'a, C: Clock> Client<'a, C> {
    /// The client of thread `thread`.
    pub(super) fn new(
        shared: &Shared<'a, C>,
        thread: u32,
        counted: &'a Counted,
        session: Box<dyn Session + 'a>,
    ) -> Self {
        let plan = shared.plan;
        let mut random = stream(shared.seed, thread + 1);
        if plan.background_of(thread).is_none() {
            counted.expect(&plan.work.operations());
        }
        Self {
            shared: *shared,
            thread,
            counted,
            session,
            asker: asker(plan, shared.seed, thread, shared.population),
            pace: match plan.background_of(thread) {
                Some(background) => Pace::of_background(background.per_second),
                None => Pace::new(&plan.pace, shared.arrivals),
            },
            values: Values::new(&plan.work.values, &mut random),
            random,
            ready: Ready::new(plan.work.keys_asked_for()),
            key: KeyBuffer::new(plan.work.keys_asked_for()),
            batch: Batch::default(),
            record: Vec::new(),
            many: Vec::new(),
            walked_to: None,
            turn: 0,
            together: plan.pipeline > 1 && plan.background_of(thread).is_none(),
            followed: 0,
            left: plan.operations_of(thread),
        }
    }

    /// Asks until the gate says it is time to go home, or until everything that was to be asked has been.
    pub(super) fn run(&mut self) -> Result<(), KvError> {
        while self.left > 0 && self.shared.gate.pass(&mut self.turn) {
            if self.turn != self.followed {
                self.follow();
            }
            if self.together {
                self.operate_together()?;
            } else if matches!(self.pace, Pace::Closed) && self.asker.ahead() {
                self.operate_ahead()?;
            } else if let Some(due) = self.pace.next(self.shared.clock, self.shared.gate, self.turn) {
                self.operate(due)?;
            }
        }
        Ok(())
    }

    /// Takes over the settings in force. What did not change goes on where it was.
    #[cold]
    fn follow(&mut self) {
        self.followed = self.turn;
        let (old, new) = (self.shared.plan, self.shared.plans.latest());
        if std::ptr::eq(old, new) {
            return;
        }
        self.shared.plan = new;
        self.ready.forget();
        if new.background_of(self.thread).is_none() {
            self.counted.expect(&new.work.operations());
        }
        match new.background_of(self.thread) {
            Some(background) if old.background_of(self.thread) != Some(background) => {
                self.pace = Pace::of_background(background.per_second);
            }
            None if old.pace != new.pace => self.pace = Pace::new(&new.pace, self.shared.arrivals),
            _ => {}
        }
        // An asker that goes through the records in order would begin again.
        if (&old.work.asks, old.work.distribution) != (&new.work.asks, new.work.distribution) {
            self.asker = asker(new, self.shared.seed, self.thread, self.shared.population);
        }
        if old.work.values != new.work.values {
            self.values = Values::new(&new.work.values, &mut self.random);
        }
    }

    /// Requests that were chosen in a row, until all are answered or the gate closes. Nothing happens between two of
    /// them, so that one reading of the clock ends the one and begins the other.
    #[inline]
    fn operate_ahead(&mut self) -> Result<(), KvError> {
        let Shared { clock, gate, .. } = self.shared;
        let (asker, random) = (&mut self.asker, &mut self.random);
        self.ready.choose(self.left, || asker.next(random));
        let mut start = clock.ticks();
        while let Some(request) = self.ready.request() {
            let bytes = self.ask(request)?;
            let end = clock.ticks();
            self.counted.count(request.operation, clock.elapsed_ns(start, end), None, bytes);
            start = end;
            self.ready.answered();
            self.left -= 1;
            if !gate.is_open(self.turn) {
                break;
            }
        }
        Ok(())
    }

    /// One request. Choosing the record and writing its key is not part of its latency, as in YCSB.
    #[inline]
    fn operate(&mut self, due: Due) -> Result<(), KvError> {
        let request = self.asker.next(&mut self.random);
        if matches!(request.operation, Operation::Next | Operation::BackgroundScan) {
            return self.walk(request);
        }
        self.ready.turn_to(request.record);
        if request.operation == Operation::MultiRead {
            self.choose_many(request);
        }
        let clock = self.shared.clock;
        let start = clock.ticks();
        let bytes = self.ask(request)?;
        let end = clock.ticks();
        let response_ns = match due {
            Due::Now => None,
            Due::At(due_ns) => Some(clock.now_ns().saturating_sub(due_ns)),
        };
        self.pace.answered(clock);
        self.counted.count(request.operation, clock.elapsed_ns(start, end), response_ns, bytes);
        self.left -= 1;
        Ok(())
    }

    /// Sends `request` and takes the answer; tells the bytes of keys and values that moved.
    #[inline]
    fn ask(&mut self, request: Request) -> Result<usize, KvError> {
        let record = request.record;
        match request.operation {
            Operation::Read => self.read(request),
            Operation::Update if self.shared.plan.work.update == Update::Field => self.write_field(record),
            Operation::Update | Operation::BackgroundUpdate => self.write(request),
            Operation::ReadModifyWrite if self.shared.plan.work.update == Update::Field => self.write_field(record),
            Operation::ReadModifyWrite => Ok(self.read(request)? + self.write(request)?),
            Operation::Insert => {
                let bytes = self.write(request)?;
                if self.shared.plan.work.grows() {
                    self.shared.population.inserted(record);
                }
                Ok(bytes)
            }
            // Of a replay alone, which sends its requests itself.
            Operation::Put | Operation::Fill => self.write(request),
            Operation::Merge | Operation::BackgroundMerge => {
                let key = self.ready.key();
                let operand = self.values.make(key, &mut self.random);
                let bytes = key.len() + operand.len();
                self.session.merge(key, operand)?;
                Ok(bytes)
            }
            Operation::Delete => {
                self.session.delete(self.ready.key())?;
                Ok(self.ready.key().len())
            }
            Operation::MultiRead => self.read_many(),
            Operation::Scan | Operation::Next | Operation::BackgroundScan => self.scan(request),
        }
    }

    #[inline]
    fn read(&mut self, request: Request) -> Result<usize, KvError> {
        let key = self.ready.key();
        let found = self.session.get(key)?;
        if found.is_none() {
            self.counted.miss(request.operation);
        }
        Ok(key.len() + verify(self.shared.plan, request.record, key, found)?.len())
    }

    #[inline]
    fn write(&mut self, request: Request) -> Result<usize, KvError> {
        let key = self.ready.key();
        let value = self.values.make_for(request, key, &mut self.random);
        self.session.put(key, value)?;
        Ok(key.len() + value.len())
    }

    /// Reads the record, replaces one of its fields, writes it whole.
    fn write_field(&mut self, record: u64) -> Result<usize, KvError> {
        let work = &self.shared.plan.work;
        let key = self.ready.key();
        let found = verify(self.shared.plan, record, key, self.session.get(key)?)?;
        self.record.clear();
        self.record.extend_from_slice(found);
        let length = (self.record.len() / work.fields.max(1) as usize).max(1);
        let field = self.random.next_u64() as usize % work.fields.max(1) as usize;
        let from = (field * length).min(self.record.len());
        let place = from..(from + length).min(self.record.len());
        // A record may be from before a change and longer than the values of now.
        for piece in self.record[place].chunks_mut(work.values.lengths.max().max(1)) {
            let fresh = self.values.bytes(piece.len(), &mut self.random);
            piece.copy_from_slice(fresh);
        }
        value::write_header(key, &mut self.record);
        self.session.put(key, &self.record)?;
        Ok(2 * (key.len() + self.record.len()))
    }

    /// Chooses the records of a multi-read; the first is that of the request.
    fn choose_many(&mut self, request: Request) {
        if self.many.len() != request.length as usize {
            self.many.resize(request.length as usize, KeyBuffer::new(self.shared.plan.work.keys_asked_for()));
        }
        for (place, key) in self.many.iter_mut().enumerate() {
            let record = if place == 0 { request.record } else { self.asker.record(&mut self.random) };
            key.of_record(record);
        }
    }

    fn read_many(&mut self) -> Result<usize, KvError> {
        let keys: Vec<&[u8]> = self.many.iter().map(KeyBuffer::bytes).collect();
        let (mut bytes, mut fault) = (0, None);
        let plan = self.shared.plan;
        self.session.get_many(&keys, &mut |place, found| {
            if found.is_none() {
                self.counted.miss(Operation::MultiRead);
            }
            match verify(plan, u64::MAX, keys[place], found) {
                Ok(found) => bytes += keys[place].len() + found.len(),
                Err(error) => drop(fault.get_or_insert(error)),
            }
        })?;
        fault.map_or(Ok(bytes), Err)
    }

    /// Takes up to `length` records from the key on.
    fn scan(&mut self, request: Request) -> Result<usize, KvError> {
        let plan = self.shared.plan;
        let direction = if request.backward { ScanDirection::Backward } else { ScanDirection::Forward };
        let (mut left, mut bytes, mut fault) = (request.length, 0, None);
        let key = self.ready.key();
        let (mut first, mut sought_is_there) = (true, false);
        self.session.scan(Some(key), direction, &mut |found_key, value| {
            if std::mem::take(&mut first) {
                sought_is_there = found_key == key;
                if !sought_is_there && plan.work.expect == Expect::Present {
                    return ControlFlow::Break(());
                }
            }
            if let Err(found) = value::verify(found_key, value) {
                fault = Some(wrong(plan, u64::MAX, found_key, found));
                return ControlFlow::Break(());
            }
            bytes += found_key.len() + value.len();
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if !sought_is_there && plan.work.expect == Expect::Present {
            return Err(lost(plan, request.record, key));
        }
        if !sought_is_there {
            self.counted.miss(request.operation);
        }
        fault.map_or(Ok(bytes), Err)
    }

    /// Walks on through all records until the gate closes or the end is reached, counting each.
    fn walk(&mut self, request: Request) -> Result<(), KvError> {
        let Shared { plan, clock, gate, .. } = self.shared;
        let direction = if request.backward { ScanDirection::Backward } else { ScanDirection::Forward };
        let mut last_ns = clock.now_ns();
        let mut last_key = Vec::new();
        let (mut fault, mut cut) = (None, false);
        let start = self.walked_to.take();
        let (left, counted, turn) = (&mut self.left, self.counted, self.turn);
        let mut first = true;
        self.session.scan(start.as_deref(), direction, &mut |key, value| {
            // Where it stopped was counted before; later keys are never compared, which would cost time.
            if std::mem::take(&mut first) && start.as_deref() == Some(key) {
                return ControlFlow::Continue(());
            }
            if let Err(found) = value::verify(key, value) {
                fault = Some(wrong(plan, u64::MAX, key, found));
                return ControlFlow::Break(());
            }
            let now_ns = clock.now_ns();
            counted.count(request.operation, now_ns.saturating_sub(last_ns), None, key.len() + value.len());
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
            self.walked_to = Some(last_key);
        }
        fault.map_or(Ok(()), Err)
    }
}

/// What was found, when it is what was written; nothing where that may be.
#[inline]
pub(super) fn verify<'v>(plan: &KvPlan, record: u64, key: &[u8], found: Option<&'v [u8]>) -> Result<&'v [u8], KvError> {
    let Some(found) = found else {
        return if plan.work.expect == Expect::Present { Err(lost(plan, record, key)) } else { Ok(&[]) };
    };
    if plan.work.expect == Expect::Absent {
        return Err(KvError::Found { engine: plan.engine.name, record, key: text(key) });
    }
    match value::verify(key, found) {
        Ok(()) => Ok(found),
        Err(fault) => Err(wrong(plan, record, key, fault)),
    }
}

#[cold]
fn lost(plan: &KvPlan, record: u64, key: &[u8]) -> KvError {
    KvError::Lost { engine: plan.engine.name, record, key: text(key) }
}

#[cold]
fn wrong(plan: &KvPlan, record: u64, key: &[u8], fault: value::ValueError) -> KvError {
    KvError::Wrong { engine: plan.engine.name, record, key: text(key), fault }
}

/// A key as text, with what cannot be printed escaped.
fn text(key: &[u8]) -> String {
    key.escape_ascii().to_string()
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
