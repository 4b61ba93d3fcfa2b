//! YCSB's properties: the core workloads' own, files in their format, and which of them matter to us.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use manometer_target::engine::nearest;

use super::error::KvError;

/// Properties that we follow.
const FOLLOWED: [&str; 12] = [
    "fieldcount",
    "fieldlength",
    "insertproportion",
    "readallfields",
    "readmodifywriteproportion",
    "readproportion",
    "recordcount",
    "requestdistribution",
    "scanproportion",
    "threadcount",
    "updateproportion",
    "writeallfields",
];

/// Properties that change nothing here: what they are about is settled elsewhere or does not exist.
const WITHOUT_EFFECT: [&str; 16] = [
    "dataintegrity",
    "db",
    "exporter",
    "fieldnameprefix",
    "maxexecutiontime",
    "maxscanlength",
    "measurementtype",
    "minscanlength",
    "operationcount",
    "readallfieldsbyname",
    "scanlengthdistribution",
    "status.interval",
    "table",
    "timeseries.granularity",
    "warmupexecutiontime",
    "workload",
];

/// Properties that are followed only at the value given here.
const ONLY_AT: [(&str, &str); 5] = [
    ("fieldlengthdistribution", "constant"),
    ("insertorder", "hashed"),
    ("insertstart", "0"),
    ("target", "0"),
    ("zeropadding", "1"),
];

/// What the core workloads have in common.
const CORE: [(&str, &str); 3] =
    [("recordcount", "1000"), ("requestdistribution", "zipfian"), ("writeallfields", "true")];

/// Properties by name, each with the place it was set at.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Properties {
    values: BTreeMap<String, (String, String)>,
    /// What was given but has no effect, for the person to know.
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
            Some("d" | "e") => Err(KvError::Grows(name.to_owned())),
            _ => Self::of_file(Path::new(name)),
        }
    }

    fn of_file(path: &Path) -> Result<Self, KvError> {
        let text = fs::read_to_string(path)
            .map_err(|error| KvError::UnknownWorkload { got: path.display().to_string(), reason: error.to_string() })?;
        let mut properties = Self::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let place = format!("{}:{}", path.display(), number + 1);
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            let Some((name, value)) = line.split_once(['=', ':']) else {
                return Err(KvError::BadLine { place, line: line.to_owned() });
            };
            properties.set(place, name.trim(), value.trim())?;
        }
        Ok(properties)
    }

    /// Sets one property.
    pub(super) fn set(&mut self, place: String, name: &str, value: &str) -> Result<(), KvError> {
        let bad = |wanted: String| KvError::BadProperty {
            place: place.clone(),
            name: name.to_owned(),
            value: value.to_owned(),
            wanted,
        };
        if FOLLOWED.contains(&name) {
            self.values.insert(name.to_owned(), (value.to_owned(), place));
        } else if let Some((_, only)) = ONLY_AT.iter().find(|(known, _)| *known == name) {
            if value != *only {
                return Err(bad(format!("only `{only}` is supported yet")));
            }
        } else if WITHOUT_EFFECT.contains(&name) {
            self.notes.push(format!("{place}: `{name}` has no effect here"));
        } else if name.contains('.') {
            self.notes.push(format!("{place}: `{name}` belongs to a binding of YCSB and has no effect here"));
        } else {
            let known = FOLLOWED.into_iter().chain(ONLY_AT.into_iter().map(|(name, _)| name));
            return Err(KvError::UnknownProperty {
                nearest: nearest(name, known.chain(WITHOUT_EFFECT)),
                name: name.to_owned(),
                place,
            });
        }
        Ok(())
    }

    /// The text of `name`, if it is set.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|(value, _)| value.as_str())
    }

    /// The value of `name`, if it is set.
    pub(super) fn value<T: std::str::FromStr>(&self, name: &str, wanted: &str) -> Result<Option<T>, KvError> {
        let Some((text, place)) = self.values.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| KvError::BadProperty {
            place: place.clone(),
            name: name.to_owned(),
            value: text.clone(),
            wanted: wanted.to_owned(),
        })
    }
}
