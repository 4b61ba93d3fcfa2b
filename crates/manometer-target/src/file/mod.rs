//! Files of fixed size and the ways to read and write them.
//!
//! [`prepare`] makes the files, written to the last byte, so that no request ever meets a hole or moves
//! the file's end. [`open`] opens them and returns a [`Backend`]: one of three ways to keep requests in
//! flight, all with the same few verbs. Which request comes next, when, and what is counted is left to
//! `manometer-workload`.

mod backend;
mod buffers;
mod data;
mod error;
mod files;
mod prepare;
mod probe;

pub use backend::{
    Backend, Completion, IoEngine, MAX_BUFFER_BYTES, MAX_DEPTH, Operation, Options, Request, best_available, open,
};
pub use data::{MAGIC, SECTOR_BYTES, WriteData};
pub use error::FileError;
pub use files::{Existing, FileSet, direct_alignment_bytes, is_ours};
pub use prepare::prepare;
pub use probe::probe;
