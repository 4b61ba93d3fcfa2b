//! Findings: what a reader must know before using the numbers of a recording.
//!
//! A file per family of rules, each with its evaluation. To add one, write its file, declare it below and add it to
//! [`FAMILIES`]; the manual's table is generated from the same list (`docs/findings.md`, `make docs`). Rules over several
//! recordings are in [`crate::compare`]; [`crate::rules`] lists all.

mod block_order;
mod client_bottleneck;
mod clocks;
mod cpu_saturation;
mod data_size;
mod discard;
mod drift;
mod evidence;
mod flash_device;
pub(crate) mod foreign_processes;
mod idle_neighbour;
mod interleaved;
mod lsm_levels;
mod open_loop;
mod phase_coverage;
pub mod replay;
mod reported;
mod rule;
mod run_status;
mod stable_data;
pub(crate) mod state_change;
mod steady_state;
mod swap;
mod text;
mod throttling;
mod virtual_disk;

use manometer_measure::Recording;
use manometer_measure::event::Finding;

use self::evidence::Evidence;
use self::rule::Family;
use crate::phase_result::PhaseResult;
use crate::recording_data::RecordingData;

pub(crate) use self::open_loop::{PACED_THROUGHPUT, PACED_WITHOUT_LATENCIES};
pub use self::rule::{Rule, RuleThreat};
pub(crate) use self::rule::{fatal, minor, serious, with_strength};
pub use self::run_status::{DAMAGED, damaged};

/// All families, in the order in which findings of equal threat and severity are reported.
const FAMILIES: &[Family] = &[
    replay::FAMILY,
    client_bottleneck::FAMILY,
    reported::FAMILY,
    run_status::FAMILY,
    virtual_disk::FAMILY,
    stable_data::FAMILY,
    phase_coverage::FAMILY,
    idle_neighbour::FAMILY,
    steady_state::FAMILY,
    open_loop::FAMILY,
    drift::FAMILY,
    interleaved::FAMILY,
    block_order::FAMILY,
    lsm_levels::FAMILY,
    state_change::FAMILY,
    cpu_saturation::FAMILY,
    throttling::FAMILY,
    swap::FAMILY,
    foreign_processes::FAMILY,
    discard::FAMILY,
    clocks::FAMILY,
    data_size::FAMILY,
    flash_device::FAMILY,
];

/// The rules for a single recording.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.rules)
}

/// All findings of a recording, each once: the greatest threat first.
pub(crate) fn evaluate_rules(recording: &Recording, data: &RecordingData, results: &[PhaseResult<'_>]) -> Vec<Finding> {
    let evidence = Evidence { recording, data, results };
    let mut findings: Vec<Finding> = Vec::new();
    for finding in FAMILIES.iter().flat_map(|family| (family.evaluate)(&evidence)) {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    sort_by_threat(&mut findings);
    findings
}

/// Sorts `findings` by what they threaten, the greatest threat first, then by severity; equal ones keep their order.
pub fn sort_by_threat(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| std::cmp::Reverse((finding.threat, finding.severity)));
}
