//! The common parts of engines that are servers: a managed process, a connection, and a session.

mod address;
#[cfg(any(feature = "memcached", feature = "redis"))]
mod in_flight;
mod outbox;
mod process;
mod refusal;
mod session;
mod wire;

use serde_json::Value;

pub(super) use address::{ANSWER_LIMIT, CONNECT_LIMIT, resolve};
#[cfg(any(feature = "memcached", feature = "redis"))]
pub(super) use in_flight::ServerConnections;
pub(super) use process::free_port_with_bus;
pub(super) use process::{Launch, Process, Readiness, free_port, installed_version};
pub(super) use refusal::Refusal;
pub(super) use session::{IN_FLIGHT_BYTES, LOADING, PIPELINING, RECORDS_PER_LOOK, bytes, read, write};
pub(super) use session::{Protocol, ServerSession, load_sorted};
pub(super) use wire::{Wire, decimal};

use super::{EngineError, EngineOptions, EngineSession};

/// The operation with the timeout [`CONNECT_LIMIT`]; all others have [`ANSWER_LIMIT`].
pub(super) const CONNECTING: &str = "connecting";

/// The key of the marker in an external server.
const MARKER_KEY: &[u8] = b"manometer:marker";

/// The marker's text, if it exists.
pub(super) fn marker(session: &mut dyn EngineSession) -> Result<Option<String>, EngineError> {
    Ok(session.get(MARKER_KEY)?.map(|text| String::from_utf8_lossy(text).into_owned()))
}

/// Writes the marker.
pub(super) fn set_marker(session: &mut dyn EngineSession, text: &str) -> Result<(), EngineError> {
    session.put(MARKER_KEY, text.as_bytes())
}

/// Refuses to empty an external server without the user's consent.
pub(super) fn may_clear(engine: &'static str, flush: bool) -> Result<(), EngineError> {
    let what = "empty an external server without `flush = true`";
    if flush { Ok(()) } else { Err(EngineError::Unsupported { engine, what }) }
}

/// The address of a server, and its name in an error.
#[derive(Debug, Clone)]
pub(super) struct Remote {
    pub(super) engine: &'static str,
    pub(super) address: String,
}

impl Remote {
    /// The error of a server that failed while `doing`.
    pub(super) fn failed(&self, doing: &'static str, what: impl std::fmt::Display) -> EngineError {
        EngineError::Failed { engine: self.engine, doing, text: format!("the server at {}: {what}", self.address) }
    }

    /// The error of a connection that broke while `doing`.
    pub(super) fn connection_error(&self, doing: &'static str, error: &std::io::Error) -> EngineError {
        use std::io::ErrorKind as Kind;
        let limit_s = if doing == CONNECTING { CONNECT_LIMIT } else { ANSWER_LIMIT }.as_secs();
        match error.kind() {
            Kind::WouldBlock | Kind::TimedOut => self.failed(doing, format_args!("no answer for {limit_s} s")),
            Kind::ConnectionRefused => self.failed(doing, "no server listens there; start it, or correct `address`"),
            Kind::UnexpectedEof | Kind::ConnectionReset | Kind::BrokenPipe => {
                self.failed(doing, format_args!("it went away ({error})"))
            }
            _ => self.failed(doing, error),
        }
    }

    /// The error of a request that was refused while `doing`, or whose connection broke.
    pub(super) fn refused(&self, doing: &'static str, refusal: &Refusal) -> EngineError {
        match refusal {
            Refusal::Broken(error) => self.connection_error(doing, error),
            Refusal::Refused(text) => self.failed(doing, text),
        }
    }

    pub(super) fn connect(&self) -> Result<Wire, EngineError> {
        Wire::connect(&self.address).map_err(|error| self.connection_error(CONNECTING, &error))
    }
}

/// The addresses in an option's value, each as host and port.
pub(super) fn addresses(engine: &'static str, value: &Value) -> Result<Vec<String>, EngineError> {
    let text = value.as_str().unwrap_or_default();
    let addresses: Vec<String> = text.split(',').map(|part| part.trim().to_owned()).collect();
    let is_one = |address: &String| match address.rsplit_once(':') {
        Some((host, port)) => !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0),
        None => false,
    };
    if !addresses.iter().all(is_one) {
        return Err(bad_option(engine, "address", value, "write \"host:port\""));
    }
    Ok(addresses)
}

/// The error of an option in a table.
pub(super) fn bad_option(engine: &'static str, name: &str, value: &Value, reason: impl Into<String>) -> EngineError {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    EngineError::InvalidOption {
        engine,
        place: "options".to_owned(),
        name: name.to_owned(),
        value,
        reason: reason.into(),
    }
}

/// A flag's value; the command line passes it as text.
pub(super) fn flag(engine: &'static str, name: &str, value: &Value) -> Result<bool, EngineError> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text == "true" => Ok(true),
        Value::String(text) if text == "false" => Ok(false),
        _ => Err(bad_option(engine, name, value, "write true or false")),
    }
}

/// The options as a table, for an engine without an options file.
pub(super) fn table(
    engine: &'static str,
    options: &EngineOptions,
) -> Result<serde_json::Map<String, Value>, EngineError> {
    match options {
        EngineOptions::Table(table) => Ok(table.clone()),
        EngineOptions::File(_) => Err(EngineError::Unsupported { engine, what: "take an options file: write a table" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_silent_server_names_the_limit() {
        let remote = Remote { engine: "redis", address: "localhost:1".to_owned() };
        let silence = std::io::Error::from(std::io::ErrorKind::TimedOut);
        assert!(remote.connection_error(CONNECTING, &silence).to_string().ends_with("no answer for 5 s"));
        assert!(remote.connection_error("reading", &silence).to_string().ends_with("no answer for 30 s"));
    }
}
