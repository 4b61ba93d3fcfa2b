//! KV-replay: `command, object id, timestamp in ms*, size*`; fields with a star are optional.
//!
//! Commands are YCSB's; `read` reads the value of a key.

use crate::error::RecordFault;
use crate::format::{Format, FormatSetting};
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

/// The unit of times, by default.
const TIME_UNIT_NS: u64 = 1_000_000;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "kv-replay",
    about: "KV-replay: command,key,time in ms,size (the last two are optional)",
    settings: &[FormatSetting::TimeUnit],
    recognise: |head| head.fits(KvReplay { time_unit_ns: TIME_UNIT_NS }),
    open: |source, options| {
        let format = KvReplay { time_unit_ns: options.time_unit_ns.unwrap_or(TIME_UNIT_NS) };
        Ok(Box::new(Reader::new(Lines::new(source, format), options.kept())))
    },
};

struct KvReplay {
    time_unit_ns: u64,
}

impl LineFormat for KvReplay {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        let mut fields = line.split(|byte| *byte == b',').map(text::trim);
        let command = fields.next().unwrap_or_default();
        if command.is_empty() && fields.next().is_none() {
            sink.skip();
            return Ok(());
        }
        let operation = operation(command).ok_or_else(|| {
            let shown = text::show(command);
            RecordFault::from(format!(
                "the command is {shown}: expected read, insert, update, delete, scan or readmodifywrite"
            ))
        })?;
        let key = fields.next().filter(|key| !key.is_empty()).ok_or("there is no object id after the command")?;
        let time = fields.next().unwrap_or_default();
        let size = fields.next().unwrap_or_default();
        if fields.next().is_some() {
            return Err("there are more than four fields".into());
        }
        let mut record = Record::new(operation, sink.key(key)?);
        record.key_size = u32::try_from(key.len()).ok();
        if !time.is_empty() {
            let wrong = || format!("the time is {}: expected milliseconds", text::show(time));
            record.time_ns = Some(text::time_ns(time, self.time_unit_ns).ok_or_else(wrong)?);
        }
        if !size.is_empty() {
            let wrong = || format!("the size is {}: expected bytes", text::show(size));
            record.value_size = Some(text::number(size).ok_or_else(wrong)?);
        }
        sink.push(record);
        Ok(())
    }
}

/// The operation of a command, in YCSB's words and common variants.
fn operation(command: &[u8]) -> Option<TraceOperation> {
    match super::operation_name::operation(command)? {
        TraceOperation::Read => Some(TraceOperation::Get),
        TraceOperation::Write => Some(TraceOperation::Put),
        TraceOperation::Discard => None,
        operation => Some(operation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, records};

    #[test]
    fn times_and_sizes_may_be_absent() {
        let read = records(&FORMAT, b"READ,user1,12.5,\nupdate, user1 ,13,100\r\ninsert,7\n\ndelete,7,14\n");
        assert_eq!(
            read.iter().map(|record| record.operation.name()).collect::<Vec<_>>(),
            ["get", "update", "insert", "delete"]
        );
        assert_eq!(read[0].key, crate::key_id(b"user1"));
        assert_eq!((read[0].time_ns, read[0].value_size, read[0].key_size), (Some(12_500_000), None, Some(5)));
        assert_eq!((read[1].key, read[1].time_ns, read[1].value_size), (read[0].key, Some(13_000_000), Some(100)));
        assert_eq!((read[2].key, read[2].time_ns), (7, None));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (trace, offset, word) in [
            (&b"read,1,5\nfetch,1,2\n"[..], 9, "fetch"),
            (b"read,1,5\nread\n", 9, "no object id"),
            (b"read,1,soon\n", 0, "milliseconds"),
            (b"read,1,1,big\n", 0, "bytes"),
            (b"read,1,1,1,1\n", 0, "four fields"),
        ] {
            let (at, text) = damage(&FORMAT, trace);
            assert_eq!(at, offset);
            assert!(text.contains(word), "{text}");
        }
    }
}
