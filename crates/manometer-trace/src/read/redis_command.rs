//! The requests that Redis's commands stand for.

use std::borrow::Cow;

use crate::error::RecordFault;
use crate::reader::RecordSink;
use crate::record::{Record, TraceOperation};
use crate::text;

/// The most keys of one command.
const KEYS_MAX: usize = 65_536;
/// The longest command that is kept as it stands, in bytes.
const COMMAND_BYTES_MAX: usize = 256 << 10;

/// A word of a command; of long values only the length.
#[derive(Debug, Clone)]
pub(crate) struct Argument<'a> {
    /// The bytes, if kept.
    pub(crate) bytes: Option<Cow<'a, [u8]>>,
    /// The length in bytes.
    pub(crate) size: u64,
}

impl Argument<'_> {
    fn text(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }
}

/// The positions of a command's keys and values.
enum Shape {
    /// One key, and values that are ignored.
    Key(TraceOperation),
    /// One key, and the value to store after it.
    KeyAndValues(TraceOperation),
    /// Keys only.
    Keys(TraceOperation),
    /// Key, value, key, value ...
    Pairs(TraceOperation),
    /// `SET key value`, with conditions and a time to live.
    Set,
    /// Key, time to live in units of this many milliseconds, value.
    Expiring(u64),
}

/// The shape of a command with keys.
fn shape(name: &[u8]) -> Option<Shape> {
    use TraceOperation::{Delete, Get, Insert, Put, ReadModifyWrite, Scan, Update};
    Some(match name {
        b"get" | b"getrange" | b"substr" | b"strlen" | b"getbit" | b"bitcount" | b"bitpos" | b"hget" | b"hmget"
        | b"hgetall" | b"hexists" | b"hkeys" | b"hlen" | b"hstrlen" | b"hvals" | b"hrandfield" | b"lindex"
        | b"llen" | b"lpos" | b"lrange" | b"scard" | b"sismember" | b"smembers" | b"smismember" | b"srandmember"
        | b"zcard" | b"zcount" | b"zlexcount" | b"zmscore" | b"zrange" | b"zrangebylex" | b"zrangebyscore"
        | b"zrank" | b"zrevrange" | b"zrevrangebyscore" | b"zrevrank" | b"zscore" | b"xlen" | b"xrange"
        | b"xrevrange" | b"getex" | b"dump" | b"geodist" | b"geohash" | b"geopos" | b"geosearch" => Shape::Key(Get),
        b"mget" | b"exists" | b"pfcount" | b"sdiff" | b"sinter" | b"sunion" => Shape::Keys(Get),
        b"hscan" | b"sscan" | b"zscan" => Shape::Key(Scan),
        b"set" => Shape::Set,
        b"setex" => Shape::Expiring(1000),
        b"psetex" => Shape::Expiring(1),
        b"setnx" => Shape::KeyAndValues(Insert),
        b"restore" => Shape::KeyAndValues(Put),
        b"mset" => Shape::Pairs(Put),
        b"msetnx" => Shape::Pairs(Insert),
        b"del" | b"unlink" => Shape::Keys(Delete),
        b"getdel" => Shape::Key(Delete),
        b"incr" | b"decr" | b"incrby" | b"decrby" | b"incrbyfloat" | b"hincrby" | b"hincrbyfloat" | b"zincrby"
        | b"setbit" | b"bitfield" | b"lpop" | b"rpop" | b"spop" | b"zpopmin" | b"zpopmax" | b"srem" | b"hdel"
        | b"zrem" | b"lrem" | b"ltrim" | b"xtrim" | b"xdel" | b"zremrangebyrank" | b"zremrangebyscore"
        | b"zremrangebylex" => Shape::Key(ReadModifyWrite),
        b"append" | b"getset" | b"setrange" => Shape::KeyAndValues(ReadModifyWrite),
        b"hset" | b"hmset" | b"hsetnx" | b"lpush" | b"rpush" | b"lpushx" | b"rpushx" | b"linsert" | b"lset"
        | b"sadd" | b"zadd" | b"xadd" | b"pfadd" | b"geoadd" => Shape::KeyAndValues(Update),
        _ => return None,
    })
}

/// Emits the requests of one command. `base` has its time, client and database.
pub(crate) fn requests(arguments: &[Argument], base: Record, sink: &mut RecordSink) -> Result<(), RecordFault> {
    let Some((name, arguments)) = arguments.split_first() else {
        sink.skip();
        return Ok(());
    };
    let name = name.text().to_ascii_lowercase();
    let (Some(shape), Some((key, values))) = (shape(&name), arguments.split_first()) else {
        if asks_for_data(&name) {
            sink.lose(1);
        }
        sink.skip();
        return Ok(());
    };
    if arguments.len() > KEYS_MAX {
        return Err(format!("the command has {} words: expected {KEYS_MAX} at most", arguments.len()).into());
    }
    if let Some(details) = sink.details()
        && needs_command(&name, arguments)
        && let Some(command) = encoded(&name, arguments)
    {
        details.command(&command);
    }
    let begin = sink.len();
    match shape {
        Shape::Key(operation) => push(operation, key, None, base, sink),
        Shape::KeyAndValues(operation) => {
            let size = values.iter().fold(0_u64, |sum, value| sum.saturating_add(value.size));
            push(operation, key, Some(size), base, sink)
        }
        Shape::Keys(operation) => arguments.iter().try_for_each(|key| {
            join_after(begin, sink);
            push(operation, key, None, base, sink)
        }),
        Shape::Pairs(operation) => arguments.chunks_exact(2).try_for_each(|pair| {
            let [key, value] = pair else { return Ok(()) };
            join_after(begin, sink);
            push(operation, key, Some(value.size), base, sink)
        }),
        Shape::Expiring(unit_ms) => {
            let [ttl, value, ..] = values else { return Err("the command ends before its value".into()) };
            let ttl_s = text::number(ttl.text()).and_then(|ttl| seconds(ttl.checked_mul(unit_ms)?));
            push(TraceOperation::Put, key, Some(value.size), Record { ttl_s, ..base }, sink)
        }
        Shape::Set => {
            let [value, options @ ..] = values else { return Err("the command ends before its value".into()) };
            let (operation, ttl_s) = set_options(options, base.time_ns);
            push(operation, key, Some(value.size), Record { ttl_s, ..base }, sink)
        }
    }
}

fn push(
    operation: TraceOperation,
    key: &Argument,
    size: Option<u64>,
    base: Record,
    sink: &mut RecordSink,
) -> Result<(), RecordFault> {
    let text = key.bytes.as_deref().ok_or_else(|| format!("the key has {} bytes, too many to be kept", key.size))?;
    let id = sink.key_in(base.device, text)?;
    let key_size = u32::try_from(text.len()).ok();
    sink.push(Record { key: id, key_size, operation, value_size: size, ..base });
    Ok(())
}

/// Joins the next request to the one before it, unless it is the first of its command, at the place `begin`.
fn join_after(begin: usize, sink: &mut RecordSink) {
    let is_first = sink.len() == begin;
    if let Some(details) = sink.details().filter(|_| !is_first) {
        details.join();
    }
}

/// Whether a command of an unknown shape reads or changes data: a replay lacks it.
fn asks_for_data(name: &[u8]) -> bool {
    matches!(
        name,
        b"expire"
            | b"pexpire"
            | b"expireat"
            | b"pexpireat"
            | b"persist"
            | b"ttl"
            | b"pttl"
            | b"expiretime"
            | b"pexpiretime"
            | b"type"
            | b"touch"
            | b"rename"
            | b"renamenx"
            | b"copy"
            | b"move"
            | b"sort"
            | b"sort_ro"
            | b"lmove"
            | b"blmove"
            | b"rpoplpush"
            | b"brpoplpush"
            | b"blpop"
            | b"brpop"
            | b"lmpop"
            | b"blmpop"
            | b"bzpopmin"
            | b"bzpopmax"
            | b"zmpop"
            | b"bzmpop"
            | b"smove"
            | b"sinterstore"
            | b"sunionstore"
            | b"sdiffstore"
            | b"sintercard"
            | b"zunionstore"
            | b"zinterstore"
            | b"zdiffstore"
            | b"zrangestore"
            | b"zdiff"
            | b"zinter"
            | b"zunion"
            | b"zintercard"
            | b"xread"
            | b"xreadgroup"
            | b"xack"
            | b"xclaim"
            | b"xautoclaim"
            | b"xpending"
            | b"pfmerge"
            | b"bitop"
            | b"eval"
            | b"evalsha"
            | b"fcall"
            | b"scan"
            | b"keys"
            | b"randomkey"
            | b"flushdb"
            | b"flushall"
            | b"geosearchstore"
            | b"georadius"
            | b"georadiusbymember"
    )
}

/// Whether a request's operation, sizes and time to live do not say all that the command asks for. Commands with a moment
/// of expiry do: it lies in the past when they are replayed.
fn needs_command(name: &[u8], arguments: &[Argument]) -> bool {
    let has = |words: &[&[u8]]| {
        let mut options =
            arguments.get(2..).unwrap_or_default().iter().map(|option| option.text().to_ascii_lowercase());
        options.any(|option| words.contains(&&*option))
    };
    match name {
        b"get" | b"mget" | b"setex" | b"psetex" => false,
        b"del" => arguments.len() > 1,
        b"set" => has(&[b"nx", b"xx", b"get", b"keepttl"]) && !has(&[b"exat", b"pxat"]),
        b"getex" => !arguments.iter().any(|option| matches!(&*option.text().to_ascii_lowercase(), b"exat" | b"pxat")),
        b"restore" => !has(&[b"absttl"]),
        _ => true,
    }
}

/// The command in Redis's protocol; `None` if it is too long, or not all of it was kept.
fn encoded(name: &[u8], arguments: &[Argument]) -> Option<Vec<u8>> {
    let mut command = format!("*{}\r\n", arguments.len() + 1).into_bytes();
    for word in std::iter::once(Some(name)).chain(arguments.iter().map(|argument| argument.bytes.as_deref())) {
        let word = word?;
        command.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        command.extend_from_slice(word);
        command.extend_from_slice(b"\r\n");
        if command.len() > COMMAND_BYTES_MAX {
            return None;
        }
    }
    Some(command)
}

/// Whether `SET` has a condition, and the value's time to live.
fn set_options(options: &[Argument], time_ns: Option<u64>) -> (TraceOperation, Option<u32>) {
    let (mut operation, mut ttl_s) = (TraceOperation::Put, None);
    for (at, option) in options.iter().enumerate() {
        let number = || options.get(at + 1).and_then(|number| text::number(number.text()));
        let from_now = |ms: u64| ms.checked_sub(time_ns? / 1_000_000);
        match &*option.text().to_ascii_lowercase() {
            b"nx" => operation = TraceOperation::Insert,
            b"xx" => operation = TraceOperation::Update,
            b"ex" => ttl_s = number().and_then(|s| seconds(s.checked_mul(1000)?)),
            b"px" => ttl_s = number().and_then(seconds),
            b"exat" => ttl_s = number().and_then(|s| seconds(from_now(s.checked_mul(1000)?)?)),
            b"pxat" => ttl_s = number().and_then(|ms| seconds(from_now(ms)?)),
            _ => {}
        }
    }
    (operation, ttl_s)
}

/// Whole seconds, rounded up.
fn seconds(milliseconds: u64) -> Option<u32> {
    u32::try_from(milliseconds.div_ceil(1000)).ok()
}
