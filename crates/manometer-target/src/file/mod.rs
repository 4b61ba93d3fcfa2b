//! Files of fixed size, and asynchronous reads and writes of them.
//!
//! [`prepare`] creates the files and writes them completely, so that no request meets a hole or extends a file.
//! [`open`] opens them and returns an [`IoBackend`], one of three ways to keep requests in flight behind one interface.
//! `manometer-workload` decides which request comes next and when, and what is counted.

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
