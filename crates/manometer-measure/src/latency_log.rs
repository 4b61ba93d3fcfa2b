//! `latency/<workload>.hlog`: an HdrHistogram interval log with one line per interval and operation, tagged with the operation.
//!
//! Times are seconds since the start of the recording, rounded to the format's milliseconds. Before each line stands its
//! CRC-32C, in a comment, which other readers of the format skip.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::time::{Duration, UNIX_EPOCH};

use hdrhistogram::serialization::V2Serializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag};

use crate::clock::WallAnchor;
use crate::histogram::{LatencyHistogram, check_encoded, decode_base64};
use crate::regular_file;

/// The log's times are rounded to milliseconds.
const ROUNDING_S: f64 = 0.001;

/// The first comment, the same in every version: any other is damage.
const ABOUT: &str = "latencies in nanoseconds; the tag is the operation; written by Manometer";

/// What the comment before a line begins with. Its number, from 0, and a checksum of number and line follow.
const SUM: &[u8] = b"#crc32c=";

/// The `max` column is in milliseconds, by the convention of the format.
const NS_PER_MS: f64 = 1_000_000.0;

/// The largest log that is read.
const MOST_BYTES: u64 = 4 << 30;

/// Writes a latency log; each interval is written to the file when `append` returns.
pub struct LatencyLogWriter {
    file: File,
    start_ns: u64,
    next_line: u64,
}

impl LatencyLogWriter {
    /// Begins a log in the empty `file` for a recording that began at `start`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(mut file: File, start: WallAnchor) -> io::Result<Self> {
        let started = UNIX_EPOCH + Duration::from_nanos(start.unix_ns);
        let mut header = Vec::new();
        IntervalLogWriterBuilder::new()
            .add_comment(ABOUT)
            .with_start_time(started)
            .with_base_time(started)
            .with_max_value_divisor(NS_PER_MS)
            .begin_log_with(&mut header, &mut V2Serializer::new())?;
        file.write_all(&header)?;
        Ok(Self { file, start_ns: start.monotonic_ns, next_line: 0 })
    }

    /// Appends the latencies of `operation` in the interval from `begin_ns` to `end_ns`.
    ///
    /// # Errors
    /// The file cannot be written, or `operation` holds a comma, a space or a line break.
    pub fn append(
        &mut self,
        operation: &str,
        begin_ns: u64,
        end_ns: u64,
        histogram: &LatencyHistogram,
    ) -> io::Result<()> {
        let invalid = || io::Error::new(io::ErrorKind::InvalidInput, format!("`{operation}` cannot be a tag"));
        let tag = Tag::new(operation).ok_or_else(invalid)?;
        let seconds = |from: u64, to: u64| Duration::from_nanos(to.saturating_sub(from)).as_secs_f64();
        let line = format!(
            "Tag={},{:.3},{:.3},{:.3},{}\n",
            tag.as_str(),
            seconds(self.start_ns, begin_ns),
            seconds(begin_ns, end_ns),
            histogram.max_ns().unwrap_or(0) as f64 / NS_PER_MS,
            histogram.to_base64(),
        );
        let sum = format!("{:08x},{}\n", sum_of(self.next_line, line.as_bytes()), self.next_line);
        self.next_line += 1;
        self.file.write_all(&[SUM, sum.as_bytes(), line.as_bytes()].concat())
    }
}

/// The suffix of the tag of response times: `read` counts from when requests were sent, `read.response` from when they were
/// due.
const RESPONSE: &str = ".response";

/// The tag of an operation's response times.
pub fn response_tag(operation: &str) -> String {
    format!("{operation}{RESPONSE}")
}

const READABLE: &str = "it was readable when the log was read";

/// One line of a latency log.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyInterval {
    /// The operation.
    pub operation: String,
    /// The start of the interval, in seconds since the start of the recording.
    pub begin_s: f64,
    /// The end of the interval, in seconds since the start of the recording.
    pub end_s: f64,
    /// The encoded histogram: decoded, it takes a hundred times the memory.
    encoded: Box<[u8]>,
}

impl LatencyInterval {
    /// The latencies of `operation` between two times, in seconds since the start of the recording.
    pub fn new(operation: &str, begin_s: f64, end_s: f64, histogram: &LatencyHistogram) -> Self {
        Self { operation: operation.to_owned(), begin_s, end_s, encoded: histogram.encode().into() }
    }

    /// The latencies of the operation.
    pub fn histogram(&self) -> LatencyHistogram {
        LatencyHistogram::decode(&self.encoded).expect(READABLE)
    }

    /// Adds the latencies of the operation to `sum`: much faster than by the histogram.
    pub fn add_to(&self, sum: &mut LatencyHistogram) {
        sum.add_encoded(&self.encoded).expect(READABLE);
    }
}

/// The checksum of the `number`-th line.
fn sum_of(number: u64, line: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), line)
}

/// The checksum and the number in a comment.
fn parse_sum(comment: &[u8]) -> Option<(u32, u64)> {
    let (sum, number) = std::str::from_utf8(comment).ok()?.trim_end().split_once(',')?;
    Some((u32::from_str_radix(sum, 16).ok()?, number.parse::<u64>().ok().filter(|number| *number < u64::MAX)?))
}

/// Whether a comment is one of a log's head, before all sums; lines that damage made a comment are none.
fn is_head(comment: &[u8]) -> bool {
    let text = comment[1..].trim_ascii_end();
    text == ABOUT.as_bytes() || text.starts_with(b"[") && text.ends_with(b"]")
}

/// How much of `lines`, whose first has the number `first`, comes before one that its checksum or its number contradicts, or
/// that has none where others have one, or before a comment that no writer leaves there.
fn verified_bytes(lines: &[u8], first: Option<u64>) -> usize {
    let (mut verified, mut sum, mut have_sums, mut next) = (0, None, false, first);
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        if let Some(comment) = line.strip_prefix(SUM) {
            (sum, have_sums) = (parse_sum(comment), true);
        } else if !line.starts_with(b"#") {
            let is_good = match sum.take() {
                Some((sum, number)) => {
                    let is_next = next.is_none_or(|next| next == number);
                    next = Some(number + 1);
                    is_next && sum == sum_of(number, line)
                }
                None => !have_sums,
            };
            if !is_good {
                break;
            }
        } else if have_sums || !is_head(line) {
            break;
        }
        verified += line.len();
    }
    verified
}

/// A latency log in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatencyLog {
    /// The intervals, in the order written.
    pub intervals: Vec<LatencyInterval>,
    /// Whether the file holds more than could be read.
    pub truncated: bool,
}

impl LatencyLog {
    /// Reads the log in `file` up to its first damaged line.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(file: File) -> io::Result<Self> {
        Ok(Self::parse(&regular_file::read_whole(file, MOST_BYTES)?, Some(0)))
    }

    /// Reads the lines within the last `bytes` of the log in `file`, for a view of a run that still writes it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_end(mut file: File, bytes: u64) -> io::Result<Self> {
        let skipped = file.metadata()?.len().saturating_sub(bytes);
        file.seek(SeekFrom::Start(skipped))?;
        let mut end = Vec::new();
        file.take(bytes).read_to_end(&mut end)?;
        // The first line is whole only where nothing was skipped.
        let begin =
            if skipped == 0 { 0 } else { end.iter().position(|byte| *byte == b'\n').map_or(end.len(), |at| at + 1) };
        Ok(Self::parse(&end[begin..], None))
    }

    fn parse(bytes: &[u8], first: Option<u64>) -> Self {
        // A line without its end does not count: a truncated number could pass for a complete one.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let whole = verified_bytes(&bytes[..whole], first);
        let mut log = Self { truncated: whole < bytes.len(), ..Self::default() };
        for entry in IntervalLogIterator::new(&bytes[..whole]) {
            match entry {
                Ok(LogEntry::Interval(line)) => {
                    let decoded = decode_base64(line.encoded_histogram()).ok();
                    let Some(encoded) = decoded.filter(|bytes| check_encoded(bytes).is_ok()) else {
                        log.truncated = true;
                        break;
                    };
                    let begin_s = line.start_timestamp().as_secs_f64();
                    log.intervals.push(LatencyInterval {
                        operation: line.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default(),
                        begin_s,
                        end_s: begin_s + line.duration().as_secs_f64(),
                        encoded: encoded.into(),
                    });
                }
                Ok(_) => {}
                Err(_) => {
                    log.truncated = true;
                    break;
                }
            }
        }
        log
    }

    /// The tag with the response times of `operation`: its own if there is one, else that of the operation, because in a
    /// closed loop a request is due when it is sent.
    pub fn response_tag(&self, operation: &str) -> String {
        let tag = response_tag(operation);
        if self.intervals.iter().any(|interval| interval.operation == tag) { tag } else { operation.to_owned() }
    }

    /// All latencies of `operation` in the intervals entirely between two times, in seconds since the start of the recording.
    pub fn between(&self, operation: &str, begin_s: f64, end_s: f64) -> LatencyHistogram {
        let mut sum = LatencyHistogram::new();
        for interval in self.intervals_between(operation, begin_s, end_s) {
            interval.add_to(&mut sum);
        }
        sum
    }

    /// The latencies of `operation` in all intervals entirely within one of `stretches_s`.
    pub fn during(&self, operation: &str, stretches_s: &[(f64, f64)]) -> LatencyHistogram {
        let mut sum = LatencyHistogram::new();
        stretches_s.iter().for_each(|(begin_s, end_s)| sum.add(&self.between(operation, *begin_s, *end_s)));
        sum
    }

    /// The intervals of `operation` entirely between two times, as far as the log's rounded times show.
    pub fn intervals_between(
        &self,
        operation: &str,
        begin_s: f64,
        end_s: f64,
    ) -> impl Iterator<Item = &LatencyInterval> {
        self.intervals.iter().filter(move |interval| {
            interval.operation == operation
                && interval.begin_s >= begin_s - ROUNDING_S
                && interval.end_s <= end_s + ROUNDING_S
        })
    }

    /// The operations in the log, each once, in the order of their first appearance, without the tags of response times.
    pub fn operations(&self) -> Vec<String> {
        let mut operations: Vec<String> = Vec::new();
        for interval in self.intervals.iter().filter(|interval| !interval.operation.ends_with(RESPONSE)) {
            if !operations.contains(&interval.operation) {
                operations.push(interval.operation.clone());
            }
        }
        operations
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const START: WallAnchor = WallAnchor { monotonic_ns: 1_000_000_000, unix_ns: 1_700_000_000_000_000_000 };

    fn log(path: &Path) {
        let mut writer = LatencyLogWriter::begin(File::create(path).unwrap(), START).unwrap();
        for second in 1..=4 {
            let begin_ns = second * 1_000_000_000;
            let mut histogram = LatencyHistogram::new();
            (0..10).for_each(|_| histogram.record(second * 1_000_000));
            writer.append("read", begin_ns, begin_ns + 1_000_000_000, &histogram).unwrap();
            writer.append("update", begin_ns, begin_ns + 1_000_000_000, &histogram).unwrap();
        }
    }

    #[test]
    fn an_interval_belongs_to_the_range_of_its_middle() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.hlog");
        log(&path);
        let log = LatencyLog::read(File::open(&path).unwrap()).unwrap();
        assert!(!log.truncated);
        assert_eq!(log.operations(), ["read", "update"]);
        assert_eq!(log.between("read", 1.0, 3.0).len(), 20);
        assert_eq!(log.between("read", 1.4, 3.4).len(), 10, "an interval is in it wholly or not at all");
        assert_eq!(log.between("scan", 0.0, 9.0).len(), 0);
        let p50 = log.between("read", 0.0, 1.0).quantile_ns(0.5).unwrap();
        assert!((999_000..=1_001_000).contains(&p50), "{p50}");
    }

    #[test]
    fn the_end_of_a_log_has_its_last_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.hlog");
        log(&path);
        let bytes = std::fs::read(&path).unwrap();
        let last_line = bytes[..bytes.len() - 1].iter().rev().take_while(|byte| **byte != b'\n').count() as u64 + 1;
        let read = |bytes| LatencyLog::read_end(File::open(&path).unwrap(), bytes).unwrap();
        assert_eq!(read(last_line - 1).intervals.len(), 0, "a part of a line");
        assert_eq!(read(last_line + 1).intervals.len(), 1);
        assert_eq!(
            (read(last_line + 1).operations(), read(last_line + 1).truncated),
            (vec!["update".to_owned()], false)
        );
        assert_eq!(read(u64::MAX >> 1), LatencyLog::read(File::open(&path).unwrap()).unwrap());
    }

    #[test]
    fn a_log_cut_anywhere_is_read_up_to_there() {
        let dir = tempfile::tempdir().unwrap();
        let (whole, cut) = (dir.path().join("a.hlog"), dir.path().join("b.hlog"));
        log(&whole);
        let bytes = std::fs::read(&whole).unwrap();
        let mut lines_before = 0;
        for length in 0..=bytes.len() {
            std::fs::write(&cut, &bytes[..length]).unwrap();
            let lines = LatencyLog::read(File::open(&cut).unwrap()).unwrap().intervals.len();
            assert!(lines >= lines_before);
            lines_before = lines;
        }
        assert_eq!(lines_before, 8);
    }

    /// The end of a log that a kill left, overwritten from the place after a number sign: a comment, if it is believed.
    #[test]
    fn lines_that_became_a_comment_are_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.hlog");
        log(&path);
        let bytes = std::fs::read(&path).unwrap();
        let signs = (0..bytes.len()).filter(|at| bytes[*at] == b'#' && *at < bytes.len() - 2);
        let mut tried = 0;
        for at in signs {
            for filling in [b'\x92', b'x'] {
                let mut damaged = bytes.clone();
                let end = damaged.len() - 1;
                damaged[at + 1..end].fill(filling);
                std::fs::write(&path, &damaged).unwrap();
                assert!(LatencyLog::read(File::open(&path).unwrap()).unwrap().truncated, "{at}, {filling}");
                tried += 1;
            }
        }
        assert!(tried >= 16, "{tried}");
    }

    #[test]
    fn an_operation_that_would_break_the_line_is_refused() {
        let mut writer = LatencyLogWriter::begin(tempfile::tempfile().unwrap(), START).unwrap();
        assert!(writer.append("a,b", 0, 1, &LatencyHistogram::new()).is_err());
    }
}
