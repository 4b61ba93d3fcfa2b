//! What a database was given over its lives: batches numbered from 1, of which each life continues those that the
//! power cut before it has left.

use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rlsm::Database;

use crate::support::{Model, Write};
use crate::work::{Step, Work};

/// The key that every batch sets to its own number.
const LAST: &[u8] = b"last";

#[derive(Debug, Clone, Copy)]
struct Life {
    seed: u64,
    /// The number of the last batch before it.
    after: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Lives {
    lives: Vec<Life>,
    last: u64,
}

impl Lives {
    /// A power cut has left so many batches.
    pub fn left(&self, last: u64) -> Self {
        Self { lives: self.lives.clone(), last }
    }

    /// The number of the last batch that there is.
    pub fn last(&self) -> u64 {
        self.last
    }

    pub fn begin(&mut self, seed: u64) {
        self.lives.push(Life { seed, after: self.last });
    }

    /// The steps of the newest life.
    pub fn steps(&self) -> Steps {
        Steps::of(*self.lives.last().unwrap())
    }

    /// What the database holds after the batch of this number.
    pub fn model(&self, last: u64) -> Model {
        let mut model = Model::new();
        for (index, life) in self.lives.iter().enumerate() {
            let end = self.lives.get(index + 1).map_or(last, |next| next.after);
            let mut steps = Steps::of(*life);
            while steps.number < end {
                if let Step::Write(writes) = steps.next() {
                    writes.iter().for_each(|write| write.apply(&mut model));
                }
            }
        }
        model
    }

    /// As a word of a kernel's command line.
    pub fn to_word(&self) -> String {
        let lives: Vec<_> = self.lives.iter().map(|life| format!("{}:{}", life.seed, life.after)).collect();
        lives.join("+")
    }

    pub fn from_word(word: &str) -> Self {
        let lives = word.split('+').map(|life| {
            let (seed, after) = life.split_once(':').unwrap();
            Life { seed: seed.parse().unwrap(), after: after.parse().unwrap() }
        });
        Self { lives: lives.collect(), last: 0 }
    }
}

/// The number of the last batch that a database has.
pub fn last(database: &Database) -> rlsm::Result<u64> {
    let value = database.get(LAST)?;
    Ok(value.map_or(0, |value| u64::from_be_bytes(value.as_ref().try_into().unwrap())))
}

pub struct Steps {
    chance: Xoshiro256PlusPlus,
    work: Work,
    /// The number of the newest batch.
    pub number: u64,
}

impl Steps {
    fn of(life: Life) -> Self {
        Self { chance: Xoshiro256PlusPlus::seed_from_u64(life.seed), work: Work::new(), number: life.after }
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
