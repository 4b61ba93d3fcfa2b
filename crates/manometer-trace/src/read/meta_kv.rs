//! Meta's key-value cache traces: CSV with a header, whose column order differs between 2022 and 2024.
//!
//! A line stands for `op_count` requests within the same second, of which `cache_hits` hit.

use crate::format::{Format, Head};
use crate::read::csv::Csv;
use crate::reader::{Lines, Reader};

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "meta-kv",
    about: "Meta's key-value cache traces: CSV with the columns key, op, op_count, size, key_size ...",
    settings: &[],
    recognise,
    open: |source, options| {
        Ok(Box::new(Reader::new(Lines::new(source, Csv::with_header(FORMAT.name)), options.kept())))
    },
};

fn recognise(head: &Head) -> bool {
    let Some(header) = head.lines().next() else { return false };
    let names: Vec<&[u8]> = header.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
    ["key", "op", "op_count", "key_size"].iter().all(|name| names.contains(&name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceOperation;
    use crate::read::tests::{found, records};

    #[test]
    fn a_line_is_as_many_requests_as_it_counts() {
        let trace = b"op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
            604038471,82131353f9ddc8c6,48,GET,3,87,3,0,1,2\n604038472,82131353f9ddc8c6,48,SET,1,90,0,7200,1,2\n\
            604038473,5,48,GET_LEASE,2,0,1,0,1,2\n";
        assert_eq!(found(trace), "meta-kv");
        let read = records(&FORMAT, trace);
        assert_eq!(read.len(), 6);
        assert_eq!(read[0], read[2]);
        assert_eq!((read[0].time_ns, read[0].succeeded), (Some(604_038_471_000_000_000), Some(true)));
        assert_eq!((read[3].operation, read[3].ttl_s, read[3].succeeded), (TraceOperation::Put, Some(7200), None));
        // Which of the two hit is unknown.
        assert_eq!(read[4].succeeded, None);
    }

    #[test]
    fn the_traces_of_2022_have_no_times() {
        let trace = b"key,op,size,op_count,key_size\n1,GET,0,2,11\n";
        assert_eq!(found(trace), "meta-kv");
        let read = records(&FORMAT, trace);
        assert_eq!((read.len(), read[0].time_ns, read[0].succeeded), (2, None, None));
    }
}
