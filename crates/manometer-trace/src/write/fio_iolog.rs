//! fio's iolog: version 3 if the trace has times, else version 2. Devices are files `device0`, `device1` …

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write as _};

use super::{DroppedFields, OutputFormat, TraceBatch, TraceWriter, failed};
use crate::error::TraceError;
use crate::record::{Record, TraceOperation};

/// The entry in the registry.
pub(crate) static FORMAT: OutputFormat = OutputFormat {
    name: "fio-iolog",
    about: "fio's iolog, for requests to devices",
    extensions: &[".iolog"],
    create: |file| {
        let file = BufWriter::new(file);
        Ok(Box::new(Iolog {
            file,
            timed: None,
            last_us: 0,
            devices: BTreeSet::new(),
            losses: DroppedFields::default(),
        }))
    },
};

struct Iolog {
    file: BufWriter<File>,
    /// Whether the trace has times, once that is known.
    timed: Option<bool>,
    last_us: u64,
    devices: BTreeSet<u32>,
    losses: DroppedFields,
}

impl TraceWriter for Iolog {
    fn write(&mut self, batch: &TraceBatch<'_>) -> Result<(), TraceError> {
        batch.records.iter().try_for_each(|record| self.one(record))
    }

    fn finish(mut self: Box<Self>) -> Result<DroppedFields, TraceError> {
        if self.timed.is_none() {
            self.begin(false).map_err(failed)?;
        }
        for device in std::mem::take(&mut self.devices) {
            self.line(device, "close").map_err(failed)?;
        }
        self.file.flush().map_err(failed)?;
        Ok(self.losses)
    }
}

impl Iolog {
    fn one(&mut self, record: &Record) -> Result<(), TraceError> {
        let action = match record.operation {
            TraceOperation::Read => "read",
            TraceOperation::Write => "write",
            TraceOperation::Discard => "trim",
            other => {
                let what = format!("an iolog holds requests to devices, and this trace has a {other}");
                return Err(TraceError::Wrong(what));
            }
        };
        let (Some(offset), Some(size)) = (record.offset, record.value_size) else {
            return Err(TraceError::Wrong(format!(
                "an iolog needs offsets and sizes, and this trace has a {action} without"
            )));
        };
        let timed = record.time_ns.is_some();
        if *self.timed.get_or_insert(timed) != timed {
            return Err(TraceError::Wrong("some requests of this trace have times and some have none".to_owned()));
        }
        let losses = &mut self.losses;
        losses.count(record.time_ns.is_some_and(|time| time % 1000 > 0), "part of the time below a microsecond");
        losses.count(record.client.is_some(), "client");
        losses.count(record.succeeded.is_some(), "result");
        self.put(record, action, offset, size).map_err(failed)
    }

    fn put(&mut self, record: &Record, action: &str, offset: u64, size: u64) -> std::io::Result<()> {
        if self.devices.is_empty() {
            self.begin(record.time_ns.is_some())?;
        }
        self.last_us = record.time_ns.unwrap_or(0) / 1000;
        if self.devices.insert(record.device) {
            self.line(record.device, "add")?;
            self.line(record.device, "open")?;
        }
        self.line(record.device, &format!("{action} {offset} {size}"))
    }

    fn begin(&mut self, timed: bool) -> std::io::Result<()> {
        writeln!(self.file, "fio version {} iolog", if timed { 3 } else { 2 })
    }

    fn line(&mut self, device: u32, what: &str) -> std::io::Result<()> {
        if self.timed == Some(true) {
            write!(self.file, "{} ", self.last_us)?;
        }
        writeln!(self.file, "device{device} {what}")
    }
}
