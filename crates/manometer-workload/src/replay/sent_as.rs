//! What of the recorded requests is sent as recorded, what in another form, and what is left out.

use manometer_measure::SentAs;
use manometer_target::engine::{Capability, EngineInfo};
use manometer_trace::TraceOperation;

use super::detail_counts::DetailCounts;
use super::request::ID_BYTES;
use super::settings::ReplaySettings;
use super::survey::Survey;
use crate::kv::values::VALUE_BYTES_MAX;

/// How the requests of a trace are sent.
pub(super) fn table(settings: &ReplaySettings, engine: &EngineInfo, survey: &Survey) -> Vec<SentAs> {
    let can = |capability| engine.capabilities.contains(&capability);
    let sent = Sent { settings, engine, survey, counts: &survey.details, takes_commands: can(Capability::Command) };
    let rows = [
        Some(sent.requests()),
        Some(sent.operations()),
        Some(sent.keys()),
        sent.values(),
        sent.times_to_live(can(Capability::TimeToLive)),
        sent.scans(),
        sent.scan_bounds(),
        sent.commands(),
        sent.multi_gets(can(Capability::MultiGet)),
    ];
    rows.into_iter().flatten().collect()
}

/// What the rows are made from.
struct Sent<'a> {
    settings: &'a ReplaySettings,
    engine: &'a EngineInfo,
    survey: &'a Survey,
    counts: &'a DetailCounts,
    takes_commands: bool,
}

/// A row: requests of which something is sent as recorded, in another form, and not at all.
fn row(what: &str, counts: [u64; 3], how: String) -> SentAs {
    let [as_recorded, otherwise, left_out] = counts;
    SentAs { what: what.to_owned(), as_recorded, otherwise, left_out, how }
}

impl Sent<'_> {
    fn number(&self, operation: TraceOperation) -> u64 {
        self.survey.operations[operation as usize]
    }

    /// Requests that are sent as commands.
    fn by_command(&self) -> u64 {
        let replaced = if self.settings.value_size.is_some() { self.counts.command_stores } else { 0 };
        if self.takes_commands { self.counts.commands - replaced } else { 0 }
    }

    fn requests(&self) -> SentAs {
        // Every process reads the whole trace: the first counts what it lacks.
        let is_first = self.settings.share.is_none_or(|share| share.part == 0);
        let lost = if is_first { self.survey.lost } else { 0 };
        let how = if lost > 0 { "lost by the recorder, or without an operation that expresses them" } else { "" };
        row("requests", [self.survey.requests, 0, lost], how.to_owned())
    }

    fn operations(&self) -> SentAs {
        use TraceOperation::{Discard, Insert, Read, ReadModifyWrite, Update, Write};
        let sum = |operations: &[TraceOperation]| operations.iter().map(|one| self.number(*one)).sum::<u64>();
        let (changes, pairs, blocks) = (sum(&[Insert, Update]), sum(&[ReadModifyWrite]), sum(&[Read, Write, Discard]));
        let by_command = self.by_command();
        let otherwise = if by_command > 0 { 0 } else { changes + pairs + blocks };
        let mut how = Vec::new();
        if otherwise > 0 {
            how.extend((changes > 0).then_some("inserts and updates as puts, whether or not the key exists"));
            how.extend((pairs > 0).then_some("read-modify-writes as a get and a put"));
            how.extend((blocks > 0).then_some("those of a device as those for keys"));
        }
        row("operations", [self.survey.requests - otherwise, otherwise, 0], how.join("; "))
    }

    fn keys(&self) -> SentAs {
        let counts = self.counts;
        let mut how = Vec::new();
        if counts.ids > 0 {
            let length = if counts.ids_of_no_length == counts.ids {
                format!("of {ID_BYTES} characters, since the trace has no length")
            } else {
                "of the recorded length".to_owned()
            };
            how.push(format!("ids {length}, in the order of the trace's numbers"));
        }
        if counts.ids_longer > 0 {
            how.push(format!("{} of them longer than recorded, to tell them apart", counts.ids_longer));
        }
        if counts.keys_on_device > 0 {
            how.push(format!("{} behind the number of their database", counts.keys_on_device));
        }
        row("keys", [counts.keys_recorded, counts.ids + counts.keys_on_device, 0], how.join("; "))
    }

    fn values(&self) -> Option<SentAs> {
        let stores: u64 = TraceOperation::ALL.into_iter().filter(|one| one.stores()).map(|one| self.number(one)).sum();
        let (cut, how) = match self.settings.value_size {
            Some(bytes) => (stores - self.by_command().min(stores), format!("{bytes} bytes each (`value_size`)")),
            None => (self.counts.values_cut, format!("cut to {} MiB", VALUE_BYTES_MAX >> 20)),
        };
        let how = if cut > 0 { how } else { String::new() };
        (stores > 0).then(|| row("value sizes", [stores - cut, cut, 0], how))
    }

    fn times_to_live(&self, can: bool) -> Option<SentAs> {
        let expiring = self.counts.expiring;
        let left_out = if can { 0 } else { expiring };
        let how = if can { String::new() } else { format!("{} keeps a value until it is replaced", self.engine.name) };
        (expiring > 0).then(|| row("times to live", [expiring - left_out, 0, left_out], how))
    }

    fn scans(&self) -> Option<SentAs> {
        let scans = self.number(TraceOperation::Scan) - self.counts.command_scans;
        let otherwise = scans - self.counts.scans_of_length;
        let how = if otherwise > 0 { "one record, since the trace has no length" } else { "" };
        (scans > 0).then(|| row("scan lengths", [self.counts.scans_of_length, otherwise, 0], how.to_owned()))
    }

    fn scan_bounds(&self) -> Option<SentAs> {
        let (sent, bounds) = (self.counts.scans_bounded, self.counts.scan_bounds);
        let how = if bounds > sent { "keys are sent as ids, which a bound does not compare with" } else { "" };
        (bounds > 0).then(|| row("scan bounds", [sent, 0, bounds - sent], how.to_owned()))
    }

    fn commands(&self) -> Option<SentAs> {
        let (here, elsewhere, sent) = (self.counts.commands, self.counts.commands_elsewhere, self.by_command());
        let closest = format!("as the gets, puts and deletes of {} that come closest", self.engine.name);
        let how = match self.takes_commands {
            true => {
                let replaced = (here > sent).then(|| "as puts of `value_size` bytes".to_owned());
                let moved = (elsewhere > 0).then(|| format!("{elsewhere} of another database {closest}"));
                replaced.into_iter().chain(moved).collect::<Vec<String>>().join("; ")
            }
            false => closest,
        };
        (here + elsewhere > 0).then(|| row("commands", [sent, here + elsewhere - sent, 0], how))
    }

    fn multi_gets(&self, can: bool) -> Option<SentAs> {
        let requests = self.counts.multi_gets;
        let counts = if can { [requests, 0, 0] } else { [0, requests, 0] };
        let how = if can { "" } else { "one by one" };
        (requests > 0).then(|| row("multi-gets", counts, how.to_owned()))
    }
}
