//! `manometer trace`: one file per verb below it.

mod anonymise;
mod capture;
mod characterise;
mod clone;
mod complete;
mod convert;
mod head;
mod info;
pub(crate) mod input;
mod intensify;
mod merge;
mod output;
mod sample;
mod scale;
mod slice;
mod subtrace;
mod synthesise;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Traces: recorded sequences of requests.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  manometer trace info cluster52.csv.zst")]
pub struct TraceArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Anonymise(anonymise::AnonymiseArgs),
    Capture(capture::CaptureArgs),
    Characterise(characterise::CharacteriseArgs),
    Clone(clone::CloneArgs),
    Complete(complete::CompleteArgs),
    Convert(convert::ConvertArgs),
    Head(head::HeadArgs),
    Info(info::InfoArgs),
    Intensify(intensify::IntensifyArgs),
    Merge(merge::MergeArgs),
    Sample(sample::SampleArgs),
    Scale(scale::ScaleArgs),
    Slice(slice::SliceArgs),
    Subtrace(subtrace::SubtraceArgs),
    Synthesise(synthesise::SynthesiseArgs),
}

/// Does what the verb says.
pub fn run(args: &TraceArgs) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Anonymise(args) => anonymise::run(args),
        Verb::Capture(args) => capture::run(args),
        Verb::Characterise(args) => characterise::run(args),
        Verb::Clone(args) => clone::run(args),
        Verb::Complete(args) => complete::run(args),
        Verb::Convert(args) => convert::run(args),
        Verb::Head(args) => head::run(args),
        Verb::Info(args) => info::run(args),
        Verb::Intensify(args) => intensify::run(args),
        Verb::Merge(args) => merge::run(args),
        Verb::Sample(args) => sample::run(args),
        Verb::Scale(args) => scale::run(args),
        Verb::Slice(args) => slice::run(args),
        Verb::Subtrace(args) => subtrace::run(args),
        Verb::Synthesise(args) => synthesise::run(args),
    }
}
