//! The rounds of an interleaved plan: short blocks of every phase, the settings changed between them.

use std::collections::BTreeMap;

use manometer_measure::event::Event;
use manometer_measure::host::PhaseBoundary;
use manometer_measure::plan::{InterleavedRounds, Phase};
use manometer_measure::{Clock as _, MonotonicClock};

use super::super::RunError;
use super::super::round_stop::{RoundDecision, decide};
use super::Run;
use super::conditions::rounds_too_wide;
use super::phase::seconds_ns;
use crate::progress::ProgressUpdate;

impl Run<'_> {
    /// Runs the rounds, and further ones while the intervals of the pressures are too wide and `plan.stop` allows them. A
    /// block that cannot run to its end ends them.
    pub(super) fn rounds(&mut self, rounds: &InterleavedRounds) -> Result<(), RunError> {
        let phases: BTreeMap<String, Phase> =
            self.plan.phases.iter().map(|phase| (phase.id.clone(), phase.clone())).collect();
        self.recorder.recording.event(MonotonicClock.now_ns(), Event::RoundsStarted)?;
        self.recorder.phase_boundary(MonotonicClock.now_ns(), PhaseBoundary::Begin, &mut self.observers)?;
        let mut planned = rounds.rounds as usize;
        let mut done = 0;
        while done < planned && self.round(rounds, done, planned, &phases)? {
            done += 1;
            if done == planned {
                planned += self.further_rounds(rounds, done)?;
            }
        }
        let end_ns = MonotonicClock.now_ns();
        self.recorder.phase_boundary(end_ns, PhaseBoundary::End, &mut self.observers)?;
        self.recorder.recording.event(end_ns, Event::RoundsEnded)?;
        if let Err(error) = self.account.record() {
            self.stop_run(&error.into())?;
        }
        Ok(())
    }

    /// Runs all blocks of the round after `done` rounds; returns whether it could.
    fn round(
        &mut self,
        rounds: &InterleavedRounds,
        done: usize,
        planned: usize,
        phases: &BTreeMap<String, Phase>,
    ) -> Result<bool, RunError> {
        let (order, round) = (&rounds.orders[done], done as u32 + 1);
        let round_s = order.len() as f64 * rounds.block_s;
        self.after_phase_s = (planned - done - 1) as f64 * round_s;
        let label = format!("of {planned}: {}", order.join(", "));
        (self.watch)(ProgressUpdate::Phase { id: &format!("round {round}"), label: &label, seconds: round_s });
        for (index, phase) in order.iter().filter_map(|id| phases.get(id)).enumerate() {
            let round_left_s = (order.len() - index - 1) as f64 * rounds.block_s;
            if let Some(reason) = self.block(phase, round, rounds, round_left_s)? {
                let event = Event::BlockGap { phase: phase.id.clone(), round, reason };
                self.recorder.recording.event(MonotonicClock.now_ns(), event)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Measures one block; returns the reason if it did not reach its end. `round_left_s` is the time of the round's blocks
    /// after it.
    fn block(
        &mut self,
        phase: &Phase,
        round: u32,
        rounds: &InterleavedRounds,
        round_left_s: f64,
    ) -> Result<Option<String>, RunError> {
        if let Some(reason) = self.apply_settings(phase)? {
            return Ok(Some(reason));
        }
        let begin_ns = block_begin_ns(MonotonicClock.now_ns(), seconds_ns(rounds.washout_s), self.interval_ns);
        let measured_end_ns = begin_ns + self.whole_intervals_ns(rounds.measured_s());
        self.phase_end_ns = measured_end_ns + seconds_ns(round_left_s);
        self.pump(begin_ns, |run| run.missing_requirement(phase).is_some())?;
        if let Some(reason) = self.missing_requirement(phase) {
            return Ok(Some(reason));
        }
        self.recorder.recording.event(begin_ns, Event::BlockStarted { phase: phase.id.clone(), round })?;
        self.live.begin_phase(begin_ns);
        // Samples end a moment after the tick: the block lasts until that of its last tick has arrived.
        let end_ns = measured_end_ns + self.sample_lateness_ns();
        self.pump(end_ns, |run| run.missing_requirement(phase).is_some())?;
        if let Some(reason) = self.missing_requirement(phase) {
            return Ok(Some(reason));
        }
        self.live.end_block(&self.plan, phase);
        self.recorder.recording.event(end_ns, Event::BlockEnded { phase: phase.id.clone(), round })?;
        Ok(None)
    }

    /// How many rounds follow after `done`.
    fn further_rounds(&mut self, rounds: &InterleavedRounds, done: usize) -> Result<usize, RunError> {
        let Some(stop) = self.stop else { return Ok(0) };
        let (width, wanted) = (self.live.widest_pressure(&self.plan), stop.interval.0);
        let balanced = rounds.balanced_rounds();
        match decide(width, wanted, rounds.orders.len().saturating_sub(done), balanced) {
            RoundDecision::Sufficient => Ok(0),
            RoundDecision::LimitReached => {
                self.finding(rounds_too_wide(done, width, wanted))?;
                Ok(0)
            }
            RoundDecision::Add(further) => {
                let event = Event::RoundsAdded { rounds: further as u32, width, wanted };
                self.recorder.recording.event(MonotonicClock.now_ns(), event)?;
                Ok(further)
            }
        }
    }
}

/// The tick from which a block is measured whose settings came into force at `now_ns`: the last one before the washout has
/// passed since then. Blocks thus follow each other at whole washouts, less than one interval of which the change of the
/// settings may take.
fn block_begin_ns(now_ns: u64, washout_ns: u64, interval_ns: u64) -> u64 {
    (now_ns + washout_ns) / interval_ns * interval_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_begins_a_washout_after_the_one_before_it_ended_unless_settings_take_longer() {
        const MS: u64 = 1_000_000;
        let begin_ms = |now_ms: u64| block_begin_ns(now_ms * MS, 400 * MS, 200 * MS) / MS;
        assert_eq!([10_011, 10_199].map(begin_ms), [10_400, 10_400]);
        assert_eq!(begin_ms(10_210), 10_600, "its settings came into force late");
    }
}
