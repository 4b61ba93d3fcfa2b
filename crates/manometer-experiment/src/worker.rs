//! The worker process: one workload, told by lines on standard input, telling by lines on standard
//! output.

use std::io::{BufRead as _, BufReader, Lines, Stdin, Write as _, stdin, stdout};
use std::sync::mpsc::{Receiver, Sender, channel};

use manometer_measure::clock::WallAnchor;
use manometer_measure::clock_offset::in_step;
use manometer_measure::{Clock, MonotonicClock};
use manometer_workload::command;
use manometer_workload::control::Controls;
use manometer_workload::files;
use manometer_workload::io::{self, IoJob};
use manometer_workload::kv::{self, Finished};
use manometer_workload::protocol::{CLOCK, Control, Existing, IN_STEP, Job, Message};
use manometer_workload::replay;
use manometer_workload::settings::WorkloadSettings;

/// How long a worker may take to end once nobody listens, before it is ended.
const ORPHAN_PATIENCE_NS: u64 = 1_500_000_000;

/// Runs the job on standard input to its end. The last message is `done` or `error`.
///
/// # Errors
/// The job failed, or there was none; the text is the message already sent.
pub fn run() -> Result<(), String> {
    let mut lines = BufReader::new(stdin()).lines();
    let (sender, controls) = channel();
    let outcome = first_line(&mut lines).and_then(|job| {
        std::thread::spawn(move || listen(lines, &sender));
        perform(&job, controls)
    });
    let last = match &outcome {
        Ok(()) => Message::Done,
        Err(text) => Message::Error { text: text.clone() },
    };
    // With nobody left to read it, the message has no meaning: the run is over either way.
    let _ = send(last);
    outcome
}

fn first_line(lines: &mut Lines<BufReader<Stdin>>) -> Result<Job, String> {
    let first = lines.next().ok_or("standard input is empty: the first line is the job, as JSON")?;
    let job = first.map_err(|error| format!("standard input: {error}"))?;
    serde_json::from_str(&job).map_err(|error| format!("the job makes no sense: {error}"))
}

fn perform(job: &Job, controls: Receiver<Control>) -> Result<(), String> {
    let controls = Controls::new(controls);
    match &job.workload {
        WorkloadSettings::Io(io) => {
            let interval_ns = job.interval_ms.saturating_mul(1_000_000);
            let (directory, settings) = (&job.directory, io.clone());
            let reuse = job.existing != Existing::Remake;
            let io = IoJob::in_directory(directory, &job.name, reuse, settings, job.seed, interval_ns);
            io::run(&io, &MonotonicClock, &controls, &mut send).map_err(|error| error.to_string())
        }
        WorkloadSettings::Files(files) => {
            let finished = files::run(job, files, &controls, &mut send, &MonotonicClock);
            let finished = finished.map_err(|error| error.to_string())?;
            if job.removes { remove(finished, &controls) } else { Ok(()) }
        }
        WorkloadSettings::Kv(kv) => {
            let finished = kv::run(job, kv, &controls, &mut send, &MonotonicClock);
            let finished = finished.map_err(|error| error.to_string())?;
            if job.removes { remove(finished, &controls) } else { Ok(()) }
        }
        WorkloadSettings::Replay(replay) => {
            let finished = replay::run(job, replay, &controls, &mut send, &MonotonicClock);
            let finished = finished.map_err(|error| error.to_string())?;
            if job.removes { remove(finished, &controls) } else { Ok(()) }
        }
        WorkloadSettings::Command(settings) => {
            command::run(job, settings, &controls, &mut send).map_err(|error| error.to_string())
        }
    }
}

/// Removes what is left, once nobody else uses it any more.
fn remove(finished: Finished, controls: &Controls) -> Result<(), String> {
    controls.wait_for_stop();
    finished.remove().map_err(|error| format!("removing the data: {error}"))
}

/// Passes control lines on; when standard input ends, whoever started us is gone: stop, and see to it.
fn listen(lines: Lines<BufReader<Stdin>>, controls: &Sender<Control>) {
    for line in lines.map_while(Result::ok).filter(|line| !line.trim().is_empty()) {
        if let Some(clock) = asked_for_clock(line.trim()) {
            let _ = send(clock);
            continue;
        }
        match line.parse::<Control>() {
            Ok(control) => {
                if controls.send(control).is_err() {
                    return;
                }
            }
            Err(error) => {
                let _ = send(Message::Refused { line, reason: error.to_string() });
            }
        }
    }
    // A workload that is loading or waits for its device does not hear the stop in time.
    let _ = controls.send(Control::Stop);
    MonotonicClock.sleep(ORPHAN_PATIENCE_NS);
    tracing::error!("standard input has ended and the work has not: the worker ends itself");
    #[expect(clippy::disallowed_methods, reason = "nobody is left to tell; an orphan must not go on loading a device")]
    #[expect(clippy::exit, reason = "the same")]
    std::process::exit(1);
}

/// The clocks, where `line` asks for them.
fn asked_for_clock(line: &str) -> Option<Message> {
    let in_step = match line {
        CLOCK => None,
        IN_STEP => in_step(),
        _ => return None,
    };
    Some(Message::Clock { now: WallAnchor::now(), in_step })
}

fn send(message: Message) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(&message).map_err(std::io::Error::other)?;
    line.push(b'\n');
    let mut stdout = stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}
