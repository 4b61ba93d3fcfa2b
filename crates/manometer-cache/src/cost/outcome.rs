//! What arrangements were measured or computed to do.

use serde::Deserialize;

use super::level::{Level, LevelTable};
use super::number::{above_zero, above_zero_if_given};
use crate::CacheError;

/// What an arrangement does on a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
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
    pub origin: Level,
    /// What caches them.
    pub cache: Option<Level>,
    /// What was written to flash meanwhile, with write amplification.
    pub ssd_bytes_written: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Document {
    results: Vec<OutcomeTable>,
}

#[derive(Debug, Deserialize)]
struct OutcomeTable {
    arrangement: String,
    workload: String,
    mb_per_s: f64,
    requests_per_s: Option<f64>,
    seconds: Option<f64>,
    origin: LevelTable,
    cache: Option<LevelTable>,
    ssd_bytes_written: Option<f64>,
}

/// Reads results, each with the name of its file and its text.
///
/// # Errors
/// What is wrong with them, with its file.
pub fn outcomes(files: &[(String, String)]) -> Result<Vec<Outcome>, CacheError> {
    let mut all: Vec<(&str, Outcome)> = Vec::new();
    for (file, text) in files {
        for outcome in read(text).map_err(|error| CacheError::Wrong(format!("{file}: {error}")))? {
            let same = |(_, known): &&(&str, Outcome)| {
                known.arrangement == outcome.arrangement && known.workload == outcome.workload
            };
            if let Some((before, _)) = all.iter().find(same) {
                return Err(CacheError::Wrong(format!(
                    "{file}: {} was in {before} already: leave one out, or rename its arrangement",
                    outcome.name()
                )));
            }
            all.push((file, outcome));
        }
    }
    Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
}

fn read(text: &str) -> Result<Vec<Outcome>, CacheError> {
    let document: Document = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text))
        .map_err(|error| CacheError::Wrong(format!("no results of arrangements: {error}")))?;
    if document.results.is_empty() {
        return Err(CacheError::Wrong("there are no results in it".to_owned()));
    }
    document.results.into_iter().map(OutcomeTable::check).collect()
}

impl Outcome {
    /// The arrangement and the workload.
    pub fn name(&self) -> String {
        format!("`{}` on `{}`", self.arrangement, self.workload)
    }

    /// The levels, what holds the data first.
    pub fn levels(&self) -> impl Iterator<Item = &Level> {
        std::iter::once(&self.origin).chain(&self.cache)
    }
}

impl OutcomeTable {
    fn check(self) -> Result<Outcome, CacheError> {
        let name = format!("`{}` on `{}`", self.arrangement, self.workload);
        self.checked().map_err(|error| CacheError::Wrong(format!("{name}: {error}")))
    }

    fn checked(self) -> Result<Outcome, CacheError> {
        Ok(Outcome {
            mb_per_s: above_zero("mb_per_s", self.mb_per_s)?,
            requests_per_s: above_zero_if_given("requests_per_s", self.requests_per_s)?,
            seconds: above_zero_if_given("seconds", self.seconds)?,
            origin: self.origin.check("origin")?,
            cache: self.cache.map(|cache| cache.check("cache")).transpose()?,
            ssd_bytes_written: match self.ssd_bytes_written {
                Some(bytes) if bytes < 0.0 => {
                    return Err(CacheError::Wrong(format!("`ssd_bytes_written` is {bytes}: it is not below zero")));
                }
                bytes => bytes,
            },
            arrangement: self.arrangement,
            workload: self.workload,
        })
    }
}
