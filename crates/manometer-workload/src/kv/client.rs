//! One thread's requests, one after the other: the closed loop.

use manometer_measure::Clock;
use manometer_target::engine::{EngineError, Session, value};
use rand_xoshiro::rand_core::Rng as _;

use super::cells::Cells;
use super::distribution::{Random, Records, stream};
use super::error::KvError;
use super::gate::Gate;
use super::keys::KeyBuffer;
use super::plan::{KvPlan, Mix, Update};
use super::values::Values;

/// The operations, in the order of a thread's cells.
pub(super) const OPERATIONS: [&str; 3] = ["read", "update", "read_modify_write"];
const READ: usize = 0;
const UPDATE: usize = 1;
const READ_MODIFY_WRITE: usize = 2;

/// What one thread counts, an entry for each of [`OPERATIONS`].
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) cells: [Cells; OPERATIONS.len()],
}

/// Decides which operation comes next.
#[derive(Debug, Clone, Copy)]
struct Chooser {
    reads_below: u64,
    updates_below: u64,
}

impl Chooser {
    fn new(mix: Mix) -> Self {
        let scale = (1_u64 << 63) as f64;
        let reads_below = (mix.read * scale) as u64;
        Self { reads_below, updates_below: reads_below + (mix.update * scale) as u64 }
    }

    /// Uses 63 bits, so that a share of 1 is all there is.
    #[inline]
    fn choose(self, random: &mut Random) -> usize {
        let at = random.next_u64() >> 1;
        usize::from(at >= self.reads_below) + usize::from(at >= self.updates_below)
    }
}

/// A thread that asks.
pub(super) struct Client<'a, C> {
    plan: &'a KvPlan,
    clock: &'a C,
    gate: &'a Gate,
    counted: &'a Counted,
    session: Box<dyn Session + 'a>,
    records: Records,
    chooser: Chooser,
    random: Random,
    values: Values,
    key: KeyBuffer,
    record: Vec<u8>,
}

impl<'a, C: Clock> Client<'a, C> {
    /// The client of thread `thread`.
    pub(super) fn new(
        plan: &'a KvPlan,
        seed: u64,
        thread: u32,
        clock: &'a C,
        gate: &'a Gate,
        counted: &'a Counted,
        session: Box<dyn Session + 'a>,
    ) -> Self {
        let mut random = stream(seed, thread + 1);
        Self {
            plan,
            clock,
            gate,
            counted,
            session,
            records: Records::new(plan.distribution, plan.records, seed),
            chooser: Chooser::new(plan.mix),
            values: Values::new(plan.value_bytes(), &mut random),
            random,
            key: KeyBuffer::default(),
            record: Vec::with_capacity(plan.value_bytes()),
        }
    }

    /// Asks until the gate says it is time to go home.
    pub(super) fn run(&mut self) -> Result<(), KvError> {
        while self.gate.pass() {
            self.operate()?;
        }
        Ok(())
    }

    /// One operation. Choosing the record and writing its key is not part of its latency, as in YCSB.
    #[inline]
    fn operate(&mut self) -> Result<(), KvError> {
        let operation = self.chooser.choose(&mut self.random);
        let record = self.records.draw(&mut self.random);
        self.key.of_record(record);
        let start_ns = self.clock.now_ns();
        let passes = match operation {
            READ => self.read(record)?,
            UPDATE => self.update(record)?,
            _ => self.read_modify_write(record)?,
        };
        let end_ns = self.clock.now_ns();
        let bytes = passes * (self.key.bytes().len() + self.plan.value_bytes());
        self.counted.cells[operation].count(end_ns.saturating_sub(start_ns), bytes);
        Ok(())
    }

    /// Reads and verifies; tells how often a record moved.
    #[inline]
    fn read(&mut self, record: u64) -> Result<usize, KvError> {
        let key = self.key.bytes();
        let found = self.session.get(key)?;
        verify(self.plan, record, key, found)?;
        Ok(1)
    }

    #[inline]
    fn update(&mut self, record: u64) -> Result<usize, KvError> {
        match self.plan.update {
            Update::Record => {
                self.write()?;
                Ok(1)
            }
            Update::Field => {
                self.write_field(record)?;
                Ok(2)
            }
        }
    }

    #[inline]
    fn read_modify_write(&mut self, record: u64) -> Result<usize, KvError> {
        match self.plan.update {
            Update::Record => {
                self.read(record)?;
                self.write()?;
            }
            Update::Field => self.write_field(record)?,
        }
        Ok(2)
    }

    #[inline]
    fn write(&mut self) -> Result<(), EngineError> {
        let key = self.key.bytes();
        let value = self.values.make(key, &mut self.random);
        self.session.put(key, value)
    }

    /// Reads the record, replaces one of its fields, writes it whole.
    fn write_field(&mut self, record: u64) -> Result<(), KvError> {
        let key = self.key.bytes();
        let found = verify(self.plan, record, key, self.session.get(key)?)?;
        self.record.clear();
        self.record.extend_from_slice(found);
        let length = self.plan.field_length as usize;
        let field = self.random.next_u64() as usize % self.plan.field_count as usize;
        let fresh = self.values.bytes(length, &mut self.random);
        self.record[field * length..(field + 1) * length].copy_from_slice(fresh);
        value::seal(key, &mut self.record);
        Ok(self.session.put(key, &self.record)?)
    }
}

/// What was found, when it is what was written.
#[inline]
fn verify<'v>(plan: &KvPlan, record: u64, key: &[u8], found: Option<&'v [u8]>) -> Result<&'v [u8], KvError> {
    let text = || String::from_utf8_lossy(key).into_owned();
    let engine = plan.engine.name;
    let found = found.ok_or_else(|| KvError::Lost { engine, record, key: text() })?;
    match value::verify(key, found) {
        Ok(()) => Ok(found),
        Err(fault) => Err(KvError::Wrong { engine, record, key: text(), fault }),
    }
}

/// The operations that `mix` has.
pub(super) fn operations_of(mix: Mix) -> impl Iterator<Item = usize> {
    let has = [mix.read > 0.0, mix.update > 0.0, mix.read_modify_write > 0.0];
    [READ, UPDATE, READ_MODIFY_WRITE].into_iter().filter(move |operation| has[*operation])
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
