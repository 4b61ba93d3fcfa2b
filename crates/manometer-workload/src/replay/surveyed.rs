//! Surveys of traces, each made once for all who ask while the trace stays as it is.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use manometer_trace::TraceError;

use super::plan::VALUE_BYTES_MAX;
use super::settings::{Model, Share, TraceFile};
use super::survey::{Needed, Survey, survey};

/// The most surveys that are kept.
const KEPT_MAX: usize = 64;

/// What tells whether a file is still what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of the file at `path`; nothing where there is none.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        let changed = (file.ctime(), file.ctime_nsec());
        Some(Self { device: file.dev(), inode: file.ino(), bytes: file.len(), changed })
    }
}

/// What loading the keys that a trace needs takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ToLoad {
    pub(crate) keys: u64,
    pub(crate) key_bytes: u64,
    /// Bytes of the values whose sizes the trace tells.
    pub(crate) value_bytes: u64,
    /// Keys of whose values it never tells a size.
    pub(crate) unsized_keys: u64,
}

impl ToLoad {
    fn of(needed: &[Needed]) -> Self {
        let mut all = Self { keys: needed.len() as u64, ..Self::default() };
        for one in needed {
            all.key_bytes += u64::from(one.key_bytes);
            let bytes = one.value_bytes.unwrap_or(0).min(VALUE_BYTES_MAX);
            all.value_bytes = all.value_bytes.saturating_add(bytes);
            all.unsized_keys += u64::from(one.value_bytes.is_none());
        }
        all
    }
}

/// What a trace has and lacks, without the keys themselves.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) survey: Survey,
    pub(crate) to_load: ToLoad,
    /// What it was when it was read; nothing for what is no file.
    pub(crate) stamp: Option<Stamp>,
}

impl Surveyed {
    /// Reads the trace; the keys that have to be there before it come beside.
    pub(crate) fn read(
        file: &TraceFile,
        model: Model,
        share: Option<Share>,
        with_needed: bool,
    ) -> Result<(Self, Vec<Needed>), TraceError> {
        // Before it is read: what changes it meanwhile shows.
        let stamp = Stamp::of(&file.trace);
        let mut survey = survey(file, model, share, with_needed)?;
        let needed = std::mem::take(&mut survey.needed);
        Ok((Self { to_load: ToLoad::of(&needed), survey, stamp }, needed))
    }
}

/// What a survey was made of; without a share, the model makes no difference.
#[derive(Debug, PartialEq)]
struct Made {
    file: TraceFile,
    share: Option<(Share, Model)>,
    with_needed: bool,
    stamp: Stamp,
}

/// The surveys that were made, the oldest first.
static KEPT: Mutex<Vec<(Made, Arc<Surveyed>)>> = Mutex::new(Vec::new());

/// What the trace `file` has and lacks: read to its end unless it was already, and is still what it was then.
pub(crate) fn surveyed(
    file: &TraceFile,
    model: Model,
    share: Option<Share>,
    with_needed: bool,
) -> Result<Arc<Surveyed>, TraceError> {
    let read = || Surveyed::read(file, model, share, with_needed).map(|(surveyed, _)| Arc::new(surveyed));
    let Some(stamp) = Stamp::of(&file.trace) else { return read() };
    let made = Made { file: file.clone(), share: share.map(|share| (share, model)), with_needed, stamp };
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, surveyed)) = kept.iter().find(|(other, _)| *other == made) {
        return Ok(Arc::clone(surveyed));
    }
    let surveyed = read()?;
    if kept.len() == KEPT_MAX {
        kept.remove(0);
    }
    kept.push((made, Arc::clone(&surveyed)));
    Ok(surveyed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_once_as_long_as_it_stays_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let file = TraceFile { trace: dir.path().join("trace"), ..TraceFile::default() };
        let of = |model, with_needed| surveyed(&file, model, None, with_needed).unwrap();
        std::fs::write(&file.trace, "read,a,1,5\nread,b,2,\n").unwrap();
        let first = of(Model::Open, false);
        assert!(Arc::ptr_eq(&first, &of(Model::ClosedPerClient, false)), "the model makes no difference");
        let loading = of(Model::Open, true);
        assert_eq!(loading.to_load, ToLoad { keys: 2, key_bytes: 22, value_bytes: 5, unsized_keys: 1 });
        assert!(loading.survey.needed.is_empty() && Arc::ptr_eq(&loading, &of(Model::Open, true)));
        std::fs::write(&file.trace, "read,a,1,5\nread,b,2,\nread,c,3,\n").unwrap();
        assert_eq!((first.survey.requests, of(Model::Open, false).survey.requests), (2, 3));
    }
}
