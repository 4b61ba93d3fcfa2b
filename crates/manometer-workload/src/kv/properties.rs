//! YCSB's properties: those of the core workloads, those of files, and which are supported.

use std::collections::BTreeMap;
use std::path::Path;

use manometer_measure::regular_file;
use manometer_measure::suggest::similar;

use super::error::KvError;
use super::java_properties::{self, MalformedLine};
use crate::settings_file::MOST_FILE_BYTES;

/// Supported properties.
const SUPPORTED: [&str; 30] = [
    "dataintegrity",
    "exponential.frac",
    "exponential.percentile",
    "fieldcount",
    "fieldlength",
    "fieldlengthdistribution",
    "fieldlengthhistogram",
    "hotspotdatafraction",
    "hotspotopnfraction",
    "insertcount",
    "insertorder",
    "insertproportion",
    "insertstart",
    "maxexecutiontime",
    "maxscanlength",
    "minfieldlength",
    "minscanlength",
    "operationcount",
    "readallfields",
    "readmodifywriteproportion",
    "readproportion",
    "recordcount",
    "requestdistribution",
    "scanlengthdistribution",
    "scanproportion",
    "target",
    "threadcount",
    "updateproportion",
    "writeallfields",
    "zeropadding",
];

/// The prefix of supported properties with a dot; any other property with a dot belongs to a binding.
const OWN_PREFIX: &str = "exponential.";

/// Properties without effect: other settings replace them, or they do not apply.
const IGNORED: [&str; 19] = [
    "core_workload_insertion_retry_interval",
    "core_workload_insertion_retry_limit",
    "db",
    "dotransactions",
    "exporter",
    "exportfile",
    "fieldnameprefix",
    "label",
    "latencytrackederrors",
    "measurement.interval",
    "measurement.raw.output_file",
    "measurementtype",
    "readallfieldsbyname",
    "reportlatencyforeacherror",
    "status.interval",
    "table",
    "timeseries.granularity",
    "warmupexecutiontime",
    "workload",
];

/// The common properties of the core workloads.
const CORE: [(&str, &str); 3] =
    [("recordcount", "1000"), ("requestdistribution", "zipfian"), ("writeallfields", "true")];

/// Properties by name, each with the place it was set at.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Properties {
    values: BTreeMap<String, (String, String)>,
    /// Notes for the user on given properties without effect.
    pub(super) notes: Vec<String>,
}

impl Properties {
    /// The properties of a core workload, by YCSB's name or ours, or of a file.
    pub(super) fn of_workload(name: &str) -> Result<Self, KvError> {
        let core = |pairs: &[(&str, &str)]| {
            let mut properties = Self::default();
            for (key, value) in CORE.iter().chain(pairs) {
                properties.values.insert((*key).to_owned(), ((*value).to_owned(), name.to_owned()));
            }
            Ok(properties)
        };
        let letter = name.strip_prefix("ycsb-").or_else(|| name.strip_prefix("workload"));
        match letter.filter(|_| !Path::new(name).exists()) {
            Some("a") => core(&[("readproportion", "0.5"), ("updateproportion", "0.5")]),
            Some("b") => core(&[("readproportion", "0.95"), ("updateproportion", "0.05")]),
            Some("c") => core(&[("readproportion", "1"), ("updateproportion", "0")]),
            Some("f") => {
                core(&[("readproportion", "0.5"), ("updateproportion", "0"), ("readmodifywriteproportion", "0.5")])
            }
            Some("d") => core(&[
                ("readproportion", "0.95"),
                ("updateproportion", "0"),
                ("insertproportion", "0.05"),
                ("requestdistribution", "latest"),
            ]),
            Some("e") => core(&[
                ("readproportion", "0"),
                ("updateproportion", "0"),
                ("scanproportion", "0.95"),
                ("insertproportion", "0.05"),
                ("maxscanlength", "100"),
            ]),
            _ => Self::of_file(Path::new(name)),
        }
    }

    fn of_file(path: &Path) -> Result<Self, KvError> {
        let bytes = regular_file::read(path, MOST_FILE_BYTES)
            .map_err(|error| KvError::UnknownWorkload { got: path.display().to_string(), reason: error.to_string() })?;
        let mut properties = Self::default();
        let place = |number| format!("{}:{number}", path.display());
        let lines = java_properties::parse(&bytes)
            .map_err(|MalformedLine { number, line }| KvError::BadLine { place: place(number), line })?;
        for line in lines {
            properties.set(place(line.number), &line.name, &line.value)?;
        }
        Ok(properties)
    }

    /// Overrides properties with those of `later`.
    pub(super) fn override_with(&mut self, later: Self) {
        self.values.extend(later.values);
        self.notes.extend(later.notes);
    }

    /// Sets one property.
    pub(super) fn set(&mut self, place: String, name: &str, value: &str) -> Result<(), KvError> {
        if SUPPORTED.contains(&name) {
            self.values.insert(name.to_owned(), (value.to_owned(), place));
        } else if IGNORED.contains(&name) {
            self.notes.push(format!("{place}: `{name}` has no effect here"));
        } else if name.contains('.') && !name.starts_with(OWN_PREFIX) {
            self.notes.push(format!("{place}: `{name}` belongs to a binding of YCSB and has no effect here"));
        } else {
            return Err(KvError::UnknownProperty {
                similar: similar(name, SUPPORTED.into_iter().chain(IGNORED)),
                name: name.to_owned(),
                place,
            });
        }
        Ok(())
    }

    /// The text of `name`, if it is set.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|(value, _)| value.trim())
    }

    /// The value of `name`, if it is set.
    pub(super) fn value<T: std::str::FromStr>(&self, name: &str, wanted: &str) -> Result<Option<T>, KvError> {
        let Some((text, place)) = self.values.get(name) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| KvError::BadProperty {
            place: place.clone(),
            name: name.to_owned(),
            value: text.clone(),
            wanted: wanted.to_owned(),
        })
    }
}
