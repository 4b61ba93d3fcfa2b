//! Data in a server that is not ours: who put it there, whether it may be used, replaced, or left alone.
//!
//! What the marker's file is for a folder ([`directory`](super::directory)), a marker under a key of its
//! own is for such a server. Nothing there is ever removed unless the person said so; what may be written
//! over without that is what carries our marker and would be written again.

use std::path::Path;

use serde_json::Value;

use super::directory::{DatabaseManifest, DatabaseReuse, Verdict, compare};
use super::{Engine, EngineError};

/// Options that say how to get at the data, not what it is.
const ACCESS: [&str; 3] = ["address", "cluster", "flush"];

/// What to do about data of another experiment, and about data that cannot serve.
const REMEDIES: [&str; 2] = [
    "reuse it with `--reuse`, or say `flush = true` to have that server emptied, whatever it holds",
    "say `flush = true` to have that server emptied, whatever it holds, or choose an empty one",
];

/// A server that is not ours, as an engine sees it.
pub trait ExternalServer {
    /// Where it is, for people.
    fn place(&self) -> &str;

    /// How many keys it holds, the marker's included.
    ///
    /// # Errors
    /// The server does not say.
    fn keys(&self) -> Result<u64, EngineError>;

    /// The text under the marker's key.
    ///
    /// # Errors
    /// The server does not say.
    fn marker(&self) -> Result<Option<String>, EngineError>;

    /// Puts `text` under the marker's key.
    ///
    /// # Errors
    /// The server refuses it.
    fn set_marker(&self, text: &str) -> Result<(), EngineError>;

    /// Whether the person allowed the server to be emptied.
    fn may_clear(&self) -> bool;

    /// Empties the server, only when [`may_clear`](Self::may_clear).
    ///
    /// # Errors
    /// It is not allowed, or the server refuses it.
    fn clear(&self) -> Result<(), EngineError>;
}

/// Our data in a server that is not ours.
#[derive(Debug)]
pub struct ExternalData {
    marker: DatabaseManifest,
    reused: bool,
}

impl ExternalData {
    /// Prepares `server` for data that is to be as `marker` says.
    ///
    /// # Errors
    /// The server does not answer, or holds what must not be touched.
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
            // What made it stays what is said of it, whoever uses it.
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

    /// Whether the data was there already.
    pub fn is_reused(&self) -> bool {
        self.reused
    }

    /// Writes down that the data is complete.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn set_loaded(&mut self, engine: &dyn Engine) -> Result<(), EngineError> {
        engine.external_server().map_or(Ok(()), |server| self.write(server, true))
    }

    /// Writes down that the data are about to be changed: they are no longer what was loaded.
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

/// What a reader must know of data that stays where it is.
pub fn note(server: &dyn ExternalServer) -> Option<String> {
    let stays =
        || format!("the records stay in the server at {}: it is emptied only with `flush = true`", server.place());
    (!server.may_clear()).then(stays)
}

/// Our data in a server that may be emptied.
pub struct ExternalCleanup(Box<dyn Engine>);

impl ExternalCleanup {
    /// What `engine` leaves, when it is there.
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

/// Whether what is there is used. Otherwise it may be loaded, over what is there as well: nothing is then
/// but what will be written again.
fn judge(server: &dyn ExternalServer, wanted: &DatabaseManifest, existing: DatabaseReuse) -> Result<bool, EngineError> {
    let keys = server.keys()?;
    let foreign = |keys| Err(EngineError::ForeignKeys { place: server.place().to_owned(), keys });
    let Some(text) = server.marker()? else { return if keys == 0 { Ok(false) } else { foreign(keys) } };
    let Ok(there) = serde_json::from_str::<DatabaseManifest>(&text) else { return foreign(keys) };
    let path = Path::new(server.place());
    if compare(path, &there, wanted, existing, REMEDIES)? == Verdict::Use {
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
