//! What a connection has still to send, and the requests that wait for answers on it.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write as _};
use std::net::TcpStream;

/// The most bytes of one connection that wait to be sent: a server that hangs must not take all memory.
const UNSENT_BYTES_MAX: usize = 64 << 20;
/// The longest part that was sent and still occupies memory in front of the rest, in bytes.
const SENT_BYTES_KEPT: usize = 1 << 20;

/// A request that waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Awaited {
    pub(super) token: u64,
    pub(super) kind: AnswerKind,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// A value.
    Value,
    /// The values of this many keys, in one answer or in as many.
    Values(u32, Many),
    /// That a put is done.
    Put,
    /// A value, and that a put is done.
    ValueAndPut,
    /// That a deletion is done.
    Delete,
    /// The answer to a recorded command.
    Command,
}

/// How the values of several keys are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Many {
    /// By one list.
    AsList,
    /// Each by its own answer.
    OneByOne,
}

/// Why nothing more can be sent now.
#[derive(Debug)]
pub(super) enum OutboxFull {
    /// There is no connection.
    Lost,
    /// Too much waits to be sent.
    Full,
}

/// The sending side of a connection.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// The connection; `None` while it is lost.
    stream: Option<TcpStream>,
    bytes: Vec<u8>,
    /// How many of these bytes were sent.
    sent: usize,
    /// The requests whose bytes are in the outbox or were sent, in order, that the receiver has not taken over.
    awaited: VecDeque<Awaited>,
}

impl Outbox {
    /// Begins anew with a connection.
    pub(super) fn connect(&mut self, stream: TcpStream) {
        *self = Self { stream: Some(stream), ..Self::default() };
    }

    /// Drops the connection and what was not sent. Returns the requests that have no answer.
    pub(super) fn lose(&mut self) -> VecDeque<Awaited> {
        std::mem::take(self).awaited
    }

    /// Moves the requests that wait for answers to the end of `taken`.
    pub(super) fn take_awaited(&mut self, taken: &mut VecDeque<Awaited>) {
        taken.append(&mut self.awaited);
    }

    /// Appends a request, which `write` writes, and sends as much as the connection takes. A connection that breaks is
    /// reported where answers are read.
    pub(super) fn send<E>(
        &mut self,
        awaited: Awaited,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Result<(), E>, OutboxFull> {
        if self.stream.is_none() {
            return Err(OutboxFull::Lost);
        }
        if self.bytes.len() - self.sent > UNSENT_BYTES_MAX {
            return Err(OutboxFull::Full);
        }
        let (begin, was_empty) = (self.bytes.len(), self.bytes.len() == self.sent);
        if let Err(error) = write(&mut self.bytes) {
            self.bytes.truncate(begin);
            return Ok(Err(error));
        }
        self.awaited.push_back(awaited);
        // Where bytes wait already, the connection takes no more until the receiver is told so.
        if was_empty {
            let _ = self.flush();
        }
        Ok(Ok(()))
    }

    /// Sends as much as the connection takes without waiting.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        while self.sent < self.bytes.len() {
            match stream.write(&self.bytes[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent > SENT_BYTES_KEPT && self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    fn connected() -> (Outbox, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut outbox = Outbox::default();
        outbox.connect(stream);
        (outbox, listener.accept().unwrap().0)
    }

    fn put(outbox: &mut Outbox, token: u64, bytes: &[u8]) -> Result<Result<(), ()>, OutboxFull> {
        outbox.send(Awaited { token, kind: AnswerKind::Put }, |out| {
            out.extend_from_slice(bytes);
            Ok(())
        })
    }

    #[test]
    fn what_a_server_does_not_read_waits_in_order_and_within_bounds() {
        let (mut outbox, mut server) = connected();
        let piece = vec![7; 1 << 20];
        let mut sent = 0_u64;
        while put(&mut outbox, sent, &piece).is_ok() {
            sent += 1;
            assert!(sent * (piece.len() as u64) < 2 * UNSENT_BYTES_MAX as u64, "it never says that it is full");
        }
        assert!(matches!(put(&mut outbox, sent, &piece), Err(OutboxFull::Full)));
        let reader = std::thread::spawn(move || {
            let (mut read, mut buffer) = (0_u64, vec![0; 1 << 20]);
            while let Ok(bytes @ 1..) = server.read(&mut buffer) {
                read += bytes as u64;
            }
            read
        });
        while outbox.sent < outbox.bytes.len() {
            outbox.flush().unwrap();
            std::thread::yield_now();
        }
        let mut awaited = VecDeque::new();
        outbox.take_awaited(&mut awaited);
        assert!(awaited.iter().map(|one| one.token).eq(0..sent));
        drop(outbox);
        assert_eq!(reader.join().unwrap(), sent * piece.len() as u64);
    }

    #[test]
    fn a_lost_connection_returns_what_has_no_answer_and_takes_nothing() {
        let (mut outbox, _server) = connected();
        put(&mut outbox, 3, b"x").unwrap().unwrap();
        let refused = outbox.send(Awaited { token: 4, kind: AnswerKind::Put }, |out| {
            out.push(b'y');
            Err("no such key")
        });
        assert_eq!(refused.unwrap(), Err("no such key"));
        assert_eq!(outbox.lose(), [Awaited { token: 3, kind: AnswerKind::Put }]);
        assert!(matches!(put(&mut outbox, 5, b"x"), Err(OutboxFull::Lost)));
    }
}
