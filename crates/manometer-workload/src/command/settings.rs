//! The parameters of a `command` workload.

use std::collections::BTreeMap;

use manometer_measure::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An external program, and how its output becomes samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSettings {
    /// The program and its arguments: a list of words, or one line that is split as a shell does, without a shell.
    /// `{directory}`, `{seed}` and `{interval_ms}` are replaced.
    pub command: CommandLine,
    /// The parser of its output.
    pub parser: ParserName,
    /// For the parser `regex`: operations, each with the regular expression of the lines that report it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patterns: BTreeMap<String, String>,
    /// Environment variables to add.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// A command to run to its end before the workload is ready, for example to load a database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prepare: Option<CommandLine>,
    /// What to do when the program ends by itself with status 0.
    #[serde(default)]
    pub at_end: EndPolicy,
    /// How long the program may run without a report that its parser understands.
    #[serde(default = "default_patience")]
    pub patience: Span,
}

fn default_patience() -> Span {
    Span(std::time::Duration::from_secs(30))
}

/// A command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandLine {
    /// Word by word.
    List(Vec<String>),
    /// One line, split as a shell does.
    Line(String),
}

/// The parser of a program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ParserName {
    /// `fio` with `--output-format=json+ --status-interval=1`.
    Fio,
    /// RocksDB's `db_bench` with `--stats_interval_seconds=1`.
    #[serde(rename = "db_bench")]
    DbBench,
    /// YCSB with `-s`.
    Ycsb,
    /// `redis-benchmark`.
    RedisBenchmark,
    /// `memtier_benchmark`.
    Memtier,
    /// `sysbench` with `--report-interval=1`.
    Sysbench,
    /// Your own regular expressions.
    Regex,
}

/// What to do when a program ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndPolicy {
    /// It is started again.
    #[default]
    Restart,
    /// It stays ended and leaves a gap.
    Rest,
    /// The workload has failed.
    Fail,
}
