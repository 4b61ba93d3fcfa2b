//! What the runs and preparations of one command have in common.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use manometer_session::protocol::DatabaseReuse;

/// What a run needs besides its experiment.
pub struct RunSetup<'a> {
    /// The program whose verb `worker` runs a workload.
    pub program: PathBuf,
    /// Whether suitable databases and files of another experiment may be used.
    pub reuse: bool,
    /// The folders whose data an earlier run of this command created: they may be replaced.
    pub created: &'a BTreeSet<PathBuf>,
    /// Set by another thread to end the run early.
    pub interrupted: &'a AtomicBool,
}

/// What a worker may do with our data in its folder. With `reuse`, it uses suitable data and refuses others. Data that are
/// `ours`, created or prepared by this command, it uses where they are equal and replaces otherwise. All others it
/// replaces where they are equal and refuses otherwise.
pub(crate) fn existing_data_policy(reuse: bool, ours: bool) -> DatabaseReuse {
    match (reuse, ours) {
        (true, _) => DatabaseReuse::Reuse,
        (false, true) => DatabaseReuse::Renew,
        (false, false) => DatabaseReuse::Remake,
    }
}

/// The seed of the worker `index` in a run of the seed `seed`.
pub(crate) fn worker_seed(seed: u64, index: usize) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index as u64 + 1)
}
