//! No input makes a reader panic, hang or allocate endless memory. A truncated trace yields its good records and the
//! offset of its damage.

use std::io::{Cursor, Read as _, Write as _};

use manometer_trace::{BATCH_RECORDS, FORMATS, Format, ReadOptions, Record, TraceError, open, open_stream};
use proptest::prelude::*;

use crate::samples::{Sample, samples};

/// The most batches that are read: a line may stand for very many requests.
const BATCHES_MAX: usize = 256;
/// The most records of a batch: one command may exceed it by the keys it names.
const BATCH_RECORDS_MAX: usize = BATCH_RECORDS + 131_072;

fn read(format: Option<&'static Format>, bytes: &[u8]) -> (Vec<Record>, Option<TraceError>) {
    let options = ReadOptions { format, keep_keys: true, ..ReadOptions::default() };
    let opened = match format.is_some_and(|format| format.name == "parquet") || bytes.starts_with(b"PAR1") {
        false => open_stream(Box::new(Cursor::new(bytes.to_vec())), &options),
        true => {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(bytes).unwrap();
            open(file.path(), &options)
        }
    };
    let mut trace = match opened {
        Ok(trace) => trace,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let (mut batch, mut records) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES_MAX {
        match trace.reader.read(&mut batch) {
            Ok(0) => return (records, None),
            Ok(_) => {
                assert!(batch.len() <= BATCH_RECORDS_MAX);
                records.append(&mut batch);
            }
            Err(error) => {
                assert_eq!(trace.reader.read(&mut batch).unwrap(), 0, "nothing follows an error");
                return (records, Some(error));
            }
        }
    }
    (records, None)
}

#[test]
fn every_format_has_a_sample_that_is_recognised() {
    let mut counts = Vec::new();
    for format in FORMATS {
        let mut mine = samples().into_iter().filter(|sample| sample.format == format.name).peekable();
        assert!(mine.peek().is_some(), "{} has no sample", format.name);
        for Sample { name, bytes, records, .. } in mine {
            let (read_records, error) = read(None, &bytes);
            assert!(error.is_none(), "{name}: {error:?}");
            assert_eq!(read_records, read(Some(format), &bytes).0, "{name}");
            counts.push((name, read_records.len(), records));
        }
    }
    assert!(counts.iter().all(|(_, read, expected)| read == expected), "{counts:?}");
}

#[test]
fn a_trace_that_is_cut_anywhere_gives_its_good_records() {
    for Sample { format, name, bytes, .. } in samples() {
        let format = Format::find(format).unwrap();
        let (whole, _) = read(Some(format), &bytes);
        let step = 1.max(bytes.len() / 4000);
        for cut in (0..bytes.len()).step_by(step) {
            let (records, error) = read(Some(format), &bytes[..cut]);
            // The last line of a truncated text may still be valid, with another meaning.
            let lines = bytes[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let sure = if bytes.contains(&0) { records.len() } else { read(Some(format), &bytes[..lines]).0.len() };
            assert!(records.len() <= whole.len() && records[..sure] == whole[..sure], "{name} cut at {cut}");
            if let Some(TraceError::Damaged { offset, .. }) = error {
                assert!(offset <= cut as u64, "{name} cut at {cut}: {offset}");
            }
        }
    }
}

#[test]
fn a_byte_that_is_wrong_is_no_panic() {
    for Sample { format, bytes, .. } in samples() {
        let format = Format::find(format).unwrap();
        let step = 1.max(bytes.len() / 300);
        for at in (0..bytes.len()).step_by(step) {
            for wrong in [0, 0xff, bytes[at] ^ 1] {
                let mut bytes = bytes.clone();
                bytes[at] = wrong;
                read(Some(format), &bytes);
                read(None, &bytes);
            }
        }
    }
}

#[test]
fn compressed_traces_are_read_without_asking() {
    let plain: Vec<u8> = (0..5000).flat_map(|key| format!("read,user{key},{key},1\n").into_bytes()).collect();
    let (expected, _) = read(None, &plain);
    assert_eq!(expected.len(), 5000);
    for (name, packed) in compressed(&plain) {
        let (records, error) = read(None, &packed);
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(records, expected, "{name}");
        // Two concatenated compressed streams are one trace.
        let (twice, error) = read(None, &[packed.clone(), packed].concat());
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(twice.len(), 2 * expected.len(), "{name}");
    }
}

#[test]
fn a_cut_stream_gives_what_came_before_the_cut() {
    let plain: Vec<u8> =
        (0..60_000_u64).flat_map(|key| format!("read,user{},{key},1\n", key * key).into_bytes()).collect();
    for (name, packed) in compressed(&plain) {
        let (records, error) = read(None, &packed[..packed.len() * 9 / 10]);
        assert!(!records.is_empty(), "{name}");
        match error.unwrap() {
            TraceError::Damaged { offset, what, .. } => {
                assert!(offset > 0 && plain[..offset as usize].ends_with(b"\n"), "{name}: {offset}");
                assert!(what.contains("decompress"), "{name}: {what}");
            }
            other => panic!("{name}: {other}"),
        }
    }
}

fn compressed(plain: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = Vec::new();
    flate2::read::GzEncoder::new(plain, flate2::Compression::fast()).read_to_end(&mut gzip).unwrap();
    let mut xz = Vec::new();
    liblzma::read::XzEncoder::new(plain, 1).read_to_end(&mut xz).unwrap();
    let blocks = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max64KB);
    let mut lz4 = lz4_flex::frame::FrameEncoder::with_frame_info(blocks, Vec::new());
    lz4.write_all(plain).unwrap();
    let zstd = zstd::encode_all(plain, 1).unwrap();
    vec![("gzip", gzip), ("xz", xz), ("lz4", lz4.finish().unwrap()), ("zstd", zstd)]
}

#[test]
fn a_line_without_end_is_an_error() {
    let (records, error) = read(Some(Format::find("keys").unwrap()), &vec![b'x'; 40 << 20]);
    assert!(records.is_empty());
    assert!(error.unwrap().to_string().contains("longer than"), "a limit is named");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_bytes_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        for format in FORMATS {
            read(Some(format), &bytes);
        }
        read(None, &bytes);
    }

    #[test]
    fn arbitrary_text_is_no_panic(text in "[0-9a-fx.,;:$*#%\"\\\\= \r\nRWGETgets]{0,300}") {
        for format in FORMATS {
            read(Some(format), text.as_bytes());
        }
        read(None, text.as_bytes());
    }

    #[test]
    fn samples_with_arbitrary_pieces_are_no_panic(
        which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(),
        piece in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let samples = samples();
        let sample = &samples[which.index(samples.len())];
        let mut bytes = sample.bytes.clone();
        let at = at.index(bytes.len());
        let end = (at + piece.len()).min(bytes.len());
        bytes.splice(at..end, piece);
        read(Some(Format::find(sample.format).unwrap()), &bytes);
        read(None, &bytes);
    }
}

#[test]
fn a_trace_that_is_damaged_early_is_still_recognised() {
    let (records, error) = read(None, b"read,a,1,\nread,b,2,\nread,c,3,\nread,d,soon,\nread,e,5,\n");
    assert_eq!(records.len(), 3);
    assert!(error.unwrap().to_string().contains("damaged kv-replay trace at byte 30 (line 4)"));
}
