//! The administrative connection to one server, through the `redis` crate.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};

use redis::{Client, Connection, FromRedisValue, RedisError, RedisResult};

use crate::engine::EngineError;
use crate::engine::server::{ANSWER_LIMIT, CONNECT_LIMIT, CONNECTING, Readiness, Remote};

/// A server and a connection that all threads share, reopened when it ends.
pub(super) struct Node {
    pub(super) remote: Remote,
    connection: Mutex<Option<Connection>>,
}

impl Node {
    pub(super) fn connect(remote: Remote) -> Result<Self, EngineError> {
        let connection = connect(&remote.address).map_err(|error| failure(&remote, CONNECTING, &error))?;
        Ok(Self { remote, connection: Mutex::new(Some(connection)) })
    }

    /// Sends a command, and again if the connection has ended: a server closes idle connections (`timeout`).
    pub(super) fn query<T: FromRedisValue>(&self, doing: &'static str, words: &[&str]) -> Result<T, EngineError> {
        let result = match self.send(words) {
            Err((_, error)) if error.is_connection_dropped() => self.send(words),
            result => result,
        };
        result.map_err(|(step, error)| failure(&self.remote, step.unwrap_or(doing), &error))
    }

    /// Sends a command that must not run twice. If the answer is lost, it is unknown whether the command ran.
    pub(super) fn query_once<T: FromRedisValue>(&self, doing: &'static str, words: &[&str]) -> Result<T, EngineError> {
        self.execute(words).map_err(|error| failure(&self.remote, doing, &error))
    }

    /// As [`Self::query`], with the error unchanged.
    pub(super) fn execute<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        self.send(words).map_err(|(_, error)| error)
    }

    /// Sends a command over the open connection, or a new one. The error names the step that failed before sending, if
    /// one did.
    fn send<T: FromRedisValue>(&self, words: &[&str]) -> Result<T, (Option<&'static str>, RedisError)> {
        let mut command = redis::Cmd::new();
        command.arg(words);
        let mut held = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match held.take() {
            Some(connection) => connection,
            None => connect(&self.remote.address).map_err(|error| (Some(CONNECTING), error))?,
        };
        over(connection, &command, &mut held).map_err(|error| (None, error))
    }

    /// The server's `INFO`.
    pub(super) fn info(&self, doing: &'static str) -> Result<Info, EngineError> {
        Ok(Info::read(&self.query::<String>(doing, &["INFO"])?))
    }

    /// A directive in force, if the server reports it.
    pub(super) fn directive(&self, name: &str) -> Option<String> {
        let doing = "reporting its directives";
        self.query::<BTreeMap<String, String>>(doing, &["CONFIG", "GET", name]).ok()?.remove(name)
    }
}

/// Sends `command` over `connection`, and keeps the connection in `held` if it can be used again.
fn over<T: FromRedisValue>(
    mut connection: Connection,
    command: &redis::Cmd,
    held: &mut Option<Connection>,
) -> RedisResult<T> {
    let result = command.query(&mut connection);
    // After a timeout the answer may still arrive, and would be taken for that of the next command.
    let is_good = result.as_ref().err().is_none_or(|error: &RedisError| !error.is_io_error() && !error.is_timeout());
    *held = is_good.then_some(connection);
    result
}

fn connect(address: &str) -> RedisResult<Connection> {
    let connection = Client::open(format!("redis://{address}/"))?.get_connection_with_timeout(CONNECT_LIMIT)?;
    connection.set_read_timeout(Some(ANSWER_LIMIT))?;
    connection.set_write_timeout(Some(ANSWER_LIMIT))?;
    Ok(connection)
}

/// The error for the user.
pub(super) fn failure(remote: &Remote, doing: &'static str, error: &RedisError) -> EngineError {
    let kind = match error {
        _ if error.is_connection_refusal() => ErrorKind::ConnectionRefused,
        _ if error.is_timeout() => ErrorKind::TimedOut,
        _ if error.is_connection_dropped() => ErrorKind::UnexpectedEof,
        _ => return remote.failed(doing, error),
    };
    remote.connection_error(doing, &kind.into())
}

/// The readiness of a server that was just started.
pub(super) fn readiness(address: &str) -> Readiness {
    let info = connect(address).and_then(|mut connection| redis::cmd("INFO").query::<String>(&mut connection));
    let Ok(info) = info.map(|text| Info::read(&text)) else { return Readiness::Silence };
    match (info.number("loading"), info.number("process_id")) {
        (Some(0.0), Some(id)) => Readiness::Ready(id as u32),
        (Some(_), _) => Readiness::Loading,
        (None, _) => Readiness::Silence,
    }
}

/// The fields of `INFO`, by name.
#[derive(Debug)]
pub(super) struct Info(BTreeMap<String, String>);

impl Info {
    pub(super) fn read(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok()
    }

    /// The number of keys in all databases.
    pub(super) fn keys(&self) -> f64 {
        let of = |text: &str| text.strip_prefix("keys=")?.split(',').next()?.parse::<f64>().ok();
        let databases = self.0.iter().filter(|(name, _)| name.starts_with("db"));
        databases.filter_map(|(_, text)| of(text)).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Reads the commands of one client; closes the connection instead of answering `ECHO`.
    fn serve(stream: TcpStream, received: &Mutex<Vec<String>>) {
        let mut answers = stream.try_clone().unwrap();
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        while let Some(words) = lines.next().and_then(|line| line.strip_prefix('*')?.parse::<usize>().ok()) {
            let words: Vec<String> = (0..words).filter_map(|_| lines.nth(1)).collect();
            if words.first().is_some_and(|word| word == "ECHO") {
                received.lock().unwrap().extend(words.last().cloned());
                return;
            }
            answers.write_all(b"+OK\r\n").unwrap();
        }
    }

    #[test]
    fn a_command_that_must_not_be_repeated_is_sent_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let received = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // One connection for each command.
                listener.incoming().take(3).for_each(|stream| serve(stream.unwrap(), &received));
            });
            let node = Node::connect(Remote { engine: "redis", address }).unwrap();
            node.query_once::<String>("shutting down", &["ECHO", "once"]).unwrap_err();
            let error = node.query::<String>("querying", &["ECHO", "again"]).unwrap_err().to_string();
            assert!(error.contains("it went away"), "{error}");
        });
        assert_eq!(received.into_inner().unwrap(), ["once", "again", "again"]);
    }

    #[test]
    fn the_answer_of_a_server_is_read() {
        let info = Info::read(
            "# Memory\r\nused_memory:1024\r\n\r\ndb0:keys=5,expires=0,avg_ttl=0\r\ndb3:keys=2,expires=1\r\n",
        );
        assert_eq!(info.number("used_memory"), Some(1024.0));
        assert_eq!(info.number("missing"), None);
        assert_eq!(info.keys(), 7.0);
    }
}
