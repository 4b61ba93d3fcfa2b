//! The verdict: what a result may be used for, and why.
//!
//! Whether a result is *sound*, *indicative* or *void* is decided once: for a recording by [`judge`], for a comparison by
//! [`judge_comparison`](crate::compare::judge_comparison), for the runs of a folder by
//! [`judge_runs`](crate::runs_verdict::judge_runs), which needs both. The reasons are the findings that threaten the
//! conclusion, the greatest threat first. Headlines, tables, pages, gates and machine forms say what is computed there.

mod claim;
mod goal;
mod grade;
mod headline;
mod paced;
mod performance;
mod setting;
mod watched_device;

pub use self::goal::{GoalResult, PhaseGoal, all_met};
pub use self::grade::{Conclusion, Reason, Verdict};
pub use self::watched_device::WatchedDevice;
pub use manometer_measure::Grade;

pub(crate) use self::goal::goal_result;
pub(crate) use self::grade::judge;
pub(crate) use self::headline::headline;
pub(crate) use self::paced::{judged_by, main_operation, with_criterion};
pub(crate) use self::setting::{enumerated, swept};
pub(crate) use self::watched_device::DEVICE_IN_USE;
