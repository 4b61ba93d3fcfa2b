//! The record format of the WAL and of the manifest: a record is read whole or not at all.
//!
//! | bytes | header |
//! | --- | --- |
//! | 8 | `rlsm-wal` or `rlsmmani` |
//! | 4 | format version: 1 |
//! | 8 | file number |
//! | 4 | CRC-32C of the 20 bytes before |
//!
//! | bytes | record |
//! | --- | --- |
//! | 4 | CRC-32C of the rest of the record, with the header's checksum as its initial value |
//! | 1 to 10 | length of the payload, at least 1: LEB128 |
//! | … | payload |
//!
//! Numbers are little-endian. A record before which everything was durable when it was written has the XOR of its
//! checksum and [`frame::SYNCED`] instead: bytes before it that cannot be read, in this log or in an earlier one that
//! is still needed, are damage, not the effect of a crash. Since checksums start with the header's, a record of another
//! log, left in a recycled block or in a user's value, is not taken for one of this log.

mod frame;
mod reader;
mod search;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use frame::{HEADER_BYTES as LOG_HEADER_BYTES, LogKind, check_log_header, payload_of};
pub(crate) use reader::{LogEnd, LogReader};
pub(crate) use writer::LogWriter;
