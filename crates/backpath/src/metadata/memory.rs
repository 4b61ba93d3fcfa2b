//! A key-value store in memory, for tests.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::key_value::{KeyValue, Read, Write};

/// Values and maps in one process.
#[derive(Debug, Default)]
pub struct MemoryKeyValue {
    state: Mutex<State>,
    round_trips: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    values: BTreeMap<Vec<u8>, Vec<u8>>,
    maps: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl State {
    fn field(&self, map: &[u8], field: &[u8]) -> Option<Vec<u8>> {
        self.maps.get(map)?.get(field).cloned()
    }

    fn read(&self, read: &Read) -> Vec<Option<Vec<u8>>> {
        match read {
            Read::Value(key) => vec![self.values.get(key).cloned()],
            Read::Field(map, field) => vec![self.field(map, field)],
            Read::Through(map, field, prefix) => {
                let link = self.field(map, field);
                let key = link.as_deref().and_then(|link| Some([prefix.as_slice(), link.get(..8)?].concat()));
                let value = key.and_then(|key| self.values.get(&key).cloned());
                vec![link, value]
            }
        }
    }

    fn write(&mut self, write: &Write) {
        match write.clone() {
            Write::Set(key, value) => drop(self.values.insert(key, value)),
            Write::Remove(key) => drop(self.values.remove(&key)),
            Write::SetField(map, field, value) => drop(self.maps.entry(map).or_default().insert(field, value)),
            Write::RemoveField(map, field) => drop(self.maps.entry(map).or_default().remove(&field)),
            Write::RemoveMap(map) => drop(self.maps.remove(&map)),
        }
    }
}

impl KeyValue for MemoryKeyValue {
    type Error = Infallible;

    fn read(&self, reads: &[Read]) -> Result<Vec<Option<Vec<u8>>>, Infallible> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let state = self.state.lock();
        Ok(reads.iter().flat_map(|read| state.read(read)).collect())
    }

    fn apply(&self, expected: &[(Vec<u8>, Option<Vec<u8>>)], writes: &[Write]) -> Result<bool, Infallible> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        let holds = expected.iter().all(|(key, value)| state.values.get(key) == value.as_ref());
        if holds {
            writes.iter().for_each(|write| state.write(write));
        }
        Ok(holds)
    }

    fn fields(&self, map: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>, Infallible> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let state = self.state.lock();
        Ok(state.maps.get(map).map(|map| map.clone().into_iter().collect()).unwrap_or_default())
    }

    fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }
}
