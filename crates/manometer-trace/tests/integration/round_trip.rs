//! Tests that readers read what writers wrote.

use std::path::Path;

use manometer_trace::transform::anonymise::{Anonymise, Secret};
use manometer_trace::transform::complete::MissingInserts;
use manometer_trace::transform::copies::Copies;
use manometer_trace::transform::intensify::intensify;
use manometer_trace::transform::merge::Merge;
use manometer_trace::transform::sample::{SampledTrace, SpatialFilter};
use manometer_trace::transform::scale::Scale;
use manometer_trace::transform::slice::{Slice, SliceRange};
use manometer_trace::transform::span::TraceSpan;
use manometer_trace::transform::subtrace::{Division, Subtrace};
use manometer_trace::write::{DroppedFields, OUTPUT_FORMATS, OutputFormat, TraceBatch, create, write_trace};
use manometer_trace::{Format, ReadOptions, Record, TraceOperation, TraceReader, open};
use proptest::prelude::*;

fn all(reader: &mut dyn TraceReader) -> Vec<Record> {
    let (mut batch, mut records) = (Vec::new(), Vec::new());
    while reader.read(&mut batch).unwrap() > 0 {
        records.append(&mut batch);
    }
    records
}

/// Writes the records in two parts and reads them back. The format is given, since few records do not identify it.
fn there_and_back(format: &str, records: &[Record]) -> (DroppedFields, Vec<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let losses = write(&path, format, records);
    let options = ReadOptions { format: Some(Format::find(format).unwrap()), ..ReadOptions::default() };
    (losses, all(&mut *open(&path, &options).unwrap().reader))
}

fn write(path: &Path, format: &str, records: &[Record]) -> DroppedFields {
    let mut writer = create(path, OutputFormat::find(format).unwrap()).unwrap();
    let (first, second) = records.split_at(records.len() / 2);
    writer.write(&TraceBatch::of(first)).unwrap();
    writer.write(&TraceBatch::of(second)).unwrap();
    writer.finish().unwrap()
}

fn any_record() -> impl Strategy<Value = Record> {
    let numbers =
        (any::<Option<u64>>(), any::<u64>(), any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<u64>>());
    let small =
        (any::<Option<u32>>(), any::<Option<u32>>(), any::<u32>(), 0..TraceOperation::ALL.len(), any::<Option<bool>>());
    (numbers, small).prop_map(|(numbers, small)| Record {
        time_ns: numbers.0,
        key: numbers.1,
        offset: numbers.2,
        value_size: numbers.3,
        client: numbers.4,
        key_size: small.0,
        ttl_s: small.1,
        device: small.2,
        operation: TraceOperation::ALL[small.3],
        succeeded: small.4,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn csv_and_parquet_hold_everything(records in prop::collection::vec(any_record(), 0..2500)) {
        for format in ["csv", "parquet"] {
            let (losses, read) = there_and_back(format, &records);
            prop_assert_eq!(&read, &records);
            prop_assert_eq!(losses, DroppedFields::default());
        }
    }

    #[test]
    fn oracle_general_holds_seconds_keys_and_sizes(
        records in prop::collection::vec((any::<u32>(), 0_u64..50, any::<u32>()), 0..200),
    ) {
        let records: Vec<Record> = records.into_iter().map(|(time_s, key, size)| Record {
            time_ns: Some(u64::from(time_s) * 1_000_000_000),
            value_size: Some(size.into()),
            ..Record::new(TraceOperation::Get, key)
        }).collect();
        let (losses, read) = there_and_back("oracle-general", &records);
        prop_assert_eq!(read, records);
        prop_assert_eq!(losses, DroppedFields::default());
    }

    #[test]
    fn what_begins_like_a_compressed_file_is_read_as_it_is(seconds in 0..1_u64 << 16, key in any::<u64>()) {
        let time_ns = Some((seconds << 16 | 0x8b1f) * 1_000_000_000);
        prop_assume!(seconds & 0xff != 8 || seconds >> 8 >= 0x20);
        let records = [Record { time_ns, value_size: Some(1), ..Record::new(TraceOperation::Get, key) }];
        let (_, read) = there_and_back("oracle-general", &records);
        prop_assert_eq!(read, records);
    }

    #[test]
    fn kv_replay_holds_times_to_the_nanosecond(
        records in
            prop::collection::vec((any::<Option<u64>>(), any::<u64>(), any::<Option<u64>>(), 0_usize..6), 0..200),
    ) {
        let named = ["get", "insert", "update", "delete", "scan", "read-modify-write"];
        let records: Vec<Record> = records.into_iter().map(|(time_ns, key, value_size, operation)| Record {
            time_ns,
            value_size,
            key_size: Some(key.to_string().len() as u32),
            ..Record::new(named[operation].parse().unwrap(), key)
        }).collect();
        let (losses, read) = there_and_back("kv-replay", &records);
        prop_assert_eq!(read, records);
        prop_assert_eq!(losses, DroppedFields::default());
    }

    #[test]
    fn an_iolog_holds_requests_to_devices(
        timed in any::<bool>(),
        requests in prop::collection::vec((0_u64..1 << 50, 0_usize..3, 0_u64..1 << 40, any::<u32>()), 0..200),
    ) {
        let kinds = [TraceOperation::Read, TraceOperation::Write, TraceOperation::Discard];
        let records: Vec<Record> = requests.into_iter().map(|(time_us, kind, sector, size)| Record {
            time_ns: timed.then_some(time_us * 1000),
            ..Record::block(kinds[kind], 0, sector * 512, 512, size.into())
        }).collect();
        let (losses, read) = there_and_back("fio-iolog", &records);
        prop_assert_eq!(read, records);
        prop_assert_eq!(losses, DroppedFields::default());
    }
}

#[test]
fn next_accesses_are_filled_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    // More records than one backward read.
    let records: Vec<Record> = (0..150_000).map(|number| Record::new(TraceOperation::Get, number % 70_000)).collect();
    let losses = write(&path, "oracle-general", &records);
    assert_eq!(losses.0["no time, written as 0"], 150_000);
    let bytes = std::fs::read(&path).unwrap();
    let next = |record: usize| i64::from_le_bytes(bytes[record * 24 + 16..][..8].try_into().unwrap());
    assert_eq!((next(0), next(69_999), next(79_999), next(80_000)), (70_000, 139_999, 149_999, -1));
    assert_eq!(open(&path, &ReadOptions::default()).unwrap().format.name, "oracle-general");
}

#[test]
fn the_texts_of_keys_are_written_where_they_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, "key,size\nuser1,5\n\"a,\"\"b c\",6\n7,8\n").unwrap();
    let options = ReadOptions { keep_keys: true, ..ReadOptions::default() };
    for format in ["csv", "parquet"] {
        let path = folder.path().join(format);
        let mut trace = open(&source, &options).unwrap();
        let mut writer = create(&path, OutputFormat::find(format).unwrap()).unwrap();
        let mut batch = Vec::new();
        while trace.reader.read(&mut batch).unwrap() > 0 {
            writer.write(&TraceBatch { keys: trace.reader.keys(), ..TraceBatch::of(&batch) }).unwrap();
        }
        writer.finish().unwrap();
        let mut again = open(&path, &options).unwrap();
        let read = all(&mut *again.reader);
        let texts: Vec<&[u8]> =
            read.iter().map(|record| again.reader.keys().unwrap().text(record.key).unwrap()).collect();
        assert_eq!(texts, [&b"user1"[..], b"a,\"b c", b"7"]);
    }
}

/// All that a trace records beyond records.
fn details(reader: &mut dyn TraceReader) -> Vec<String> {
    let (mut batch, mut details) = (Vec::new(), Vec::new());
    while reader.read(&mut batch).unwrap() > 0 {
        let of_batch = reader.details().unwrap();
        assert!(!of_batch.of(0).is_joined, "the requests of one command are in one batch");
        details.extend((0..batch.len()).map(|at| format!("{:?}", of_batch.of(at))));
    }
    details
}

#[test]
fn parquet_holds_commands_and_their_keys_and_csv_counts_what_it_loses() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    let many: String = (0..600).map(|key| format!(" \"k{key}\"")).collect();
    let line = |words: &str| format!("1.000000 [0 127.0.0.1:5] {words}\n");
    let gets = line("\"get\" \"a\"").repeat(200);
    let last = line("\"hset\" \"h\" \"f\" \"v\"");
    std::fs::write(&source, gets + &line(&format!("\"mget\"{many}")) + &last).unwrap();
    let options = ReadOptions { keep_keys: true, keep_details: true, ..ReadOptions::default() };
    let recorded = details(&mut *open(&source, &options).unwrap().reader);
    assert_eq!(recorded.iter().filter(|one| one.contains("is_joined: true")).count(), 599);
    let convert = |name: &str| {
        let path = folder.path().join(name);
        let written = write_trace(&mut *open(&source, &options).unwrap().reader, &path, None).unwrap();
        (path, written.losses.0.into_iter().collect::<Vec<_>>())
    };
    let (path, losses) = convert("trace.parquet");
    assert_eq!(losses, []);
    assert_eq!(details(&mut *open(&path, &options).unwrap().reader), recorded);
    let (_, losses) = convert("trace.csv");
    let joined = "that it belongs to the command of the request before it";
    assert_eq!(losses.iter().find(|(what, _)| *what == joined), Some(&(joined, 599)));
    assert!(losses.iter().any(|(what, count)| *what == "recorded command" && *count >= 1), "{losses:?}");
}

#[test]
fn transforms_keep_commands_that_they_do_not_divide() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    let lines = "1.0 [0 127.0.0.1:5] \"hset\" \"h\" \"f\" \"v\"\n1.5 [0 127.0.0.1:5] \"mget\" \"a\" \"b\" \"c\"\n\
                 2.0 [0 127.0.0.1:6] \"hset\" \"h\" \"f\" \"w\"\n";
    std::fs::write(&source, lines).unwrap();
    let options = ReadOptions { keep_keys: true, keep_details: true, ..ReadOptions::default() };
    let input = || open(&source, &options).unwrap().reader;
    let recorded = details(&mut *input());
    let slice = |requests: u64| Slice::new(input(), SliceRange { requests: Some(requests), ..SliceRange::default() });
    assert_eq!(details(&mut slice(4)), recorded[..4]);
    let cut = details(&mut slice(3));
    assert_eq!((&cut[0], cut.len()), (&recorded[0], 3));
    assert!(cut[1..].iter().all(|one| one.contains("command: None") && one.contains("is_joined: false")), "{cut:?}");
    assert_eq!(details(&mut Scale::new(input(), 2.0).unwrap()), recorded);
    let all = SpatialFilter::of_rate(1.0).unwrap();
    assert_eq!(details(&mut SampledTrace::new(input(), all)), recorded);
    let client = Subtrace::new(input(), "1-64/64".parse().unwrap(), Division::Clients).unwrap();
    assert_eq!(details(&mut { client }), recorded);
    // Two clients, in different ones of these parts.
    let parts = (1..=64).map(|part| {
        let part = format!("{part}/64").parse().unwrap();
        details(&mut Subtrace::new(input(), part, Division::Clients).unwrap())
    });
    let parts: Vec<Vec<String>> = parts.filter(|part| !part.is_empty()).collect();
    assert!(parts.contains(&recorded[..4].to_vec()) && parts.contains(&recorded[4..].to_vec()), "{parts:?}");
}

/// The output of `redis-cli monitor` for one key in two databases.
const TWO_DATABASES: &str = "1.000000 [0 127.0.0.1:5] \"get\" \"a\"\n1.000001 [1 127.0.0.1:5] \"get\" \"a\"\n\
    1.000002 [1 127.0.0.1:5] \"get\" \"7\"\n1.000003 [0 127.0.0.1:5] \"get\" \"7\"\n";

#[test]
fn equal_keys_of_different_devices_stay_different_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, TWO_DATABASES).unwrap();
    let options = ReadOptions { keep_keys: true, ..ReadOptions::default() };
    for (format, losses) in [
        ("csv", &[][..]),
        ("parquet", &[]),
        ("kv-replay", &[("client", 4), ("device", 2), ("key size", 2), ("text of a key, written as its id", 2)]),
    ] {
        let path = folder.path().join(format);
        let mut trace = open(&source, &options).unwrap();
        let mut writer = create(&path, OutputFormat::find(format).unwrap()).unwrap();
        let records = all(&mut *trace.reader);
        writer.write(&TraceBatch { keys: trace.reader.keys(), ..TraceBatch::of(&records) }).unwrap();
        let lost = writer.finish().unwrap();
        assert_eq!(lost.0.into_iter().collect::<Vec<_>>(), losses, "{format}");
        let read = all(&mut *open(&path, &options).unwrap().reader);
        let keys = |records: &[Record]| records.iter().map(|record| record.key).collect::<Vec<_>>();
        assert_eq!(keys(&read), keys(&records), "{format}");
        assert!(losses.len() > 1 || read == records, "{format}");
    }
}

#[test]
fn what_does_not_fit_is_refused_or_reported() {
    let folder = tempfile::tempdir().unwrap();
    let get = Record { client: Some(1), time_ns: Some(1), ..Record::new(TraceOperation::Put, 1) };
    let refused = |format: &str, record: Record| {
        let path = folder.path().join(format);
        let mut writer = create(&path, OutputFormat::find(format).unwrap()).unwrap();
        writer.write(&TraceBatch::of(&[record])).unwrap_err().to_string()
    };
    assert!(refused("fio-iolog", get).contains("has a put"));
    assert!(refused("oracle-general", Record { time_ns: Some(u64::MAX), ..get }).contains("32 bits"));
    let losses = write(&folder.path().join("kv"), "kv-replay", &[get]);
    assert_eq!(losses.0.keys().copied().collect::<Vec<_>>(), ["client", "put, written as update"]);
    // An existing file is never replaced.
    assert!(create(&folder.path().join("kv"), OutputFormat::find("kv-replay").unwrap()).is_err());
}

#[test]
fn a_format_is_known_by_the_name_of_a_file() {
    for (name, format) in [("a.csv", "csv"), ("a.oracleGeneral.bin", "oracle-general"), ("b.PARQUET", "parquet")] {
        assert_eq!(OutputFormat::of_path(Path::new(name)).unwrap().name, format);
    }
    let error = OutputFormat::of_path(Path::new("trace")).unwrap_err().to_string();
    assert!(OUTPUT_FORMATS.iter().all(|format| error.contains(format.name)), "{error}");
}

/// Two clients of Redis, the one with a command of several keys at the time of the other's.
const ONE: &str = "1.0 [0 127.0.0.1:5] \"hset\" \"h\" \"f\" \"v\"\n1.5 [0 127.0.0.1:5] \"mget\" \"a\" \"b\" \"c\"\n\
                   2.0 [0 127.0.0.1:6] \"del\" \"a\" \"b\"\n";
const OTHER: &str = "1.25 [0 127.0.0.1:7] \"get\" \"a\"\n1.5 [0 127.0.0.1:7] \"mget\" \"d\" \"e\"\n";

fn monitored(folder: &Path, name: &str, lines: &str) -> Box<dyn TraceReader> {
    let path = folder.join(name);
    std::fs::write(&path, lines).unwrap();
    open(&path, &ReadOptions { keep_keys: true, keep_details: true, ..ReadOptions::default() }).unwrap().reader
}

/// The details of all requests, and what could not be carried.
fn carried(reader: &mut dyn TraceReader) -> (Vec<String>, Vec<(&'static str, u64)>) {
    (details(reader), reader.dropped().0.into_iter().collect())
}

#[test]
fn merging_keeps_commands_whole_and_drops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let one = details(&mut *monitored(folder.path(), "one", ONE));
    let other = details(&mut *monitored(folder.path(), "other", OTHER));
    let inputs = vec![monitored(folder.path(), "one", ONE), monitored(folder.path(), "other", OTHER)];
    let (merged, dropped) = carried(&mut Merge::new(inputs));
    let expected = [&one[..1], &other[..1], &one[1..4], &other[1..], &one[4..]].concat();
    assert_eq!((merged, dropped), (expected, vec![]));
}

#[test]
fn the_first_copy_keeps_commands_and_the_others_count_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = details(&mut *monitored(folder.path(), "one", ONE));
    let (copied, dropped) = carried(&mut Copies::new(monitored(folder.path(), "one", ONE), 3).unwrap());
    assert_eq!(copied.len(), 18);
    assert_eq!((&copied[0], &copied[3..6], &copied[12..14]), (&recorded[0], &recorded[1..4], &recorded[4..]));
    // A copy of the multi-get is one too; a copy of the deletes is two.
    let joined: Vec<usize> = (0..18).filter(|at| copied[*at].contains("is_joined: true")).collect();
    assert_eq!(joined, [4, 5, 7, 8, 10, 11, 13]);
    assert!([1, 2, 6, 14].iter().all(|at| copied[*at].contains("key: None") && copied[*at].contains("command: None")));
    let join = "that it belongs to the command of the request before it";
    assert_eq!(dropped, [("recorded command", 4), ("text of a key", 12), (join, 2)]);
}

#[test]
fn hashed_and_overlaid_keys_leave_lengths_and_count_what_names_keys() {
    let folder = tempfile::tempdir().unwrap();
    let one = || monitored(folder.path(), "one", ONE);
    let scans = || monitored(folder.path(), "scans", "time,op,key,scan_length\n1,scan,a,7\n2,scan,b,9\n");
    let secret = || "000102030405060708090a0b0c0d0e0f".parse::<Secret>().unwrap();
    let (hashed, dropped) = carried(&mut Anonymise::new(scans(), secret()));
    assert!(dropped.is_empty() && hashed.iter().all(|one| one.contains("key: None")), "{hashed:?}");
    assert_eq!(
        [7, 9].map(|length| hashed.iter().filter(|one| one.contains(&format!("Some({length})"))).count()),
        [1, 1]
    );
    let join = "that it belongs to the command of the request before it";
    let commands = [("recorded command", 2), (join, 1)];
    let joins = |left: &[String]| left.iter().filter(|one| one.contains("is_joined: true")).count();
    let (hashed, dropped) = carried(&mut Anonymise::new(one(), secret()));
    assert_eq!((joins(&hashed), dropped), (2, commands.to_vec()));
    let span = TraceSpan::read(&mut *one()).unwrap();
    let (overlaid, dropped) = carried(&mut intensify(|| Ok(one()), span, 2).unwrap());
    assert_eq!((joins(&overlaid), dropped), (2, vec![commands[0], ("text of a key", 6), commands[1]]));
    assert!(overlaid.iter().chain(&hashed).all(|one| one.contains("command: None") && one.contains("key: None")));
}

#[test]
fn divided_commands_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let range = SliceRange { requests: Some(5), ..SliceRange::default() };
    let (_, dropped) = carried(&mut Slice::new(monitored(folder.path(), "one", ONE), range));
    assert_eq!(dropped, [("recorded command", 1)]);
}

#[test]
fn inserts_without_a_size_or_of_no_string_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let missing = MissingInserts::read(monitored(folder.path(), "one", ONE)).unwrap();
    let kinds = [
        ("size of an inserted value, which no request for its key has", 3),
        ("type of an inserted value that a recorded command uses first, perhaps no string", 1),
    ];
    let mut load = missing.to_load();
    assert_eq!((all(&mut *load).len(), load.dropped().0.into_iter().collect::<Vec<_>>()), (4, kinds.to_vec()));
    let again = monitored(folder.path(), "one", ONE);
    let missing = MissingInserts::read(monitored(folder.path(), "one", ONE)).unwrap();
    let mut whole = missing.into_trace(again, 0).unwrap();
    let (requests, dropped) = carried(&mut whole);
    assert_eq!((requests.len(), dropped), (10, kinds.to_vec()));
    assert_eq!(requests.iter().filter(|one| one.contains("command: Some")).count(), 2);
}
