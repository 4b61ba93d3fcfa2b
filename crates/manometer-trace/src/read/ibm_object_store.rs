//! IBM's object store traces: `time in ms, REST.GET.OBJECT, object, size, range from, range to`; the last three are
//! optional. Times count from the start of the trace.

use crate::error::RecordFault;
use crate::format::Format;
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

const MILLISECOND_NS: u64 = 1_000_000;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "ibm-object-store",
    about: "IBM object store: time REST.GET.OBJECT object size [from to]",
    settings: &[],
    recognise: |head| head.fits(ObjectStore),
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, ObjectStore), options.kept()))),
};

struct ObjectStore;

impl LineFormat for ObjectStore {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(time) = words.next() else {
            sink.skip();
            return Ok(());
        };
        let time_ns = text::time_ns(time, MILLISECOND_NS).ok_or("the time is not a number of milliseconds")?;
        let verb = words.next().unwrap_or_default();
        let Some(kind) = operation(verb)? else {
            sink.skip();
            return Ok(());
        };
        let object = words.next().ok_or("there is no object after the operation")?;
        let mut record = Record::new(kind, sink.key(object)?);
        record.time_ns = Some(time_ns);
        let mut number = || words.next().map(|word| text::number(word).ok_or_else(|| wrong_number(word))).transpose();
        record.value_size = number()?;
        if let (Some(from), Some(to)) = (number()?, number()?) {
            record.offset = Some(from);
            let length = to.checked_sub(from).and_then(|length| length.checked_add(1));
            record.value_size = Some(length.ok_or("the range ends before it begins")?);
        }
        sink.push(record);
        Ok(())
    }
}

fn wrong_number(word: &[u8]) -> RecordFault {
    format!("{} is not a number of bytes", text::show(word)).into()
}

/// The operation of a request; `None` if it reads no object's bytes.
fn operation(verb: &[u8]) -> Result<Option<TraceOperation>, RecordFault> {
    match verb {
        b"REST.GET.OBJECT" => Ok(Some(TraceOperation::Get)),
        b"REST.PUT.OBJECT" => Ok(Some(TraceOperation::Put)),
        b"REST.DELETE.OBJECT" => Ok(Some(TraceOperation::Delete)),
        b"REST.COPY.OBJECT" => Ok(Some(TraceOperation::Put)),
        _ if verb.starts_with(b"REST.") => Ok(None),
        _ => Err(format!("the operation is {}: expected for example REST.GET.OBJECT", text::show(verb)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    #[test]
    fn lines_of_the_documentation_are_read() {
        let trace = b"1219008 REST.PUT.OBJECT 8d4fcda3d675bac9 1056\n1221974 REST.HEAD.OBJECT 39d177fb735ac5df 528\n\
            1232437 REST.GET.OBJECT 950aaf4e5c8a2a19 528 0 131\n1232438 REST.DELETE.OBJECT 950aaf4e5c8a2a19\n";
        assert_eq!(found(trace), "ibm-object-store");
        let read = records(&FORMAT, trace);
        let expected = [TraceOperation::Put, TraceOperation::Get, TraceOperation::Delete];
        assert_eq!(read.iter().map(|record| record.operation).collect::<Vec<_>>(), expected);
        assert_eq!((read[0].time_ns, read[0].value_size), (Some(1_219_008_000_000), Some(1056)));
        assert_eq!((read[1].offset, read[1].value_size), (Some(0), Some(132)));
        assert_eq!((read[2].key, read[2].value_size), (read[1].key, None));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (line, word) in [
            ("1 GET x", "REST.GET.OBJECT"),
            ("1 REST.GET.OBJECT", "no object"),
            ("1 REST.GET.OBJECT a b", "`b` is not a number"),
            ("1 REST.GET.OBJECT a 9 5 2", "before it begins"),
            ("x REST.GET.OBJECT a", "milliseconds"),
        ] {
            let (at, text) = damage(&FORMAT, format!("1 REST.GET.OBJECT a 1\n{line}\n").as_bytes());
            assert_eq!(at, 22);
            assert!(text.contains(word), "{text}");
        }
    }
}
