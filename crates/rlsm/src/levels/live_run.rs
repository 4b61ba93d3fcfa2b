//! Runs in use.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::reclaimer::ExtentReclaimer;
use super::version_edit::RunLocation;
use crate::plan::KeySpan;
use crate::run::Run;

/// A run that a version refers to. Once it is obsolete, dropping the last reference retires its extents.
pub(crate) struct LiveRun {
    run: Arc<Run>,
    location: RunLocation,
    is_obsolete: AtomicBool,
    reclaimer: Arc<ExtentReclaimer>,
}

impl LiveRun {
    pub fn new(run: Arc<Run>, reclaimer: &Arc<ExtentReclaimer>) -> Arc<Self> {
        let location = RunLocation { file: run.file.number, footer: run.footer };
        reclaimer.register(&run.file);
        Arc::new(Self { run, location, is_obsolete: AtomicBool::new(false), reclaimer: Arc::clone(reclaimer) })
    }

    pub fn location(&self) -> RunLocation {
        self.location
    }

    /// The span of its keys and of its range tombstones.
    pub fn span_with_deletes(&self) -> KeySpan {
        let deletes = &self.range_tombstones;
        let low = deletes.iter().map(|delete| &*delete.low).chain(self.entry_span().map(|(low, _)| low)).min();
        let high = deletes.iter().map(|delete| &*delete.high).chain(self.entry_span().map(|(_, high)| high)).max();
        KeySpan { low: low.unwrap_or_default().into(), high: high.unwrap_or_default().into() }
    }

    fn entry_span(&self) -> Option<(&[u8], &[u8])> {
        (self.entries > 0).then(|| (&*self.low, &*self.high))
    }

    /// Marks the run as obsolete: no new version refers to it. Older versions may still be read.
    pub fn mark_obsolete(&self) {
        self.is_obsolete.store(true, Ordering::Release);
    }
}

impl Deref for LiveRun {
    type Target = Arc<Run>;

    fn deref(&self) -> &Arc<Run> {
        &self.run
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        if self.is_obsolete.load(Ordering::Acquire) {
            self.reclaimer.retire(self.location.file, self.run.extents());
        }
    }
}
