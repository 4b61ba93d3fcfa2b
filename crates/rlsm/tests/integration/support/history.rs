//! The writes to a database, in order, and the states that a crash may leave.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::{Model, Write};

/// The keys that the write changes in either model, and its own key.
fn keys_in<'a>(write: &'a Write, one: &'a Model, other: &'a Model) -> impl Iterator<Item = &'a [u8]> {
    let (low, high) = match write {
        Write::Put(key, _) | Write::Delete(key) => (Bound::Included(key), Bound::Included(key)),
        Write::DeleteRange(low, high) => (Bound::Included(low), Bound::Excluded(high)),
    };
    let keys = |model: &'a Model| model.range::<Vec<u8>, _>((low, high)).map(|(key, _)| &**key);
    let own = match write {
        Write::Put(key, _) | Write::Delete(key) => Some(&**key),
        Write::DeleteRange(..) => None,
    };
    keys(one).chain(keys(other)).chain(own)
}

/// The writes, in batches, of which the first are durable.
#[derive(Default)]
pub struct History {
    /// The result of the durable writes.
    kept: Model,
    /// Batches that a crash may lose, in order.
    open: Vec<Vec<Write>>,
    /// How many of those were acknowledged: they stay while the machine runs.
    acknowledged: usize,
}

impl History {
    /// Before a batch is written.
    pub fn attempt(&mut self, writes: Vec<Write>) {
        self.open.push(writes);
    }

    /// After all batches were acknowledged.
    pub fn acknowledge_all(&mut self) {
        self.acknowledged = self.open.len();
    }

    /// After all batches were acknowledged as durable.
    pub fn keep_all(&mut self) {
        self.keep(self.open.len());
    }

    /// If the machine has not crashed: no acknowledged batch may be missing.
    pub fn keep_acknowledged(&mut self) {
        self.keep(self.acknowledged);
    }

    fn keep(&mut self, batches: usize) {
        self.open.drain(..batches).flatten().for_each(|write| write.apply(&mut self.kept));
        self.acknowledged = self.acknowledged.saturating_sub(batches);
    }

    /// The result of all writes.
    pub fn newest(&self) -> Model {
        let mut model = self.kept.clone();
        self.open.iter().flatten().for_each(|write| write.apply(&mut model));
        model
    }

    /// Checks that `found` is the result of the durable batches and the first of the others, and continues from there.
    pub fn settle(&mut self, found: &Model) -> Result<(), String> {
        let mut model = self.kept.clone();
        let mut differing = differing(&model, found);
        let mut nearest = (differing.len(), 0);
        for (index, writes) in self.open.iter().enumerate() {
            if differing.is_empty() {
                break;
            }
            for write in writes {
                let keys: Vec<_> = keys_in(write, &model, found).map(<[u8]>::to_vec).collect();
                write.apply(&mut model);
                for key in keys {
                    if model.get(&key) == found.get(&key) {
                        differing.remove(&key);
                    } else {
                        differing.insert(key);
                    }
                }
            }
            nearest = nearest.min((differing.len(), index + 1));
        }
        if !differing.is_empty() {
            return Err(self.complaint(found, nearest.1));
        }
        self.open.clear();
        self.acknowledged = 0;
        self.kept.clone_from(found);
        Ok(())
    }

    /// Checks that a running database may have the content `found`: everything acknowledged, and perhaps refused
    /// writes.
    pub fn could_be(&self, found: &Model) -> Result<(), String> {
        let mut copy = Self { kept: self.kept.clone(), open: self.open.clone(), acknowledged: self.acknowledged };
        copy.keep_acknowledged();
        copy.settle(found)
    }

    /// Describes the difference to the closest state.
    fn complaint(&self, found: &Model, nearest: usize) -> String {
        let mut model = self.kept.clone();
        self.open[..nearest].iter().flatten().for_each(|write| write.apply(&mut model));
        let name = |value: Option<&Vec<u8>>| {
            value.map(|value| String::from_utf8_lossy(&value[..value.len().min(16)]).into_owned())
        };
        let differences: Vec<_> = differing(&model, found)
            .iter()
            .take(10)
            .map(|key| (String::from_utf8_lossy(key).into_owned(), name(model.get(key)), name(found.get(key))))
            .collect();
        format!(
            "{} keys were found, which is no state that there was; nearest is that after {nearest} of {} open batches, \
             with {} keys; (key, expected, found): {differences:?}",
            found.len(),
            self.open.len(),
            model.len(),
        )
    }
}

fn differing(one: &Model, other: &Model) -> BTreeSet<Vec<u8>> {
    let differs = |key: &&Vec<u8>| one.get(*key) != other.get(*key);
    one.keys().chain(other.keys()).filter(differs).cloned().collect()
}
