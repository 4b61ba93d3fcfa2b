//! The engine rlsm as the key-value store of a metadata store, in this process: its round trips are calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ::rlsm::{Batch, Database};
use backpath::metadata::{KeyValue, Read, Write};

/// The key that every metadata store has: its epoch.
const EPOCH: &[u8] = b"e";

/// A database. Writes of several threads wait for each other.
pub struct RlsmKeyValue {
    database: Database,
    writers: Mutex<()>,
    round_trips: AtomicU64,
}

impl RlsmKeyValue {
    /// Over an open database, which holds nothing else.
    pub fn new(database: Database) -> Self {
        Self { database, writers: Mutex::new(()), round_trips: AtomicU64::new(0) }
    }

    /// Whether the database holds what no metadata store wrote.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn holds_something_else(&self) -> rlsm::Result<bool> {
        let is_empty = self.database.range(..)?.next().transpose()?.is_none();
        Ok(!is_empty && self.database.get(&value_key(EPOCH))?.is_none())
    }

    fn get(&self, key: &[u8], snapshot: &rlsm::Snapshot) -> rlsm::Result<Option<Vec<u8>>> {
        Ok(self.database.get_at(key, snapshot)?.map(|value| value.to_vec()))
    }
}

/// Values and maps have key spaces of their own.
fn value_key(key: &[u8]) -> Vec<u8> {
    [b"v".as_slice(), key].concat()
}

/// The length keeps the fields of a map apart from those of one whose key begins alike.
fn map_key(map: &[u8], field: &[u8]) -> Vec<u8> {
    [b"m".as_slice(), &(map.len() as u32).to_be_bytes(), map, field].concat()
}

impl KeyValue for RlsmKeyValue {
    type Error = rlsm::Error;

    fn read(&self, reads: &[Read]) -> rlsm::Result<Vec<Option<Vec<u8>>>> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let snapshot = self.database.snapshot();
        let mut values = Vec::new();
        for read in reads {
            match read {
                Read::Value(key) => values.push(self.get(&value_key(key), &snapshot)?),
                Read::Field(map, field) => values.push(self.get(&map_key(map, field), &snapshot)?),
                Read::Through(map, field, prefix) => {
                    let link = self.get(&map_key(map, field), &snapshot)?;
                    let key = link.as_deref().and_then(|link| Some([prefix.as_slice(), link.get(..8)?].concat()));
                    let value = key.map(|key| self.get(&value_key(&key), &snapshot)).transpose()?.flatten();
                    values.extend([link, value]);
                }
            }
        }
        Ok(values)
    }

    fn apply(&self, expected: &[(Vec<u8>, Option<Vec<u8>>)], writes: &[Write]) -> rlsm::Result<bool> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let _one_at_a_time = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.database.snapshot();
        for (key, value) in expected {
            if self.get(&value_key(key), &snapshot)? != *value {
                return Ok(false);
            }
        }
        let mut batch = Batch::new();
        for write in writes {
            match write {
                Write::Set(key, value) => batch.put(&value_key(key), value)?,
                Write::Remove(key) => batch.delete(&value_key(key))?,
                Write::SetField(map, field, value) => batch.put(&map_key(map, field), value)?,
                Write::RemoveField(map, field) => batch.delete(&map_key(map, field))?,
                Write::RemoveMap(map) => {
                    for pair in self.database.prefix(&map_key(map, &[]))? {
                        batch.delete(&pair?.0)?;
                    }
                }
            }
        }
        self.database.write(batch)?;
        Ok(true)
    }

    fn fields(&self, map: &[u8]) -> rlsm::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let prefix = map_key(map, &[]);
        let pairs = self.database.prefix(&prefix)?;
        pairs.map(|pair| pair.map(|(key, value)| (key[prefix.len()..].to_vec(), value.to_vec()))).collect()
    }

    fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }
}
