//! The flags of `manometer io`.

use std::path::PathBuf;

use manometer_measure::{ByteSize, Rate, Span};
use manometer_trace::TraceForm;
use manometer_workload::io::{BlockReplaySettings, FileReuse, IoEngine, IoJob, IoSettings};
use manometer_workload::replay::{Model, Timing};

use crate::output::Format;
use crate::parse::from_name;

/// How long is measured unless said, in seconds.
const SECONDS_USUAL: f64 = 10.0;

/// Read and write a file, and say how fast that went
///
/// The file is made and fully written when it does not exist, and removed afterwards. One thread keeps
/// --iodepth requests in flight.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  manometer io --file ./probe --file-size 1GiB --write-ratio 0.3 --iodepth 32 --seconds 10\n  \
                  manometer io --file ./probe --file-size 8GiB --iodepth 64 --trace mysql.load.gz --time scaled --factor 60"
)]
pub struct Args {
    /// The file; with several --files, the beginning of their names
    #[arg(long)]
    pub(super) file: PathBuf,

    /// Bytes of all files together
    #[arg(long, default_value = "1GiB")]
    pub(super) file_size: ByteSize,

    /// How many files share --file-size in equal parts
    #[arg(long, default_value_t = 1)]
    pub(super) files: u32,

    /// Bytes of each request, a multiple of the file system's block
    #[arg(long, default_value = "4KiB")]
    pub(super) block_size: ByteSize,

    /// The share of requests that write, 0 to 1
    #[arg(long, default_value_t = 0.0)]
    pub(super) write_ratio: f64,

    /// The share of requests that go to a random part of the file, 0 to 1; the others to the next part
    #[arg(long, default_value_t = 1.0)]
    pub(super) random_ratio: f64,

    /// Requests in flight at once, 1 to 1024
    #[arg(long, default_value_t = 1)]
    pub(super) iodepth: u32,

    /// How requests reach the kernel; unsaid, the best that this host allows
    #[arg(long, value_parser = io_engine)]
    pub(super) io_engine: Option<IoEngine>,

    /// Go past the page cache
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = true,
          action = clap::ArgAction::Set, value_name = "true|false")]
    pub(super) direct: bool,

    /// The same as --direct false
    #[arg(long, conflicts_with = "direct")]
    pub(super) no_direct: bool,

    /// Each write waits until it is durable
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = false,
          action = clap::ArgAction::Set, value_name = "true|false")]
    pub(super) dsync: bool,

    /// Call fdatasync after so many writes; 0 for never
    #[arg(long, default_value_t = 0)]
    pub(super) fdatasync_every: u64,

    /// The most requests (1000/s) or bytes (10MiB/s) per second
    #[arg(long)]
    pub(super) rate: Option<Rate>,

    /// Changes on a timetable: "5s: iodepth = 2; 10s: write_ratio = 0.5"
    #[arg(long)]
    pub(super) script: Option<String>,

    /// A recorded trace of a device whose requests are sent instead of a pattern's
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,

    #[command(flatten)]
    pub(super) form: TraceForm,

    /// Which of the trace's requests wait for which: open, closed-conservative or closed-unordered
    #[arg(long, value_parser = from_name::<Model>, requires = "trace")]
    pub(super) model: Option<Model>,

    /// When the trace's requests are sent: original, scaled (with --factor) or full
    #[arg(long, value_parser = from_name::<Timing>, requires = "trace")]
    pub(super) time: Option<Timing>,

    /// How much faster than recorded: 2 halves the span. With --time scaled
    #[arg(long, requires = "trace")]
    pub(super) factor: Option<f64>,

    /// How long to measure, in seconds; 10 unless said, and all of a trace
    #[arg(long)]
    pub(super) seconds: Option<f64>,

    /// How often to tell what happened
    #[arg(long, default_value = "1s")]
    pub(super) interval: Span,

    /// The seed of every random choice
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,

    /// Keep the file that was made for the next run
    #[arg(long)]
    pub(super) keep: bool,

    /// Write into an existing file even if Manometer did not make it: what it holds is lost
    #[arg(long)]
    pub(super) overwrite: bool,

    /// For people or for machines
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
}

impl Args {
    pub(super) fn job(&self) -> Result<IoJob, String> {
        if let Some(seconds) = self.seconds.filter(|seconds| !(*seconds > 0.0 && *seconds <= 1e9)) {
            return Err(format!("--seconds is {seconds}: write a number above 0"));
        }
        if self.interval.nanoseconds() == 0 {
            return Err("--interval is 0: write a stretch of time such as 1s".to_owned());
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

    /// How long to measure at most; nothing where the trace says.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.seconds.or((self.trace.is_none()).then_some(SECONDS_USUAL))
    }
}

fn io_engine(text: &str) -> Result<IoEngine, String> {
    let named = IoEngine::ALL.into_iter().find(|engine| engine.name() == text);
    named.ok_or_else(|| format!("write {}", IoEngine::ALL.map(IoEngine::name).join(", ")))
}
