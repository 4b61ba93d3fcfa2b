//! Why a workload of any kind failed.

use manometer_target::engine::EngineError;

use crate::command::CommandError;
use crate::file_threads::FilesError;
use crate::io::IoError;
use crate::kv::KvError;
use crate::replay::ReplayError;

/// Why a workload failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// An `io` workload.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A `files` or `paths` workload.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A `kv` workload.
    #[error(transparent)]
    Kv(#[from] KvError),
    /// A `replay` workload.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// An external program.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The data cannot be removed.
    #[error("removing the data: {0}")]
    Remove(#[source] EngineError),
    /// A thread panicked.
    #[error("a thread of the workload panicked; this is a bug in Manometer; please report it")]
    Panicked,
}

impl WorkloadError {
    /// Whether the request was invalid, rather than the run failed.
    pub fn is_wrong_request(&self) -> bool {
        match self {
            Self::Io(error) => error.is_wrong_request(),
            Self::Kv(error) => error.is_wrong_request(),
            Self::Replay(error) => error.is_wrong_request(),
            Self::Files(FilesError::Setting(_)) | Self::Command(CommandError::Setting(_)) => true,
            Self::Files(_) | Self::Command(_) | Self::Remove(_) | Self::Panicked => false,
        }
    }
}
