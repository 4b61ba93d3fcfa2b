//! A session over one connection: requests one by one, or many in one write.

use std::ops::Range;

use super::{Refusal, Remote, Wire};
use crate::engine::{
    CommandReply, EngineError, EngineSession, PipelinedRequest, ReplyHandler, ScanDirection, ScanVisitor, SortedRecords,
};

/// Bytes of requests that are sent before the first answer is read. A server may stop reading while it cannot write, so
/// requests in flight must fit into the socket buffers: otherwise both sides would wait for ever.
pub(in crate::engine) const IN_FLIGHT_BYTES: usize = 32 << 10;

/// Records loaded between two polls for a stop.
pub(in crate::engine) const RECORDS_PER_LOOK: usize = 1000;

const READING: &str = "reading";
const WRITING: &str = "writing";
const DELETING: &str = "deleting";
pub(in crate::engine) const COMMANDING: &str = "sending a recorded command";
pub(in crate::engine) const PIPELINING: &str = "pipelining";
pub(in crate::engine) const LOADING: &str = "loading";

/// The protocol of a kind of server.
pub(in crate::engine) trait Protocol {
    /// Whether it has a request for the values of many keys ([`write_get_many`](Self::write_get_many)).
    const HAS_MULTI_GET: bool = false;

    /// Writes a get.
    fn write_get(out: &mut Vec<u8>, key: &[u8]) -> Result<(), Refusal>;

    /// Writes a put.
    fn write_put(out: &mut Vec<u8>, key: &[u8], value: &[u8]) -> Result<(), Refusal>;

    /// Writes a put whose value expires after `ttl_s` seconds.
    fn write_put_expiring(out: &mut Vec<u8>, key: &[u8], value: &[u8], ttl_s: u32) -> Result<(), Refusal>;

    /// Writes a delete.
    fn write_delete(out: &mut Vec<u8>, key: &[u8]) -> Result<(), Refusal>;

    /// Reads the answer to a get.
    fn read_value(wire: &mut Wire) -> Result<Option<Range<usize>>, Refusal>;

    /// Reads the answer to a put.
    fn read_put(wire: &mut Wire) -> Result<(), Refusal>;

    /// Reads the answer to a delete.
    fn read_delete(wire: &mut Wire) -> Result<(), Refusal>;

    /// Reads the answer to a recorded command; refused where the protocol has none.
    fn read_command(_wire: &mut Wire) -> Result<CommandReply, Refusal> {
        Err(Refusal::Refused("it takes no recorded commands".to_owned()))
    }

    /// Writes a get of many keys in one request; false if the protocol has none.
    fn write_get_many(_out: &mut Vec<u8>, _keys: &[&[u8]]) -> bool {
        false
    }

    /// Reads what precedes the values of many keys.
    fn read_many(_wire: &mut Wire, _keys: usize) -> Result<(), Refusal> {
        Ok(())
    }
}

/// One thread's connection, reopened after an error: a pending answer must not be taken for that of the next request.
pub(in crate::engine) struct ServerSession<'a, P> {
    remote: &'a Remote,
    wire: Option<Wire>,
    protocol: std::marker::PhantomData<P>,
}

impl<'a, P: Protocol> ServerSession<'a, P> {
    /// Connects at once if possible; otherwise the first request reports the error.
    pub(in crate::engine) fn new(remote: &'a Remote) -> Self {
        Self { remote, wire: remote.connect().ok(), protocol: std::marker::PhantomData }
    }

    /// Closes the connection and drops pending answers.
    pub(in crate::engine) fn hang_up(&mut self) {
        self.wire = None;
    }

    /// Calls `talk` with the connection, which is closed if that fails.
    #[inline]
    pub(in crate::engine) fn exchange<T>(
        &mut self,
        doing: &'static str,
        talk: impl FnOnce(&mut Wire) -> Result<T, Refusal>,
    ) -> Result<T, EngineError> {
        let mut wire = match self.wire.take() {
            Some(wire) => wire,
            None => self.remote.connect()?,
        };
        let result = talk(&mut wire).map_err(|refusal| self.remote.refused(doing, &refusal))?;
        self.wire = Some(wire);
        Ok(result)
    }
}

impl<P: Protocol> EngineSession for ServerSession<'_, P> {
    #[inline]
    fn get(&mut self, key: &[u8]) -> Result<Option<&[u8]>, EngineError> {
        let found = self.exchange(READING, |wire| {
            P::write_get(wire.out(), key)?;
            wire.send()?;
            P::read_value(wire)
        })?;
        Ok(found.and_then(|range| Some(self.wire.as_ref()?.at(range))))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.exchange(WRITING, |wire| {
            P::write_put(wire.out(), key, value)?;
            wire.send()?;
            P::read_put(wire)
        })
    }

    fn put_expiring(&mut self, key: &[u8], value: &[u8], ttl_s: u32) -> Result<(), EngineError> {
        self.exchange(WRITING, |wire| {
            P::write_put_expiring(wire.out(), key, value, ttl_s)?;
            wire.send()?;
            P::read_put(wire)
        })
    }

    fn command(&mut self, _: &[u8], command: &[u8]) -> Result<CommandReply, EngineError> {
        self.exchange(COMMANDING, |wire| {
            wire.out().extend_from_slice(command);
            wire.send()?;
            P::read_command(wire)
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.exchange(DELETING, |wire| {
            P::write_delete(wire.out(), key)?;
            wire.send()?;
            P::read_delete(wire)
        })
    }

    fn get_many(&mut self, keys: &[&[u8]], answer: &mut ReplyHandler<'_>) -> Result<(), EngineError> {
        self.exchange(READING, |wire| {
            if keys.is_empty() || !P::write_get_many(wire.out(), keys) {
                return pipeline::<P>(wire, keys.iter().map(|key| PipelinedRequest::Get { key }), answer);
            }
            wire.send()?;
            P::read_many(wire, keys.len())?;
            (0..keys.len()).try_for_each(|place| value::<P>(wire, place, answer))
        })
    }

    fn pipeline(&mut self, requests: &[PipelinedRequest], answer: &mut ReplyHandler<'_>) -> Result<(), EngineError> {
        self.exchange(PIPELINING, |wire| pipeline::<P>(wire, requests.iter().copied(), answer))
    }

    fn scan(&mut self, _: Option<&[u8]>, _: ScanDirection, _: &mut ScanVisitor<'_>) -> Result<(), EngineError> {
        Err(EngineError::Unsupported { engine: self.remote.engine, what: "scan: its keys have no order" })
    }
}

#[inline]
fn value<P: Protocol>(wire: &mut Wire, place: usize, answer: &mut ReplyHandler<'_>) -> Result<(), Refusal> {
    let found = P::read_value(wire)?;
    answer(place, found.map(|range| wire.at(range)));
    Ok(())
}

fn pipeline<'r, P: Protocol>(
    wire: &mut Wire,
    requests: impl Iterator<Item = PipelinedRequest<'r>> + Clone,
    answer: &mut ReplyHandler<'_>,
) -> Result<(), Refusal> {
    let mut unanswered = requests.clone().enumerate();
    let mut sent = 0;
    for (place, request) in requests.enumerate() {
        let before = wire.out().len();
        if before > 0 && before + bytes(&request) > IN_FLIGHT_BYTES {
            wire.send()?;
            unanswered.by_ref().take(place - sent).try_for_each(|request| read::<P>(wire, request, answer))?;
            sent = place;
        }
        write::<P>(wire, &request)?;
    }
    wire.send()?;
    unanswered.try_for_each(|request| read::<P>(wire, request, answer))
}

/// The length of a request in bytes, without the protocol's overhead.
pub(in crate::engine) fn bytes(request: &PipelinedRequest) -> usize {
    match request {
        PipelinedRequest::Get { key } => key.len(),
        PipelinedRequest::Put { key, value } => key.len() + value.len(),
    }
}

/// Writes a request of a pipeline.
#[inline]
pub(in crate::engine) fn write<P: Protocol>(wire: &mut Wire, request: &PipelinedRequest) -> Result<(), Refusal> {
    match request {
        PipelinedRequest::Get { key } => P::write_get(wire.out(), key),
        PipelinedRequest::Put { key, value } => P::write_put(wire.out(), key, value),
    }
}

/// Reads the answer to a request of a pipeline.
#[inline]
pub(in crate::engine) fn read<P: Protocol>(
    wire: &mut Wire,
    (place, request): (usize, PipelinedRequest),
    answer: &mut ReplyHandler<'_>,
) -> Result<(), Refusal> {
    match request {
        PipelinedRequest::Get { .. } => value::<P>(wire, place, answer),
        PipelinedRequest::Put { .. } => {
            P::read_put(wire)?;
            answer(place, None);
            Ok(())
        }
    }
}

/// Puts every record, many in one write.
pub(in crate::engine) fn load_sorted<P: Protocol>(
    remote: &Remote,
    records: &mut dyn SortedRecords,
) -> Result<(), EngineError> {
    let mut wire = remote.connect()?;
    loop {
        let put = put_some::<P>(&mut wire, records).map_err(|refusal| remote.refused(LOADING, &refusal))?;
        if put < RECORDS_PER_LOOK || records.keep_going().is_break() {
            return Ok(());
        }
    }
}

/// Puts records up to the next poll for a stop. Returns how many, fewer when none is left.
fn put_some<P: Protocol>(wire: &mut Wire, records: &mut dyn SortedRecords) -> Result<usize, Refusal> {
    let (mut put, mut unanswered) = (0, 0);
    while put < RECORDS_PER_LOOK {
        let Some((key, value)) = records.next() else { break };
        if unanswered > 0 && wire.out().len() + key.len() + value.len() > IN_FLIGHT_BYTES {
            wire.send()?;
            (0..unanswered).try_for_each(|_| P::read_put(wire))?;
            unanswered = 0;
        }
        P::write_put(wire.out(), key, value)?;
        put += 1;
        unanswered += 1;
    }
    wire.send()?;
    (0..unanswered).try_for_each(|_| P::read_put(wire))?;
    Ok(put)
}
