//! Connections with any number of requests in flight. One thread sends: it writes to sockets that do not block, and what
//! they do not take stays in an [`Outbox`]. Another thread waits for all connections at once (epoll), empties the outboxes,
//! reads the answers, and connects again where a connection was lost.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use manometer_measure::{Clock as _, MonotonicClock};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use rapidhash::v3::rapidhash_v3;

use super::outbox::{AnswerKind, Awaited, Many, Outbox, OutboxFull};
use super::{Protocol, Refusal, Remote, Wire, resolve};
use crate::engine::EngineError;
use crate::engine::open_loop::{OpenLoop, OpenLoopAnswer, OpenLoopReply, OpenLoopRequest};

/// The most events that one wait returns.
const EVENTS_MAX: usize = 1024;
/// How long after a connection was lost it is tried again, in nanoseconds.
const RETRY_NS: u64 = 100_000_000;

const WAITING: &str = "waiting for answers";
const SENDING: &str = "sending";

/// The number of the server that holds a key.
type ServerOf<'a> = Box<dyn Fn(&[u8]) -> usize + Send + Sync + 'a>;

/// Connections to the servers of one engine.
pub(in crate::engine) struct ServerConnections<'a, P> {
    server_of: ServerOf<'a>,
    remotes: Vec<&'a Remote>,
    /// Connections of each server.
    each: usize,
    outboxes: Vec<Mutex<Outbox>>,
    receiver: Mutex<Receiver>,
    protocol: std::marker::PhantomData<fn() -> P>,
}

/// The receiving side of all connections.
struct Receiver {
    poll: Poll,
    events: Events,
    connections: Vec<Connection>,
}

/// The receiving side of one connection.
#[derive(Default)]
struct Connection {
    /// `None` while the connection is lost.
    wire: Option<Wire>,
    /// The connection while it is being made.
    opening: Option<TcpStream>,
    addresses: Vec<SocketAddr>,
    /// The number of attempts to connect, and when the next is due, on the clock.
    attempts: usize,
    retry_ns: u64,
    /// Requests without an answer, in order.
    awaited: VecDeque<Awaited>,
}

impl<'a, P: Protocol> ServerConnections<'a, P> {
    /// Makes `connections` connections, as many to each of `remotes`; `server_of` gives the place among them of the server
    /// that holds a key.
    pub(in crate::engine) fn new(
        remotes: Vec<&'a Remote>,
        server_of: ServerOf<'a>,
        connections: u32,
    ) -> Result<Self, EngineError> {
        let each = (connections as usize / remotes.len()).max(1);
        let failed = |error: &io::Error| remotes[0].failed(SENDING, error);
        let poll = Poll::new().map_err(|error| failed(&error))?;
        let events = Events::with_capacity(EVENTS_MAX);
        let outboxes = (0..each * remotes.len()).map(|_| Mutex::default()).collect();
        let connections = (0..each * remotes.len()).map(|_| Connection::default()).collect();
        let receiver = Mutex::new(Receiver { poll, events, connections });
        let all = Self { server_of, remotes, each, outboxes, receiver, protocol: std::marker::PhantomData };
        all.connect()?;
        Ok(all)
    }

    /// Makes all connections, waiting for them.
    fn connect(&self) -> Result<(), EngineError> {
        let mut receiver = self.receiver();
        for index in 0..self.outboxes.len() {
            let remote = self.remote(index);
            let stream = remote.connect()?.into_stream();
            let failed = |error: io::Error| remote.failed(SENDING, error);
            receiver.connections[index].addresses = resolve(&remote.address).map_err(failed)?;
            stream.set_nonblocking(true).map_err(failed)?;
            receiver.register(index, &stream).map_err(failed)?;
            self.establish(&mut receiver.connections[index], index, stream).map_err(failed)?;
        }
        Ok(())
    }

    fn remote(&self, index: usize) -> &'a Remote {
        self.remotes[index / self.each]
    }

    fn receiver(&self) -> MutexGuard<'_, Receiver> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outbox(&self, index: usize) -> MutexGuard<'_, Outbox> {
        self.outboxes[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection of a key: requests for one key keep their order.
    #[inline]
    fn connection_of(&self, key: &[u8]) -> usize {
        let server = (self.server_of)(key) % self.remotes.len();
        server * self.each + rapidhash_v3(key) as usize % self.each
    }

    /// Uses `stream` for both directions of the connection `index`.
    fn establish(&self, connection: &mut Connection, index: usize, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        self.outbox(index).connect(stream.try_clone()?);
        connection.wire = Some(Wire::fed(stream));
        connection.attempts = 0;
        Ok(())
    }

    /// Reads and writes what the connection `index` is ready for. An error means that it is lost.
    fn serve(
        &self,
        connection: &mut Connection,
        index: usize,
        answered: &mut dyn FnMut(OpenLoopAnswer<'_>),
    ) -> Result<(), Refusal> {
        if let Some(stream) = connection.opening.take() {
            match is_open(&stream) {
                Ok(true) => self.establish(connection, index, stream)?,
                Ok(false) => connection.opening = Some(stream),
                Err(error) => return Err(error.into()),
            }
        }
        let Some(wire) = &mut connection.wire else { return Ok(()) };
        self.outbox(index).flush()?;
        while wire.pull()? {
            self.outbox(index).take_awaited(&mut connection.awaited);
            while let Some(awaited) = connection.awaited.front().copied() {
                let remote = self.remote(index);
                match answer::<P>(wire, remote, awaited, answered) {
                    None => break,
                    Some(Ok(())) => drop(connection.awaited.pop_front()),
                    Some(Err(broken)) => return Err(broken),
                }
            }
        }
        Ok(())
    }

    /// Drops the connection `index`, and answers what was in flight on it with the error.
    fn lose(
        &self,
        connection: &mut Connection,
        index: usize,
        why: &Refusal,
        answered: &mut dyn FnMut(OpenLoopAnswer<'_>),
    ) {
        let mut unanswered = std::mem::take(&mut connection.awaited);
        unanswered.append(&mut self.outbox(index).lose());
        (connection.wire, connection.opening) = (None, None);
        connection.retry_ns = MonotonicClock.now_ns() + RETRY_NS;
        for awaited in unanswered {
            for place in 0..awaited.kind.keys() {
                let (token, is_last) = (awaited.token, place + 1 == awaited.kind.keys());
                let reply = Err(self.remote(index).refused(WAITING, why));
                answered(OpenLoopAnswer { token, place, is_last, reply });
            }
        }
    }

    /// Begins to connect again where that is due.
    fn restore(&self, receiver: &mut Receiver) {
        let now_ns = MonotonicClock.now_ns();
        for index in 0..receiver.connections.len() {
            let connection = &mut receiver.connections[index];
            let is_lost = connection.wire.is_none() && connection.opening.is_none();
            if !is_lost || now_ns < connection.retry_ns || connection.addresses.is_empty() {
                continue;
            }
            connection.retry_ns = now_ns + RETRY_NS;
            let address = connection.addresses[connection.attempts % connection.addresses.len()];
            connection.attempts += 1;
            let Ok(stream) = mio::net::TcpStream::connect(address).map(TcpStream::from) else { continue };
            if receiver.register(index, &stream).is_ok() {
                receiver.connections[index].opening = Some(stream);
            }
        }
    }
}

impl Receiver {
    fn register(&self, index: usize, stream: &TcpStream) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut SourceFd(&stream.as_raw_fd()), Token(index), interest)
    }
}

/// Whether a connection that was begun is there.
fn is_open(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}

impl AnswerKind {
    /// How many keys it answers.
    fn keys(self) -> usize {
        match self {
            Self::Values(keys, _) => keys as usize,
            _ => 1,
        }
    }
}

/// Parses the answer to `awaited`; `None` if not all of it has arrived. An error means that the connection is of no more use.
fn answer<P: Protocol>(
    wire: &mut Wire,
    remote: &Remote,
    awaited: Awaited,
    answered: &mut dyn FnMut(OpenLoopAnswer<'_>),
) -> Option<Result<(), Refusal>> {
    let keys = awaited.kind.keys();
    let values = match wire.parse(|wire| parse::<P>(wire, awaited.kind))? {
        Ok(values) => values,
        Err(broken @ Refusal::Broken(_)) => return Some(Err(broken)),
        Err(refused) => {
            for place in 0..keys {
                let reply = Err(remote.refused(WAITING, &refused));
                answered(OpenLoopAnswer { token: awaited.token, place, is_last: place + 1 == keys, reply });
            }
            return Some(Ok(()));
        }
    };
    let mut emit = |place: usize, reply| {
        answered(OpenLoopAnswer { token: awaited.token, place, is_last: place + 1 == keys, reply: Ok(reply) });
    };
    match values {
        Parsed::Values(values) => {
            for (place, range) in values.into_iter().enumerate() {
                emit(place, OpenLoopReply::Value(range.map(|range| wire.at(range))));
            }
        }
        Parsed::Value(range) => emit(0, OpenLoopReply::Value(range.map(|range| wire.at(range)))),
        Parsed::Done => emit(0, OpenLoopReply::Done),
        Parsed::Command(reply) => emit(0, OpenLoopReply::Command(reply)),
    }
    Some(Ok(()))
}

/// A parsed answer; values are ranges of the connection's buffer.
enum Parsed {
    Value(Option<std::ops::Range<usize>>),
    Values(Vec<Option<std::ops::Range<usize>>>),
    Done,
    Command(crate::engine::CommandReply),
}

fn parse<P: Protocol>(wire: &mut Wire, kind: AnswerKind) -> Result<Parsed, Refusal> {
    Ok(match kind {
        AnswerKind::Value => Parsed::Value(P::read_value(wire)?),
        AnswerKind::Values(keys, many) => {
            if many == Many::AsList {
                P::read_many(wire, keys as usize)?;
            }
            Parsed::Values((0..keys).map(|_| P::read_value(wire)).collect::<Result<_, _>>()?)
        }
        AnswerKind::Put => {
            P::read_put(wire)?;
            Parsed::Done
        }
        AnswerKind::ValueAndPut => {
            let value = P::read_value(wire)?;
            P::read_put(wire)?;
            Parsed::Value(value)
        }
        AnswerKind::Delete => {
            P::read_delete(wire)?;
            Parsed::Done
        }
        AnswerKind::Command => Parsed::Command(P::read_command(wire)?),
    })
}

/// Writes a request. Returns the form of its answer.
fn write<P: Protocol>(out: &mut Vec<u8>, request: &OpenLoopRequest<'_>) -> Result<(), Refusal> {
    let put = |out: &mut Vec<u8>, key, value, ttl_s| match ttl_s {
        0 => P::write_put(out, key, value),
        ttl_s => P::write_put_expiring(out, key, value, ttl_s),
    };
    match *request {
        OpenLoopRequest::Get { key } => P::write_get(out, key),
        OpenLoopRequest::GetMany { keys } => {
            let is_one_request = P::write_get_many(out, keys);
            if is_one_request { Ok(()) } else { keys.iter().try_for_each(|key| P::write_get(out, key)) }
        }
        OpenLoopRequest::Put { key, value, ttl_s } => put(out, key, value, ttl_s),
        OpenLoopRequest::GetAndPut { key, value, ttl_s } => {
            P::write_get(out, key)?;
            put(out, key, value, ttl_s)
        }
        OpenLoopRequest::Delete { key } => P::write_delete(out, key),
        OpenLoopRequest::Command { command, .. } => {
            out.extend_from_slice(command);
            Ok(())
        }
    }
}

/// The form of the answer to `request`.
fn answer_kind<P: Protocol>(request: &OpenLoopRequest<'_>) -> AnswerKind {
    match request {
        OpenLoopRequest::Get { .. } => AnswerKind::Value,
        OpenLoopRequest::GetMany { keys } => {
            let many = if P::HAS_MULTI_GET { Many::AsList } else { Many::OneByOne };
            AnswerKind::Values(keys.len() as u32, many)
        }
        OpenLoopRequest::Put { .. } => AnswerKind::Put,
        OpenLoopRequest::GetAndPut { .. } => AnswerKind::ValueAndPut,
        OpenLoopRequest::Delete { .. } => AnswerKind::Delete,
        OpenLoopRequest::Command { .. } => AnswerKind::Command,
    }
}

impl<P: Protocol> OpenLoop for ServerConnections<'_, P> {
    fn send(&self, token: u64, request: &OpenLoopRequest<'_>) -> Result<(), EngineError> {
        let index = self.connection_of(request.key());
        let remote = self.remote(index);
        let awaited = Awaited { token, kind: answer_kind::<P>(request) };
        match self.outbox(index).send(awaited, |out| write::<P>(out, request)) {
            Ok(written) => written.map_err(|refusal| remote.refused(SENDING, &refusal)),
            Err(OutboxFull::Lost) => Err(remote.failed(SENDING, "the connection is lost")),
            Err(OutboxFull::Full) => Err(remote.failed(SENDING, "it does not read, and too much waits to be sent")),
        }
    }

    fn receive(&self, limit: Duration, answered: &mut dyn FnMut(OpenLoopAnswer<'_>)) -> Result<(), EngineError> {
        let mut held = self.receiver();
        let receiver = &mut *held;
        self.restore(receiver);
        match receiver.poll.poll(&mut receiver.events, Some(limit)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                return Err(self.remotes[0].failed(WAITING, error));
            }
            _ => {}
        }
        for event in &receiver.events {
            let index = event.token().0;
            let connection = &mut receiver.connections[index];
            if let Err(why) = self.serve(connection, index, answered) {
                self.lose(connection, index, &why, answered);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::ops::Range;
    use std::sync::mpsc::{Receiver as Channel, Sender, channel};

    use super::*;

    /// Each request is its key on a line, and so is its answer; a key that begins with `!` is refused.
    enum Echo {}

    impl Protocol for Echo {
        fn write_get(out: &mut Vec<u8>, key: &[u8]) -> Result<(), Refusal> {
            if key.is_empty() {
                return Err(Refusal::Refused("a key without bytes".to_owned()));
            }
            out.extend_from_slice(key);
            out.push(b'\n');
            Ok(())
        }

        fn write_put(out: &mut Vec<u8>, key: &[u8], _: &[u8]) -> Result<(), Refusal> {
            Self::write_get(out, key)
        }

        fn write_put_expiring(out: &mut Vec<u8>, key: &[u8], _: &[u8], _: u32) -> Result<(), Refusal> {
            Self::write_get(out, key)
        }

        fn write_delete(out: &mut Vec<u8>, key: &[u8]) -> Result<(), Refusal> {
            Self::write_get(out, key)
        }

        fn read_value(wire: &mut Wire) -> Result<Option<Range<usize>>, Refusal> {
            let line = wire.line()?;
            if wire.at(line.clone()).starts_with(b"!") {
                return Err(Refusal::Refused("no".to_owned()));
            }
            Ok(Some(line))
        }

        fn read_put(wire: &mut Wire) -> Result<(), Refusal> {
            Self::read_value(wire).map(drop)
        }

        fn read_delete(wire: &mut Wire) -> Result<(), Refusal> {
            Self::read_value(wire).map(drop)
        }
    }

    /// A server that answers nothing until it is told to, and hangs up after so many answers on a connection and one request
    /// more.
    struct EchoServer {
        remote: Remote,
        /// Told once, every connection answers.
        go: Sender<()>,
    }

    fn serve(listener: &TcpListener, released: &Channel<()>, answers_max: usize) {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            if number == 0 {
                let _ = released.recv();
            }
            std::thread::spawn(move || {
                let (mut writer, reader) = (stream.try_clone().unwrap(), BufReader::new(stream));
                let mut lines = reader.lines().map_while(Result::ok);
                for line in lines.by_ref().take(answers_max) {
                    if writer.write_all(format!("{line}\n").as_bytes()).is_err() {
                        return;
                    }
                }
                let _ = (lines.next(), writer.shutdown(std::net::Shutdown::Both));
            });
        }
    }

    fn server(answers_max: usize) -> EchoServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (go, released) = channel();
        std::thread::spawn(move || serve(&listener, &released, answers_max));
        EchoServer { remote: Remote { engine: "test", address }, go }
    }

    fn connections(server: &EchoServer, number: u32) -> ServerConnections<'_, Echo> {
        ServerConnections::new(vec![&server.remote], Box::new(|_| 0), number).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Receives until `number` requests are answered: each token, with whether it failed.
    fn received(connections: &ServerConnections<'_, Echo>, number: usize) -> Vec<(u64, bool)> {
        let mut answers = Vec::new();
        while answers.len() < number {
            let mut count = |answer: OpenLoopAnswer<'_>| {
                if let Ok(OpenLoopReply::Value(value)) = answer.reply {
                    assert_eq!(value, Some(answer.token.to_string().as_bytes()), "the answer is another request's");
                }
                if answer.is_last {
                    answers.push((answer.token, answer.reply.is_err()));
                }
            };
            connections.receive(Duration::from_millis(10), &mut count).unwrap();
        }
        answers
    }

    #[test]
    fn a_hundred_thousand_requests_wait_for_a_server_that_answers_nothing() {
        const REQUESTS: u64 = 100_000;
        let server = server(usize::MAX);
        let connections = connections(&server, 4);
        for token in 0..REQUESTS {
            connections.send(token, &OpenLoopRequest::Get { key: token.to_string().as_bytes() }).unwrap();
        }
        connections.receive(Duration::ZERO, &mut |_| panic!("it answers nothing yet")).unwrap();
        server.go.send(()).unwrap();
        let mut answers = received(&connections, REQUESTS as usize);
        answers.sort_unstable();
        assert!(answers.into_iter().eq((0..REQUESTS).map(|token| (token, false))));
    }

    #[test]
    fn requests_on_a_lost_connection_fail_and_later_ones_are_answered_again() {
        let server = server(3);
        server.go.send(()).unwrap();
        let connections = connections(&server, 1);
        let send = |token: u64| connections.send(token, &OpenLoopRequest::Get { key: token.to_string().as_bytes() });
        (0..3).for_each(|token| send(token).unwrap());
        assert_eq!(received(&connections, 3), [(0, false), (1, false), (2, false)]);
        send(3).unwrap();
        assert_eq!(received(&connections, 1), [(3, true)]);
        let refused = send(5).unwrap_err().to_string();
        assert!(refused.contains("the connection is lost"), "{refused}");
        while send(6).is_err() {
            connections.receive(Duration::from_millis(10), &mut |_| panic!("nothing is in flight")).unwrap();
        }
        assert_eq!(received(&connections, 1), [(6, false)]);
    }

    #[test]
    fn a_request_that_is_refused_costs_no_other() {
        let server = server(usize::MAX);
        server.go.send(()).unwrap();
        let connections = connections(&server, 1);
        let get = |token: u64, key: &[u8]| connections.send(token, &OpenLoopRequest::Get { key });
        assert!(get(0, b"").unwrap_err().to_string().contains("a key without bytes"));
        get(1, b"!").unwrap();
        get(2, b"2").unwrap();
        assert_eq!(received(&connections, 2), [(1, true), (2, false)]);
    }

    #[test]
    fn several_keys_are_answered_each_at_its_place() {
        let server = server(usize::MAX);
        server.go.send(()).unwrap();
        let connections = connections(&server, 2);
        let keys = [b"7".as_slice(), b"7", b"7"];
        connections.send(7, &OpenLoopRequest::GetMany { keys: &keys }).unwrap();
        let mut places = Vec::new();
        while places.len() < 3 {
            let mut note = |answer: OpenLoopAnswer<'_>| places.push((answer.place, answer.is_last));
            connections.receive(Duration::from_millis(10), &mut note).unwrap();
        }
        assert_eq!(places, [(0, false), (1, false), (2, true)]);
    }
}
