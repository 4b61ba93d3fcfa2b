//! Files of fixed size and the ways to read and write them.
//!
//! [`prepare`] makes the files, written to the last byte, so that no request ever meets a hole or moves
//! the file's end. [`open`] opens them and returns a [`IoBackend`]: one of three ways to keep requests in
//! flight, all with the same few verbs. Which request comes next, when, and what is counted is left to
//! `manometer-workload`.

mod backend;
mod buffers;
mod data;
mod error;
mod files;
mod io_engine;
mod prepare;
mod probe;

pub use backend::{
    BackendOptions, Completion, IoBackend, IoOperation, MAX_BUFFER_BYTES, MAX_DEPTH, Submission, best_available, open,
};
pub use data::{DataGenerator, MAGIC, SECTOR_BYTES};
pub use error::FileError;
pub use files::{FileReuse, FileSet, direct_alignment_bytes, is_own_file};
pub use io_engine::IoEngine;
pub use prepare::prepare;
pub use probe::probe;
