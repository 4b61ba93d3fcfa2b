//! Several runs: a queue in --out, a recording for each run, and one report over all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manometer_experiment::Experiment;
use manometer_experiment::queue::{PlannedSet, Queue, QueuedRun, RunState, unlike_states};
use manometer_measure::event::RunStatus;
use manometer_report::AnalysedRecording;

use super::session::RunContext;
use crate::output;
use crate::recordings;

/// Runs what is left of the set in `out`; `--resume` begins with the run that failed.
pub(super) fn run(
    session: &RunContext<'_>,
    out: &Path,
    files: &[(PathBuf, Experiment)],
    planned: &PlannedSet,
) -> anyhow::Result<(RunStatus, Vec<AnalysedRecording>)> {
    let directories: Vec<&Path> = files.iter().map(|(_, experiment)| experiment.directory.as_path()).collect();
    let _disks = session.lock_disks(&directories)?;
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
    let count = queue.runs().len();
    let perform = |index: usize, run: &QueuedRun, before: &BTreeSet<PathBuf>, created: &mut BTreeSet<PathBuf>| {
        session.announce(index + 1, count, &run.planned.experiment, &run.dir, before);
        session.perform(&run.planned.experiment, &run.dir, before, created)
    };
    let outcome = queue.run_left(perform, |index, run| -> anyhow::Result<()> {
        shown.insert(index, session.show(&run.dir)?);
        Ok(())
    });
    let recorded = all_recorded(&queue, shown)?;
    if !recorded.is_empty() {
        print(session, out, &queue, &recorded)?;
    }
    Ok((outcome?, recorded))
}

fn note_progress(queue: &Queue) {
    output::note(&format!("{} of {} runs are done", queue.finished_runs(), queue.runs().len()));
    if let Some(version) = queue.other_version() {
        output::note(&format!(
            "this set was started by version {version} of Manometer and continues with version {}, which may cause \
             differences between runs",
            env!("CARGO_PKG_VERSION")
        ));
    }
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
