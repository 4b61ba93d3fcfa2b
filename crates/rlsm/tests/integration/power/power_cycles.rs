//! The batches that a database was given between power cuts: numbered from 1, continued after each cut from the batches
//! that survived.

use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rlsm::Database;

use crate::support::work::{Step, Workload};
use crate::support::{Model, Write};

/// The key that every batch sets to its own number.
const LAST: &[u8] = b"last";

#[derive(Debug, Clone, Copy)]
struct PowerCycle {
    seed: u64,
    /// The number of the last batch before this power cycle.
    after: u64,
}

#[derive(Debug, Clone, Default)]
pub struct PowerCycles {
    cycles: Vec<PowerCycle>,
    last: u64,
}

impl PowerCycles {
    /// The power cycles after a power cut that left this many batches.
    pub fn left(&self, last: u64) -> Self {
        Self { cycles: self.cycles.clone(), last }
    }

    /// The number of the last batch.
    pub fn last(&self) -> u64 {
        self.last
    }

    pub fn begin(&mut self, seed: u64) {
        self.cycles.push(PowerCycle { seed, after: self.last });
    }

    /// The steps of the newest power cycle.
    pub fn steps(&self) -> Steps {
        Steps::of(*self.cycles.last().unwrap())
    }

    /// The expected content after the batch with this number.
    pub fn model(&self, last: u64) -> Model {
        let mut model = Model::new();
        for (index, cycle) in self.cycles.iter().enumerate() {
            let end = self.cycles.get(index + 1).map_or(last, |next| next.after);
            let mut steps = Steps::of(*cycle);
            while steps.number < end {
                if let Step::Write(writes) = steps.next() {
                    writes.iter().for_each(|write| write.apply(&mut model));
                }
            }
        }
        model
    }

    /// Formats the power cycles as a word of a kernel command line.
    pub fn to_word(&self) -> String {
        let cycles: Vec<_> = self.cycles.iter().map(|cycle| format!("{}:{}", cycle.seed, cycle.after)).collect();
        cycles.join("+")
    }

    pub fn from_word(word: &str) -> Self {
        let cycles = word.split('+').map(|cycle| {
            let (seed, after) = cycle.split_once(':').unwrap();
            PowerCycle { seed: seed.parse().unwrap(), after: after.parse().unwrap() }
        });
        Self { cycles: cycles.collect(), last: 0 }
    }
}

/// The number of the last batch in a database.
pub fn last(database: &Database) -> rlsm::Result<u64> {
    let value = database.get(LAST)?;
    Ok(value.map_or(0, |value| u64::from_be_bytes(value.as_ref().try_into().unwrap())))
}

pub struct Steps {
    chance: Xoshiro256PlusPlus,
    work: Workload,
    /// The number of the newest batch.
    pub number: u64,
}

impl Steps {
    fn of(cycle: PowerCycle) -> Self {
        Self { chance: Xoshiro256PlusPlus::seed_from_u64(cycle.seed), work: Workload::new(), number: cycle.after }
    }

    pub fn next(&mut self) -> Step {
        let mut step = self.work.step(&mut self.chance);
        if let Step::Write(writes) = &mut step {
            self.number += 1;
            writes.push(Write::Put(LAST.to_vec(), self.number.to_be_bytes().to_vec()));
        }
        step
    }
}
