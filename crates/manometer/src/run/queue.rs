//! Several runs: a queue in --out, a recording for each run, and one report over all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manometer_experiment::Experiment;
use manometer_experiment::lock::DiskLocks;
use manometer_experiment::queue::{PlannedSet, Queue, RunState, unlike_states};
use manometer_measure::event::RunStatus;
use manometer_report::AnalysedRecording;

use super::session::RunContext;
use crate::output;
use crate::recordings;

/// Runs what is left of the set in `out`. A failed run ends the command, because the runs after it would probably fail
/// too; `--resume` begins with it.
pub(super) fn run(
    session: &RunContext<'_>,
    out: &Path,
    files: &[(PathBuf, Experiment)],
    planned: &PlannedSet,
) -> anyhow::Result<(RunStatus, Vec<AnalysedRecording>)> {
    let _disks = DiskLocks::take(files.iter().map(|(_, experiment)| experiment.directory.as_path()))?;
    let mut queue = match session.args.resume {
        true => Queue::resume(out, files, planned)?,
        false => Queue::start(out, files, planned)?,
    };
    if session.args.resume {
        note_progress(&queue);
    }
    let order = unlike_states(&planned.runs);
    if !order.is_empty() {
        output::note(crate::text::findings(&order).trim_start());
    }
    let mut shown = BTreeMap::new();
    let outcome = perform_all(session, &mut queue, &mut shown);
    let recorded = all_recorded(&queue, shown)?;
    if !recorded.is_empty() {
        print(session, out, &queue, &recorded)?;
    }
    Ok((outcome?, recorded))
}

fn note_progress(queue: &Queue) {
    let is_done = |state: RunState| matches!(state, RunState::Done | RunState::NotNeeded);
    let done = queue.runs().iter().filter(|run| is_done(run.state)).count();
    output::note(&format!("{done} of {} runs are done", queue.runs().len()));
    if let Some(version) = queue.other_version() {
        output::note(&format!(
            "this set was started by version {version} of Manometer and continues with version {}, which may cause \
             differences between runs",
            env!("CARGO_PKG_VERSION")
        ));
    }
}

/// Runs until all are done or one fails; the recordings are in `shown`, by index.
fn perform_all(
    session: &RunContext<'_>,
    queue: &mut Queue,
    shown: &mut BTreeMap<usize, AnalysedRecording>,
) -> anyhow::Result<RunStatus> {
    while let Some(index) = queue.start_next()? {
        let run = queue.runs()[index].clone();
        session.announce(index + 1, queue.runs().len(), &run.planned.experiment, &run.dir, queue.created());
        let mut created = BTreeSet::new();
        match session.perform(&run.planned.experiment, &run.dir, queue.created(), &mut created) {
            Ok(status) => {
                queue.record_end(index, status, created)?;
                shown.insert(index, session.show(&run.dir)?);
                if status != RunStatus::Complete {
                    return Ok(status);
                }
            }
            // A run that could not begin has no recording.
            Err(error) => {
                queue.record_failure(index, &error, created)?;
                return Err(error.into());
            }
        }
    }
    Ok(RunStatus::Complete)
}

/// The recordings of all runs that are done. Those of an earlier command are read, not written.
fn all_recorded(
    queue: &Queue,
    mut shown: BTreeMap<usize, AnalysedRecording>,
) -> anyhow::Result<Vec<AnalysedRecording>> {
    let mut recorded = Vec::new();
    for (index, run) in queue.runs().iter().enumerate() {
        match shown.remove(&index) {
            Some(one) => recorded.push(one),
            None if run.state != RunState::Done => {}
            None if run.dir.join("summary.json").exists() => recorded.push(AnalysedRecording::open(&run.dir)?),
            None => recorded.push(recordings::summarise_and_write(&run.dir)?),
        }
    }
    Ok(recorded)
}

fn print(session: &RunContext<'_>, out: &Path, queue: &Queue, recorded: &[AnalysedRecording]) -> anyhow::Result<()> {
    let page = out.join(recordings::FILE);
    recordings::write_page(&page, recorded)?;
    let findings = [recordings::common_findings(recorded), queue.findings()].concat();
    let document = || recordings::runs_document(recorded, &findings);
    session.args.format.print(document, || recordings::runs_text(recorded, &findings))?;
    output::note(&format!("\nReport over all runs: {}", page.display()));
    Ok(())
}
