use super::*;
use crate::ReadOptions;
use crate::read::tests::{damage, found, records, records_with};

#[test]
fn the_header_says_what_the_columns_mean() {
    let read = records(&FORMAT, b"# time, object, size, next_access_vtime\n0, 13053225291711363978, 737, 13\n");
    assert_eq!(read.len(), 1);
    assert_eq!((read[0].key, read[0].value_size, read[0].time_ns), (13_053_225_291_711_363_978, Some(737), Some(0)));
    let read = records(&FORMAT, b"version,time,op,size,lbn\n1,5633898,2a,512,42932745\n");
    assert_eq!((read[0].operation, read[0].offset), (TraceOperation::Write, Some(42_932_745 * 512)));
}

#[test]
fn the_user_says_what_the_columns_mean() {
    let columns: Columns = "time_ms=1,key=0,op=3".parse().unwrap();
    let options = ReadOptions { columns: Some(columns.delimited_by(b';')), ..ReadOptions::default() };
    let read = records_with(&options, b"who;when;x;what\nuser1;2.5;;set\n");
    assert_eq!((read[0].time_ns, read[0].operation), (Some(2_500_000), TraceOperation::Put));
    let columns: Columns = "time=when,key=who".parse().unwrap();
    let options = ReadOptions { columns: Some(columns), time_unit_ns: Some(1000), ..ReadOptions::default() };
    assert_eq!(records_with(&options, b"when,who\n5,x\n")[0].time_ns, Some(5000));
}

#[test]
fn wrong_columns_are_refused_with_an_example() {
    for wrong in ["", "key", "key=999", "colour=1", "time=0"] {
        let error = wrong.parse::<Columns>().unwrap_err().to_string();
        assert!(error.contains("key="), "{error}");
    }
}

#[test]
fn keys_may_be_quoted() {
    let read = records(&FORMAT, b"key,size\n\"a,\"\"b\",5\n\"7\",6\n");
    assert_eq!(read[0].key, crate::key_id(b"a,\"b"));
    assert_eq!((read[1].key, read[1].value_size), (7, Some(6)));
}

#[test]
fn equal_keys_of_different_devices_are_different_keys() {
    for trace in [&b"device,key\n0,5\n1,5\n2,5\n1,5\n"[..], b"key,device\n5,0\n5,1\n5,2\n5,1\n"] {
        let keys: Vec<u64> = records(&FORMAT, trace).iter().map(|record| record.key).collect();
        assert_eq!((keys[0], keys[1]), (5, keys[3]));
        assert!(keys[1] != 5 && keys[2] != 5 && keys[1] != keys[2]);
    }
    let read = records(&FORMAT, b"device,lbn,size\n0,8,512\n1,8,512\n");
    for record in &read {
        assert_eq!(record.key, Record::block(TraceOperation::Get, record.device, 4096, 512, 512).key);
    }
    assert!(read[0].key == 8 && read[1].key != 8);
}

#[test]
fn keys_beside_their_texts_are_ids() {
    let trace = b"device,key,key_text\n0,5,5\n1,77,5\n1,78,\n2,79,\"\"\n";
    let options = ReadOptions { format: Some(&FORMAT), keep_keys: true, ..ReadOptions::default() };
    let mut reader = crate::open_stream(Box::new(std::io::Cursor::new(trace)), &options).unwrap().reader;
    let mut batch = Vec::new();
    reader.read(&mut batch).unwrap();
    assert_eq!(batch.iter().map(|record| record.key).collect::<Vec<_>>(), [5, 77, 78, 79]);
    let text = |id| reader.keys().unwrap().text(id);
    assert_eq!((text(77), text(78), text(79)), (Some(&b"5"[..]), None, Some(&b""[..])));
    let (_, what) = damage(&FORMAT, b"key,key_text\nuser1,user1\n");
    assert!(what.contains("the id of a key"), "{what}");
    let alone = records(&FORMAT, b"key_text,size\nuser1,6\n");
    assert_eq!(alone[0].key, crate::key_id(b"user1"));
}

#[test]
fn without_a_key_the_place_on_the_device_is_the_key() {
    let options = |columns: &str| ReadOptions { columns: Some(columns.parse().unwrap()), ..ReadOptions::default() };
    let trace = b"1.5,write,4096,512,0\n2,read,8192,512,3\n";
    let read = records_with(&options("time_ms=0,op=1,offset=2,size=3,device=4"), trace);
    let block = |operation, device, offset| Record::block(operation, device, offset, 512, 512);
    assert_eq!(read[0], Record { time_ns: Some(1_500_000), ..block(TraceOperation::Write, 0, 4096) });
    assert_eq!(read[1], Record { time_ns: Some(2_000_000), ..block(TraceOperation::Read, 3, 8192) });
    let read = records_with(&options("key=0,offset=2"), trace);
    assert_eq!((read[1].key, read[1].offset), (2, Some(8192)));
    assert_eq!(records(&FORMAT, b"offset,size,op\n1024,512,read\n")[0].key, 2);
    let (at, what) = damage(&FORMAT, b"offset,size,op\n1024,512,read\n,512,read\n");
    assert!(at == 29 && what.contains("the key"), "{at} {what}");
}

#[test]
fn an_empty_line_is_no_header_that_contradicts_the_unit_of_times() {
    let options = ReadOptions { format: Some(&FORMAT), time_unit_ns: Some(1_000_000), ..ReadOptions::default() };
    let mut trace = crate::open_stream(Box::new(&b"\ntime,key\n3,1\n"[..]), &options).unwrap();
    let mut batch = Vec::new();
    trace.reader.read(&mut batch).unwrap();
    assert_eq!(batch[0].time_ns, Some(3_000_000));
}

#[test]
fn a_unit_of_times_is_for_times_without_one() {
    let open = |trace: &'static [u8], columns: Option<&str>| {
        let columns = columns.map(|columns| columns.parse().unwrap());
        let options = ReadOptions { columns, time_unit_ns: Some(1_000_000), ..ReadOptions::default() };
        crate::open_stream(Box::new(std::io::Cursor::new(trace)), &options)
    };
    for (trace, columns, time_ns) in [
        (&b"time,key\n3,1\n"[..], None, 3_000_000),
        (b"3,1\n", Some("time=0,key=1"), 3_000_000),
        (b"at,who\n3,1\n", Some("time=at,key=who"), 3_000_000),
    ] {
        let mut batch = Vec::new();
        open(trace, columns).unwrap().reader.read(&mut batch).unwrap();
        assert_eq!(batch[0].time_ns, Some(time_ns));
    }
    for (trace, columns, word) in [
        (&b"time_s,key\n3,1\n"[..], None, "has one"),
        (b"3,1\n", Some("time_s=0,key=1"), "has one"),
        (b"at,who\n3,1\n", Some("time_us=at,key=who"), "has one"),
        (b"key,size\n3,1\n", None, "no column holds times"),
        (b"0,a,1,2,4,get,0\n1,b,1,2,4,set,5\n", None, "kv-replay, adapt-size, csv"),
    ] {
        let error = open(trace, columns).err().unwrap();
        assert!(matches!(error, TraceError::Wrong(_)) && error.to_string().contains(word), "{error}");
    }
    let columns = Some("key=0".parse().unwrap());
    let options = ReadOptions { format: Some(Format::find("keys").unwrap()), columns, ..ReadOptions::default() };
    let error = crate::open_stream(Box::new(std::io::Cursor::new(b"a\n")), &options).err().unwrap();
    assert!(error.to_string().contains("keys"), "{error}");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (trace, offset, word) in [
        (&b"key,size\n1,2\n1,x\n"[..], 13, "column 2 is `x`"),
        (b"key,size\n,2\n", 9, "a key"),
        (b"colour,size\n1,2\n", 0, "--columns"),
        (b"time,key\n1\n", 9, "before the key"),
        (b"key,op\n1,fetch\n", 7, "an operation"),
        (b"key,op_count\n1,10000001\n", 13, "10000000 at most"),
    ] {
        let (at, text) = damage(&FORMAT, trace);
        assert_eq!(at, offset, "{text}");
        assert!(text.contains(word), "{text}");
    }
    assert_eq!(found(b"key,size\n1,2\n"), "csv");
}

#[test]
fn a_count_of_requests_cannot_fill_the_memory() {
    let trace = b"key,op_count\n1,10000000\n";
    let mut reader = crate::open_stream(Box::new(std::io::Cursor::new(trace)), &ReadOptions::default()).unwrap().reader;
    let mut batch = Vec::new();
    for _ in 0..10 {
        assert_eq!(reader.read(&mut batch).unwrap(), crate::BATCH_RECORDS);
    }
    assert!(batch.capacity() < 2 * crate::BATCH_RECORDS);
}

#[test]
fn the_length_of_a_scan_and_the_bytes_of_keys_are_details() {
    let read = crate::read::tests::details(&FORMAT, b"key,op,scan_length,op_count\nuser1,scan,40,1\n\"a,b\",get,,2\n");
    assert_eq!((read[0].key.as_deref(), read[0].scan_length), (Some(&b"user1"[..]), Some(40)));
    assert_eq!(read.len(), 3);
    assert!(read[1..].iter().all(|one| one.key.as_deref() == Some(b"a,b") && one.scan_length.is_none()));
}
