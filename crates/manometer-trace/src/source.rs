//! The decompressed bytes of a trace, in a sliding window.

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::ops::Range;

pub use crate::read_ahead::Bytes;
use crate::read_ahead::ReadAhead;

/// The longest line in bytes.
pub const LINE_BYTES_MAX: usize = 16 << 20;
/// The longest binary record in bytes.
pub const RECORD_BYTES_MAX: usize = 64 << 20;
/// Bytes read at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// The most memory of a decompressor, in bytes.
const DECOMPRESSOR_BYTES_MAX: u64 = 512 << 20;
/// The largest window of a zstd file: 2^27 bytes.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// A sliding window over the decompressed bytes of a trace.
pub(crate) struct Source {
    input: Bytes,
    file: Option<File>,
    buffer: Vec<u8>,
    window: Range<usize>,
    offset: u64,
    ended: bool,
    failure: Option<io::Error>,
}

impl Source {
    /// Decompresses `input` if it is compressed; `file` is the same input if it is a seekable file.
    pub(crate) fn new(input: Bytes, file: Option<File>) -> io::Result<Self> {
        let (input, packed) = decompress(input)?;
        let input: Bytes = if packed { Box::new(ReadAhead::new(input)) } else { input };
        let file = file.filter(|_| !packed);
        Ok(Self { input, file, buffer: Vec::new(), window: 0..0, offset: 0, ended: false, failure: None })
    }

    /// The file itself, if it is one and not compressed.
    pub(crate) fn take_file(&mut self) -> Option<File> {
        self.file.take()
    }

    /// The offset of the window in the decompressed trace.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The buffered bytes.
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.window.clone()]
    }

    /// Reads until `bytes` are buffered; fewer only at the end of the trace.
    pub(crate) fn fill_to(&mut self, bytes: usize) -> &[u8] {
        while self.window.len() < bytes && !self.ended {
            self.read_more(bytes);
        }
        self.window()
    }

    /// Advances the start of the window.
    pub(crate) fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.window.len());
        self.window.start += bytes;
        self.offset += bytes as u64;
    }

    /// Skips bytes. Returns how many there were.
    pub(crate) fn skip(&mut self, bytes: u64) -> u64 {
        let mut left = bytes;
        while left > 0 {
            let there = self.fill_to(1).len() as u64;
            if there == 0 {
                break;
            }
            let step = there.min(left);
            self.consume(step as usize);
            left -= step;
        }
        bytes - left
    }

    /// The length of the next line, without and with its terminator; `None` at the end of the trace.
    ///
    /// # Errors
    /// The line is longer than [`LINE_BYTES_MAX`].
    pub(crate) fn line(&mut self) -> Result<Option<(usize, usize)>, crate::error::RecordFault> {
        let mut searched = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.window()[searched..]) {
                return Ok(Some((searched + at, searched + at + 1)));
            }
            searched = self.window.len();
            if searched > LINE_BYTES_MAX {
                return Err(format!("this line is longer than {LINE_BYTES_MAX} bytes").into());
            }
            if self.ended {
                return Ok((searched > 0).then_some((searched, searched)));
            }
            self.read_more(searched + 1);
        }
    }

    /// Whether the trace has ended or broken.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The error that broke the trace, if any.
    pub(crate) fn failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    fn read_more(&mut self, at_least: usize) {
        if self.window.start > 0 {
            self.buffer.copy_within(self.window.clone(), 0);
            self.window = 0..self.window.len();
        }
        let room = at_least.max(self.window.len() + CHUNK_BYTES / 2).max(CHUNK_BYTES);
        if self.buffer.len() < room {
            // Doubles the buffer, so that small reads are not copied repeatedly, and never grows by more than is read.
            self.buffer.resize(room.min((2 * self.buffer.len()).max(CHUNK_BYTES)).max(self.window.len() + 1), 0);
        }
        match self.input.read(&mut self.buffer[self.window.end..]) {
            Ok(0) => self.ended = true,
            Ok(read) => self.window.end += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                self.failure = Some(error);
                self.ended = true;
            }
        }
    }
}

/// Decompresses `input` if it is compressed. Returns whether it was.
fn decompress(mut input: Bytes) -> io::Result<(Bytes, bool)> {
    let mut head = [0; 6];
    let mut filled = 0;
    while filled < head.len() {
        match input.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let head = &head[..filled];
    let whole = Cursor::new(head.to_vec()).chain(input);
    Ok(match head {
        // Method and flags too: binary traces begin with any two bytes.
        [0x1f, 0x8b, 8, 0..0x20, ..] => (Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(whole))), true),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => (Box::new(zstd_decoder(whole)?), true),
        [0x04, 0x22, 0x4d, 0x18, ..] => (Box::new(Lz4Frames::new(whole)), true),
        [0xfd, b'7', b'z', b'X', b'Z', 0x00] => (Box::new(xz_decoder(whole)?), true),
        _ => (Box::new(whole), false),
    })
}

type FullStream = Chain<Cursor<Vec<u8>>, Bytes>;

fn zstd_decoder(whole: FullStream) -> io::Result<impl Read + Send> {
    let mut decoder = zstd::Decoder::new(whole)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(decoder)
}

fn xz_decoder(whole: FullStream) -> io::Result<impl Read + Send> {
    let stream = liblzma::stream::Stream::new_stream_decoder(DECOMPRESSOR_BYTES_MAX, liblzma::stream::CONCATENATED)
        .map_err(io::Error::other)?;
    Ok(liblzma::bufread::XzDecoder::new_stream(BufReader::new(whole), stream))
}

/// Consecutive LZ4 frames; an end inside a frame is an error.
struct Lz4Frames {
    decoder: lz4_flex::frame::FrameDecoder<BufReader<FullStream>>,
}

impl Lz4Frames {
    fn new(whole: FullStream) -> Self {
        Self { decoder: lz4_flex::frame::FrameDecoder::new(BufReader::new(whole)) }
    }
}

impl Read for Lz4Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        if read > 0 || buffer.is_empty() || io::BufRead::fill_buf(self.decoder.get_mut())?.is_empty() {
            return Ok(read);
        }
        self.decoder.read(buffer)
    }
}
