//! Measured or simulated results of arrangements.

use serde::Deserialize;

use super::device_level::{DeviceLevel, RawLevel};
use super::positive::{optional_positive, positive};
use crate::CacheError;

/// The result of an arrangement on a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrangementResult {
    /// The arrangement's name.
    pub arrangement: String,
    /// The workload's name.
    pub workload: String,
    /// Throughput in 10^6 bytes per second.
    pub mb_per_s: f64,
    /// Throughput in requests per second.
    pub requests_per_s: Option<f64>,
    /// The length of the run.
    pub seconds: Option<f64>,
    /// The origin.
    pub origin: DeviceLevel,
    /// The cache, if any.
    pub cache: Option<DeviceLevel>,
    /// Bytes written to flash during the run, including write amplification.
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

/// Reads results from files, each given as name and text.
///
/// # Errors
/// The first problem, with its file.
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
    /// The names of the arrangement and the workload.
    pub fn name(&self) -> String {
        format!("`{}` on `{}`", self.arrangement, self.workload)
    }

    /// The levels, the origin first.
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
