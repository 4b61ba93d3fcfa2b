//! A device made of arithmetic, on a clock that only it and waiting move.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use manometer_measure::{Clock as _, ManualClock};
use manometer_target::file::{Backend, Completion, FileError, IoEngine, Request, WriteData};

use super::super::pattern::Pattern;
use super::super::recorded::BlockTrace;
use super::super::runner::{Constants, Runner, Source, Surroundings};
use super::super::{IoError, IoSettings};
use crate::control::Controls;
use crate::protocol::{Control, Message, Sample};

pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// Not a multiple of the interval, as in life.
pub(super) const START_NS: u64 = 41 * SECOND_NS + 250_000_000;

/// As long as any request of a test's trace.
const SLOT_BYTES: usize = 1 << 16;

/// How long a request takes, and what comes of it.
pub(super) type Answer = Arc<dyn Fn(&Request) -> (u64, i32) + Send + Sync>;

/// Every request takes so long and succeeds.
pub(super) fn steady(latency_ns: u64) -> Answer {
    Arc::new(move |request| (latency_ns, request.length as i32))
}

/// What the device saw.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) requests: Vec<Request>,
    pub(super) most_in_flight: usize,
    pub(super) opened: Vec<IoSettings>,
    in_flight: usize,
}

struct Device {
    clock: Arc<ManualClock>,
    answer: Answer,
    log: Arc<Mutex<Log>>,
    queued: Vec<Request>,
    in_flight: Vec<(u64, Completion)>,
    slot: Vec<u8>,
}

impl Backend for Device {
    fn slot_mut(&mut self, _slot: u32) -> &mut [u8] {
        &mut self.slot
    }

    fn queue(&mut self, request: Request) {
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

/// What came of a run.
pub(super) struct Ran {
    pub(super) result: Result<(), IoError>,
    pub(super) messages: Vec<Message>,
    pub(super) log: Log,
    pub(super) clock: Arc<ManualClock>,
}

impl Ran {
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

/// Runs `settings` on a device that answers so. `lines` are typed when that many samples have come; the
/// run stops after the sample with the number `stop`.
pub(super) fn drive(settings: IoSettings, answer: Answer, lines: &[(usize, &str)], stop: usize) -> Ran {
    let clock = Arc::new(ManualClock::at(START_NS));
    let log = Arc::new(Mutex::new(Log::default()));
    let (controls, heard) = channel();
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
    let mut open = |settings: &IoSettings| -> Result<Box<dyn Backend>, FileError> {
        let mut opened = log.lock().unwrap();
        assert_eq!(opened.in_flight, 0, "set up anew while requests were in flight");
        if settings.iodepth == 13 {
            return Err(FileError::NoDirect(PathBuf::from("/somewhere/0")));
        }
        opened.opened.push(settings.clone());
        let slot = vec![0; SLOT_BYTES.max(settings.block_size.0 as usize)];
        let (clock, log, answer) = (Arc::clone(&clock), Arc::clone(&log), Arc::clone(&answer));
        Ok(Box::new(Device { clock, answer, log, queued: Vec::new(), in_flight: Vec::new(), slot }))
    };
    let backend = open(&settings).unwrap();
    let controls_heard = Controls::new(heard);
    let outside = Surroundings { clock: &*clock, controls: &controls_heard, sink: &mut sink, open: &mut open };
    let constants = Constants {
        paths: (0..settings.files).map(|file| PathBuf::from(format!("/somewhere/{file}"))).collect(),
        engine: IoEngine::IoUring,
        fs_block_bytes: 4096,
        interval_ns: SECOND_NS,
        may_write: true,
    };
    let data = WriteData::new(1);
    let result = match BlockTrace::new(&settings).unwrap() {
        None => {
            let source = (Source::Pattern(Pattern::new(1, &settings)), data);
            Runner::new(outside, constants, settings, backend, source, VecDeque::new()).and_then(Runner::run)
        }
        // What margin threads need in life is nothing to a clock of arithmetic.
        Some(trace) => trace.replay(&ManualClock::at(0), |mut recorded| {
            recorded.margin_ns = 0;
            let source = (Source::Recorded(Box::new(recorded)), data);
            Runner::new(outside, constants, settings, backend, source, VecDeque::new()).and_then(Runner::run)
        }),
    };
    let log = std::mem::take(&mut *log.lock().unwrap());
    Ran { result, messages, log, clock }
}

fn type_lines(lines: &mut VecDeque<(usize, Control)>, samples: usize, controls: &Sender<Control>) {
    while lines.front().is_some_and(|(at, _)| *at <= samples) {
        controls.send(lines.pop_front().unwrap().1).unwrap();
    }
}
