//! MSR Cambridge: `timestamp,hostname,disk,Read|Write,offset,size,response time`.
//!
//! Times are in 100 ns since 1601, offsets and sizes in bytes. Each disk of each host is a device.

use std::collections::HashMap;

use crate::error::RecordFault;
use crate::format::Format;
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::Record;
use crate::text;

use super::operation_name::operation;

/// The largest number of devices.
const DEVICES_MAX: usize = 65_536;
/// From 1601 to 1970, in 100 ns.
const UNIX_EPOCH: u64 = 116_444_736_000_000_000;
const SECTOR_BYTES: u64 = 512;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "msr",
    about: "MSR Cambridge: timestamp,hostname,disk,type,offset,size,response",
    settings: &[],
    recognise: |head| head.fits(Msr::default()),
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, Msr::default()), options.kept()))),
};

#[derive(Default)]
struct Msr {
    devices: HashMap<Vec<u8>, u32>,
}

impl LineFormat for Msr {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        if line.is_empty() || line.starts_with(b"Timestamp,") {
            sink.skip();
            return Ok(());
        }
        let [time, host, disk, kind, offset, size, _response] =
            text::fields(line, b',').ok_or("expected seven fields separated by commas")?;
        let operation = operation(kind).filter(|operation| operation.is_block());
        let operation = operation.ok_or_else(|| format!("the type is {}: expected Read or Write", text::show(kind)))?;
        let time = text::number(time).ok_or("the time is not a number of 100 ns")?;
        let offset = text::number(offset).ok_or("the offset is not a number of bytes")?;
        let size = text::number(size).ok_or("the size is not a number of bytes")?;
        let device = self.device(host, disk)?;
        let mut record = Record::block(operation, device, offset, SECTOR_BYTES, size);
        // Some traces converted from others count from zero.
        let time = time.checked_sub(UNIX_EPOCH).unwrap_or(time);
        record.time_ns = Some(time.checked_mul(100).ok_or("the time exceeds the year 2554")?);
        sink.push(record);
        Ok(())
    }
}

impl Msr {
    fn device(&mut self, host: &[u8], disk: &[u8]) -> Result<u32, RecordFault> {
        let name = [host, disk].join(&b',');
        if let Some(device) = self.devices.get(&name) {
            return Ok(*device);
        }
        if self.devices.len() >= DEVICES_MAX {
            return Err(format!("there are more than {DEVICES_MAX} disks").into());
        }
        let device = self.devices.len() as u32;
        self.devices.insert(name, device);
        Ok(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceOperation;
    use crate::read::tests::{damage, found, records};

    #[test]
    fn lines_are_read_and_disks_distinguished() {
        let trace = b"128166372003061629,hm,1,Read,383496192,32768,413\n128166372016382155,hm,0,Write,2822144,4096,0\n";
        assert_eq!(found(trace), "msr");
        let read = records(&FORMAT, trace);
        let first = (read[0].operation, read[0].offset, read[0].value_size, read[0].key, read[0].device);
        assert_eq!(first, (TraceOperation::Read, Some(383_496_192), Some(32_768), 749_016, 0));
        assert_eq!(read[1].device, 1);
        assert_eq!(read[1].time_ns.unwrap() - read[0].time_ns.unwrap(), 1_332_052_600);
        // 22 February 2007.
        assert_eq!(read[0].time_ns.unwrap() / 86_400_000_000_000, 13_566);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let good = "1,h,0,Read,0,512,0\n".to_owned();
        for (line, word) in
            [("1,h,0,Flush,0,512,0", "Flush"), ("1,h,0,Read,x,512,0", "offset"), ("1,h,0,Read,0", "seven fields")]
        {
            let (at, text) = damage(&FORMAT, (good.clone() + line).as_bytes());
            assert_eq!(at, good.len() as u64);
            assert!(text.contains(word), "{text}");
        }
    }
}
