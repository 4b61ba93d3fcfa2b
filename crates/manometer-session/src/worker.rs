//! The worker process: one workload, controlled by lines on standard input, with messages as lines on standard output.

use std::io::{BufRead as _, BufReader, Lines, Stdin, Write as _, stdin, stdout};
use std::sync::mpsc::{Sender, channel};

use manometer_measure::clock::WallAnchor;
use manometer_measure::clock_offset::{clock_id, clock_sync};
use manometer_measure::process_mark::{adopt_orphans, end_descendants};
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_workload::settings::WorkloadSettings;

use crate::confinement::confine;
use crate::control::Controls;
use crate::group;
use crate::protocol::{CLOCK, CLOCK_AND_SYNC, CLOCK_IN_STEP, Control, Job, Message};
use crate::worker_loop;

/// How long a worker may take to end after its controller is gone, before it aborts, in nanoseconds.
const ORPHAN_TIMEOUT_NS: u64 = 1_500_000_000;

/// Runs the job on standard input. The last message is `done` or `error`.
///
/// # Errors
/// The job failed, or there was none; the text is the message that was sent.
pub fn run() -> Result<(), String> {
    // Without that, what a program leaves behind is found by its mark only.
    let _ = adopt_orphans();
    let mut lines = BufReader::new(stdin()).lines();
    let (sender, receiver) = channel();
    let outcome = read_job(&mut lines).and_then(|job| {
        // First: threads inherit it.
        confine_job(&job)?;
        std::thread::spawn(move || forward_controls(lines, &sender));
        let controls = Controls::new(receiver);
        let finished = match &job.clients {
            Some(clients) => group::run_clients(&job, clients, &controls, &mut send),
            None => worker_loop::run(&job, &controls, &mut send, &MonotonicClock).map(drop),
        };
        finished.map_err(|error| error.to_string())
    });
    end_descendants();
    let last = match &outcome {
        Ok(()) => Message::Done,
        Err(text) => Message::Error { text: text.clone() },
    };
    // If the receiver is gone the message is lost: the run is over in any case.
    let _ = send(last);
    outcome
}

/// Confines a worker that does its work itself. A program of the user's writes where the user says, and clients are workers.
fn confine_job(job: &Job) -> Result<(), String> {
    if matches!(job.workload, WorkloadSettings::Command(_)) || job.clients.is_some() {
        return Ok(());
    }
    if !confine(&job.directory, &job.name)? {
        let text = "this kernel does not confine workers to the device directory (Landlock, Linux 6.2)".to_owned();
        // A conductor that is gone stops the worker soon.
        let _ = send(Message::Note { t_ns: MonotonicClock.now_ns(), text });
    }
    Ok(())
}

fn read_job(lines: &mut Lines<BufReader<Stdin>>) -> Result<Job, String> {
    let first = lines.next().ok_or("standard input is empty: the first line is the job, as JSON")?;
    let job = first.map_err(|error| format!("standard input: {error}"))?;
    serde_json::from_str(&job).map_err(|error| format!("the job on standard input is invalid: {error}"))
}

/// Forwards control lines. When standard input ends, the controller is gone: stops, and aborts if that takes too long.
fn forward_controls(lines: Lines<BufReader<Stdin>>, controls: &Sender<Control>) {
    for line in lines.map_while(Result::ok).filter(|line| !line.trim().is_empty()) {
        if let Some(clocks) = read_clocks(line.trim()) {
            let _ = send(clocks);
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
    // A workload that is loading or waits for its device may not see the stop in time.
    let _ = controls.send(Control::Stop);
    MonotonicClock.sleep(ORPHAN_TIMEOUT_NS);
    tracing::error!("standard input is closed but the workload still runs: the worker exits");
    end_descendants();
    #[expect(clippy::disallowed_methods, reason = "the controller is gone; an orphan must not go on loading a device")]
    #[expect(clippy::exit, reason = "the same")]
    std::process::exit(1);
}

/// The clocks, if `line` requests them.
fn read_clocks(line: &str) -> Option<Message> {
    let sync = match line {
        CLOCK => None,
        CLOCK_AND_SYNC | CLOCK_IN_STEP => clock_sync(),
        _ => return None,
    };
    Some(Message::Clock { now: WallAnchor::now(), sync, id: clock_id() })
}

fn send(message: Message) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(&message).map_err(std::io::Error::other)?;
    line.push(b'\n');
    let mut stdout = stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}
