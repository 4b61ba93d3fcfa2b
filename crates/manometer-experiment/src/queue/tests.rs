use std::error::Error;

use manometer_measure::RecordingWriter;
use serde_json::json;

use super::*;

/// Runs what is left; the runs `failures` fail that often. The status, and the runs that were performed.
fn run_left(queue: &mut Queue, failures: &[(usize, usize)]) -> (RunStatus, Vec<usize>) {
    let failures: BTreeMap<usize, usize> = failures.iter().copied().collect();
    let mut performed = Vec::new();
    let perform = |index: usize, run: &QueuedRun, out: &Directory, _: &BTreeSet<PathBuf>, _: &mut BTreeSet<PathBuf>| {
        performed.push(index);
        let has_failed = failures
            .get(&index)
            .is_some_and(|failures| performed.iter().filter(|performed| **performed == index).count() <= *failures);
        let status = if has_failed { RunStatus::Failed } else { RunStatus::Complete };
        let (experiment, start) = (&run.planned.experiment, WallAnchor { monotonic_ns: 0, unix_ns: 0 });
        let plan = crate::plan::plan(experiment);
        let writer = RecordingWriter::create_in(out, start, &experiment.to_toml(), &plan, &json!({})).unwrap();
        writer.finish(1, status).unwrap();
        Ok(status)
    };
    let status = queue.run_left(perform, |_, _| Ok::<(), Box<dyn Error>>(())).unwrap();
    (status, performed)
}

#[test]
fn a_failed_run_is_tried_once_more_and_then_left_until_the_set_is_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("e.toml"), dir.path().join("out"));
    let text = "name = \"a test\"\n[device]\ndirectory = \"/var/tmp/manometer-none\"\n[primary]\nrecords = 10\n[plan]\n\
         phase = \"1s\"\n[sweep]\n\"primary.threads\" = [1, 2, 3]\n";
    fs::write(&path, text).unwrap();
    let experiment = crate::file::load(&path, &[]).unwrap();
    let (planned, files) = (plan_set([&experiment]), [(path, experiment)]);
    let mut queue = Queue::start(&out, &files, &planned).unwrap();
    assert_eq!(run_left(&mut queue, &[(0, 1), (1, 2)]), (RunStatus::Failed, vec![0, 0, 1, 1, 2]));
    let [found] = &queue.findings()[..] else { panic!("{:?}", queue.findings()) };
    assert!(found.id == "runs-failed" && found.text.starts_with("1 of 3 runs failed"), "{found:?}");
    drop(queue);
    let mut queue = Queue::resume(&out, &files, &planned).unwrap();
    assert_eq!((queue.finished_runs(), run_left(&mut queue, &[])), (2, (RunStatus::Complete, vec![1])));
    assert_eq!(queue.finished_runs(), 3);
    drop(queue);
    fs::remove_file(out.join("runs/002/plan.json")).unwrap();
    let mut queue = Queue::resume(&out, &files, &planned).unwrap();
    assert!(queue.damaged()[0].starts_with("002 (it is missing"), "{:?}", queue.damaged());
    assert_eq!((queue.damaged().len(), queue.finished_runs()), (1, 2));
    assert_eq!(run_left(&mut queue, &[]), (RunStatus::Complete, vec![1]));
}
