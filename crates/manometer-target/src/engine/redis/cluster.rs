//! A Redis Cluster: the slots of each master, and a session with a connection to each.
//!
//! The `redis` crate's cluster client is not used: it connects without a timeout, and after a silence waits for every
//! answer of a pipeline again.

use redis::Value;

use super::ENGINE;
use super::node::Node;
use super::resp::Resp;
use crate::engine::hash_slot::{HASH_SLOTS, hash_slot};
use crate::engine::server::{
    IN_FLIGHT_BYTES, LOADING, PIPELINING, Protocol as _, RECORDS_PER_LOOK, Remote, ServerSession, bytes, read, write,
};
use crate::engine::{
    CommandReply, EngineError, EngineSession, PipelinedRequest, ReplyHandler, ScanDirection, ScanVisitor, SortedRecords,
};

const FINDING: &str = "finding the masters of its cluster";

/// A range of slots and the master that holds them.
#[derive(Debug, PartialEq)]
pub(super) struct Slots {
    first: u16,
    last: u16,
    pub(super) address: String,
}

/// The owners of all slots, as reported by `node`.
pub(super) fn slots(node: &Node, doing: &'static str) -> Result<Vec<Slots>, EngineError> {
    let slots: Vec<Value> = node.query(doing, &["CLUSTER", "SLOTS"])?;
    let host = node.remote.address.rsplit_once(':').map_or("", |(host, _)| host);
    Ok(slots.iter().filter_map(|range| Slots::read(range, host)).collect())
}

impl Slots {
    /// Parses one entry of `CLUSTER SLOTS`. A master that does not know its name has the address it was queried at.
    fn read(range: &Value, queried: &str) -> Option<Self> {
        let Value::Array(parts) = range else { return None };
        let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = parts.as_slice() else { return None };
        let [host, Value::Int(port), ..] = master.as_slice() else { return None };
        let host = match host {
            Value::BulkString(host) => str::from_utf8(host).ok()?,
            _ => "",
        };
        let host = match host {
            "?" => return None,
            "" => queried.to_owned(),
            _ if host.contains(':') => format!("[{host}]"),
            _ => host.to_owned(),
        };
        let slot = |number: &i64| u16::try_from(*number).ok().filter(|slot| *slot < HASH_SLOTS);
        let (first, last) = (slot(first)?, slot(last)?);
        (first <= last).then(|| Self { first, last, address: format!("{host}:{port}") })
    }
}

/// The masters of the cluster that the first answering one of `addresses` belongs to.
pub(super) fn masters(addresses: &[String]) -> Result<(Vec<Node>, Cluster), EngineError> {
    let connect = |address: &String| Node::connect(Remote { engine: ENGINE, address: address.clone() });
    let gate = match addresses.iter().find_map(|address| connect(address).ok()) {
        Some(gate) => gate,
        None => connect(&addresses[0])?,
    };
    let slots = slots(&gate, FINDING)?;
    let mut addresses: Vec<String> = slots.iter().map(|slots| slots.address.clone()).collect();
    addresses.sort();
    addresses.dedup();
    let nodes = addresses.iter().map(connect).collect::<Result<Vec<_>, _>>()?;
    let cluster = Cluster::new(&slots, nodes.iter().map(|node| node.remote.clone()).collect())
        .map_err(|text| gate.remote.failed(FINDING, text))?;
    Ok((nodes, cluster))
}

/// The owner of each slot.
#[derive(Debug)]
pub(super) struct Cluster {
    /// All masters together, for error messages.
    pub(super) remote: Remote,
    masters: Vec<Remote>,
    /// For each slot, the index of its owner among the masters.
    holders: Vec<u16>,
}

impl Cluster {
    /// The cluster of `masters` with these slots, or the reason why they form none.
    pub(super) fn new(slots: &[Slots], masters: Vec<Remote>) -> Result<Self, String> {
        let mut holders = vec![None; usize::from(HASH_SLOTS)];
        for range in slots {
            let holder = masters.iter().position(|master| master.address == range.address);
            let held = usize::from(range.first)..=usize::from(range.last);
            holders[held].fill(holder.and_then(|holder| u16::try_from(holder).ok()));
        }
        let without = holders.iter().filter(|holder| holder.is_none()).count();
        if without > 0 {
            return Err(format!("no server of its cluster holds {without} of {HASH_SLOTS} slots: assign them"));
        }
        let address = masters.iter().map(|master| master.address.as_str()).collect::<Vec<_>>().join(",");
        let holders = holders.into_iter().flatten().collect();
        Ok(Self { remote: Remote { engine: ENGINE, address }, masters, holders })
    }

    /// The masters, each at its number.
    pub(super) fn masters(&self) -> Vec<&Remote> {
        self.masters.iter().collect()
    }

    /// The number of the master that holds `key`.
    #[inline]
    pub(super) fn holder(&self, key: &[u8]) -> usize {
        usize::from(self.holders[usize::from(hash_slot(key))])
    }
}

/// One thread's connections, one to each master.
pub(super) struct ClusterSession<'a> {
    cluster: &'a Cluster,
    sessions: Vec<ServerSession<'a, Resp>>,
}

impl<'a> ClusterSession<'a> {
    pub(super) fn new(cluster: &'a Cluster) -> Self {
        Self { cluster, sessions: cluster.masters.iter().map(ServerSession::new).collect() }
    }

    #[inline]
    fn session(&mut self, key: &[u8]) -> &mut ServerSession<'a, Resp> {
        &mut self.sessions[self.cluster.holder(key)]
    }

    /// Sends the buffered requests to all masters.
    fn send(&mut self, doing: &'static str) -> Result<(), EngineError> {
        self.sessions.iter_mut().try_for_each(|session| session.exchange(doing, |wire| Ok(wire.send()?)))
    }

    /// Each master answers in the order of its requests, so reading the answers in the order of all requests keeps
    /// every connection in order.
    fn exchange_all(
        &mut self,
        requests: &[PipelinedRequest],
        answer: &mut ReplyHandler<'_>,
    ) -> Result<(), EngineError> {
        let mut answered = 0;
        while answered < requests.len() {
            let leaving = &requests[answered..][..leaving(&requests[answered..])];
            for request in leaving {
                self.session(key(request)).exchange(PIPELINING, |wire| write::<Resp>(wire, request))?;
            }
            self.send(PIPELINING)?;
            for (place, request) in (answered..).zip(leaving) {
                let session = self.session(key(request));
                session.exchange(PIPELINING, |wire| read::<Resp>(wire, (place, *request), answer))?;
            }
            answered += leaving.len();
        }
        Ok(())
    }

    /// Puts every record, many in one write.
    pub(super) fn load(&mut self, records: &mut dyn SortedRecords) -> Result<(), EngineError> {
        loop {
            let put = self.put_some(records)?;
            if put < RECORDS_PER_LOOK || records.keep_going().is_break() {
                return Ok(());
            }
        }
    }

    /// Puts records up to the next poll for a stop. Returns how many, fewer when none is left.
    fn put_some(&mut self, records: &mut dyn SortedRecords) -> Result<usize, EngineError> {
        let (mut put, mut bytes) = (0, 0);
        let mut unanswered = Vec::new();
        while put < RECORDS_PER_LOOK {
            let Some((key, value)) = records.next() else { break };
            let length = key.len() + value.len();
            if bytes > 0 && bytes + length > IN_FLIGHT_BYTES {
                self.finish(&mut unanswered)?;
                bytes = 0;
            }
            let holder = self.cluster.holder(key);
            self.sessions[holder].exchange(LOADING, |wire| Resp::write_put(wire.out(), key, value))?;
            unanswered.push(holder);
            bytes += length;
            put += 1;
        }
        self.finish(&mut unanswered)?;
        Ok(put)
    }

    /// Sends the buffered puts and reads their answers.
    fn finish(&mut self, unanswered: &mut Vec<usize>) -> Result<(), EngineError> {
        self.send(LOADING)?;
        unanswered.drain(..).try_for_each(|holder| self.sessions[holder].exchange(LOADING, Resp::read_put))
    }
}

/// How many of `requests` are sent before the first answer is read.
fn leaving(requests: &[PipelinedRequest]) -> usize {
    let mut length = 0;
    let fits = requests.iter().take_while(|request| {
        length += bytes(request);
        length <= IN_FLIGHT_BYTES
    });
    fits.count().max(1)
}

fn key<'r>(request: &PipelinedRequest<'r>) -> &'r [u8] {
    match request {
        PipelinedRequest::Get { key } | PipelinedRequest::Put { key, .. } => key,
    }
}

impl EngineSession for ClusterSession<'_> {
    #[inline]
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        self.session(key).get(key)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.session(key).put(key, value)
    }

    #[inline]
    fn put_expiring(&mut self, key: &[u8], value: &[u8], ttl_s: u32) -> Result<(), EngineError> {
        self.session(key).put_expiring(key, value, ttl_s)
    }

    fn command(&mut self, key: &[u8], command: &[u8]) -> Result<CommandReply, EngineError> {
        self.session(key).command(key, command)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.session(key).delete(key)
    }

    /// Separate look-ups, many in one write: a master refuses a request for keys in more than one slot.
    fn get_many(&mut self, keys: &[&[u8]], answer: &mut ReplyHandler<'_>) -> Result<(), EngineError> {
        let requests: Vec<PipelinedRequest> = keys.iter().map(|key| PipelinedRequest::Get { key }).collect();
        self.pipeline(&requests, answer)
    }

    fn pipeline(&mut self, requests: &[PipelinedRequest], answer: &mut ReplyHandler<'_>) -> Result<(), EngineError> {
        let result = self.exchange_all(requests, answer);
        if result.is_err() {
            // Answers of the other masters are still pending.
            self.sessions.iter_mut().for_each(ServerSession::hang_up);
        }
        result
    }

    fn scan(
        &mut self,
        start: Option<&[u8]>,
        direction: ScanDirection,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<(), EngineError> {
        self.sessions[0].scan(start, direction, visit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(host: Value, last: i64) -> Value {
        let master = Value::Array(vec![host, Value::Int(7), Value::BulkString(b"id".to_vec()), Value::Array(vec![])]);
        let replica = Value::Array(vec![Value::BulkString(b"other".to_vec()), Value::Int(8)]);
        Value::Array(vec![Value::Int(5), Value::Int(last), master, replica])
    }

    #[test]
    fn masters_are_named_as_they_can_be_reached() {
        let named = |host: &[u8]| Slots::read(&entry(Value::BulkString(host.to_vec()), 9), "queried");
        for (host, address) in [("a", "a:7"), ("", "queried:7"), ("::1", "[::1]:7")] {
            assert_eq!(named(host.as_bytes()), Some(Slots { first: 5, last: 9, address: address.to_owned() }));
        }
        assert_eq!(named(b"?"), None);
        assert_eq!(Slots::read(&entry(Value::Nil, 9), "queried").unwrap().address, "queried:7");
        for senseless in [4, i64::from(HASH_SLOTS)] {
            assert_eq!(Slots::read(&entry(Value::Nil, senseless), "queried"), None);
        }
    }

    #[test]
    fn a_cluster_without_all_slots_is_none() {
        let remote = |address: &str| Remote { engine: ENGINE, address: address.to_owned() };
        let slots = |first, last, address: &str| Slots { first, last, address: address.to_owned() };
        let masters = vec![remote("a:1"), remote("b:2")];
        let whole = [slots(0, 8000, "b:2"), slots(8001, HASH_SLOTS - 1, "a:1")];
        let cluster = Cluster::new(&whole, masters.clone()).unwrap();
        assert_eq!(cluster.remote.address, "a:1,b:2");
        assert_eq!((cluster.holder(b"foo"), cluster.holder(b"hello")), (0, 1));
        let error = Cluster::new(&whole[1..], masters).unwrap_err();
        assert!(error.contains("8001 of 16384"), "{error}");
        assert!(Cluster::new(&[], Vec::new()).is_err());
    }

    #[test]
    fn as_much_leaves_as_fits_and_at_least_one_request() {
        let value = vec![0; IN_FLIGHT_BYTES / 2 - 1];
        let long = vec![0; 2 * IN_FLIGHT_BYTES];
        let put = |value| PipelinedRequest::Put { key: b"k", value };
        assert_eq!(leaving(&[put(&value), put(&value), put(&value)]), 2);
        assert_eq!(leaving(&[put(&long), put(&value)]), 1);
        assert_eq!(leaving(&[put(&value), put(&long)]), 1);
    }
}
