use super::*;

fn columns() -> Vec<Column> {
    let meaning = "Bytes that were read, answers alone.";
    vec![Column::new("read.operations", ""), Column::new("read.bytes", "B").meaning(meaning).from("/proc/1/io")]
}

fn read_stream(path: &Path) -> Result<Samples, SamplesError> {
    let (directory, name) = Directory::holding(path).unwrap();
    Samples::read_stream(&directory, name.to_str().unwrap())
}

fn sums_path(path: &Path) -> PathBuf {
    path.with_file_name(sums_name(path.file_name().unwrap().to_str().unwrap()))
}

fn write(path: &Path, rows: u64) -> SampleWriter {
    let (directory, name) = Directory::holding(path).unwrap();
    let mut writer = SampleWriter::create(&directory, name.to_str().unwrap(), &columns()).unwrap();
    for row in 0..rows {
        writer.append(row * 1_000, &[Some(row as f64), None]).unwrap();
    }
    writer
}

#[test]
fn a_series_is_readable_while_it_is_written_and_after() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.arrows");
    let writer = write(&path, 3);
    let begun = dir.path().join("b.arrows");
    let _writer = write(&begun, 0);
    assert_eq!(read_stream(&begun).unwrap().columns, columns());
    let living = read_stream(&path).unwrap();
    assert_eq!(living.t_ns, [0, 1_000, 2_000]);
    assert!(living.truncated, "the stream has no end yet");
    writer.finish().unwrap();
    let ended = read_stream(&path).unwrap();
    assert!(!ended.truncated);
    assert_eq!(ended.column("read.operations").unwrap(), [Some(0.0), Some(1.0), Some(2.0)]);
    assert_eq!(ended.column("read.bytes").unwrap(), [None, None, None]);
    assert_eq!(ended.columns, columns());
}

#[test]
fn a_renamed_column_is_read_under_either_name() {
    for recorded in ["squeezed", "under_pressure"] {
        let samples = Samples {
            columns: vec![Column::new(recorded, "s/s")],
            values: vec![vec![Some(0.5)]],
            ..Samples::default()
        };
        for name in ["squeezed", "under_pressure"] {
            assert_eq!(samples.column(name), Some([Some(0.5)].as_slice()), "{recorded} read as {name}");
        }
        assert_eq!(samples.column("deferred_bytes"), None);
    }
}

#[test]
fn parquet_keeps_values_gaps_units_and_meanings() {
    let dir = tempfile::tempdir().unwrap();
    let (stream, parquet) = (dir.path().join("a.arrows"), dir.path().join("a.parquet"));
    write(&stream, 100).finish().unwrap();
    let samples = read_stream(&stream).unwrap();
    samples.write_parquet(File::create(&parquet).unwrap()).unwrap();
    assert_eq!(Samples::read_parquet(File::open(&parquet).unwrap()).unwrap(), samples);
    let one = Samples::read_parquet_columns(File::open(&parquet).unwrap(), |name| name == "read.bytes").unwrap();
    assert_eq!((&one.t_ns, &one.columns[..]), (&samples.t_ns, &columns()[1..]));
    assert_eq!(one.values, samples.values[1..]);
}

/// Reads a file with these columns.
fn parquet(columns: Vec<(&str, ArrayRef)>) -> Result<Samples, SamplesError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.parquet");
    let fields: Vec<Field> =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    Samples::read_parquet(File::open(&path).unwrap())
}

fn times(times: &[Option<u64>]) -> (&'static str, ArrayRef) {
    (TIME, Arc::new(UInt64Array::from(times.to_vec())))
}

fn numbers<'a>(name: &'a str, numbers: &[f64]) -> (&'a str, ArrayRef) {
    (name, Arc::new(Float64Array::from(numbers.to_vec())))
}

#[test]
fn rows_are_read_in_the_order_of_their_times() {
    let read = parquet(vec![times(&[Some(3), Some(1), Some(2)]), numbers("a", &[30.0, 10.0, 20.0])]).unwrap();
    assert_eq!((read.t_ns, read.values), (vec![1, 2, 3], vec![vec![Some(10.0), Some(20.0), Some(30.0)]]));
}

#[test]
fn a_row_without_a_time_and_a_column_that_is_there_twice_are_errors() {
    let error = parquet(vec![times(&[Some(1), None]), numbers("a", &[1.0, 2.0])]).unwrap_err().to_string();
    assert!(error.contains("a row has no `t_ns`"), "{error}");
    let error = parquet(vec![times(&[Some(1)]), numbers("a", &[1.0]), numbers("a", &[2.0])]).unwrap_err();
    assert!(error.to_string().contains("`a` is there twice"), "{error}");
}

#[test]
fn no_damage_of_a_stream_or_of_its_checksums_changes_a_value() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.arrows");
    write(&path, 20).finish().unwrap();
    let whole = read_stream(&path).unwrap();
    for file in [path.clone(), sums_path(&path)] {
        let bytes = std::fs::read(&file).unwrap();
        for at in (0..bytes.len()).step_by(3) {
            let (mut flipped, mut zeroed) = (bytes.clone(), bytes.clone());
            flipped[at] ^= 0x10;
            zeroed[at..].fill(0);
            for damaged in [flipped, zeroed].into_iter().filter(|damaged| *damaged != bytes) {
                std::fs::write(&file, damaged).unwrap();
                let Ok(read) = read_stream(&path) else { continue };
                let rows = read.t_ns.len();
                assert!(read.truncated, "{}, byte {at}", file.display());
                assert_eq!(read.t_ns, whole.t_ns[..rows]);
                assert!(read.values.iter().zip(&whole.values).all(|(read, whole)| *read == whole[..rows]));
            }
        }
        std::fs::write(&file, bytes).unwrap();
    }
}

#[test]
fn a_stream_of_which_more_than_the_last_row_has_no_checksum_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.arrows");
    drop(write(&path, 8));
    let sums = std::fs::read(sums_path(&path)).unwrap();
    // The schema, eight rows.
    assert_eq!(sums.len(), 9 * SUM_BYTES);
    for rows in 0..=8 {
        std::fs::write(sums_path(&path), &sums[..(1 + rows) * SUM_BYTES]).unwrap();
        let samples = read_stream(&path).unwrap();
        assert_eq!((samples.t_ns.len(), samples.damaged), (rows, rows < 7), "{rows}");
    }
}

#[test]
fn a_stream_without_checksums_that_is_damaged_never_ends_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.arrows");
    write(&path, 20).finish().unwrap();
    std::fs::remove_file(sums_path(&path)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        let (mut flipped, mut zeroed) = (bytes.clone(), bytes.clone());
        flipped[at] ^= 0x80;
        zeroed[at..].fill(0);
        for damaged in [flipped, zeroed] {
            std::fs::write(&path, damaged).unwrap();
            let _ = read_stream(&path);
        }
    }
}

#[test]
fn a_series_cut_anywhere_is_read_up_to_there() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, cut) = (dir.path().join("a.arrows"), dir.path().join("b.arrows"));
    write(&whole, 5).finish().unwrap();
    let bytes = std::fs::read(&whole).unwrap();
    let mut rows_before = 0;
    for length in 0..bytes.len() {
        std::fs::write(&cut, &bytes[..length]).unwrap();
        let Ok(samples) = read_stream(&cut) else { continue };
        assert!(samples.t_ns.len() >= rows_before, "a longer file holds fewer rows");
        assert!(samples.values.iter().all(|column| column.len() == samples.t_ns.len()));
        rows_before = samples.t_ns.len();
    }
    assert_eq!(rows_before, 5);
}
