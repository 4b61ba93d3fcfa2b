//! Why recordings cannot be compared.

use std::path::PathBuf;

use manometer_measure::RecordingError;

/// Recordings that cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// One cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A folder holds no recording.
    #[error("{} is neither a recording nor a directory of recordings (`runs/001`, `runs/002` …)", .0.display())]
    NoRecording(PathBuf),
    /// One has no primary.
    #[error("{} has no primary: there is no performance to compare", .0.display())]
    NoPrimary(PathBuf),
    /// A recording is compared with itself.
    #[error(
        "{} and {} are the same recording: compared with itself it shows nothing; run the experiment again and compare the \
         two runs", a.display(), b.display()
    )]
    SameRecording {
        /// The first.
        a: PathBuf,
        /// The other.
        b: PathBuf,
    },
    /// They cannot be compared as they are, and one is damaged.
    #[error("{} is damaged: {damage}", path.display())]
    Damaged {
        /// The one.
        path: PathBuf,
        /// Its damage.
        damage: String,
    },
    /// They have different criteria.
    #[error("the recordings have different criteria: {a} has {criterion_a}, {b} has {criterion_b}", a = a.display(), b = b.display())]
    DifferentCriteria {
        /// The first.
        a: PathBuf,
        /// Its criterion.
        criterion_a: String,
        /// The other.
        b: PathBuf,
        /// Its criterion.
        criterion_b: String,
    },
    /// No phase is in both.
    #[error(
        "{} and {} have no phase in common: phases match by id, label and settings; {detail}",
        a.display(), b.display()
    )]
    NothingInCommon {
        /// The first.
        a: PathBuf,
        /// The other.
        b: PathBuf,
        /// The phases of each.
        detail: String,
    },
    /// The bound is not a share.
    #[error("invalid bound {0}: use a share above 0 and below 1, such as 5% or 0.05")]
    Bound(f64),
}
