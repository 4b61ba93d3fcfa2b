//! Values of flags.

use std::collections::BTreeMap;

use anyhow::Context as _;

/// Parses a name as experiment files spell it.
pub fn from_name<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

/// Reads `NAME=VALUE` pairs.
pub fn pairs(texts: &[String], flag: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').with_context(|| format!("`{flag} {text}`: write NAME=VALUE"))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    texts.iter().map(pair).collect()
}
