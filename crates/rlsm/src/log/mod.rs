//! The framing of the write-ahead log and of the manifest: what is appended comes back whole or not at all.
//!
//! | bytes | of the header |
//! | --- | --- |
//! | 8 | `rlsm-wal` or `rlsmmani` |
//! | 4 | the format's version, 1 |
//! | 8 | the file's number |
//! | 4 | CRC-32C of the 20 bytes before |
//!
//! | bytes | of a record |
//! | --- | --- |
//! | 4 | CRC-32C, begun with the header's checksum, of the rest of the record |
//! | 1 to 10 | how long the payload is, LEB128, at least 1 |
//! | so many | the payload |
//!
//! Numbers are little-endian. A record before which everything was durable when it was written has the exclusive or of
//! its checksum and [`frame::SYNCED`] instead: what cannot be read before it, in this log or an earlier one that is
//! still needed, is damaged, not left so by a crash. Since checksums begin with the header's, no record of another log
//! is taken for one of this log's: a recycled block may hold it, or a user's value.

mod frame;
mod reader;
mod search;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use frame::{HEADER_BYTES as LOG_HEADER_BYTES, LogKind, check_log_header, payload_of};
pub(crate) use reader::{End, LogReader};
pub(crate) use writer::LogWriter;
