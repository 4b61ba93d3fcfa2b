//! The rules of what is told of several recordings.

use manometer_measure::event::Severity;

use crate::findings::Rule;

const STATE_STAYS: &str = "Storiks 3.4.1 (WR2)";
const SAME_HOST: &str = "Run all on one host, updated before all of them or after, or say so beside the result.";
const SAME_DEVICE: &str = "Run all on one device and one file system, or say so beside the result.";
const SAME_FIRMWARE: &str = "Update the firmware before all of them or after, or say so beside the result.";
const SAME_PROGRAM: &str = "Run all with the same version, or say so beside the result.";

const fn unlike(id: &'static str, meaning: &'static str, remedy: &'static str) -> Rule {
    Rule { id, severity: Severity::Warning, source: STATE_STAYS, meaning, remedy }
}

/// What should be equal where recordings are put beside each other, in the order of [`super::unlike`]'s facts.
pub(crate) const UNLIKE: [Rule; 11] = [
    unlike("unlike-kernel", "recordings put together were made under different kernels", SAME_HOST),
    unlike("unlike-processor", "recordings put together were made with different processors", SAME_HOST),
    unlike("unlike-memory", "recordings put together were made with different sizes of memory", SAME_HOST),
    unlike("unlike-device-model", "recordings put together were made on devices of different models", SAME_DEVICE),
    unlike(
        "unlike-device-firmware",
        "recordings put together were made on devices with different firmware",
        SAME_FIRMWARE,
    ),
    unlike(
        "unlike-i-o-scheduler",
        "recordings put together were made with different I/O schedulers that no sweep set",
        "Set it for all: `device.scheduler`.",
    ),
    unlike("unlike-file-system", "recordings put together were made on file systems of different kinds", SAME_DEVICE),
    unlike(
        "unlike-version-of-manometer",
        "recordings put together were made by different versions of Manometer",
        SAME_PROGRAM,
    ),
    unlike(
        "unlike-engine",
        "recordings put together were made of different engines that no sweep set",
        "Run all with one engine, or sweep it: `primary.engine`.",
    ),
    unlike(
        "unlike-engine-version",
        "recordings put together were made of different versions of the engine",
        SAME_PROGRAM,
    ),
    unlike(
        "unlike-durability-of-a-put",
        "recordings put together were made with puts that are durable in different ways",
        "Set the same durability for all, or say so beside the result.",
    ),
];

pub(crate) const STATE: Rule = Rule {
    id: "unlike-state",
    severity: Severity::Warning,
    source: STATE_STAYS,
    meaning: "recordings of one directory of one host begin in states of which two differ: a level's size by 5 % of all \
              levels (among those for whose primary a sweep set the same), the device's utilisation by 1 %, waiting \
              writes by 1 % of memory, or its temperature by 10 °C",
    remedy: "Begin each run from a snapshot, let it settle longer, or leave time between runs.",
};

pub(crate) const DRIFT: Rule = Rule {
    id: "reference-drift",
    severity: Severity::Warning,
    source: "Didona et al., pitfall 3; Storiks 3.4.1 (WR2)",
    meaning: "a later run of a sweep's reference differs from the first, surely and by 5 % or more in some phase",
    remedy: "What was measured between them holds a part of that: let the device settle for longer, or shuffle the runs \
             and repeat them.",
};

pub(crate) const NO_RECORDING: Rule = Rule {
    id: "no-recording",
    severity: Severity::Warning,
    source: "the folder",
    meaning: "a folder among those of recordings has no `plan.json` and was left out",
    remedy: "Move it elsewhere, or run what it should hold.",
};

/// All of them, in the order in which they are told.
pub(crate) fn rules() -> impl Iterator<Item = &'static Rule> {
    [&NO_RECORDING].into_iter().chain(&UNLIKE).chain([&STATE, &DRIFT])
}
