//! `manometer io`: one `io` workload alone, from flags.

mod show;
mod summary;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use manometer_measure::{ByteSize, MonotonicClock, Rate, Span};
use manometer_session::alone::{self, Observer};
use manometer_session::error::SessionError;
use manometer_session::protocol::{Control, Message};
use manometer_session::session;
use manometer_trace::TraceForm;
use manometer_workload::io::{self, FileReuse, IoEngine, IoJob, IoSettings, RecordedSettings};
use manometer_workload::replay::{Model, Timing};
use manometer_workload::workload::WorkloadData;

use self::show::Show;
use self::summary::Summary;
use crate::format::{self, Format};
use crate::kv::from_name;
use crate::{WRONG_REQUEST, signals};

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
    file: PathBuf,

    /// Bytes of all files together
    #[arg(long, default_value = "1GiB")]
    file_size: ByteSize,

    /// How many files share --file-size in equal parts
    #[arg(long, default_value_t = 1)]
    files: u32,

    /// Bytes of each request, a multiple of the file system's block
    #[arg(long, default_value = "4KiB")]
    block_size: ByteSize,

    /// The share of requests that write, 0 to 1
    #[arg(long, default_value_t = 0.0)]
    write_ratio: f64,

    /// The share of requests that go to a random part of the file, 0 to 1; the others to the next part
    #[arg(long, default_value_t = 1.0)]
    random_ratio: f64,

    /// Requests in flight at once, 1 to 1024
    #[arg(long, default_value_t = 1)]
    iodepth: u32,

    /// How requests reach the kernel; unsaid, the best that this host allows
    #[arg(long, value_parser = io_engine)]
    io_engine: Option<IoEngine>,

    /// Go past the page cache
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = true,
          action = clap::ArgAction::Set, value_name = "true|false")]
    direct: bool,

    /// The same as --direct false
    #[arg(long, conflicts_with = "direct")]
    no_direct: bool,

    /// Each write waits until it is durable
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value_t = false,
          action = clap::ArgAction::Set, value_name = "true|false")]
    dsync: bool,

    /// Call fdatasync after so many writes; 0 for never
    #[arg(long, default_value_t = 0)]
    fdatasync_every: u64,

    /// The most requests (1000/s) or bytes (10MiB/s) per second
    #[arg(long)]
    rate: Option<Rate>,

    /// Changes on a timetable: "5s: iodepth = 2; 10s: write_ratio = 0.5"
    #[arg(long)]
    script: Option<String>,

    /// A recorded trace of a device whose requests are sent instead of a pattern's
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    #[command(flatten)]
    form: TraceForm,

    /// Which of the trace's requests wait for which: open, closed-conservative or closed-unordered
    #[arg(long, value_parser = from_name::<Model>, requires = "trace")]
    model: Option<Model>,

    /// When the trace's requests are sent: original, scaled (with --factor) or full
    #[arg(long, value_parser = from_name::<Timing>, requires = "trace")]
    time: Option<Timing>,

    /// How much faster than recorded: 2 halves the span. With --time scaled
    #[arg(long, requires = "trace")]
    factor: Option<f64>,

    /// How long to measure, in seconds; 10 unless said, and all of a trace
    #[arg(long)]
    seconds: Option<f64>,

    /// How often to tell what happened
    #[arg(long, default_value = "1s")]
    interval: Span,

    /// The seed of every random choice
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Keep the file that was made for the next run
    #[arg(long)]
    keep: bool,

    /// Write into an existing file even if Manometer did not make it: what it holds is lost
    #[arg(long)]
    overwrite: bool,

    /// For people or for machines
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the workload and tells the result; the exit status is 0, 1 or 2.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let job = match args.job() {
        Ok(job) => job,
        Err(wrong) => return refuse(&wrong),
    };
    let made_by_us: Vec<_> = job.paths.iter().filter(|path| !path.exists()).cloned().collect();
    let measured = measure(&args, &job);
    if !args.keep {
        made_by_us.iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
    match measured {
        Ok(summary) => tell(&args, &job, &summary),
        Err(error) if error.is_wrong_request() => refuse(&error.to_string()),
        Err(error) => Err(error.into()),
    }
}

impl Args {
    fn job(&self) -> Result<IoJob, String> {
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
            recorded: RecordedSettings {
                trace: self.trace.clone(),
                form: self.form.clone(),
                model: self.model,
                time: self.time,
                factor: self.factor,
            },
        }
    }

    /// How long to measure at most; nothing where the trace says.
    fn seconds(&self) -> Option<f64> {
        self.seconds.or((self.trace.is_none()).then_some(SECONDS_USUAL))
    }
}

/// Runs the workload to its end, its time's end, or a signal.
fn measure(args: &Args, job: &IoJob) -> Result<Summary, SessionError> {
    let interrupted = signals::interruption().map_err(SessionError::Disconnected)?;
    let show = (args.format == Format::Text).then(|| Show::new(std::io::stderr().is_terminal()));
    let mut observer = IoObserver { summary: Summary::default(), show, seconds: args.seconds(), end_ns: None };
    let (job, interval_ns) = (job.clone(), args.interval.nanoseconds());
    alone::run_work("io", &interrupted, &mut observer, move |controls, sink| {
        session::with_session(interval_ns, controls, sink, &MonotonicClock, |session| {
            io::run(&job, session, &MonotonicClock).map(|()| WorkloadData::default())
        })
    })?;
    observer.summary.interrupted = interrupted.load(Ordering::SeqCst);
    Ok(observer.summary)
}

/// What the workload emits, on its way into the summary and to the terminal.
struct IoObserver {
    summary: Summary,
    show: Option<Show>,
    seconds: Option<f64>,
    /// When the time is over; nothing before the workload is ready, and for a trace.
    end_ns: Option<u64>,
}

impl Observer for IoObserver {
    fn receive(&mut self, message: Message, received_ns: u64) -> Vec<Control> {
        let is_ready = matches!(message, Message::Ready { .. });
        if is_ready {
            self.end_ns = self.seconds.map(|seconds| received_ns.saturating_add((seconds * 1e9) as u64));
        }
        // A terminal that is gone stops the workload.
        let is_shown = self.show.as_mut().is_none_or(|show| show.message(&message).is_ok());
        self.summary.message(message);
        match (is_shown, is_ready) {
            (false, _) => vec![Control::Stop],
            (true, true) => vec![Control::Go],
            (true, false) => Vec::new(),
        }
    }

    fn is_over(&self, now_ns: u64) -> bool {
        self.end_ns.is_some_and(|end_ns| now_ns >= end_ns)
    }
}

fn tell(args: &Args, job: &IoJob, summary: &Summary) -> anyhow::Result<ExitCode> {
    if summary.is_empty() {
        anyhow::bail!("stopped before anything was measured");
    }
    match args.format {
        Format::Json => format::json(&summary.to_json(job))?,
        Format::Text => format::text(&show::table(summary))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn refuse(reason: &str) -> anyhow::Result<ExitCode> {
    format::note(&format!("manometer: {reason}"));
    Ok(ExitCode::from(WRONG_REQUEST))
}

fn io_engine(text: &str) -> Result<IoEngine, String> {
    let named = IoEngine::ALL.into_iter().find(|engine| engine.name() == text);
    named.ok_or_else(|| format!("write {}", IoEngine::ALL.map(IoEngine::name).join(", ")))
}
