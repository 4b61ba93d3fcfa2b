//! The engine without storage, which answers at once: it measures the maximum throughput of the client.

use std::collections::BTreeMap;

use manometer_measure::plan::Settings;
use manometer_measure::{Clock, Column};

use super::{
    Capability, Engine, EngineError, EngineInfo, EngineOptions, EngineSession, ScanDirection, ScanVisitor,
    SortedRecords, StateSampler, StorageKind, columns, value,
};

pub(super) const INFO: EngineInfo = EngineInfo {
    name: "null",
    about: "answers at once and stores nothing: the maximum throughput of the client",
    version: || env!("CARGO_PKG_VERSION").to_owned(),
    capabilities: &[Capability::Scan],
    durability: "none: nothing is stored",
    storage: StorageKind::Nothing,
    key_bytes_max: None,
    memtable_option: None,
    options: &[],
    state: &[],
    immutable_files: &[],
    open: |request| Ok(Box::new(Null { value_bytes: request.value_bytes })),
    check_options: |options| match options {
        EngineOptions::Table(table) if table.is_empty() => Ok(()),
        _ => Err(EngineError::Unsupported { engine: "null", what: "take options: it has none" }),
    },
};

struct Null {
    value_bytes: usize,
}

impl Engine for Null {
    fn session(&self) -> Box<dyn EngineSession + '_> {
        Box::new(NullSession { value: vec![0; self.value_bytes] })
    }

    fn load_sorted(&self, _: &mut dyn SortedRecords) -> Result<(), EngineError> {
        Ok(())
    }

    fn settle(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn state_sampler(&self) -> Box<dyn StateSampler + '_> {
        Box::new(NullState)
    }

    fn facts(&self) -> Settings {
        Settings::new()
    }
}

/// Finds a value for every key; only its header is generated.
struct NullSession {
    value: Vec<u8>,
}

impl EngineSession for NullSession {
    #[inline]
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        value::write_header(key, &mut self.value);
        Ok(Some(&self.value))
    }

    #[inline]
    fn put(&mut self, _: &[u8], value: &[u8]) -> Result<(), EngineError> {
        // Keeps the compiler from eliding the generation of the value.
        std::hint::black_box(value);
        Ok(())
    }

    #[inline]
    fn delete(&mut self, _: &[u8]) -> Result<(), EngineError> {
        Ok(())
    }

    /// Finds the start key repeatedly, until the visitor breaks.
    fn scan(&mut self, start: Option<&[u8]>, _: ScanDirection, visit: &mut ScanVisitor<'_>) -> Result<(), EngineError> {
        let key = start.unwrap_or_default();
        value::write_header(key, &mut self.value);
        while visit(key, &self.value).is_continue() {}
        Ok(())
    }
}

struct NullState;

impl StateSampler for NullState {
    fn columns(&self) -> Vec<Column> {
        columns(&[])
    }

    fn sample(&mut self, _: &dyn Clock) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::OpenRequest;
    use std::path::Path;

    #[test]
    fn it_finds_a_valid_value_under_every_key() {
        let request =
            OpenRequest { directory: Path::new("nowhere"), options: &EngineOptions::default(), value_bytes: 1000 };
        let engine = (INFO.open)(&request).unwrap();
        let mut session = engine.session();
        for key in [b"user1".as_slice(), b"user2"] {
            let found = session.get(key).unwrap().unwrap();
            assert_eq!(value::verify(key, found), Ok(()));
        }
    }
}
