//! Several runs: a queue in --out, a recording for each run, and one report over all.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use manometer_experiment::Experiment;
use manometer_experiment::queue::{PlannedSet, Queue, QueuedRun, RunState, unlike_states};
use manometer_measure::Directory;
use manometer_measure::event::{RunStatus, Severity};
use manometer_report::AnalysedRecording;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

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
    let storage: Vec<&Path> = files.iter().flat_map(|(_, experiment)| experiment.storage()).collect();
    let _disks = session.lock_disks(&storage)?;
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
    let (count, set) = (queue.runs().len(), queue.directory().clone());
    let perform = |index: usize,
                   run: &QueuedRun,
                   out: &Directory,
                   before: &BTreeSet<PathBuf>,
                   created: &mut BTreeSet<PathBuf>| {
        session.announce(index + 1, count, &run.planned.experiment, &run.dir, before);
        session.perform(&run.planned.experiment, out, before, created)
    };
    // What a recording says is read again at the end: kept until then, the analyses of a long set would fill the memory.
    let recorded = |run: &QueuedRun, attempt: u32| -> anyhow::Result<()> {
        session.show(run.recording(&set)?)?;
        if run.state == RunState::Failed {
            let (dir, most) = (run.dir.display(), run.planned.experiment.sweep_rules.retry.saturating_add(1));
            let next = if attempt < most { ": it is tried again, and set-aside/ keeps this recording" } else { "" };
            output::note(&format!("{dir} failed in attempt {attempt} of {most} (`sweep.retry`){next}"));
        }
        Ok(())
    };
    let outcome = queue.run_left(perform, recorded);
    let recorded = all_recorded(&queue)?;
    if !recorded.is_empty() {
        print(session, out, &queue, &recorded)?;
    }
    if matches!(outcome, Ok(RunStatus::Interrupted)) {
        let (left, out) = (count - queue.finished_runs(), out.display());
        output::note(&format!("interrupted: {left} of {count} runs are left; `--resume --out {out}` runs them"));
    }
    Ok((outcome?, recorded))
}

fn note_progress(queue: &Queue) {
    output::note(&format!("{} of {} runs are done", queue.finished_runs(), queue.runs().len()));
    if !queue.damaged().is_empty() {
        output::note(&format!(
            "recordings were damaged or lost after their end, and their runs are repeated: {}. set-aside/ has what is left.",
            queue.damaged().join("; ")
        ));
    }
    if let Some(why) = queue.rebuilt() {
        output::note(&format!(
            "queue.jsonl was rebuilt from its other lines and the recordings, because {why}; queue.jsonl.damaged is what \
             it was"
        ));
    }
    if let Some(version) = queue.other_version() {
        output::note(&format!(
            "this set was started by version {version} of Manometer and continues with version {}, which may cause \
             differences between runs",
            env!("CARGO_PKG_VERSION")
        ));
    }
}

/// The recordings of all runs that left one in this command or are done.
fn all_recorded(queue: &Queue) -> anyhow::Result<Vec<AnalysedRecording>> {
    let set = queue.directory();
    let has_summary = |run: &QueuedRun| set.holds(run.folder().join(recordings::SUMMARY));
    let read = |run: &QueuedRun| match has_summary(run) {
        true => Ok(AnalysedRecording::of(run.recording(set)?)),
        false => recordings::summarise_and_write(run.recording(set)?),
    };
    let left_one = |run: &&QueuedRun| run.state == RunState::Done || has_summary(run);
    queue.runs().par_iter().filter(left_one).map(read).collect()
}

fn print(session: &RunContext<'_>, out: &Path, queue: &Queue, recorded: &[AnalysedRecording]) -> anyhow::Result<()> {
    recordings::write_page(queue.directory(), recordings::FILE.as_ref(), recorded)?;
    let findings = [recordings::common_findings(recorded), queue.findings()].concat();
    let document = || recordings::runs_document(recorded, &findings);
    session.args.format.print(document, || recordings::runs_text(recorded, &findings))?;
    for finding in queue.findings().iter().filter(|finding| finding.severity == Severity::Error) {
        output::note(&format!("{}: {}", finding.id, finding.text));
    }
    output::note(&format!("\nReport over all runs: {}", out.join(recordings::FILE).display()));
    Ok(())
}
