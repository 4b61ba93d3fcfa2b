//! What arrangements were measured or computed to do.

use serde::Deserialize;

use super::device_level::{DeviceLevel, RawLevel};
use super::positive::{optional_positive, positive};
use crate::CacheError;

/// What an arrangement does on a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrangementResult {
    /// What it is called.
    pub arrangement: String,
    /// What it was put to.
    pub workload: String,
    /// Its throughput, in 10^6 bytes per second.
    pub mb_per_s: f64,
    /// The same in requests.
    pub requests_per_s: Option<f64>,
    /// How long it ran.
    pub seconds: Option<f64>,
    /// What holds the data.
    pub origin: DeviceLevel,
    /// What caches them.
    pub cache: Option<DeviceLevel>,
    /// What was written to flash meanwhile, with write amplification.
    pub ssd_bytes_written: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct ResultFile {
    results: Vec<RawResult>,
}

#[derive(Debug, Deserialize)]
struct RawResult {
    arrangement: String,
    workload: String,
    mb_per_s: f64,
    requests_per_s: Option<f64>,
    seconds: Option<f64>,
    origin: RawLevel,
    cache: Option<RawLevel>,
    ssd_bytes_written: Option<f64>,
}

/// Reads results, each with the name of its file and its text.
///
/// # Errors
/// What is wrong with them, with its file.
pub fn read_results(files: &[(String, String)]) -> Result<Vec<ArrangementResult>, CacheError> {
    let mut all: Vec<(&str, ArrangementResult)> = Vec::new();
    for (file, text) in files {
        for outcome in read(text).map_err(|error| CacheError::Invalid(format!("{file}: {error}")))? {
            let same = |(_, known): &&(&str, ArrangementResult)| {
                known.arrangement == outcome.arrangement && known.workload == outcome.workload
            };
            if let Some((before, _)) = all.iter().find(same) {
                return Err(CacheError::Invalid(format!(
                    "{file}: {} was in {before} already: leave one out, or rename its arrangement",
                    outcome.name()
                )));
            }
            all.push((file, outcome));
        }
    }
    Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
}

fn read(text: &str) -> Result<Vec<ArrangementResult>, CacheError> {
    let document: ResultFile = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text))
        .map_err(|error| CacheError::Invalid(format!("no results of arrangements: {error}")))?;
    if document.results.is_empty() {
        return Err(CacheError::Invalid("there are no results in it".to_owned()));
    }
    document.results.into_iter().map(RawResult::check).collect()
}

impl ArrangementResult {
    /// The arrangement and the workload.
    pub fn name(&self) -> String {
        format!("`{}` on `{}`", self.arrangement, self.workload)
    }

    /// The levels, what holds the data first.
    pub fn levels(&self) -> impl Iterator<Item = &DeviceLevel> {
        std::iter::once(&self.origin).chain(&self.cache)
    }
}

impl RawResult {
    fn check(self) -> Result<ArrangementResult, CacheError> {
        let name = format!("`{}` on `{}`", self.arrangement, self.workload);
        self.checked().map_err(|error| CacheError::Invalid(format!("{name}: {error}")))
    }

    fn checked(self) -> Result<ArrangementResult, CacheError> {
        Ok(ArrangementResult {
            mb_per_s: positive("mb_per_s", self.mb_per_s)?,
            requests_per_s: optional_positive("requests_per_s", self.requests_per_s)?,
            seconds: optional_positive("seconds", self.seconds)?,
            origin: self.origin.check("origin")?,
            cache: self.cache.map(|cache| cache.check("cache")).transpose()?,
            ssd_bytes_written: match self.ssd_bytes_written {
                Some(bytes) if bytes < 0.0 => {
                    return Err(CacheError::Invalid(format!("`ssd_bytes_written` is {bytes}: it is not below zero")));
                }
                bytes => bytes,
            },
            arrangement: self.arrangement,
            workload: self.workload,
        })
    }
}
