//! Data in an external server: who wrote it, and whether it may be used or replaced.
//!
//! A marker under its own key takes the role of the marker file of a directory ([`directory`](super::directory)).
//! Nothing is removed without the user's consent (`flush = true`). Without it, only data with a marker of Manometer
//! that would be written again unchanged may be overwritten.

use std::path::Path;

use serde_json::Value;

use super::directory::{DatabaseManifest, DatabaseReuse, ReuseDecision, compare};
use super::{Engine, EngineError};

/// Options that describe the access to the data, not the data.
const ACCESS: [&str; 3] = ["address", "cluster", "flush"];

/// The advice for data of another experiment, and for unsuitable data.
const REMEDIES: [&str; 2] = [
    "reuse it with `--reuse`, or set `flush = true` to delete all data on that server",
    "set `flush = true` to delete all data on that server, or choose an empty one",
];

/// An external server, as an engine accesses it.
pub trait ExternalServer {
    /// Its address, for messages.
    fn place(&self) -> &str;

    /// The number of keys, including the marker's.
    ///
    /// # Errors
    /// The server does not report it.
    fn keys(&self) -> Result<u64, EngineError>;

    /// The value of the marker's key.
    ///
    /// # Errors
    /// The server failed.
    fn marker(&self) -> Result<Option<String>, EngineError>;

    /// Sets the value of the marker's key.
    ///
    /// # Errors
    /// The server refuses it.
    fn set_marker(&self, text: &str) -> Result<(), EngineError>;

    /// Whether the user allowed the server to be emptied.
    fn may_clear(&self) -> bool;

    /// Empties the server. Only if [`may_clear`](Self::may_clear).
    ///
    /// # Errors
    /// It is not allowed, or the server refuses it.
    fn clear(&self) -> Result<(), EngineError>;
}

/// Manometer's data in an external server.
#[derive(Debug)]
pub struct ExternalData {
    marker: DatabaseManifest,
    reused: bool,
}

impl ExternalData {
    /// Prepares `server` for data described by `marker`.
    ///
    /// # Errors
    /// The server does not answer, or holds data that must not be replaced.
    pub fn prepare(
        server: &dyn ExternalServer,
        mut marker: DatabaseManifest,
        existing: DatabaseReuse,
    ) -> Result<Self, EngineError> {
        if let Value::Object(options) = &mut marker.options {
            options.retain(|name, _| !ACCESS.contains(&name.as_str()));
        }
        let reused = match judge(server, &marker, existing) {
            Err(refused) if !server.may_clear() => return Err(refused),
            judged => judged.unwrap_or(false),
        };
        let mut data = Self { marker, reused };
        if reused {
            // Reused data keeps its creator's marker.
            let there = server.marker()?.and_then(|text| serde_json::from_str(&text).ok());
            data.marker = there.unwrap_or(data.marker);
        } else {
            if server.may_clear() {
                server.clear()?;
            }
            data.write(server, false)?;
        }
        Ok(data)
    }

    /// Whether existing data is reused.
    pub fn is_reused(&self) -> bool {
        self.reused
    }

    /// Records that the data is complete.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn set_loaded(&mut self, engine: &dyn Engine) -> Result<(), EngineError> {
        engine.external_server().map_or(Ok(()), |server| self.write(server, true))
    }

    /// Records that the data is about to change and no longer equals the loaded data.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn set_changed(&mut self, engine: &dyn Engine) -> Result<(), EngineError> {
        self.marker.changed = true;
        engine.external_server().map_or(Ok(()), |server| self.write(server, true))
    }

    fn write(&mut self, server: &dyn ExternalServer, loaded: bool) -> Result<(), EngineError> {
        self.marker.loaded = loaded;
        server.set_marker(&serde_json::json!(self.marker).to_string())
    }
}

/// A note for the user about data that stays in the server.
pub fn note(server: &dyn ExternalServer) -> Option<String> {
    let stays =
        || format!("the records stay in the server at {}: it is emptied only with `flush = true`", server.place());
    (!server.may_clear()).then(stays)
}

/// Manometer's data in an external server that may be emptied.
pub struct ExternalCleanup(Box<dyn Engine>);

impl ExternalCleanup {
    /// The data that `engine` leaves in an external server, if any.
    pub fn of(engine: Box<dyn Engine>) -> Option<Self> {
        engine.external_server().is_some_and(ExternalServer::may_clear).then_some(Self(engine))
    }

    /// Empties the server.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn remove(self) -> Result<(), EngineError> {
        self.0.external_server().map_or(Ok(()), ExternalServer::clear)
    }
}

impl std::fmt::Debug for ExternalCleanup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ExternalCleanup").field(&self.0.external_server().map(ExternalServer::place)).finish()
    }
}

/// Whether to use the existing data. Otherwise the data may be loaded over it: everything there will be written again.
fn judge(server: &dyn ExternalServer, wanted: &DatabaseManifest, existing: DatabaseReuse) -> Result<bool, EngineError> {
    let keys = server.keys()?;
    let foreign = |keys| Err(EngineError::ForeignKeys { place: server.place().to_owned(), keys });
    let Some(text) = server.marker()? else { return if keys == 0 { Ok(false) } else { foreign(keys) } };
    let Ok(there) = serde_json::from_str::<DatabaseManifest>(&text) else { return foreign(keys) };
    let path = Path::new(server.place());
    if compare(path, &there, wanted, existing, REMEDIES)? == ReuseDecision::Use {
        if keys == there.records + 1 {
            return Ok(true);
        }
        if existing == DatabaseReuse::Reuse {
            let place = server.place().to_owned();
            return Err(EngineError::RecordCountMismatch {
                place,
                keys: keys.saturating_sub(1),
                records: there.records,
            });
        }
    }
    let differences = there.differences(wanted, false).join("; ");
    if !differences.is_empty() {
        return Err(EngineError::DatabaseMismatch { path: path.to_owned(), differences, remedy: REMEDIES[1] });
    }
    match keys.saturating_sub(there.records + 1) {
        0 => Ok(false),
        beside => foreign(beside),
    }
}

#[cfg(test)]
#[path = "external_tests.rs"]
mod tests;
