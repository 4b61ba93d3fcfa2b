//! Tests with real programs, mostly the shell.

use std::sync::mpsc::{Sender, channel};

use serde_json::{Value, json};

use manometer_measure::MonotonicClock;
use manometer_session::control::Controls;
use manometer_session::protocol::{Control, DatabaseReuse, Job, Message};
use manometer_session::worker_loop;
use manometer_workload::command::{CommandError, CommandSettings, validate};
use manometer_workload::settings::WorkloadSettings;

use crate::support::kind_error;

fn settings(value: Value) -> CommandSettings {
    serde_json::from_value(value).unwrap()
}

/// A shell that runs `script`, with a parser that counts its lines `N ops`.
fn shell(script: &str) -> Value {
    json!({ "command": ["sh", "-c", script], "parser": "regex", "patterns": { "op": "^(?<count>[0-9]+) ops" } })
}

/// Runs `settings`; `talk` receives every message and answers with control lines.
fn run_with(
    settings: Value,
    folder: &tempfile::TempDir,
    existing: DatabaseReuse,
    mut talk: impl FnMut(&Message, &Sender<Control>) + Send,
) -> (Result<(), CommandError>, Vec<Message>) {
    let settings = self::settings(settings);
    let job = Job {
        name: "one".to_owned(),
        directory: folder.path().to_owned(),
        existing,
        interval_ms: 100,
        seed: 7,
        removes: false,
        waits: false,
        clients: None,
        share: None,
        workload: WorkloadSettings::Command(settings),
    };
    let (sender, receiver) = channel();
    sender.send(Control::Go).unwrap();
    let mut messages = Vec::new();
    let mut sink = |message: Message| {
        talk(&message, &sender);
        messages.push(message);
        Ok(())
    };
    let outcome = worker_loop::run(&job, &Controls::new(receiver), &mut sink, &MonotonicClock);
    (outcome.map(drop).map_err(kind_error), messages)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn stop_at_the_first_sample(message: &Message, controls: &Sender<Control>) {
    if matches!(message, Message::Sample(_)) {
        controls.send(Control::Stop).unwrap();
    }
}

/// Runs `settings` until the first sample.
fn run_once(settings: Value) -> (Result<(), CommandError>, Vec<Message>) {
    run_with(settings, &folder(), DatabaseReuse::Remake, stop_at_the_first_sample)
}

fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn a_line_becomes_a_sample_and_stop_ends_all_that_was_started() {
    let folder = folder();
    let script = shell("sleep 600 & echo $! > child; echo 5 ops; wait");
    let (outcome, messages) = run_with(script, &folder, DatabaseReuse::Remake, stop_at_the_first_sample);
    outcome.unwrap();
    let Some(Message::Sample(sample)) = messages.iter().find(|message| matches!(message, Message::Sample(_))) else {
        panic!("{messages:?}")
    };
    assert_eq!(sample.operations["op"].requests, 5);
    assert!(sample.operations["op"].latency.is_empty(), "latencies are never invented");
    let child = std::fs::read_to_string(folder.path().join("one/db/child")).unwrap();
    assert!(!is_alive(child.trim().parse().unwrap()));
}

#[test]
fn words_are_filled_and_facts_tell_them() {
    let mut all = shell("");
    all["command"] = json!("sh -c 'echo {seed} ops; echo {interval_ms} > here; ls {directory}/here; sleep 600'");
    let (outcome, messages) = run_once(all);
    outcome.unwrap();
    let Some(Message::Ready { facts }) = messages.first() else { panic!("{messages:?}") };
    assert!(facts["command"][2].as_str().unwrap().contains("echo 7 ops; echo 100 > here; ls /var/tmp/"), "{facts:?}");
    assert_eq!((&facts["parser"], &facts["uncounted"]), (&json!("regex"), &json!(["bytes"])));
}

#[test]
fn a_program_that_ends_is_restarted_and_each_start_is_reported() {
    let mut samples = 0;
    let (outcome, messages) = run_with(shell("echo 5 ops"), &folder(), DatabaseReuse::Remake, |message, controls| {
        samples += u32::from(matches!(message, Message::Sample(_)));
        if samples == 3 {
            let _ = controls.send(Control::Stop);
        }
    });
    outcome.unwrap();
    let starts =
        messages.iter().filter(|message| matches!(message, Message::Note { text, .. } if text.contains("was started")));
    assert!(starts.count() >= 3, "{messages:?}");
}

#[test]
fn a_program_that_fails_is_quoted() {
    let (outcome, _) = run_once(shell("echo 5 of nothing; echo it is broken >&2; exit 3"));
    let text = outcome.unwrap_err().to_string();
    assert!(["exit status: 3", "it is broken", "5 of nothing"].iter().all(|part| text.contains(part)), "{text}");
    let mut may_not_end = shell("echo 5 ops");
    may_not_end["at_end"] = json!("fail");
    let (outcome, _) = run_with(may_not_end, &folder(), DatabaseReuse::Remake, |_, _| {});
    assert!(outcome.unwrap_err().to_string().contains("exit status: 0"));
}

#[test]
fn output_without_a_report_is_an_error_and_not_silence() {
    let (outcome, messages) = run_once(shell("echo one; echo two"));
    let text = outcome.unwrap_err().to_string();
    assert!(text.contains("2 lines not understood") && text.contains("`regex`"), "{text}");
    assert!(!messages.iter().any(|message| matches!(message, Message::Sample(_))));
    let mut silent = shell("echo one; sleep 600");
    silent["patience"] = json!("50ms");
    assert!(run_once(silent).0.unwrap_err().to_string().contains("found no report"));
}

#[test]
fn wait_ends_the_program_and_go_starts_it_anew() {
    let mut samples = 0;
    let (outcome, messages) =
        run_with(shell("echo 5 ops; sleep 600"), &folder(), DatabaseReuse::Remake, |message, controls| {
            if matches!(message, Message::Sample(_)) {
                samples += 1;
                let next = if samples == 1 { vec![Control::Wait, Control::Go] } else { vec![Control::Stop] };
                next.into_iter().for_each(|control| controls.send(control).unwrap());
            }
        });
    outcome.unwrap();
    let notes = messages.iter().filter(|message| matches!(message, Message::Note { .. }));
    assert_eq!((samples, notes.count()), (2, 2));
}

#[test]
fn a_changed_setting_is_refused() {
    let set: Control = "set command=true".parse().unwrap();
    let (outcome, messages) =
        run_with(shell("echo 5 ops; sleep 600"), &folder(), DatabaseReuse::Remake, |message, controls| match message {
            Message::Sample(_) => controls.send(set.clone()).unwrap(),
            Message::Refused { .. } => controls.send(Control::Stop).unwrap(),
            _ => {}
        });
    outcome.unwrap();
    assert!(
        messages
            .iter()
            .any(|message| matches!(message, Message::Refused { reason, .. } if reason.contains("external")))
    );
}

#[test]
fn a_program_that_does_not_listen_is_killed() {
    let (outcome, _) = run_once(shell("trap '' TERM; echo 5 ops; while :; do sleep 1; done"));
    outcome.unwrap();
}

#[test]
fn preparing_comes_first_and_not_again_where_its_data_is_reused() {
    let folder = folder();
    let mut all = shell("cat made; echo 5 ops; sleep 600");
    all["prepare"] = json!(["sh", "-c", "echo x >> {directory}/made"]);
    for existing in [DatabaseReuse::Remake, DatabaseReuse::Reuse] {
        run_with(all.clone(), &folder, existing, stop_at_the_first_sample).0.unwrap();
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("one/db/made")).unwrap(), "x\n");
    all["prepare"] = json!(["sh", "-c", "echo no room >&2; exit 1"]);
    let refused = run_with(all.clone(), &folder, DatabaseReuse::Remake, stop_at_the_first_sample).0.unwrap_err();
    assert!(refused.to_string().contains("created by another experiment"), "{refused}");
    let failed = run_with(all, &self::folder(), DatabaseReuse::Remake, stop_at_the_first_sample).0.unwrap_err();
    assert!(failed.to_string().contains("no room"), "{failed}");
}

#[test]
fn a_folder_that_is_not_ours_is_left_alone() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("one")).unwrap();
    std::fs::write(folder.path().join("one/thesis.tex"), "mine").unwrap();
    run_with(shell("echo 5 ops"), &folder, DatabaseReuse::Renew, stop_at_the_first_sample).0.unwrap_err();
    assert_eq!(std::fs::read_to_string(folder.path().join("one/thesis.tex")).unwrap(), "mine");
}

#[test]
fn what_cannot_be_started_is_refused_before_anything_starts() {
    let refused = |value: Value| validate(&settings(value)).unwrap_err().to_string();
    let missing = json!({ "command": ["fio", "--output-format=json+", "--status-interval=1"], "parser": "fio",
        "environment": { "PATH": "/nonexistent" } });
    assert!(refused(missing).contains("apt-get install fio"));
    let other = json!({ "command": "no-such-program", "parser": "ycsb" });
    assert!(refused(other).contains("no-such-program"));
    let nothing = json!({ "command": [], "parser": "ycsb" });
    assert!(refused(nothing).contains("a program and its arguments"));
    let quotes = json!({ "command": "sh -c 'x", "parser": "ycsb" });
    assert!(refused(quotes).contains("quotes"));
    let silent = json!({ "command": "/bin/fio --name=x", "parser": "fio" });
    assert!(refused(silent).contains("--output-format=json+"));
    let patterns = json!({ "command": "sh", "parser": "ycsb", "patterns": { "a": "b" } });
    assert!(refused(patterns).contains("regex"));
}
