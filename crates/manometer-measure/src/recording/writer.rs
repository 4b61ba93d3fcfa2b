//! Recordings, written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::{RecordingError, io_error, samples_error};
use super::file_sums;
use super::out_directory::OutDirectory;
use crate::clock::WallAnchor;
use crate::directory::Directory;
use crate::event::{Event, EventLine, RunStatus};
use crate::event_log;
use crate::histogram::LatencyHistogram;
use crate::latency_log::LatencyLogWriter;
use crate::plan::Plan;
use crate::samples::{Column, SampleWriter, Samples, SamplesError, sums_name};
use crate::secrets::redact;

/// The version of the recording format, in `plan.json`: 2 where phases are made of blocks, and 1, which earlier versions
/// read too, where they are not.
fn format_of(plan: &Plan) -> u64 {
    if plan.interleaved.is_some() { 2 } else { 1 }
}

/// Writes a recording.
pub struct RecordingWriter {
    files: Directory,
    start: WallAnchor,
    events: File,
    /// The number of the next event's line.
    next_line: u64,
    samples: BTreeMap<String, SampleWriter>,
    latencies: BTreeMap<String, LatencyLogWriter>,
}

impl RecordingWriter {
    /// Creates a recording in the folder `dir`, which is created, or must be empty.
    ///
    /// # Errors
    /// The folder is not empty, or cannot be written.
    pub fn create(
        dir: &Path,
        start: WallAnchor,
        experiment: &str,
        plan: &Plan,
        environment: &Value,
    ) -> Result<Self, RecordingError> {
        let out = OutDirectory::create(dir)?;
        Self::create_in(out.directory(), start, experiment, plan, environment)
    }

    /// Creates a recording in the empty folder `files`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create_in(
        files: &Directory,
        start: WallAnchor,
        experiment: &str,
        plan: &Plan,
        environment: &Value,
    ) -> Result<Self, RecordingError> {
        for folder in ["samples", "latency"] {
            files.create_directory(folder).map_err(io_error(&files.path().join(folder)))?;
        }
        write_document(files, "experiment.toml", experiment.as_bytes())?;
        write_document(files, "plan.json", &pretty(&PlanFile { format: format_of(plan), plan }))?;
        let events = files.create_new(event_log::FILE).map_err(io_error(&files.path().join(event_log::FILE)))?;
        let mut writer = Self {
            files: files.clone(),
            start,
            events,
            next_line: 0,
            samples: BTreeMap::new(),
            latencies: BTreeMap::new(),
        };
        writer.environment(environment)?;
        writer.event(start.monotonic_ns, Event::Started)?;
        Ok(writer)
    }

    /// Writes the environment, replacing an earlier one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn environment(&self, environment: &Value) -> Result<(), RecordingError> {
        let mut environment = environment.clone();
        environment["clock"] = serde_json::json!(self.start);
        environment["manometer"] = Value::from(env!("CARGO_PKG_VERSION"));
        write_document(&self.files, "environment.json", &pretty(&environment))
    }

    /// The recording's folder.
    pub fn dir(&self) -> &Path {
        self.files.path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// The start of the recording.
    pub fn start(&self) -> WallAnchor {
        self.start
    }

    /// Writes the `event` that happened at `t_ns`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn event(&mut self, t_ns: u64, event: Event) -> Result<(), RecordingError> {
        let line = event_log::encode(EventLine { t_ns, event }, self.next_line);
        self.next_line += 1;
        self.events.write_all(&line).map_err(io_error(&self.path(event_log::FILE)))
    }

    /// Creates the sample series `source`.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn begin_series(&mut self, source: &str, columns: &[Column]) -> Result<(), RecordingError> {
        let name = stream_name(source);
        let path = self.path(&name);
        file_sums::begin(&self.files, &format!("samples/{source}")).map_err(io_error(&path))?;
        let writer = SampleWriter::create(&self.files, &name, columns).map_err(samples_error(&path))?;
        self.samples.insert(source.to_owned(), writer);
        Ok(())
    }

    /// Whether the series `source` was created.
    pub fn has_series(&self, source: &str) -> bool {
        self.samples.contains_key(source)
    }

    /// Appends a row to the series `source`.
    ///
    /// # Errors
    /// The series was not created, the row does not match its columns, or the file cannot be written.
    pub fn sample(&mut self, source: &str, t_ns: u64, values: &[Option<f64>]) -> Result<(), RecordingError> {
        let path = self.path(&stream_name(source));
        let Some(writer) = self.samples.get_mut(source) else {
            return Err(samples_error(&path)(SamplesError::Format("the series was not created".to_owned())));
        };
        writer.append(t_ns, values).map_err(samples_error(&path))
    }

    /// Appends the latencies of `operation` of `workload` from `begin_ns` to `end_ns`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn latency(
        &mut self,
        workload: &str,
        operation: &str,
        begin_ns: u64,
        end_ns: u64,
        histogram: &LatencyHistogram,
    ) -> Result<(), RecordingError> {
        let name = latency_name(workload);
        let path = self.path(&name);
        if !self.latencies.contains_key(workload) {
            file_sums::begin(&self.files, &format!("latency/{workload}")).map_err(io_error(&path))?;
            let file = self.files.create_new(&name).map_err(io_error(&path))?;
            let writer = LatencyLogWriter::begin(file, self.start).map_err(io_error(&path))?;
            self.latencies.insert(workload.to_owned(), writer);
        }
        let writer = self.latencies.get_mut(workload).expect("inserted above");
        writer.append(operation, begin_ns, end_ns, histogram).map_err(io_error(&path))
    }

    /// Ends the recording: writes its status and converts every stream to Parquet.
    ///
    /// # Errors
    /// A file cannot be written; the streams that are not converted yet stay.
    pub fn finish(mut self, t_ns: u64, status: RunStatus) -> Result<(), RecordingError> {
        self.event(t_ns, Event::Finished { status })?;
        for (source, writer) in std::mem::take(&mut self.samples) {
            self.convert(&source, writer)?;
        }
        self.latencies.keys().try_for_each(|workload| self.add_sum(&latency_name(workload)))?;
        self.add_sum(event_log::FILE)
    }

    /// Replaces the stream of the series `source` by its Parquet file.
    fn convert(&self, source: &str, writer: SampleWriter) -> Result<(), RecordingError> {
        let (stream, parquet) = (stream_name(source), parquet_name(source));
        let samples = writer.finish().and_then(|()| Samples::read_stream(&self.files, &stream));
        let samples = samples.map_err(samples_error(&self.path(&stream)))?;
        let file = self.files.create_anew(&parquet).map_err(io_error(&self.path(&parquet)))?;
        samples.write_parquet(file).map_err(samples_error(&self.path(&parquet)))?;
        self.add_sum(&parquet)?;
        let removed = self.files.remove_file(&stream).and_then(|()| self.files.remove_file(sums_name(&stream)));
        removed.map_err(io_error(&self.path(&stream)))
    }

    fn add_sum(&self, name: &str) -> Result<(), RecordingError> {
        file_sums::add_file(&self.files, name).map_err(io_error(&self.path(name)))
    }
}

/// The file of the series `source` during a run.
pub(super) fn stream_name(source: &str) -> String {
    format!("samples/{source}.arrows")
}

/// The file of the series `source` after the run.
pub(super) fn parquet_name(source: &str) -> String {
    format!("samples/{source}.parquet")
}

/// The file of the latencies of `workload`.
pub(super) fn latency_name(workload: &str) -> String {
    format!("latency/{workload}.hlog")
}

/// Writes the document `name` of the recording `files`, such as `plan.json`, without its [secrets](crate::secrets) and with its
/// checksum; replaces an earlier one.
///
/// # Errors
/// The file cannot be written.
pub fn write_document(files: &Directory, name: &str, bytes: &[u8]) -> Result<(), RecordingError> {
    let text = std::str::from_utf8(bytes).map(redact);
    let bytes = text.as_deref().map_or(bytes, str::as_bytes);
    let written = file_sums::add(files, name, bytes).and_then(|()| files.replace(name, bytes));
    written.map_err(io_error(&files.path().join(name)))
}

/// Writes the file `path`, which its user has named, atomically: under another name first. A link is replaced itself.
///
/// # Errors
/// The file cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), RecordingError> {
    let (directory, name) = Directory::holding(path).map_err(io_error(path))?;
    directory.replace(name, bytes).map_err(io_error(path))
}

/// The content of `plan.json`.
#[derive(serde::Serialize)]
struct PlanFile<'a> {
    format: u64,
    #[serde(flatten)]
    plan: &'a Plan,
}

fn pretty(value: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("plain data");
    bytes.push(b'\n');
    bytes
}
