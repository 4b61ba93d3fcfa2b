//! Findings about a preparation.

use manometer_measure::event::{Finding, Severity};
use manometer_measure::host::mount;

use super::ledger::PreparedData;
use super::snapshot;
use super::space::Space;
use super::steps::DirectoryState;
use crate::definition::{Experiment, Precondition};

/// Preconditioning must fill this share of the file system to be representative.
const MIN_FILLED_SHARE: f64 = 0.5;

/// The findings about the device directory of `experiment` before the preparation.
pub(super) fn before_preparation(experiment: &Experiment, state: &DirectoryState) -> Vec<Finding> {
    let (directory, space) = (&experiment.directory, state.space);
    let options = mount::mount_of(directory).map(|mount| mount.options).unwrap_or_default();
    let mut all = Vec::new();
    if state.lacks_precondition(experiment) {
        all.extend(not_preconditioned(space, experiment.prepare.over_provisioning));
    }
    if experiment.prepare.precondition != Precondition::None {
        all.extend(discards_removed_files(&options).then(|| {
            let text = "The file system is mounted with `discard`: removing the file of the preconditioning discards its \
                        blocks and undoes it. Mount with `nodiscard`.";
            Finding::new("precondition-discarded", Severity::Warning, text.to_owned())
        }));
    }
    if experiment.prepare.over_provisioning.is_some() && space.is_none() {
        let text = "The file system does not report its free space: whether `prepare.over_provisioning` is kept free is \
                    unknown.";
        all.push(Finding::new("over-provisioning-unknown", Severity::Warning, text.to_owned()));
    }
    all.extend(snapshot::damaged(directory).iter().map(|path| {
        let text = format!(
            "The snapshot {} is damaged and not used: files were removed or changed. Remove the directory.",
            path.display()
        );
        Finding::new("snapshot-damaged", Severity::Warning, text)
    }));
    all
}

/// Whether a file system mounted with `options` discards the blocks of removed files.
fn discards_removed_files(options: &[String]) -> bool {
    options.iter().any(|option| option == "discard" || option.starts_with("discard="))
}

/// The finding where preconditioning cannot fill anything.
fn not_preconditioned(space: Option<Space>, over_provisioning: Option<f64>) -> Option<Finding> {
    let why = match space {
        None => "the file system does not report its free space",
        Some(space) if space.fill_bytes(over_provisioning) == 0 => "there is no free space to fill",
        Some(_) => return None,
    };
    let text = format!("`prepare.precondition` was not possible: {why}. The state of the device is unknown.");
    Some(Finding::new("not-preconditioned", Severity::Warning, text))
}

/// The finding where preconditioning filled `bytes`, too small a share of the file system to be representative.
pub(super) fn partly_preconditioned(bytes: u64, space: Space) -> Option<Finding> {
    let share = bytes as f64 / space.size_bytes as f64;
    (share < MIN_FILLED_SHARE).then(|| Finding::new("partly-preconditioned", Severity::Warning, format!(
            "Preconditioning filled {:.0} MiB, {:.0} % of the file system: the state of the rest of the flash is unknown. \
             Remove other files there, then prepare again.",
            bytes as f64 / f64::from(1 << 20),
            100.0 * share
        )))
}

/// The finding where the primary did not become steady in time.
pub(super) fn not_settled(prepared: &PreparedData) -> Option<Finding> {
    let settled = prepared.settled.filter(|settled| !settled.steady)?;
    let text = format!(
        "The primary did not become steady within the {:.0} s of `prepare.settle`: measured values may still drift. Allow \
         more time.",
        settled.seconds
    );
    Some(Finding::new("not-settled", Severity::Warning, text))
}

/// The finding where there are no power-state transitions to disable.
pub(super) fn power_states_unknown() -> Finding {
    Finding::new(
        "power-states-unknown",
        Severity::Info,
        "Power-state transitions could not be disabled: no NVMe disk shows below the device directory.".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_preconditioning_is_reported() {
        let space = |free_bytes| Space { free_bytes, size_bytes: 1 << 30, device_bytes: None, disk_bytes: None };
        assert_eq!(not_preconditioned(Some(space(1 << 30)), None), None);
        for (space, why) in [(Some(space(1 << 10)), "no free space"), (None, "does not report")] {
            let finding = not_preconditioned(space, None).unwrap();
            assert!(finding.id == "not-preconditioned" && finding.text.contains(why), "{finding:?}");
        }
    }

    #[test]
    fn mount_options_that_discard_are_recognised() {
        let of = |options: &[&str]| {
            discards_removed_files(&options.iter().map(|&option| option.to_owned()).collect::<Vec<_>>())
        };
        assert!(of(&["relatime", "discard"]) && of(&["discard=async"]));
        assert!(!of(&["nodiscard", "relatime"]));
    }
}
