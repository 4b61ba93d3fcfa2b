//! Twitter's cache traces: `time in s,key,key size,value size,client,operation,ttl in s`, without a header.

use crate::csv_columns::Role;
use crate::format::Format;
use crate::read::csv::Csv;
use crate::reader::{Lines, Reader};

const SECOND_NS: u64 = 1_000_000_000;

const COLUMNS: [Role; 7] =
    [Role::Time(SECOND_NS), Role::Key, Role::KeySize, Role::ValueSize, Role::Client, Role::Operation, Role::TimeToLive];

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "twitter",
    about: "Twitter's cache traces: time,key,key size,value size,client,operation,ttl",
    settings: &[],
    recognise: |head| head.fits(Csv::of(FORMAT.name, COLUMNS.to_vec()).exactly()),
    open: |source, options| {
        Ok(Box::new(Reader::new(Lines::new(source, Csv::of(FORMAT.name, COLUMNS.to_vec())), options.kept())))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceOperation;
    use crate::read::tests::{found, records};

    #[test]
    fn a_line_of_the_documentation_is_read() {
        let trace = b"0,q:q:1:8WTfjZU14ee,17,213,4,get,0\n1,yDqF:3q:1AJrrJ1nnCJKKrnGx1A,27,27,5,set,86400\n";
        assert_eq!(found(trace), "twitter");
        let read = records(&FORMAT, trace);
        assert_eq!(read[0].operation, TraceOperation::Get);
        assert_eq!((read[0].key_size, read[0].value_size, read[0].client), (Some(17), Some(213), Some(4)));
        assert_eq!((read[1].time_ns, read[1].ttl_s), (Some(SECOND_NS), Some(86_400)));
        assert_eq!(read[1].operation, TraceOperation::Put);
    }
}
