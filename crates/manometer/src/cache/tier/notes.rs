//! Where a row contradicts the measurements of the cache thesis, or of a kernel.

use manometer_cache::tier::{Arrangement, NamedLoad, TierLoad, WriteMode, accuracy_notes};

/// The notes on an arrangement under a load.
pub(super) fn notes(arrangement: &Arrangement, load: &NamedLoad) -> Vec<String> {
    match load.load {
        TierLoad::Workload(_) => accuracy_notes(&arrangement.name, &load.name),
        TierLoad::Trace(..) => write_back_note(arrangement).into_iter().collect(),
    }
}

/// What the kernel's bcache does otherwise, by `manometer lab counts` (docs/lab.md).
fn write_back_note(arrangement: &Arrangement) -> Option<String> {
    let cache = arrangement.cache.as_ref()?;
    let is_bcache = cache.policy.kind().name.starts_with("bcache");
    (is_bcache && cache.mode == WriteMode::WriteBack).then(|| {
        "its hits: Linux's bcache keeps dirty data for 30 s or more, the model does not; `manometer lab counts` shows how far \
         apart they are"
            .to_owned()
    })
}
