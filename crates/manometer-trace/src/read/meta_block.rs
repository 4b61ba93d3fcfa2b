//! Meta's block storage traces: CSV with a header; blocks are objects, accessed in byte ranges.
//!
//! `op_time` in s, `block_id`, `io_offset` and `io_size` in bytes, `op_name` (`getChunkData.…` or `putChunk.…`),
//! `op_count` requests in the same second, and `host_name`, which becomes the client.

use crate::error::RecordFault;
use crate::format::{Format, Head};
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

const SECOND_NS: u64 = 1_000_000_000;
const COLUMNS_MAX: usize = 64;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "meta-block",
    about: "Meta's block traces: CSV with the columns op_time, block_id, io_size, io_offset, op_name ...",
    settings: &[],
    recognise,
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, MetaBlock::default()), options.kept()))),
};

fn recognise(head: &Head) -> bool {
    head.lines().next().is_some_and(|header| columns(header).is_ok())
}

#[derive(Default)]
struct MetaBlock {
    columns: Option<Columns>,
}

/// The index of each field.
#[derive(Debug)]
struct Columns {
    time: usize,
    block: usize,
    size: usize,
    offset: usize,
    operation: usize,
    count: Option<usize>,
    host: Option<usize>,
}

fn columns(header: &[u8]) -> Result<Columns, RecordFault> {
    let names: Vec<&[u8]> = header.split(|byte| *byte == b',').take(COLUMNS_MAX).map(text::trim).collect();
    let find = |wanted: &str| names.iter().position(|name| *name == wanted.as_bytes());
    let must = |wanted: &str| find(wanted).ok_or_else(|| format!("the header has no column `{wanted}`"));
    Ok(Columns {
        time: must("op_time")?,
        block: must("block_id")?,
        size: must("io_size")?,
        offset: must("io_offset")?,
        operation: must("op_name")?,
        count: find("op_count"),
        host: find("host_name"),
    })
}

impl LineFormat for MetaBlock {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        let Some(at) = &self.columns else {
            self.columns = Some(columns(line)?);
            return Ok(());
        };
        if line.is_empty() {
            sink.skip();
            return Ok(());
        }
        let mut fields = [&b""[..]; COLUMNS_MAX];
        for (field, piece) in fields.iter_mut().zip(line.split(|byte| *byte == b',')) {
            *field = text::trim(piece);
        }
        if fields[at.block].is_empty() {
            return Err("there is no block_id".into());
        }
        let name = fields[at.operation];
        let mut record = Record::new(operation(name)?, sink.key(fields[at.block])?);
        record.time_ns = Some(text::time_ns(fields[at.time], SECOND_NS).ok_or("op_time is not a number of seconds")?);
        record.value_size = Some(text::number(fields[at.size]).ok_or("io_size is not a number of bytes")?);
        record.offset = Some(text::number(fields[at.offset]).ok_or("io_offset is not a number of bytes")?);
        record.client = at.host.map(|host| crate::key_id(fields[host]));
        let count = at.count.map_or(Some(1), |count| text::number(fields[count]));
        sink.run(record, count.ok_or("op_count is not a number")?, 0, 0);
        Ok(())
    }
}

fn operation(name: &[u8]) -> Result<TraceOperation, RecordFault> {
    match name.split(|byte| *byte == b'.').next().unwrap_or_default() {
        b"getChunkData" => Ok(TraceOperation::Get),
        b"putChunk" => Ok(TraceOperation::Put),
        _ => Err(format!("op_name is {}: expected getChunkData or putChunk", text::show(name)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    const TRACE: &[u8] = b"op_time,block_id,block_id_size,io_size,io_offset,user_name,user_namespace,op_name,op_count,\
        host_name,rs_shard_id\n1702511878,12ce-9e,40,8388608,16,4,3,getChunkData.NotInitialized,2,518845025,4\n\
        1702511879,12ce-9e,40,100,0,4,3,putChunk.Permanent,1,7,4\n";

    #[test]
    fn columns_are_found_by_name() {
        assert_eq!(found(TRACE), "meta-block");
        let read = records(&FORMAT, TRACE);
        assert_eq!((read.len(), read[0].key), (3, read[2].key));
        let first = (read[0].operation, read[0].offset, read[0].value_size, read[0].client);
        assert_eq!(first, (TraceOperation::Get, Some(16), Some(8_388_608), Some(518_845_025)));
        assert_eq!(read[2].operation, TraceOperation::Put);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let (at, text) = damage(&FORMAT, &[TRACE, b"1,b,40,1,0,4,3,drop,1,7,4\n"].concat());
        assert_eq!(at, TRACE.len() as u64);
        assert!(text.contains("getChunkData or putChunk"), "{text}");
        assert!(damage(&FORMAT, b"a,b\n").1.contains("`op_time`"));
    }
}
