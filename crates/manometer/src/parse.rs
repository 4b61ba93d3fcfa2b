//! Values of flags.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use manometer_target::engine::EngineOptions;

/// Parses a name as experiment files spell it.
pub fn from_name<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

/// An engine's options, from its options file or from `NAME=VALUE` pairs; none without either.
pub fn engine_options(file: Option<&PathBuf>, given: BTreeMap<String, String>) -> Option<EngineOptions> {
    if let Some(file) = file {
        return Some(EngineOptions::File(file.clone()));
    }
    let table = given.into_iter().map(|(name, value)| (name, value.into())).collect::<serde_json::Map<_, _>>();
    (!table.is_empty()).then_some(EngineOptions::Table(table))
}

/// Reads `NAME=VALUE` pairs.
pub fn pairs(texts: &[String], flag: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').with_context(|| format!("`{flag} {text}`: write NAME=VALUE"))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    texts.iter().map(pair).collect()
}
