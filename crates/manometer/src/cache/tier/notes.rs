//! Where a row contradicts the measurements of the cache thesis.

use manometer_cache::tier::{Arrangement, NamedLoad, TierLoad, accuracy_notes};

/// The notes on an arrangement under a load.
pub(super) fn notes(arrangement: &Arrangement, load: &NamedLoad) -> Vec<String> {
    match load.load {
        TierLoad::Workload(_) => accuracy_notes(&arrangement.name, &load.name),
        TierLoad::Trace(..) => Vec::new(),
    }
}
