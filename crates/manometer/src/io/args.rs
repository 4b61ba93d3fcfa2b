//! The flags of `manometer io`.

use std::path::PathBuf;

use manometer_measure::{ByteSize, Rate, Span};
use manometer_trace::TraceForm;
use manometer_workload::io::{BlockReplaySettings, FileReuse, IoEngine, IoJob, IoSettings};
use manometer_workload::replay::{ReplayModel, Timing};

use crate::output::Format;
use crate::parse::from_name;

/// The default duration in seconds.
const SECONDS_USUAL: f64 = 10.0;

/// Run one file workload and print its throughput and latency
///
/// A file that does not exist is created, fully written, and removed afterwards. One thread keeps --iodepth requests in
/// flight.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  manometer io --file ./probe --file-size 1GiB --write-ratio 0.3 --iodepth 32 --seconds 10\n  \
                  manometer io --file ./probe --file-size 8GiB --iodepth 64 --trace mysql.load.gz --time scaled --factor 60"
)]
pub struct Args {
    /// File; with several --files, the prefix of their names
    #[arg(long)]
    pub(super) file: PathBuf,

    /// Total size of all files
    #[arg(long, default_value = "1GiB")]
    pub(super) file_size: ByteSize,

    /// Number of files that share --file-size equally
    #[arg(long, default_value_t = 1)]
    pub(super) files: u32,

    /// Size of each request, a multiple of the file system's block
    #[arg(long, default_value = "4KiB")]
    pub(super) block_size: ByteSize,

    /// Share of requests that write, 0 to 1
    #[arg(long, default_value_t = 0.0)]
    pub(super) write_ratio: f64,

    /// Share of requests at random offsets, 0 to 1; the others are sequential
    #[arg(long, default_value_t = 1.0)]
    pub(super) random_ratio: f64,

    /// Queue depth: requests in flight at once, 1 to 1024
    #[arg(long, default_value_t = 1)]
    pub(super) iodepth: u32,

    /// Interface to the kernel; by default the fastest that this host allows
    #[arg(long, value_parser = io_engine)]
    pub(super) io_engine: Option<IoEngine>,

    /// Most bytes of the files in memory at once, with recycle and recycle_map [default: 64MiB]
    #[arg(long)]
    pub(super) memory: Option<ByteSize>,

    /// Bypass the page cache (direct I/O)
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = true,
          action = clap::ArgAction::Set, value_name = "true|false")]
    pub(super) direct: bool,

    /// Same as --direct false
    #[arg(long, conflicts_with = "direct")]
    pub(super) no_direct: bool,

    /// Every write waits until it is durable (RWF_DSYNC)
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = false,
          action = clap::ArgAction::Set, value_name = "true|false")]
    pub(super) dsync: bool,

    /// Call fdatasync after this many writes; 0 for never
    #[arg(long, default_value_t = 0)]
    pub(super) fdatasync_every: u64,

    /// Maximum rate, in requests (1000/s) or bytes (10MiB/s)
    #[arg(long)]
    pub(super) rate: Option<Rate>,

    /// Timetable of setting changes: "5s: iodepth = 2; 10s: write_ratio = 0.5"
    #[arg(long)]
    pub(super) script: Option<String>,

    /// Replay the requests of this block trace instead of a pattern
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,

    #[command(flatten)]
    pub(super) form: TraceForm,

    /// Dependencies between requests of the trace: open, closed-conservative or closed-unordered
    #[arg(long, value_parser = from_name::<ReplayModel>, requires = "trace")]
    pub(super) model: Option<ReplayModel>,

    /// Times of the requests of the trace: original, scaled (with --factor) or full
    #[arg(long, value_parser = from_name::<Timing>, requires = "trace")]
    pub(super) time: Option<Timing>,

    /// Speed-up with --time scaled: 2 halves the span
    #[arg(long, requires = "trace")]
    pub(super) factor: Option<f64>,

    /// Seconds to measure; by default 10, or the whole trace
    #[arg(long)]
    pub(super) seconds: Option<f64>,

    /// Sample interval
    #[arg(long, default_value = "1s")]
    pub(super) interval: Span,

    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,

    /// Keep the created file for the next run
    #[arg(long)]
    pub(super) keep: bool,

    /// Overwrite an existing file that Manometer did not create; its content is lost
    #[arg(long)]
    pub(super) overwrite: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
}

impl Args {
    pub(super) fn job(&self) -> Result<IoJob, String> {
        if let Some(seconds) = self.seconds.filter(|seconds| !(*seconds > 0.0 && *seconds <= 1e9)) {
            return Err(format!("--seconds is {seconds}: write a number above 0"));
        }
        if self.interval.nanoseconds() == 0 {
            return Err("--interval is 0: write a duration such as 1s".to_owned());
        }
        let settings = self.settings();
        let writes = settings.writes().map_err(|error| error.to_string())?;
        let existing = match (writes, self.overwrite) {
            (false, _) => FileReuse::ReadOnly,
            (true, false) => FileReuse::Reuse,
            (true, true) => FileReuse::Overwrite,
        };
        Ok(IoJob::on_file(&self.file, existing, settings, self.seed))
    }

    fn settings(&self) -> IoSettings {
        IoSettings {
            file_size: self.file_size,
            files: self.files,
            block_size: self.block_size,
            write_ratio: self.write_ratio,
            random_ratio: self.random_ratio,
            iodepth: self.iodepth,
            direct: self.direct && !self.no_direct,
            dsync: self.dsync,
            fdatasync_every: self.fdatasync_every,
            rate: self.rate,
            io_engine: self.io_engine,
            memory: self.memory,
            script: self.script.clone(),
            replay: BlockReplaySettings {
                trace: self.trace.clone(),
                form: self.form.clone(),
                model: self.model,
                time: self.time,
                factor: self.factor,
            },
        }
    }

    /// The longest duration; none where the trace decides.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.seconds.or((self.trace.is_none()).then_some(SECONDS_USUAL))
    }
}

fn io_engine(text: &str) -> Result<IoEngine, String> {
    let named = IoEngine::ALL.into_iter().find(|engine| engine.name() == text);
    named.ok_or_else(|| format!("write {}", IoEngine::ALL.map(IoEngine::name).join(", ")))
}
