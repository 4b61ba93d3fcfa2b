//! Messages of workers: recorded and reported as progress.

use manometer_measure::event::Event;
use manometer_measure::plan::Settings;
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_session::protocol::Message;

use super::super::RunError;
use super::Run;
use super::conditions::{client_lost, unrecorded};
use crate::progress::ProgressUpdate;

impl Run<'_> {
    pub(super) fn handle_message(&mut self, index: usize, message: Message) -> Result<(), RunError> {
        let member = &mut self.members[index];
        member.heard_ns = self.listened.total_ns();
        let name = member.part.name.as_str();
        match message {
            Message::Progress { what, done, total } => {
                (self.watch)(ProgressUpdate::Preparing { workload: name, what: &what, done, total });
            }
            Message::Ready { facts } => {
                let mut recorded = facts.clone();
                recorded.remove("state_units");
                let event = Event::Ready { workload: name.to_owned(), facts: recorded };
                self.recorder.recording.event(MonotonicClock.now_ns(), event)?;
                (self.watch)(ProgressUpdate::Ready { workload: name });
                member.facts = Some(facts);
            }
            Message::Sample(sample) => {
                self.live.add_sample(index, &sample);
                let unit = member.part.unit.as_str();
                let none = Settings::new();
                let rate = self.recorder.record_sample(name, unit, member.facts.as_ref().unwrap_or(&none), &sample)?;
                let fresh = rate.without_column.iter().map(|operation| format!("{name}.{operation}"));
                let fresh: Vec<String> = fresh.filter(|operation| self.unrecorded.insert(operation.clone())).collect();
                if member.running {
                    (self.watch)(ProgressUpdate::Rate { workload: name, rate: rate.rate, unit, p99_us: rate.p99_us });
                }
                for operation in fresh {
                    self.finding(unrecorded(&operation))?;
                }
            }
            Message::Setting { t_ns, settings } => {
                member.pending = false;
                self.recorder.recording.event(t_ns, Event::Setting { workload: name.to_owned(), settings })?;
            }
            Message::Note { t_ns, text } => {
                self.recorder.recording.event(t_ns, Event::Note { workload: name.to_owned(), text })?;
            }
            Message::ClientLost { text } => {
                let lost = client_lost(name, &text);
                self.finding(lost)?;
            }
            Message::Replayed { t_ns, replayed } => {
                if !replayed.interrupted {
                    let text = format!("its trace ended after {} requests", replayed.sent);
                    (self.watch)(ProgressUpdate::Ended { workload: name, text: &text });
                    member.ended = Some(text);
                }
                self.recorder.recording.event(t_ns, Event::Replayed { workload: name.to_owned(), replayed })?;
            }
            Message::Refused { line, reason } => {
                let text = format!("it refused `{line}`: {reason}");
                self.fail_worker(index, Some(text))?;
            }
            Message::Error { text } => self.fail_worker(index, Some(text))?,
            // It has ended without an error.
            Message::Done if member.ended.is_some() => member.leave(),
            Message::Clock { .. } | Message::Done => {}
        }
        Ok(())
    }

    /// Handles a worker that ended or failed; `why` is its own error, if it sent one.
    pub(super) fn fail_worker(&mut self, index: usize, why: Option<String>) -> Result<(), RunError> {
        let member = &mut self.members[index];
        if member.failure.is_some() || member.has_ended {
            return Ok(());
        }
        let text = why.unwrap_or_else(|| self.controller.early_end(index));
        member.failure = Some(text.clone());
        member.pending = false;
        self.controller.end(index);
        self.failed = true;
        let workload = member.part.name.clone();
        (self.watch)(ProgressUpdate::Failed { workload: &workload, text: &text });
        Ok(self.recorder.recording.event(MonotonicClock.now_ns(), Event::Error { workload, text })?)
    }
}
