//! `manometer engines`: the key-value engines of this build.

use comfy_table::Table;
use manometer_target::engine::{Capability, ENGINES};
use serde_json::json;

use crate::exit_status::ExitStatus;
use crate::output::Format;

/// List the key-value engines, their operations and the durability of their puts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer engines --format json")]
pub struct Args {
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Lists the engines.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    args.format
        .print(|| json!({ "engines": ENGINES.iter().map(document).collect::<Vec<_>>() }), || table().to_string())?;
    Ok(ExitStatus::Done)
}

fn document(engine: &manometer_target::engine::EngineInfo) -> serde_json::Value {
    json!({
        "name": engine.name,
        "version": (engine.version)(),
        "about": engine.about,
        "abilities": engine.capabilities,
        "durability": engine.durability,
        "keeps": engine.storage,
        "key_bytes_max": engine.key_bytes_max,
    })
}

/// The name of a capability in the JSON document.
fn name(capability: &Capability) -> String {
    json!(capability).as_str().unwrap_or_default().to_owned()
}

fn table() -> Table {
    let head = ["engine", "version", "description", "besides get, put, delete", "longest key", "durability of a put"];
    let mut table = crate::table::table(&head, head.len());
    for engine in ENGINES {
        let version = (engine.version)();
        let capabilities: Vec<String> = engine.capabilities.iter().map(name).collect();
        let capabilities = capabilities.join(", ");
        let longest = engine.key_bytes_max.map_or("any".to_owned(), |bytes| format!("{bytes} bytes"));
        table.add_row([engine.name, &version, engine.about, &capabilities, &longest, engine.durability]);
    }
    table
}
