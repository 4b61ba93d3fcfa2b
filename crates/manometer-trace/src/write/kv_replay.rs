//! KV-replay: `command,object id,time in ms,size`.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use super::{DroppedFields, OutputFormat, TraceBatch, TraceWriter, failed};
use crate::error::TraceError;
use crate::key::{KeyTable, key_id};
use crate::record::{Record, TraceOperation};

/// The entry in the registry.
pub(crate) static FORMAT: OutputFormat = OutputFormat {
    name: "kv-replay",
    about: "KV-replay: command,key,time in ms,size",
    extensions: &[".kv-replay", ".kvreplay"],
    create: |file| Ok(Box::new(KvReplay { file: BufWriter::new(file), losses: DroppedFields::default() })),
};

struct KvReplay {
    file: BufWriter<File>,
    losses: DroppedFields,
}

impl TraceWriter for KvReplay {
    fn write(&mut self, batch: &TraceBatch<'_>) -> Result<(), TraceError> {
        for record in batch.records {
            self.one(record, batch.keys).map_err(failed)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<DroppedFields, TraceError> {
        self.file.flush().map_err(failed)?;
        Ok(self.losses)
    }
}

impl KvReplay {
    fn one(&mut self, record: &Record, keys: Option<&KeyTable>) -> std::io::Result<()> {
        let command = command(record.operation);
        // A text that has another id belongs to one of several devices: only the id identifies the key.
        let known = keys.and_then(|keys| keys.text(record.key));
        let text = known.filter(|text| is_plain(text) && key_id(text) == record.key);
        let key_bytes = text.map_or_else(|| record.key.checked_ilog10().unwrap_or(0) as usize + 1, <[u8]>::len);
        let losses = &mut self.losses;
        losses.count(known.is_some() && text.is_none(), "text of a key, written as its id");
        losses.count(record.key_size.is_some_and(|size| size as usize != key_bytes), "key size");
        losses.count(record.device > 0, "device");
        losses.count(record.operation == TraceOperation::Put, "put, written as update");
        losses.count(record.operation.is_block(), "request to a device, written as read, update or delete");
        losses.count(record.offset.is_some(), "offset");
        losses.count(record.client.is_some(), "client");
        losses.count(record.ttl_s.is_some_and(|ttl| ttl > 0), "time to live");
        losses.count(record.succeeded.is_some(), "result");
        write!(self.file, "{command},")?;
        match text {
            Some(text) => self.file.write_all(text)?,
            None => write!(self.file, "{}", record.key)?,
        }
        if record.time_ns.is_none() && record.value_size.is_none() {
            return writeln!(self.file);
        }
        write!(self.file, ",")?;
        if let Some(time_ns) = record.time_ns {
            write!(self.file, "{}", time_ns / 1_000_000)?;
            let fraction = time_ns % 1_000_000;
            if fraction > 0 {
                write!(self.file, ".{}", format!("{fraction:06}").trim_end_matches('0'))?;
            }
        }
        match record.value_size {
            Some(size) => writeln!(self.file, ",{size}"),
            None => writeln!(self.file),
        }
    }
}

/// Whether a key's text fits into a line unchanged.
fn is_plain(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| byte.is_ascii_graphic() && !b",\"".contains(byte))
}

/// The command in YCSB's words.
fn command(operation: TraceOperation) -> &'static str {
    match operation {
        TraceOperation::Get | TraceOperation::Read => "read",
        TraceOperation::Put | TraceOperation::Update | TraceOperation::Write => "update",
        TraceOperation::Insert => "insert",
        TraceOperation::Delete | TraceOperation::Discard => "delete",
        TraceOperation::Scan => "scan",
        TraceOperation::ReadModifyWrite => "readmodifywrite",
    }
}
