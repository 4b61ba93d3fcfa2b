//! The metadata service on a real Redis server, started on the loopback address.

use std::process::{Child, Command, Stdio};

use backpath::metadata::{KeyValue as _, Read, RedisKeyValue, Write};
use manometer_testing::{Cause, installed, skip};
use rustix::process::{Pid, Signal, kill_process};

use crate::metadata::{check_coherence, check_data, check_round_trips};

/// A server that is stopped when it is dropped. It takes a free port and keeps nothing.
pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    pub fn start() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let arguments = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port"];
        let child = Command::new("redis-server").args(arguments).arg(port.to_string()).stdout(Stdio::null()).spawn();
        Self { child: child.unwrap(), port }
    }

    /// A connection with keys of its own, as soon as the server answers.
    pub fn connect(&mut self, prefix: &str) -> RedisKeyValue {
        loop {
            match RedisKeyValue::connect(&format!("redis://127.0.0.1:{}", self.port), prefix) {
                Ok(connection) => return connection,
                Err(error) => assert!(self.child.try_wait().unwrap().is_none(), "redis-server ended: {error}"),
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn round_trips_coherence_and_content() {
    if !installed("redis-server") {
        return skip(Cause::Program, "redis-server is not installed");
    }
    let mut server = Server::start();
    check_round_trips(&server.connect("trips:"));
    check_coherence(&server.connect("coherence:"));
    check_data(&server.connect("data:"));
}

#[test]
fn a_server_that_is_gone_is_an_error_and_an_address_that_is_none_too() {
    assert!(RedisKeyValue::connect("redis://127.0.0.1:1", "").is_err());
    assert!(RedisKeyValue::connect("nonsense", "").is_err());
    if !installed("redis-server") {
        return skip(Cause::Program, "redis-server is not installed");
    }
    let mut server = Server::start();
    let store = backpath::metadata::MetadataStore::open_on(server.connect(""), Default::default()).unwrap();
    drop(server);
    let error = store.open(&backpath::Query::new(b"/"), &crate::support::user(1)).unwrap_err();
    assert_eq!(error.errno(), None, "a failure is no answer: {error}");
}

#[test]
fn a_server_that_stops_answering_is_an_error_and_is_asked_again() {
    if !installed("redis-server") {
        return skip(Cause::Program, "redis-server is not installed");
    }
    let mut server = Server::start();
    let connection = server.connect("");
    let value = |name: &str| Write::Set(name.into(), name.into());
    assert!(connection.apply(&[], &[value("one"), value("two")]).unwrap());
    let process = Pid::from_child(&server.child);
    kill_process(process, Signal::STOP).unwrap();
    let error = connection.read(&[Read::Value(b"one".to_vec())]).unwrap_err();
    kill_process(process, Signal::CONT).unwrap();
    assert!(error.is_timeout(), "{error}");
    let answer = connection.read(&[Read::Value(b"two".to_vec())]).unwrap();
    assert_eq!(answer, [Some(b"two".to_vec())], "the late answer to the first question is not the second's");
}
