//! db_bench's parameters: the known, the used and the given ones.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use manometer_measure::suggest::similar;

use crate::kv::error::KvError;

/// Parameters that some benchmark supports.
const SUPPORTED: &[&str] = &[
    "batch_size",
    "benchmark_write_rate_limit",
    "bgwriter_num",
    "compression_ratio",
    "deletes",
    "iter_k",
    "iter_sigma",
    "iter_theta",
    "key_dist_a",
    "key_dist_b",
    "key_size",
    "keyrange_dist_a",
    "keyrange_dist_b",
    "keyrange_dist_c",
    "keyrange_dist_d",
    "keyrange_num",
    "merge_keys",
    "mergereadpercent",
    "mix_get_ratio",
    "mix_max_scan_len",
    "mix_max_value_size",
    "mix_put_ratio",
    "mix_seek_ratio",
    "multiread_stride",
    "num",
    "read_random_exp_range",
    "readhot_fraction",
    "reads",
    "readwritepercent",
    "reverse_iterator",
    "seek_nexts",
    "sine_a",
    "sine_b",
    "sine_c",
    "sine_d",
    "sine_mix_rate",
    "sine_mix_rate_interval_milliseconds",
    "sine_mix_rate_noise",
    "use_existing_db",
    "value_k",
    "value_sigma",
    "value_size",
    "value_size_distribution_type",
    "value_size_max",
    "value_size_min",
    "value_theta",
    "writes",
    "mix_accesses",
    "multiread_batched",
    "same_value_percentage",
];

/// Parameters that other settings replace, and which.
const SET_ELSEWHERE: &[(&str, &str)] = &[
    ("benchmark_read_rate_limit", "set the rate of the workload instead"),
    ("benchmarks", "that is the workload"),
    ("db", "that is `--dir`, or the experiment's directory"),
    ("duration", "that is `--seconds`, or the experiment's plan"),
    ("histogram", "latencies are always counted"),
    ("seed", "that is `--seed`, or the experiment's seed"),
    ("statistics", "the engine's counters are always on"),
    ("threads", "that is `--threads`, or `threads`"),
    ("write_buffer_size", "that is an option of the engine"),
];

/// Parameters that are supported only with this value.
const FIXED_VALUES: &[(&str, &str)] =
    &[("mix_accesses", "-1"), ("multiread_batched", "true"), ("same_value_percentage", "0")];

/// The given parameters, and those that a benchmark used.
#[derive(Debug)]
pub(super) struct Parameters<'a> {
    given: &'a BTreeMap<String, String>,
    used: RefCell<BTreeSet<&'static str>>,
}

impl<'a> Parameters<'a> {
    /// Checks the names in `given`.
    pub(super) fn new(given: &'a BTreeMap<String, String>) -> Result<Self, KvError> {
        for (name, value) in given {
            let bad = |wanted: &str| Err(bad_parameter(name, value, wanted));
            if let Some((_, wanted)) = SET_ELSEWHERE.iter().find(|(known, _)| known == name) {
                return bad(wanted);
            }
            if let Some((_, only)) =
                FIXED_VALUES.iter().find(|(known, _)| known == name).filter(|(_, only)| value != only)
            {
                return bad(&format!("only `{only}` is supported"));
            }
            if !SUPPORTED.contains(&name.as_str()) {
                let elsewhere = SET_ELSEWHERE.iter().map(|(known, _)| *known);
                let similar = similar(name, SUPPORTED.iter().copied().chain(elsewhere));
                return Err(KvError::UnknownParameter { name: name.clone(), similar });
            }
        }
        Ok(Self { given, used: RefCell::default() })
    }

    /// The value of `name`, if it was given.
    pub(super) fn text(&self, name: &'static str) -> Option<&'a str> {
        self.used.borrow_mut().insert(name);
        self.given.get(name).map(String::as_str)
    }

    /// The value of `name` as a number, if it was given; `good` checks it.
    pub(super) fn number<T: std::str::FromStr>(
        &self,
        name: &'static str,
        wanted: &str,
        good: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, KvError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(good);
        number.map(Some).ok_or_else(|| bad_parameter(name, text, wanted))
    }

    /// A count of at least `least`.
    pub(super) fn count(&self, name: &'static str, least: u64) -> Result<Option<u64>, KvError> {
        self.number(name, &format!("write a whole number from {least}"), |count| *count >= least)
    }

    /// A finite number, `default` where none was given.
    pub(super) fn real(&self, name: &'static str, default: f64) -> Result<f64, KvError> {
        Ok(self.number(name, "write a number", |number: &f64| number.is_finite())?.unwrap_or(default))
    }

    /// A number from 0 to 1.
    pub(super) fn share(&self, name: &'static str, default: f64) -> Result<f64, KvError> {
        let good = |share: &f64| (0.0..=1.0).contains(share);
        Ok(self.number(name, "write a share from 0 to 1", good)?.unwrap_or(default))
    }

    /// A whole number from 0 to 100.
    pub(super) fn percentage(&self, name: &'static str, default: u32) -> Result<u32, KvError> {
        let good = |percentage: &u32| *percentage <= 100;
        Ok(self.number(name, "write a whole number from 0 to 100", good)?.unwrap_or(default))
    }

    /// Whether `name` is on.
    pub(super) fn flag(&self, name: &'static str, default: bool) -> Result<bool, KvError> {
        match self.text(name) {
            None => Ok(default),
            Some("true" | "1") => Ok(true),
            Some("false" | "0") => Ok(false),
            Some(other) => Err(bad_parameter(name, other, "write true or false")),
        }
    }

    /// The given parameters that have no effect on `benchmark`, as notes for the user.
    pub(super) fn ignored(&self, benchmark: &str) -> Vec<String> {
        let used = self.used.borrow();
        let idle = self
            .given
            .keys()
            .filter(|name| !used.contains(name.as_str()) && !FIXED_VALUES.iter().any(|(known, _)| known == name));
        idle.map(|name| format!("`{name}` has no effect on {benchmark}")).collect()
    }
}

/// The error of a parameter with an invalid value.
pub(super) fn bad_parameter(name: &str, value: &str, wanted: &str) -> KvError {
    KvError::BadProperty {
        place: "properties".to_owned(),
        name: name.to_owned(),
        value: value.to_owned(),
        wanted: wanted.to_owned(),
    }
}
