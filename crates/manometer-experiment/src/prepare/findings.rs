//! What a reader must know of a preparation.

use manometer_measure::event::{Finding, Severity};
use manometer_measure::host::environment;

use super::ledger::Prepared;
use super::snapshot;
use super::space::Space;
use super::steps::Found;
use crate::file::{Experiment, Precondition};

/// Less than this share of a file system filled tells little of the whole.
const ENOUGH: f64 = 0.5;

/// What the device directory of `experiment` shows before anything is done there.
pub(super) fn before(experiment: &Experiment, found: &Found) -> Vec<Finding> {
    let (directory, space) = (&experiment.directory, found.space);
    let options = environment::mount_of(directory).map(|mount| mount.options).unwrap_or_default();
    let mut all = Vec::new();
    if found.lacks_precondition(experiment) {
        all.extend(not_filled(space, experiment.prepare.over_provisioning));
    }
    if experiment.prepare.precondition != Precondition::None {
        all.extend(discards(&options).then(|| {
            let text = "The file system is mounted with `discard`: what preconditioning fills is discarded when its file \
                        is removed, and the flash is as before. Mount with `nodiscard`.";
            Finding { id: "precondition-discarded".to_owned(), severity: Severity::Warning, phase: None, text: text.to_owned() }
        }));
    }
    if experiment.prepare.over_provisioning.is_some() && space.is_none() {
        let text = "The file system does not say how much of it is free: whether `prepare.over_provisioning` is kept free \
                    is not known.";
        all.push(Finding {
            id: "over-provisioning-unknown".to_owned(),
            severity: Severity::Warning,
            phase: None,
            text: text.to_owned(),
        });
    }
    all.extend(snapshot::damaged(directory).iter().map(|path| {
        let text = format!(
            "The snapshot {} is not whole and is not used: something was taken from it, or changed. Remove the folder.",
            path.display()
        );
        Finding { id: "snapshot-damaged".to_owned(), severity: Severity::Warning, phase: None, text }
    }));
    all
}

/// Whether a file system mounted with `options` discards what is removed.
fn discards(options: &[String]) -> bool {
    options.iter().any(|option| option == "discard" || option.starts_with("discard="))
}

/// Why preconditioning fills nothing, where it does not.
fn not_filled(space: Option<Space>, over_provisioning: Option<f64>) -> Option<Finding> {
    let why = match space {
        None => "the file system does not say how much of it is free",
        Some(space) if space.fill_bytes(over_provisioning) == 0 => "there is no free space to be filled",
        Some(_) => return None,
    };
    let text = format!("`prepare.precondition` could not be done: {why}. The state of the device is not known.");
    Some(Finding { id: "not-preconditioned".to_owned(), severity: Severity::Warning, phase: None, text })
}

/// That preconditioning filled `bytes` only, where that is too little of the file system in `space` to tell of its flash.
pub(super) fn sliver(bytes: u64, space: Space) -> Option<Finding> {
    let share = bytes as f64 / space.size_bytes as f64;
    (share < ENOUGH).then(|| Finding {
        id: "partly-preconditioned".to_owned(),
        severity: Severity::Warning,
        phase: None,
        text: format!(
            "Preconditioning filled {:.0} MiB, {:.0} % of the file system: what the rest of the flash holds is not known. \
             Remove what else lies there, then prepare again.",
            bytes as f64 / f64::from(1 << 20),
            100.0 * share
        ),
    })
}

/// That data did not become steady in time, where they did not.
pub(super) fn not_settled(prepared: &Prepared) -> Option<Finding> {
    let settled = prepared.settled.filter(|settled| !settled.steady)?;
    let text = format!(
        "The primary did not become steady within the {:.0} s that `prepare.settle` allows: what is measured may still \
         drift; allow more time.",
        settled.seconds
    );
    Some(Finding { id: "not-settled".to_owned(), severity: Severity::Warning, phase: None, text })
}

/// That power-state transitions were to be off and nothing could be switched.
pub(super) fn power_states_unknown() -> Finding {
    Finding {
        id: "power-states-unknown".to_owned(),
        severity: Severity::Info,
        phase: None,
        text:
            "Power-state transitions were to be off, and no NVMe disk shows under the directory: nothing was switched."
                .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_that_cannot_be_is_told() {
        let space = |free_bytes| Space { free_bytes, size_bytes: 1 << 30, device_bytes: None, disk_bytes: None };
        assert_eq!(not_filled(Some(space(1 << 30)), None), None);
        for (space, why) in [(Some(space(1 << 10)), "no free space"), (None, "does not say")] {
            let finding = not_filled(space, None).unwrap();
            assert!(finding.id == "not-preconditioned" && finding.text.contains(why), "{finding:?}");
        }
    }

    #[test]
    fn only_a_mount_that_discards_does() {
        let of = |options: &[&str]| discards(&options.iter().map(|&option| option.to_owned()).collect::<Vec<_>>());
        assert!(of(&["relatime", "discard"]) && of(&["discard=async"]));
        assert!(!of(&["nodiscard", "relatime"]));
    }
}
