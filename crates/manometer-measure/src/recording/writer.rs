//! Recordings, written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::{RecordingError, io_error, samples_error};
use super::file_sums;
use super::out_directory::OutDirectory;
use crate::clock::WallAnchor;
use crate::event::{Event, EventLine, RunStatus};
use crate::event_log;
use crate::histogram::LatencyHistogram;
use crate::latency_log::LatencyLogWriter;
use crate::plan::Plan;
use crate::samples::{Column, SampleWriter, Samples, SamplesError, sums_path};
use crate::secrets::redact;

/// The version of the recording format, in `plan.json`: 2 where phases are made of blocks, and 1, which earlier versions
/// read too, where they are not.
fn format_of(plan: &Plan) -> u64 {
    if plan.interleaved.is_some() { 2 } else { 1 }
}

/// Writes a recording.
pub struct RecordingWriter {
    dir: PathBuf,
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
        let _directory = OutDirectory::create(dir)?;
        for folder in ["samples", "latency"] {
            let folder = dir.join(folder);
            fs::create_dir(&folder).map_err(io_error(&folder))?;
        }
        write_document(dir, "experiment.toml", experiment.as_bytes())?;
        write_document(dir, "plan.json", &pretty(&PlanFile { format: format_of(plan), plan }))?;
        let events_path = dir.join("events.jsonl");
        let events = File::create_new(&events_path).map_err(io_error(&events_path))?;
        let mut writer = Self {
            dir: dir.to_owned(),
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
        write_document(&self.dir, "environment.json", &pretty(&environment))
    }

    /// The recording's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
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
        self.events.write_all(&line).map_err(io_error(&self.dir.join("events.jsonl")))
    }

    /// Creates the sample series `source`.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn begin_series(&mut self, source: &str, columns: &[Column]) -> Result<(), RecordingError> {
        let path = self.dir.join("samples").join(format!("{source}.arrows"));
        file_sums::begin(&self.dir, &format!("samples/{source}")).map_err(io_error(&path))?;
        let writer = SampleWriter::create(&path, columns).map_err(samples_error(&path))?;
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
        let path = self.dir.join("samples").join(format!("{source}.arrows"));
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
        let path = self.dir.join("latency").join(format!("{workload}.hlog"));
        if !self.latencies.contains_key(workload) {
            file_sums::begin(&self.dir, &format!("latency/{workload}")).map_err(io_error(&path))?;
            let writer = LatencyLogWriter::create(&path, self.start).map_err(io_error(&path))?;
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
            let stream = self.dir.join("samples").join(format!("{source}.arrows"));
            let parquet = stream.with_extension("parquet");
            writer.finish().map_err(samples_error(&stream))?;
            let samples = Samples::read_stream(&stream).map_err(samples_error(&stream))?;
            samples.write_parquet(&parquet).map_err(samples_error(&parquet))?;
            self.add_sum(&format!("samples/{source}.parquet"))?;
            fs::remove_file(&stream).and_then(|()| fs::remove_file(sums_path(&stream))).map_err(io_error(&stream))?;
        }
        self.latencies.keys().try_for_each(|workload| self.add_sum(&format!("latency/{workload}.hlog")))
    }

    fn add_sum(&self, name: &str) -> Result<(), RecordingError> {
        file_sums::add_file(&self.dir, name).map_err(io_error(&self.dir.join(name)))
    }
}

/// Writes the document `name` of the recording in `dir`, such as `plan.json`, without its [secrets](crate::secrets) and with its
/// checksum; replaces an earlier one.
///
/// # Errors
/// The file cannot be written.
pub fn write_document(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), RecordingError> {
    let path = dir.join(name);
    let text = std::str::from_utf8(bytes).map(redact);
    let bytes = text.as_deref().map_or(bytes, str::as_bytes);
    file_sums::add(dir, name, bytes).map_err(io_error(&path))?;
    write_file(&path, bytes)
}

/// Writes a file atomically: under another name first.
///
/// # Errors
/// The file cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), RecordingError> {
    let part = path.with_extension("part");
    // What is there is another's, or left by a kill. It is never written to: it may be a link.
    let mut file = match File::create_new(&part) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(&part).and_then(|()| File::create_new(&part)).map_err(io_error(&part))?
        }
        created => created.map_err(io_error(&part))?,
    };
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io_error(&part))?;
    fs::rename(&part, path).map_err(io_error(path))
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
