//! A buffered connection: many requests are sent in one write, and answers are read in place.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Range;

use super::address::{ANSWER_LIMIT, CONNECT_LIMIT, resolve};
use super::refusal::Refusal;

/// Initial size of the read buffer in bytes; it grows with the longest answer.
const READ_BYTES: usize = 64 << 10;

/// The longest answer in bytes: Redis's limit for one value.
const ANSWER_BYTES_MAX: usize = 512 << 20;

/// A connection to a server.
pub(crate) struct Wire {
    stream: TcpStream,
    out: Vec<u8>,
    read: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether parsing never reads from the stream: what has not arrived is the error `WouldBlock`.
    is_fed: bool,
}

impl Wire {
    /// Connects to `address` within the timeout, trying each resolved address.
    pub(crate) fn connect(address: &str) -> io::Result<Self> {
        let mut last = io::Error::new(ErrorKind::NotFound, "the name leads nowhere");
        for place in resolve(address)? {
            match TcpStream::connect_timeout(&place, CONNECT_LIMIT) {
                Ok(stream) => return Self::over(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT))?;
        stream.set_write_timeout(Some(ANSWER_LIMIT))?;
        Ok(Self {
            stream,
            out: Vec::with_capacity(READ_BYTES),
            read: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            is_fed: false,
        })
    }

    /// The stream itself; what was buffered is dropped.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// A connection that is read with [`pull`](Self::pull) and [`parse`](Self::parse), over a stream that does not block.
    pub(crate) fn fed(stream: TcpStream) -> Self {
        Self { stream, out: Vec::new(), read: vec![0; READ_BYTES], start: 0, end: 0, is_fed: true }
    }

    /// Reads some of what has arrived, without waiting. Returns whether there was anything. Invalidates ranges returned
    /// before.
    pub(crate) fn pull(&mut self) -> io::Result<bool> {
        match self.read_more() {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Parses one answer; `None` if not all of it has arrived, which leaves it to be parsed again.
    pub(crate) fn parse<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Option<Result<T, Refusal>> {
        let begin = self.start;
        match parse(self) {
            Err(Refusal::Broken(error)) if error.kind() == ErrorKind::WouldBlock => {
                self.start = begin;
                None
            }
            parsed => Some(parsed),
        }
    }

    /// The buffer of unsent requests.
    #[inline]
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Sends the buffered requests.
    #[inline]
    pub(crate) fn send(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// The next line, without its terminator.
    #[inline]
    pub(crate) fn line(&mut self) -> io::Result<Range<usize>> {
        let mut seen = 0;
        loop {
            if let Some(length) = self.read[self.start + seen..self.end].iter().position(|byte| *byte == b'\n') {
                let begin = self.start;
                let end = begin + seen + length;
                self.start = end + 1;
                let has_return = end > begin && self.read[end - 1] == b'\r';
                return Ok(begin..end - usize::from(has_return));
            }
            seen = self.end - self.start;
            self.fill()?;
        }
    }

    /// The next `bytes` bytes, which a line terminator follows.
    #[inline]
    pub(crate) fn block(&mut self, bytes: usize) -> io::Result<Range<usize>> {
        const LINE_END: &[u8] = b"\r\n";
        if bytes > ANSWER_BYTES_MAX {
            return Err(io::Error::new(ErrorKind::InvalidData, format!("an answer of {bytes} bytes makes no sense")));
        }
        let whole = bytes + LINE_END.len();
        while self.end - self.start < whole {
            self.fill()?;
        }
        let begin = self.start;
        self.start += whole;
        if &self.read[begin + bytes..begin + whole] != LINE_END {
            return Err(io::Error::new(ErrorKind::InvalidData, "an answer has another length than announced"));
        }
        Ok(begin..begin + bytes)
    }

    /// The bytes of the last answer in `range`.
    #[inline]
    pub(crate) fn at(&self, range: Range<usize>) -> &[u8] {
        &self.read[range]
    }

    /// The bytes in `range` as text.
    pub(crate) fn text(&self, range: Range<usize>) -> String {
        String::from_utf8_lossy(&self.read[range]).into_owned()
    }

    /// Reads more into the buffer. Invalidates ranges returned before.
    fn fill(&mut self) -> io::Result<()> {
        if self.is_fed { Err(ErrorKind::WouldBlock.into()) } else { self.read_more() }
    }

    fn read_more(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.read.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.read.len() {
            if self.end > ANSWER_BYTES_MAX {
                return Err(io::Error::new(ErrorKind::InvalidData, "an answer without an end"));
            }
            self.read.resize(self.end * 2, 0);
        }
        loop {
            match self.stream.read(&mut self.read[self.end..]) {
                Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "it closed the connection")),
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Writes `number` in decimal.
#[inline]
pub(crate) fn decimal(out: &mut Vec<u8>, mut number: usize) {
    /// Digits of the largest 64-bit number.
    const DIGITS: usize = 20;
    let mut digits = [0; DIGITS];
    let mut at = DIGITS;
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A connection whose other end writes `pieces` one by one.
    fn wire_from(pieces: Vec<Vec<u8>>) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for piece in pieces {
                stream.write_all(&piece).unwrap();
            }
        });
        Wire::connect(&address).unwrap()
    }

    #[test]
    fn lines_and_blocks_are_found_however_they_arrive() {
        let long = vec![b'x'; 3 * READ_BYTES];
        let whole = [b"+OK\r\n$3\r\na\r\n\r\n".as_slice(), &long, b"\r\nend\n"].concat();
        let mut wire = wire_from(whole.chunks(7001).map(<[u8]>::to_vec).collect());
        let line = wire.line().unwrap();
        assert_eq!(wire.at(line), b"+OK");
        let line = wire.line().unwrap();
        assert_eq!(wire.at(line), b"$3");
        let block = wire.block(3).unwrap();
        assert_eq!(wire.at(block), b"a\r\n");
        let block = wire.block(long.len()).unwrap();
        assert_eq!(wire.at(block), long);
        let line = wire.line().unwrap();
        assert_eq!(wire.at(line), b"end");
        assert_eq!(wire.line().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn an_answer_that_has_not_arrived_is_parsed_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nonblocking(true).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        let mut wire = Wire::fed(stream);
        let answer = |wire: &mut Wire| {
            let line = wire.line()?;
            assert_eq!(wire.at(line), b"$3");
            Ok(wire.block(3)?)
        };
        assert!(wire.parse(answer).is_none());
        for part in [&b"$3\r\n"[..], b"ab", b"c\r"] {
            other.write_all(part).unwrap();
            wire.pull().unwrap();
            assert!(wire.parse(answer).is_none());
        }
        other.write_all(b"\n").unwrap();
        let block = loop {
            wire.pull().unwrap();
            if let Some(block) = wire.parse(answer) {
                break block.unwrap_or_else(|_| panic!("it was refused"));
            }
        };
        assert_eq!(wire.at(block), b"abc");
        drop(other);
        let ended = loop {
            if let Err(error) = wire.pull() {
                break error;
            }
        };
        assert_eq!(ended.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_block_of_another_length_than_announced_is_an_error() {
        assert_eq!(wire_from(vec![b"abcdef\r\n".to_vec()]).block(3).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(wire_from(Vec::new()).block(usize::MAX).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn numbers_are_written_as_the_library_writes_them() {
        for number in [0, 7, 10, 12345, usize::MAX] {
            let mut out = Vec::new();
            decimal(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }
}
