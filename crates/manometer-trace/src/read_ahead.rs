//! Decompresses on a separate thread, ahead of the reader.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Bytes that are decompressed at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// The most decompressed chunks that wait.
const CHUNKS_MAX: usize = 4;
/// The length of a trace below which no thread is started.
const WITHOUT_THREAD_BYTES: usize = 1 << 20;

/// The bytes of a trace.
pub type Bytes = Box<dyn Read + Send>;

/// Reads bytes ahead of their use, up to a limit.
pub(crate) struct ReadAhead {
    state: State,
}

enum State {
    /// Reads without a thread, for this many more bytes.
    Here(Bytes, usize),
    Ahead(ReadAheadQueue),
    /// At the end.
    Ended,
}

struct ReadAheadQueue {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    given: usize,
}

impl ReadAhead {
    pub(crate) fn new(input: Bytes) -> Self {
        Self { state: State::Here(input, WITHOUT_THREAD_BYTES) }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if matches!(self.state, State::Here(_, 0))
            && let State::Here(input, _) = std::mem::replace(&mut self.state, State::Ended)
        {
            self.state = State::Ahead(start(input)?);
        }
        match &mut self.state {
            State::Here(input, left) => {
                let room = buffer.len().min(*left);
                let read = input.read(&mut buffer[..room])?;
                *left -= read;
                Ok(read)
            }
            State::Ahead(ahead) => ahead.read(buffer),
            State::Ended => Ok(0),
        }
    }
}

impl ReadAheadQueue {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.chunk.len() {
            (self.chunk, self.given) = (Vec::new(), 0);
            let broke = |_| io::Error::other("the decompressor broke off without a reason");
            self.chunk = self.chunks.recv().map_err(broke)??;
        }
        let length = buffer.len().min(self.chunk.len() - self.given);
        buffer[..length].copy_from_slice(&self.chunk[self.given..][..length]);
        self.given += length;
        Ok(length)
    }
}

/// The thread ends with the trace, or when its receiver is dropped.
fn start(mut input: Bytes) -> io::Result<ReadAheadQueue> {
    let (sender, chunks) = sync_channel(CHUNKS_MAX);
    let read = move || {
        loop {
            let chunk = next_chunk(&mut input);
            let is_last = !chunk.as_ref().is_ok_and(|chunk| !chunk.is_empty());
            if sender.send(chunk).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("decompress".to_owned()).spawn(read)?;
    Ok(ReadAheadQueue { chunks, chunk: Vec::new(), given: 0 })
}

/// The bytes of one read of the input; empty at its end.
fn next_chunk(input: &mut Bytes) -> io::Result<Vec<u8>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match input.read(&mut chunk) {
            Ok(read) => {
                chunk.truncate(read);
                return Ok(chunk);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use std::sync::mpsc::{Sender, channel};

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|number| (number / 7 % 251) as u8).collect()
    }

    #[test]
    fn what_comes_out_is_what_went_in() {
        for count in [0, 1, WITHOUT_THREAD_BYTES - 1, WITHOUT_THREAD_BYTES, WITHOUT_THREAD_BYTES + 1, 5 << 20] {
            let mut read = Vec::new();
            ReadAhead::new(Box::new(Cursor::new(bytes(count)))).read_to_end(&mut read).unwrap();
            assert!(read == bytes(count), "{count}");
        }
    }

    /// Good bytes, then an error.
    struct Broken(Cursor<Vec<u8>>);

    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("cut")),
                read => Ok(read),
            }
        }
    }

    #[test]
    fn an_error_comes_after_all_that_was_good() {
        let count = WITHOUT_THREAD_BYTES + 3 * CHUNK_BYTES + 5;
        let mut read = Vec::new();
        let mut ahead = ReadAhead::new(Box::new(Broken(Cursor::new(bytes(count)))));
        let error = ahead.read_to_end(&mut read).unwrap_err();
        assert_eq!((error.to_string().as_str(), read.len()), ("cut", count));
    }

    /// An endless input that reports when it is dropped.
    struct Endless(Sender<()>);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Ok(buffer.len())
        }
    }

    impl Drop for Endless {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }

    #[test]
    fn the_thread_ends_with_who_reads() {
        let (sender, ended) = channel();
        let mut ahead = ReadAhead::new(Box::new(Endless(sender)));
        ahead.by_ref().take(2 * WITHOUT_THREAD_BYTES as u64).read_to_end(&mut Vec::new()).unwrap();
        drop(ahead);
        ended.recv().unwrap();
    }
}
