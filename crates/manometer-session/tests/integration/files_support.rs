//! Drives workloads of files, and reads what they send.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use manometer_measure::MonotonicClock;
use manometer_session::control::Controls;
use manometer_session::protocol::{Control, Job, Message};
use manometer_session::worker_loop;
use manometer_workload::files::FilesError;
use manometer_workload::sample::Sample;
use serde_json::{Value, json};

use crate::support::kind_error;

/// A folder on a disk.
pub fn disk() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

/// Runs a job; `react` answers each message with control lines.
pub fn drive(
    job: &Job,
    mut react: impl FnMut(&Message, &Sender<Control>) + Send,
) -> (Result<(), FilesError>, Vec<Message>) {
    let (sender, receiver) = channel();
    let mut received = Vec::new();
    let mut sink = |message: Message| {
        react(&message, &sender);
        received.push(message);
        Ok(())
    };
    let result = worker_loop::run(job, &Controls::new(receiver), &mut sink, &MonotonicClock);
    (result.map(drop).map_err(kind_error), received)
}

/// Prepares the files, then stops.
pub fn prepare(job: &Job) -> (Result<(), FilesError>, Vec<Message>) {
    drive(job, |message, controls| {
        if matches!(message, Message::Ready { .. }) {
            controls.send(Control::Stop).unwrap();
        }
    })
}

/// Sends `go` when ready, and stops once the samples so far satisfy `enough`.
pub fn go_until(mut enough: impl FnMut(&Totals) -> bool + Send) -> impl FnMut(&Message, &Sender<Control>) + Send {
    let mut totals = Totals::default();
    move |message, controls| match message {
        Message::Ready { .. } => controls.send(Control::Go).unwrap(),
        Message::Sample(sample) => {
            totals.add(sample);
            if enough(&totals) {
                controls.send(Control::Stop).unwrap();
            }
        }
        _ => {}
    }
}

/// Requests, bytes and missing files of each operation.
#[derive(Debug, Default)]
pub struct Totals(pub BTreeMap<String, [u64; 3]>);

impl Totals {
    pub fn of(received: &[Message]) -> Self {
        let mut totals = Self::default();
        samples(received).iter().for_each(|sample| totals.add(sample));
        totals
    }

    pub fn add(&mut self, sample: &Sample) {
        for (operation, done) in &sample.operations {
            let own = self.0.entry(operation.clone()).or_default();
            let more = [done.requests, done.bytes, done.missing];
            own.iter_mut().zip(more).for_each(|(own, more)| *own += more);
        }
    }

    pub fn requests(&self, operation: &str) -> u64 {
        self.0.get(operation).map_or(0, |done| done[0])
    }

    pub fn bytes(&self, operation: &str) -> u64 {
        self.0.get(operation).map_or(0, |done| done[1])
    }

    pub fn missing(&self) -> u64 {
        self.0.values().map(|done| done[2]).sum()
    }

    pub fn all_have(&self, requests: u64) -> bool {
        self.0.values().all(|done| done[0] >= requests)
    }
}

/// The samples among the messages.
pub fn samples(received: &[Message]) -> Vec<&Sample> {
    received
        .iter()
        .filter_map(|message| if let Message::Sample(sample) = message { Some(sample) } else { None })
        .collect()
}

/// The facts of the message that it is ready.
pub fn facts_of(received: &[Message]) -> Value {
    let facts =
        received.iter().find_map(|message| if let Message::Ready { facts } = message { Some(facts) } else { None });
    json!(facts.unwrap())
}

/// All files below `folder` and their lengths.
pub fn files_in(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_in(&entry.path()));
        } else {
            found.insert(entry.path(), entry.metadata().unwrap().len());
        }
    }
    found
}
