//! The options of the engine, from flags.

use std::collections::BTreeMap;

use anyhow::Context as _;
use manometer_target::engine;
use manometer_target::engine::EngineOptions;

use super::args::Args;
use crate::parse::{self, pairs};

/// The options, if flags give any.
pub(super) fn engine_options(args: &Args) -> anyhow::Result<Option<EngineOptions>> {
    let mut given = pairs(&args.option, "--option")?;
    add_memtable(args, &mut given)?;
    Ok(parse::engine_options(args.options.as_ref(), given))
}

/// Adds `--memtable` under its name in the engine.
fn add_memtable(args: &Args, given: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
    let Some(size) = args.memtable else { return Ok(()) };
    let info = engine::find(&args.engine)?;
    let name = info.memtable_option.with_context(|| {
        let with = engine::ENGINES.iter().filter(|info| info.memtable_option.is_some()).map(|info| info.name);
        format!("`--memtable`: {} has no memtable option; {} have one", info.name, with.collect::<Vec<_>>().join(", "))
    })?;
    match given.insert(name.to_owned(), size.0.to_string()) {
        None => Ok(()),
        Some(other) => {
            anyhow::bail!("`--memtable {size}` and `--option {name}={other}` set the same option: leave one out")
        }
    }
}
