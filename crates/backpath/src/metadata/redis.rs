//! Redis: one server. Each call is one script, so that it is atomic and one round trip.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use redis::{Client, Connection, RedisError, Script};

use super::key_value::{KeyValue, Read, Write};

/// A server that takes longer is not there.
const PATIENCE: Duration = Duration::from_secs(10);

/// `G` key, `F` map field, `T` map field prefix; each in the store's own key space.
const READ: &str = r"
local results, at = {}, 1
while at <= #ARGV do
  if ARGV[at] == 'G' then
    results[#results + 1] = redis.call('GET', ARGV[at + 1])
    at = at + 2
  elseif ARGV[at] == 'F' then
    results[#results + 1] = redis.call('HGET', ARGV[at + 1], ARGV[at + 2])
    at = at + 3
  else
    local link = redis.call('HGET', ARGV[at + 1], ARGV[at + 2])
    results[#results + 1] = link
    results[#results + 1] = link and redis.call('GET', ARGV[at + 3] .. string.sub(link, 1, 8))
    at = at + 4
  end
end
return results";

/// First the number of expected values, each as key, whether it exists, value; then the writes.
const APPLY: &str = r"
local at = 2
for _ = 1, tonumber(ARGV[1]) do
  local value = redis.call('GET', ARGV[at])
  if ARGV[at + 1] == '1' then
    if value ~= ARGV[at + 2] then return 0 end
  elseif value then
    return 0
  end
  at = at + 3
end
while at <= #ARGV do
  local write = ARGV[at]
  if write == 'SET' or write == 'HDEL' then
    redis.call(write, ARGV[at + 1], ARGV[at + 2])
    at = at + 3
  elseif write == 'HSET' then
    redis.call(write, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
    at = at + 4
  else
    redis.call('DEL', ARGV[at + 1])
    at = at + 2
  end
end
return 1";

/// A connection to a Redis server. Calls of several threads wait for each other. A server that does not answer within 10 s
/// is an error, and the next call connects anew.
pub struct RedisKeyValue {
    client: Client,
    connection: Mutex<Option<Connection>>,
    prefix: Vec<u8>,
    read: Script,
    apply: Script,
    round_trips: AtomicU64,
}

impl RedisKeyValue {
    /// Connects to a server, `redis://HOST:PORT/NUMBER`. All keys begin with `prefix`.
    ///
    /// # Errors
    /// If the address is none, or nobody answers there.
    pub fn connect(address: &str, prefix: &str) -> Result<Self, RedisError> {
        let client = Client::open(address)?;
        Ok(Self {
            connection: Mutex::new(Some(connection(&client)?)),
            client,
            prefix: prefix.as_bytes().to_vec(),
            read: Script::new(READ),
            apply: Script::new(APPLY),
            round_trips: AtomicU64::new(0),
        })
    }

    fn key(&self, key: &[u8]) -> Vec<u8> {
        [&self.prefix, key].concat()
    }

    /// The first call of a script loads it, which is one round trip more and counted as the one call.
    fn invoke<T: redis::FromRedisValue>(&self, script: &Script, arguments: &[Vec<u8>]) -> Result<T, RedisError> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let mut invocation = script.prepare_invoke();
        arguments.iter().for_each(|argument| {
            invocation.arg(argument.as_slice());
        });
        self.ask(|connection| invocation.invoke(connection))
    }

    /// A connection that failed may still bring the answer to an earlier question: it is not used again.
    fn ask<T>(&self, question: impl FnOnce(&mut Connection) -> Result<T, RedisError>) -> Result<T, RedisError> {
        let mut place = self.connection.lock();
        let mut connected = match place.take() {
            Some(connected) => connected,
            None => connection(&self.client)?,
        };
        let answer = question(&mut connected);
        if !answer.as_ref().is_err_and(|error| error.is_io_error() || error.is_unrecoverable_error()) {
            *place = Some(connected);
        }
        answer
    }
}

fn connection(client: &Client) -> Result<Connection, RedisError> {
    let connection = client.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    Ok(connection)
}

impl KeyValue for RedisKeyValue {
    type Error = RedisError;

    fn read(&self, reads: &[Read]) -> Result<Vec<Option<Vec<u8>>>, RedisError> {
        let mut arguments = Vec::new();
        for read in reads {
            match read {
                Read::Value(key) => arguments.extend([b"G".to_vec(), self.key(key)]),
                Read::Field(map, field) => arguments.extend([b"F".to_vec(), self.key(map), field.clone()]),
                Read::Through(map, field, prefix) => {
                    arguments.extend([b"T".to_vec(), self.key(map), field.clone(), self.key(prefix)]);
                }
            }
        }
        self.invoke(&self.read, &arguments)
    }

    fn apply(&self, expected: &[(Vec<u8>, Option<Vec<u8>>)], writes: &[Write]) -> Result<bool, RedisError> {
        let mut arguments = vec![expected.len().to_string().into_bytes()];
        for (key, value) in expected {
            let exists = if value.is_some() { b"1".to_vec() } else { b"0".to_vec() };
            arguments.extend([self.key(key), exists, value.clone().unwrap_or_default()]);
        }
        for write in writes {
            match write {
                Write::Set(key, value) => arguments.extend([b"SET".to_vec(), self.key(key), value.clone()]),
                Write::Remove(key) | Write::RemoveMap(key) => arguments.extend([b"DEL".to_vec(), self.key(key)]),
                Write::SetField(map, field, value) => {
                    arguments.extend([b"HSET".to_vec(), self.key(map), field.clone(), value.clone()]);
                }
                Write::RemoveField(map, field) => {
                    arguments.extend([b"HDEL".to_vec(), self.key(map), field.clone()]);
                }
            }
        }
        self.invoke::<i64>(&self.apply, &arguments).map(|done| done == 1)
    }

    fn fields(&self, map: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>, RedisError> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        self.ask(|connection| redis::cmd("HGETALL").arg(self.key(map)).query(connection))
    }

    fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }
}
