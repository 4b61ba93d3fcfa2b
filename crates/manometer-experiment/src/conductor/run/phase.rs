//! One phase: settings applied, workloads started and paused, samples measured, or a gap with its reason.

use manometer_measure::clock::next_tick_ns;
use manometer_measure::event::Event;
use manometer_measure::host::PhaseBoundary;
use manometer_measure::plan::{Phase, PhaseKind, Settings};
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_session::protocol::Control;

use super::super::RunError;
use super::super::phase_stop::{PhaseDecision, decide};
use super::Run;
use super::conditions::too_wide;
use crate::limits::IsolationSetting;
use crate::progress::ProgressUpdate;

/// The timeout for a worker to apply settings: a deep queue on a slow disk has to drain.
const SETTING_PATIENCE_NS: u64 = 60_000_000_000;

/// The latest end of a sample after its tick: this part of an interval, and no longer than the next.
const SAMPLE_LATENESS_DIVISOR: u64 = 20;
const MAX_SAMPLE_LATENESS_NS: u64 = 50_000_000;

impl Run<'_> {
    /// Runs one phase; if it cannot run to its end, records a gap with the reason.
    pub(super) fn phase(&mut self, phase: &Phase) -> Result<(), RunError> {
        match self.measure(phase)? {
            None => Ok(()),
            Some(reason) => {
                let event = Event::PhaseGap { phase: phase.id.clone(), reason };
                Ok(self.recorder.recording.event(MonotonicClock.now_ns(), event)?)
            }
        }
    }

    /// Measures one phase; returns the reason if it did not reach its end.
    fn measure(&mut self, phase: &Phase) -> Result<Option<String>, RunError> {
        if let Some(reason) = self.apply_settings(phase)? {
            return Ok(Some(reason));
        }
        let begin_ns = next_tick_ns(MonotonicClock.now_ns() + seconds_ns(phase.settle_s), self.interval_ns);
        self.phase_end_ns = begin_ns + self.whole_intervals_ns(phase.duration_s);
        self.after_phase_s = self.time_after(phase);
        (self.watch)(ProgressUpdate::Phase {
            id: &phase.id,
            label: &phase.label,
            seconds: self.phase_end_ns.saturating_sub(MonotonicClock.now_ns()) as f64 / 1e9,
        });
        self.pump(begin_ns, |run| run.missing_requirement(phase).is_some())?;
        if let Some(reason) = self.missing_requirement(phase) {
            return Ok(Some(reason));
        }
        self.recorder.recording.event(begin_ns, Event::PhaseStarted { phase: phase.id.clone() })?;
        self.recorder.phase_boundary(begin_ns, PhaseBoundary::Begin, &mut self.observers)?;
        self.live.begin_phase(begin_ns);
        let end_ns = loop {
            // Samples end a moment after the tick: the phase lasts until that of its last tick has arrived.
            let end_ns = self.phase_end_ns + self.sample_lateness_ns();
            self.pump(end_ns, |run| run.missing_requirement(phase).is_some())?;
            if let Some(reason) = self.missing_requirement(phase) {
                return Ok(Some(reason));
            }
            if !self.prolong(phase, begin_ns)? {
                break end_ns;
            }
        };
        self.hear_everyone()?;
        if let Some(reason) = self.missing_requirement(phase) {
            return Ok(Some(reason));
        }
        self.live.end_phase(&self.plan, phase);
        self.recorder.phase_boundary(end_ns, PhaseBoundary::End, &mut self.observers)?;
        self.recorder.recording.event(end_ns, Event::PhaseEnded { phase: phase.id.clone() })?;
        if let Err(error) = self.account.record() {
            self.stop_run(&error.into())?;
        }
        Ok(None)
    }

    /// Brings `phase` into force: its settings, and who runs. Returns the reason if it cannot.
    pub(super) fn apply_settings(&mut self, phase: &Phase) -> Result<Option<String>, RunError> {
        if let Some(reason) = self.missing_requirement(phase) {
            return Ok(Some(reason));
        }
        self.enter(phase)?;
        self.pump(MonotonicClock.now_ns() + SETTING_PATIENCE_NS, |run| {
            run.missing_requirement(phase).is_some() || run.members.iter().all(|member| !member.pending)
        })?;
        let late = self.members.iter().find(|member| member.pending).map(|member| member.part.name.clone());
        if let Some(name) = late.filter(|_| self.missing_requirement(phase).is_none()) {
            self.failed = true;
            return Ok(Some(format!("`{name}` did not apply its settings within a minute")));
        }
        self.start_and_pause(phase);
        Ok(self.missing_requirement(phase))
    }

    /// How long samples may take to arrive after their tick.
    pub(super) fn sample_lateness_ns(&self) -> u64 {
        (self.interval_ns / SAMPLE_LATENESS_DIVISOR).min(MAX_SAMPLE_LATENESS_NS)
    }

    /// Extends `phase`, measured since `begin_ns`, if its confidence interval is too wide and its maximum length allows it;
    /// returns whether it did.
    fn prolong(&mut self, phase: &Phase, begin_ns: u64) -> Result<bool, RunError> {
        let Some(stop) = self.stop.filter(|_| phase.kind != PhaseKind::Warmup) else { return Ok(false) };
        let (width, wanted) = self.live.width(&self.plan, phase, stop.interval.0);
        let measured_ns = self.phase_end_ns - begin_ns;
        let length_ns = self.whole_intervals_ns(phase.duration_s);
        let most_ns = seconds_ns(stop.max_length_s(phase.duration_s));
        match decide(width, wanted, (measured_ns, length_ns, most_ns), self.interval_ns) {
            PhaseDecision::Sufficient => Ok(false),
            PhaseDecision::LimitReached => {
                self.finding(too_wide(phase, width, wanted, measured_ns))?;
                Ok(false)
            }
            PhaseDecision::Prolong(by_ns) => {
                let event = Event::PhaseProlonged { phase: phase.id.clone(), by_s: by_ns as f64 / 1e9, width, wanted };
                self.recorder.recording.event(MonotonicClock.now_ns(), event)?;
                self.phase_end_ns += by_ns;
                let label = format!("{}, extended: its interval is too wide", phase.label);
                (self.watch)(ProgressUpdate::Phase { id: &phase.id, label: &label, seconds: by_ns as f64 / 1e9 });
                Ok(true)
            }
        }
    }

    /// Why `phase` cannot run or continue.
    pub(super) fn missing_requirement(&self, phase: &Phase) -> Option<String> {
        if self.interrupted() {
            return Some("the run was interrupted".to_owned());
        }
        if let Some(reason) = &self.spent {
            return Some(reason.clone());
        }
        let needed = self.members.iter().filter(|member| phase.running.contains(&member.part.name));
        needed.into_iter().find_map(|member| {
            let name = &member.part.name;
            match (&member.failure, &member.ended, &member.facts) {
                (Some(reason), _, _) => Some(format!("`{name}` failed: {reason}")),
                (None, Some(reason), _) => Some(format!("`{name}` has ended: {reason}")),
                (None, None, None) => Some(format!("`{name}` was not prepared")),
                (None, None, Some(_)) => None,
            }
        })
    }

    /// Applies the settings of `phase` that differ from the current ones: sends every worker its own, and rewrites limits.
    fn enter(&mut self, phase: &Phase) -> Result<(), RunError> {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            if !member.is_active() {
                continue;
            }
            let prefix = format!("{}.", member.part.name);
            let wanted = phase.settings.iter().filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)));
            let changed: Settings = wanted
                .filter(|(name, value)| member.settings.get(*name) != Some(*value))
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect();
            member.settings.extend(changed.clone());
            let (limits, own): (Settings, Settings) =
                changed.into_iter().partition(|(name, _)| IsolationSetting::parse(name).is_some());
            if !own.is_empty() {
                self.controller.send(index, &Control::Set(own));
                member.pending = true;
            }
            self.limit(index, limits)?;
        }
        Ok(())
    }

    /// Rewrites `limits` of a workload; if the kernel rejects one, the workload ends.
    pub(super) fn limit(&mut self, index: usize, limits: Settings) -> Result<(), RunError> {
        let mut changes = limits.iter().map(|(name, value)| self.isolated.change_limit(index, name, value));
        let refused = changes.find_map(Result::err);
        match refused {
            Some(reason) => self.fail_worker(index, Some(reason)),
            None if limits.is_empty() => Ok(()),
            None => {
                let workload = self.members[index].part.name.clone();
                let event = Event::Setting { workload, settings: limits };
                Ok(self.recorder.recording.event(MonotonicClock.now_ns(), event)?)
            }
        }
    }

    fn start_and_pause(&mut self, phase: &Phase) {
        for (index, member) in self.members.iter_mut().enumerate().filter(|(_, member)| member.is_active()) {
            let wanted = phase.running.contains(&member.part.name);
            if wanted != member.running {
                self.controller.send(index, if wanted { &Control::Go } else { &Control::Wait });
                member.running = wanted;
            }
        }
    }

    pub(super) fn whole_intervals_ns(&self, seconds: f64) -> u64 {
        whole_intervals_ns(seconds, self.interval_ns)
    }

    pub(super) fn time_after(&self, phase: &Phase) -> f64 {
        let after = self.plan.phases.iter().skip_while(|other| other.id != phase.id).skip(1);
        after.map(|phase| phase.settle_s + phase.duration_s).sum()
    }
}

/// `seconds` without what is left of the last interval of `interval_ns`; at least one interval.
fn whole_intervals_ns(seconds: f64, interval_ns: u64) -> u64 {
    (seconds_ns(seconds) / interval_ns).max(1) * interval_ns
}

/// `seconds` in nanoseconds, rounded: a difference such as 1.4 s − 0.4 s is a little less than 1 s in floating point.
pub(super) fn seconds_ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_block_loses_no_interval_to_floating_point() {
        let intervals = |block_ms: u64, washout_ms: u64, interval_ms: u64| {
            let measured_s = block_ms as f64 / 1e3 - washout_ms as f64 / 1e3;
            whole_intervals_ns(measured_s, interval_ms * MS) / (interval_ms * MS)
        };
        assert_eq!(intervals(1400, 400, 200), 5, "1.4 - 0.4 < 1");
        assert_eq!(intervals(300, 100, 50), 4, "0.3 - 0.1 < 0.2");
        for interval_ms in [50, 100, 200, 1000] {
            for washout in 1..40 {
                for measured in 1..40 {
                    let (block_ms, washout_ms) = ((washout + measured) * interval_ms, washout * interval_ms);
                    assert_eq!(intervals(block_ms, washout_ms, interval_ms), measured, "{block_ms} - {washout_ms} ms");
                }
            }
        }
    }

    #[test]
    fn a_part_of_an_interval_is_not_measured_except_the_first() {
        assert_eq!([0.01, 0.2, 0.39, 0.4].map(|s| whole_intervals_ns(s, 200 * MS) / MS), [200, 200, 200, 400]);
    }
}
