//! Why a workload of any kind failed.

use std::error::Error;

use manometer_target::engine::EngineError;

/// Why a workload failed. Each kind converts its own errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The request was invalid: the error of a kind of workload.
    #[error(transparent)]
    WrongRequest(Box<dyn Error + Send + Sync>),
    /// The run failed: the error of a kind of workload.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
    /// The data cannot be removed.
    #[error("removing the data: {0}")]
    Remove(#[source] EngineError),
    /// A thread panicked.
    #[error("a thread of the workload panicked; this is a bug in Manometer; please report it")]
    Panicked,
}

impl WorkloadError {
    /// The error of a kind of workload.
    pub(crate) fn of_kind(error: impl Error + Send + Sync + 'static, is_wrong_request: bool) -> Self {
        match is_wrong_request {
            true => Self::WrongRequest(error.into()),
            false => Self::Failed(error.into()),
        }
    }

    /// Whether the request was invalid, rather than the run failed.
    pub fn is_wrong_request(&self) -> bool {
        matches!(self, Self::WrongRequest(_))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use manometer_target::file::IoEngine;

    use super::*;
    use crate::command::CommandError;
    use crate::file_threads::FilesError;
    use crate::io::IoError;
    use crate::kv::KvError;
    use crate::replay::ReplayError;
    use crate::setting_error::SettingError;

    fn setting() -> SettingError {
        SettingError::new("threads", 0, "write a number from 1")
    }

    #[test]
    fn an_invalid_request_of_any_kind_is_one() {
        let wrong: [WorkloadError; 7] = [
            CommandError::from(setting()).into(),
            FilesError::from(setting()).into(),
            IoError::from(setting()).into(),
            IoError::Memory("/dev/shm".into()).into(),
            IoError::Trace(ReplayError::Panicked).into(),
            KvError::BadSetting { name: "threads", got: "0".to_owned(), wanted: "write a number from 1" }.into(),
            ReplayError::Unfit { path: "trace".to_owned(), reason: "it is empty".to_owned() }.into(),
        ];
        for error in wrong {
            assert!(error.is_wrong_request(), "{error}");
        }
        let source = || io::Error::from(io::ErrorKind::NotFound);
        let failed: [WorkloadError; 7] = [
            CommandError::Start { program: "sh".to_owned(), source: source() }.into(),
            FilesError::Thread { number: 1, source: source() }.into(),
            IoError::Wait { engine: IoEngine::IoUring, source: source() }.into(),
            KvError::Panicked.into(),
            ReplayError::Changed { path: "trace".to_owned(), what: "it is longer".to_owned() }.into(),
            WorkloadError::Remove(EngineError::UnknownEngine { got: "x".to_owned(), known: "map".to_owned() }),
            WorkloadError::Panicked,
        ];
        for error in failed {
            assert!(!error.is_wrong_request(), "{error}");
        }
    }

    #[test]
    fn an_error_of_a_kind_reads_as_its_own() {
        let (own, error) = (FilesError::from(setting()), WorkloadError::from(FilesError::from(setting())));
        assert_eq!(error.to_string(), own.to_string());
    }
}
