//! A cache of surveys: each trace is surveyed once while its file does not change.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use manometer_trace::TraceError;

use super::settings::{ReplayModel, TraceFile};
use super::survey::{RequiredKey, Survey, SurveyScope, survey};
use crate::kv::values::VALUE_BYTES_MAX;

/// The largest number of cached surveys.
const CACHE_MAX: usize = 64;

/// Identifies a version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl FileStamp {
    /// The stamp of the file at `path`; `None` if there is no regular file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        let changed = (file.ctime(), file.ctime_nsec());
        Some(Self { device: file.dev(), inode: file.ino(), bytes: file.len(), changed })
    }
}

/// The size of loading the keys that a trace requires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LoadSize {
    pub(crate) keys: u64,
    pub(crate) key_bytes: u64,
    /// Bytes of the values whose sizes the trace records.
    pub(crate) value_bytes: u64,
    /// Keys without a recorded size.
    pub(crate) unsized_keys: u64,
}

impl LoadSize {
    fn of(required: &[RequiredKey]) -> Self {
        let mut all = Self { keys: required.len() as u64, ..Self::default() };
        for one in required {
            all.key_bytes += u64::from(one.key_bytes);
            let bytes = one.value_bytes.unwrap_or(0).min(VALUE_BYTES_MAX);
            all.value_bytes = all.value_bytes.saturating_add(bytes);
            all.unsized_keys += u64::from(one.value_bytes.is_none());
        }
        all
    }
}

/// The survey of a trace, without the required keys.
#[derive(Debug)]
pub(crate) struct SurveyResult {
    pub(crate) survey: Survey,
    pub(crate) load_size: LoadSize,
    /// The stamp of the file when it was read; `None` for anything but a regular file.
    pub(crate) stamp: Option<FileStamp>,
}

impl SurveyResult {
    /// Surveys the trace. Returns the required keys separately.
    pub(crate) fn read(file: &TraceFile, scope: SurveyScope) -> Result<(Self, Vec<RequiredKey>), TraceError> {
        // Taken before reading, so that a change during the reading is noticed.
        let stamp = FileStamp::of(&file.trace);
        let mut survey = survey(file, scope)?;
        let required = std::mem::take(&mut survey.required);
        Ok((Self { load_size: LoadSize::of(&required), survey, stamp }, required))
    }
}

/// The inputs of a survey. Without a share, the model makes no difference and is the default one.
#[derive(Debug, PartialEq)]
struct SurveyKey {
    file: TraceFile,
    scope: SurveyScope,
    stamp: FileStamp,
}

/// The cached surveys, the oldest first.
static CACHE: Mutex<Vec<(SurveyKey, Arc<SurveyResult>)>> = Mutex::new(Vec::new());

/// The survey of the trace `file`, from the cache if the file has not changed.
pub(crate) fn cached_survey(file: &TraceFile, scope: SurveyScope) -> Result<Arc<SurveyResult>, TraceError> {
    let read = || SurveyResult::read(file, scope).map(|(cached_survey, _)| Arc::new(cached_survey));
    let Some(stamp) = FileStamp::of(&file.trace) else { return read() };
    let model = if scope.share.is_some() { scope.model } else { ReplayModel::default() };
    let made = SurveyKey { file: file.clone(), scope: SurveyScope { model, ..scope }, stamp };
    let mut dispatch = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, cached_survey)) = dispatch.iter().find(|(other, _)| *other == made) {
        return Ok(Arc::clone(cached_survey));
    }
    let cached_survey = read()?;
    if dispatch.len() == CACHE_MAX {
        dispatch.remove(0);
    }
    dispatch.push((made, Arc::clone(&cached_survey)));
    Ok(cached_survey)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_once_as_long_as_it_stays_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let file = TraceFile { trace: dir.path().join("trace"), ..TraceFile::default() };
        let of = |model, with_required| {
            cached_survey(&file, SurveyScope { with_required, ..SurveyScope::whole(model) }).unwrap()
        };
        std::fs::write(&file.trace, "read,a,1,5\nread,b,2,\n").unwrap();
        let first = of(ReplayModel::Open, false);
        assert!(Arc::ptr_eq(&first, &of(ReplayModel::ClosedPerClient, false)), "the model makes no difference");
        let loading = of(ReplayModel::Open, true);
        assert_eq!(loading.load_size, LoadSize { keys: 2, key_bytes: 2, value_bytes: 5, unsized_keys: 1 });
        assert!(loading.survey.required.is_empty() && Arc::ptr_eq(&loading, &of(ReplayModel::Open, true)));
        std::fs::write(&file.trace, "read,a,1,5\nread,b,2,\nread,c,3,\n").unwrap();
        assert_eq!((first.survey.requests, of(ReplayModel::Open, false).survey.requests), (2, 3));
    }
}
