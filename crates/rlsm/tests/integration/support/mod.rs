//! Writes, their model in a map, and reading a whole database.

pub mod history;
pub mod points;
pub mod work;

use std::collections::BTreeMap;

use rlsm::{Batch, Database, Read};

/// The ways to read that this build has; with `recycle` in so little memory that almost every read recycles a page.
pub const READS: &[Read] = &[
    Read::Pread,
    #[cfg(feature = "recycle")]
    Read::Recycle { memory_bytes: 65_536 },
];

/// The expected content of a database.
pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A write of a batch.
#[derive(Debug, Clone)]
pub enum Write {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

impl Write {
    pub fn apply(&self, model: &mut Model) {
        match self {
            Self::Put(key, value) => drop(model.insert(key.clone(), value.clone())),
            Self::Delete(key) => drop(model.remove(key)),
            Self::DeleteRange(low, high) => model.retain(|key, _| key < low || key >= high),
        }
    }
}

pub fn batch(writes: &[Write]) -> Batch {
    let mut batch = Batch::new();
    for write in writes {
        match write {
            Write::Put(key, value) => batch.put(key, value),
            Write::Delete(key) => batch.delete(key),
            Write::DeleteRange(low, high) => batch.delete_range(low, high),
        }
        .unwrap();
    }
    batch
}

/// The content of a database, read in order.
pub fn all(database: &Database) -> rlsm::Result<Model> {
    collect(database.range(..)?)
}

/// All that an iterator returns.
pub fn collect(iter: rlsm::Iter) -> rlsm::Result<Model> {
    iter.map(|pair| pair.map(|(key, value)| (key.into_vec(), value.into_vec()))).collect()
}

/// A number from the environment.
pub fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`; it takes a whole number")))
}
