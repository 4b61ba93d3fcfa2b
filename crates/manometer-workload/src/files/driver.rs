//! Whoever drives the threads: heeds control lines, changes settings, takes samples.

use std::collections::VecDeque;

use manometer_measure::plan::Settings;

use super::FilesError;
use super::change::{apply, in_force};
use super::settings::FilesSettings;
use super::shared::Shared;
use super::tally::Beat;
use crate::control::{Controls, Sink};
use crate::protocol::{Control, Message};

/// The longest time between two looks at the control lines.
const LOOK_NS: u64 = 10_000_000;

/// Starts the thread of a number.
pub(super) type Start<'a> = dyn FnMut(u32) -> Result<(), FilesError> + 'a;

pub(super) struct Driver<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) controls: &'a Controls,
    pub(super) sink: &'a mut dyn Sink,
    /// Control lines that came before.
    pub(super) early: VecDeque<Control>,
    pub(super) beat: &'a mut Beat,
    pub(super) settings: FilesSettings,
    pub(super) start: &'a mut Start<'a>,
    /// How many threads were started.
    pub(super) started: u32,
}

impl Driver<'_> {
    /// Drives until told to stop, or until a thread fails.
    pub(super) fn drive(mut self) -> Result<(), FilesError> {
        self.start_up_to(self.shared.plan.threads)?;
        while !self.shared.roster.is_stopped() {
            match self.early.pop_front().or_else(|| self.controls.poll()) {
                Some(Control::Go) => self.shared.roster.set_going(true),
                Some(Control::Wait) => self.shared.roster.set_going(false),
                Some(Control::Stop) => return Ok(()),
                Some(Control::Set(changes)) => self.change(&changes)?,
                None => self.wait_and_sample()?,
            }
        }
        Ok(())
    }

    fn start_up_to(&mut self, threads: u32) -> Result<(), FilesError> {
        while self.started < threads {
            (self.start)(self.started)?;
            self.started += 1;
        }
        Ok(())
    }

    /// Puts `changes` into force, or refuses them.
    fn change(&mut self, changes: &Settings) -> Result<(), FilesError> {
        let (settings, plan) = match apply(&self.settings, changes) {
            Ok(changed) => changed,
            Err(reason) => {
                let line = Control::Set(changes.clone()).to_string();
                return Ok(self.sink.send(Message::Refused { line, reason: reason.to_string() })?);
            }
        };
        self.start_up_to(plan.threads)?;
        self.shared.roster.set_active(plan.threads);
        let t_ns = self.shared.clock.now_ns();
        if settings.rate != self.settings.rate {
            self.shared.pace.change(plan.rate, t_ns);
        }
        self.settings = settings;
        Ok(self.sink.send(Message::Setting { t_ns, settings: in_force(&plan, changes) })?)
    }

    fn wait_and_sample(&mut self) -> Result<(), FilesError> {
        let now_ns = self.shared.clock.now_ns();
        if now_ns < self.beat.next_ns() {
            self.shared.clock.sleep_until(self.beat.next_ns().min(now_ns + LOOK_NS));
            return Ok(());
        }
        let sample = self.beat.sample(&self.shared.tally, now_ns).map(Message::Sample);
        Ok(sample.map_or(Ok(()), |sample| self.sink.send(sample))?)
    }
}
