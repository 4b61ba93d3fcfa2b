//! What the experiment is about.

use std::path::PathBuf;

use clap::ValueEnum as _;
use manometer_measure::{ByteSize, Span};
use manometer_target::engine::{self, ENGINES, EngineInfo};

use super::args::Args;
use super::neighbour::NeighbourKind;
use super::questions::Questions;

/// The warm-up, in seconds.
pub(super) const WARMUP_S: f64 = 5.0;
/// The length of a block of an interleaved plan with its washout, in seconds.
pub(super) const BLOCK_S: f64 = 1.4;
/// Fewer rounds give no interval.
const MIN_ROUNDS: f64 = 5.0;
/// The most rounds of a plan.
const MAX_ROUNDS: f64 = 10_000.0;

/// The answers to the six questions.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) engine: &'static EngineInfo,
    pub(super) workload: String,
    pub(super) data: ByteSize,
    pub(super) directory: PathBuf,
    pub(super) neighbour: NeighbourKind,
    pub(super) time: Span,
}

impl Answers {
    /// The answers by flags, on the terminal, or by default.
    ///
    /// # Errors
    /// An engine is unknown, or nobody answers.
    pub(super) fn of(args: &Args) -> anyhow::Result<Self> {
        let questions = Questions::new(args.yes);
        let engines: Vec<&str> = ENGINES.iter().map(|engine| engine.name).collect();
        let neighbours: Vec<String> = NeighbourKind::value_variants().iter().map(|one| one.to_string()).collect();
        let runs = format!("What runs? One of {}", engines.join(", "));
        let engine: String = questions.ask(args.engine.clone(), &runs, engines.first().copied().unwrap_or("null"))?;
        let does = "What does it do? ycsb-a (half updates), ycsb-b (few updates), ycsb-c (reads), ycsb-e (scans) …";
        let disturbs = format!("Who disturbs it? One of {}", neighbours.join(", "));
        Ok(Self {
            engine: engine::find(&engine)?,
            workload: questions.ask(args.workload.clone(), does, "ycsb-b")?,
            data: questions.ask(args.data, "How much data does it have? More than memory shows the disk", "256MiB")?,
            directory: questions.ask(args.directory.clone(), "Where? A directory on the disk", "manometer-data")?,
            neighbour: questions.ask(args.neighbour, &disturbs, "mixed")?,
            time: questions.ask(args.time, "How long may it take?", "2m")?,
        })
    }

    /// The number of rounds that fit into the time, a whole number of balanced designs where there are several.
    ///
    /// # Errors
    /// The time is too short.
    pub(super) fn rounds(&self) -> anyhow::Result<u32> {
        let phases = 1 + self.neighbour.steps();
        let round_s = phases as f64 * BLOCK_S;
        let rounds = ((self.time.seconds() - WARMUP_S) / round_s).floor().min(MAX_ROUNDS);
        let least = Span(std::time::Duration::from_secs((WARMUP_S + MIN_ROUNDS * round_s).ceil() as u64));
        anyhow::ensure!(rounds >= MIN_ROUNDS, "--time {}: an interval needs at least {least}", self.time);
        let balanced = if phases.is_multiple_of(2) { phases } else { 2 * phases } as u32;
        let rounds = rounds as u32;
        let whole = rounds - rounds % balanced;
        Ok(if f64::from(whole) >= MIN_ROUNDS { whole } else { rounds })
    }
}
