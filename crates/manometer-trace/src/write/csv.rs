//! CSV with a header that the reader maps by name; holds every field of a record.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use super::{DroppedFields, OutputFormat, TraceBatch, TraceWriter, failed};
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::record::Record;

const HEADER: &str = "time_ns,op,key,key_text,key_size,value_size,client,ttl_s,offset,device,succeeded";

/// The entry in the registry.
pub(crate) static FORMAT: OutputFormat = OutputFormat {
    name: "csv",
    about: "CSV with all fields",
    extensions: &[".csv"],
    create: |file| {
        let mut file = BufWriter::new(file);
        writeln!(file, "{HEADER}").map_err(failed)?;
        Ok(Box::new(Csv { file, losses: DroppedFields::default() }))
    },
};

struct Csv {
    file: BufWriter<File>,
    losses: DroppedFields,
}

impl TraceWriter for Csv {
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

impl Csv {
    fn one(&mut self, record: &Record, keys: Option<&KeyTable>) -> std::io::Result<()> {
        number(&mut self.file, record.time_ns)?;
        write!(self.file, "{},", record.operation.name())?;
        let text = keys.and_then(|keys| keys.text(record.key));
        self.losses.count(text.is_some_and(|text| !is_writable(text)), "text of a key with control bytes");
        number(&mut self.file, Some(record.key))?;
        if let Some(text) = text.filter(|text| is_writable(text)) {
            key(&mut self.file, text)?;
        }
        write!(self.file, ",")?;
        number(&mut self.file, record.key_size.map(u64::from))?;
        number(&mut self.file, record.value_size)?;
        number(&mut self.file, record.client)?;
        number(&mut self.file, record.ttl_s.map(u64::from))?;
        number(&mut self.file, record.offset)?;
        number(&mut self.file, Some(u64::from(record.device)))?;
        match record.succeeded {
            Some(succeeded) => writeln!(self.file, "{}", u8::from(succeeded)),
            None => writeln!(self.file),
        }
    }
}

/// Writes a number and a comma; only the comma for `None`.
fn number(file: &mut BufWriter<File>, number: Option<u64>) -> std::io::Result<()> {
    match number {
        Some(number) => write!(file, "{number},"),
        None => write!(file, ","),
    }
}

/// Whether a key's text fits into one line.
fn is_writable(text: &[u8]) -> bool {
    text.iter().all(|byte| *byte >= b' ')
}

fn key(file: &mut BufWriter<File>, text: &[u8]) -> std::io::Result<()> {
    if !text.is_empty() && text.iter().all(|byte| byte.is_ascii_graphic() && !b",\"".contains(byte)) {
        return file.write_all(text);
    }
    file.write_all(b"\"")?;
    for byte in text {
        if *byte == b'"' {
            file.write_all(b"\"")?;
        }
        file.write_all(&[*byte])?;
    }
    file.write_all(b"\"")
}
