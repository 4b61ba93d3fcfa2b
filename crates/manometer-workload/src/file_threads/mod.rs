//! Threads that call the kernel for files: what workloads of the kinds `files` and `paths` have in common.
//!
//! [`FileWork`] is what the threads of one workload do. [`run_threads`] starts them behind a gate, keeps their rate, counts
//! and times each operation, and hands them to the driver. `creation` writes the files that a run needs.

mod counts;
pub(crate) mod creation;
mod error;
pub(crate) mod file_io;
mod folder;
mod operation;
mod pace;
mod run;
mod shared;
mod thread_gate;
mod workload;

pub(crate) use counts::SKIPPED;
pub use error::FilesError;
pub(crate) use folder::{PreparedFolder, prepare_folder};
pub(crate) use operation::FileOperation;
pub(crate) use run::{Prepared, run_threads};
pub(crate) use shared::{ThreadContext, ThreadEnd};
pub(crate) use workload::{FileWork, ThreadChange};

use manometer_measure::Rate;

use crate::setting_error::SettingError;

/// Each thread has a file open, and a process may have 1,024 open by default.
const MAX_THREADS: u32 = 512;

/// Checks the number of threads and their rate.
pub(crate) fn check_threads(threads: u32, rate: Option<Rate>) -> Result<(), SettingError> {
    if !(1..=MAX_THREADS).contains(&threads) {
        let wanted = format!("write a whole number from 1 to {MAX_THREADS}");
        return Err(SettingError::new("threads", threads, wanted));
    }
    match rate {
        Some(rate @ Rate::Bytes(_)) => {
            Err(SettingError::new("rate", rate, "write operations such as 1000/s: they move bytes as they come"))
        }
        Some(Rate::Requests(_)) | None => Ok(()),
    }
}
