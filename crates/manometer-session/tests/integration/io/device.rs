//! A simulated device, on a clock that moves only with it and with waits.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use manometer_measure::{Clock as _, ManualClock};
use manometer_target::file::{Completion, DataGenerator, FileError, IoBackend, IoEngine, Submission};

use manometer_session::control::Controls;
use manometer_session::protocol::{Control, Message};
use manometer_session::worker_loop::with_session;
use manometer_workload::io::{BlockTrace, IoError, IoFiles, IoRequests, IoSettings};
use manometer_workload::sample::Sample;

use crate::support::kind_error;

pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// Not a multiple of the interval.
pub(super) const START_NS: u64 = 41 * SECOND_NS + 250_000_000;

/// At least as long as any request of a test's trace.
const SLOT_BYTES: usize = 1 << 16;

/// The latency and the result of a request.
pub(super) type Answer = Arc<dyn Fn(&Submission) -> (u64, i32) + Send + Sync>;

/// Every request succeeds with this latency.
pub(super) fn steady(latency_ns: u64) -> Answer {
    Arc::new(move |request| (latency_ns, request.length as i32))
}

/// The requests that the device received.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) requests: Vec<Submission>,
    pub(super) most_in_flight: usize,
    pub(super) opened: Vec<IoSettings>,
    in_flight: usize,
}

struct Device {
    clock: Arc<ManualClock>,
    answer: Answer,
    log: Arc<Mutex<Log>>,
    queued: Vec<Submission>,
    in_flight: Vec<(u64, Completion)>,
    slot: Vec<u8>,
}

impl IoBackend for Device {
    fn slot_mut(&mut self, _slot: u32) -> &mut [u8] {
        &mut self.slot
    }

    fn queue(&mut self, request: Submission) {
        self.queued.push(request);
    }

    fn wait(&mut self, now_ns: u64, deadline_ns: u64, finished: &mut Vec<Completion>) -> io::Result<()> {
        let mut log = self.log.lock().unwrap();
        for request in self.queued.drain(..) {
            let (latency_ns, result) = (self.answer)(&request);
            let done_ns = now_ns.saturating_add(latency_ns);
            self.in_flight.push((done_ns, Completion { slot: request.slot, result }));
            log.requests.push(request);
        }
        log.most_in_flight = log.most_in_flight.max(self.in_flight.len());
        let first_ns = self.in_flight.iter().map(|(done_ns, _)| *done_ns).min().unwrap_or(u64::MAX);
        self.clock.sleep_until(first_ns.min(deadline_ns));
        let now_ns = self.clock.now_ns();
        finished.extend(self.in_flight.extract_if(.., |(done_ns, _)| *done_ns <= now_ns).map(|(_, done)| done));
        log.in_flight = self.in_flight.len();
        Ok(())
    }

    fn features(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// The result of a run and everything it emitted.
pub(super) struct RunResult {
    pub(super) result: Result<(), IoError>,
    pub(super) messages: Vec<Message>,
    pub(super) log: Log,
    pub(super) clock: Arc<ManualClock>,
}

impl RunResult {
    pub(super) fn samples(&self) -> Vec<&Sample> {
        self.messages
            .iter()
            .filter_map(|message| if let Message::Sample(sample) = message { Some(sample) } else { None })
            .collect()
    }

    pub(super) fn requests(&self, operation: &str) -> Vec<u64> {
        self.samples().iter().map(|sample| sample.operations[operation].requests).collect()
    }
}

/// Runs `settings` on a device with the given `answer`. Each of `lines` is sent after that many samples; the run stops
/// after sample number `stop`.
pub(super) fn drive(settings: IoSettings, answer: Answer, lines: &[(usize, &str)], stop: usize) -> RunResult {
    let clock = Arc::new(ManualClock::at(START_NS));
    let log = Arc::new(Mutex::new(Log::default()));
    let (controls, receiver) = channel();
    let mut lines: VecDeque<(usize, Control)> = lines.iter().map(|(at, line)| (*at, line.parse().unwrap())).collect();
    type_lines(&mut lines, 0, &controls);
    let mut messages = Vec::new();
    let mut samples = 0;
    let mut sink = |message: Message| {
        samples += usize::from(matches!(message, Message::Sample(_)));
        messages.push(message);
        type_lines(&mut lines, samples, &controls);
        if samples >= stop {
            controls.send(Control::Stop).unwrap();
        }
        Ok(())
    };
    let settings = IoSettings { io_engine: Some(IoEngine::IoUring), ..settings };
    let mut open = |settings: &IoSettings| -> Result<Box<dyn IoBackend>, FileError> {
        let mut opened = log.lock().unwrap();
        assert_eq!(opened.in_flight, 0, "set up again while requests were in flight");
        if settings.iodepth == 13 {
            return Err(FileError::DirectIoUnsupported(PathBuf::from("/somewhere/0")));
        }
        opened.opened.push(settings.clone());
        let slot = vec![0; SLOT_BYTES.max(settings.block_size.0 as usize)];
        let (clock, log, answer) = (Arc::clone(&clock), Arc::clone(&log), Arc::clone(&answer));
        Ok(Box::new(Device { clock, answer, log, queued: Vec::new(), in_flight: Vec::new(), slot }))
    };
    let backend = open(&settings).unwrap();
    let files = IoFiles {
        paths: (0..settings.files).map(|file| PathBuf::from(format!("/somewhere/{file}"))).collect(),
        engine: IoEngine::IoUring,
        fs_block_bytes: 4096,
        may_write: true,
    };
    let requests = IoRequests {
        trace: BlockTrace::new(&settings).unwrap(),
        // The simulated clock does not move while it is polled.
        margin_ns: 0,
        settings,
        files,
        backend,
        open: &mut open,
        data: DataGenerator::new(1),
        pattern_seed: 1,
        facts: Default::default(),
    };
    let result = with_session(SECOND_NS, &Controls::new(receiver), &mut sink, &*clock, |session| {
        requests.send(session, &*clock)
    });
    let log = std::mem::take(&mut *log.lock().unwrap());
    RunResult { result: result.map_err(kind_error), messages, log, clock }
}

fn type_lines(lines: &mut VecDeque<(usize, Control)>, samples: usize, controls: &Sender<Control>) {
    while lines.front().is_some_and(|(at, _)| *at <= samples) {
        controls.send(lines.pop_front().unwrap().1).unwrap();
    }
}
