//! A small trace of every format. Samples with a version in their names were recorded from that program; the others
//! follow the documentation of their formats.

use manometer_trace::write::{OutputFormat, TraceBatch, create};
use manometer_trace::{Record, TraceOperation};

pub struct Sample {
    pub format: &'static str,
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub records: usize,
}

macro_rules! file {
    ($format:literal, $name:literal, $records:literal) => {
        Sample { format: $format, name: $name, bytes: include_bytes!($name).to_vec(), records: $records }
    };
}

fn text(format: &'static str, records: usize, text: &str) -> Sample {
    Sample { format, name: format, bytes: text.as_bytes().to_vec(), records }
}

pub fn samples() -> Vec<Sample> {
    let mut samples = recorded();
    samples.extend(texts());
    samples.extend(binaries());
    samples
}

fn recorded() -> Vec<Sample> {
    vec![
        file!("redis-monitor", "redis-7.0.monitor", 23),
        file!("redis-aof", "redis-7.0.incr.aof", 16),
        file!("memcached-watch", "memcached-1.6.watch", 27),
        file!("fio-iolog", "fio-3.33.iolog", 12),
        file!("rocksdb", "rocksdb-7.8-get.trace", 200),
        file!("rocksdb", "rocksdb-11.8-merge.trace", 20),
        file!("rocksdb", "rocksdb-11.8-multiget.trace", 20),
        file!("rocksdb", "rocksdb-11.8-seek.trace", 20),
        file!("rocksdb", "rocksdb-11.8-delete.trace", 48),
    ]
}

fn texts() -> Vec<Sample> {
    vec![
        text("kv-replay", 3, "read,user1,10.5,\nupdate,user2,11,100\ninsert,user3\n"),
        text("csv", 2, "time,key,size,op\n1.5,a,10,get\n2,\"b,c\",,set\n"),
        text("twitter", 2, "0,q:1:8WTf,17,213,4,get,0\n1,yDqF:3,27,27,5,set,86400\n"),
        text("meta-kv", 5, "op_time,key,key_size,op,op_count,size,cache_hits\n1,a,1,GET,3,10,1\n2,b,1,SET,2,10,0\n"),
        text(
            "meta-block",
            3,
            "op_time,block_id,io_size,io_offset,op_name,op_count,host_name\n1,a,8,0,getChunkData.X,2,7\n2,b,8,8,putChunk.Y,1,7\n",
        ),
        text(
            "msr",
            2,
            "128166372003061629,hm,1,Read,383496192,32768,413\n128166372016382155,hm,0,Write,2822144,4096,0\n",
        ),
        text("spc", 2, "0,20941264,8192,W,0.551706\n1,20939840,8192,r,0.554041\n"),
        text(
            "systor17",
            1,
            "Timestamp,Response,IOType,LUN,Offset,Size\n1455592008.051244000,0.00009,R,4,54980456448,16384\n",
        ),
        text("adapt-size", 2, "1 0 68\n2 1 7454\n"),
        text("address", 2, "s 0x1fffff50 1\nl 0x1fffff58 6\n"),
        text("arc", 4, "3050771 3 0 0\n7 1 0 1\n"),
        text("lirs", 3, "2819\n  85\n*\n560\n"),
        text("keys", 3, "user1\nuser2\nuser1\n"),
        text(
            "blkreplay",
            2,
            "Copyright\n\nstart ; sector; length ; op ; x ; y\n 0.449518165 ; 377 ; 14 ; W ; 0.0 ; 0.0\n 1.5 ; 79 ; 8 ; RA ; 0 ; 0\n",
        ),
        text(
            "ibm-object-store",
            2,
            "1219008 REST.PUT.OBJECT 8d4fcda3d675bac9 1056\n1221974 REST.GET.OBJECT 39d177fb735ac5df 528 0 131\n",
        ),
        text("rocksdb-text", 2, "757365723031 0 0 0 1600000000000001\n0x7573 1 1 100 1600000000000002\n"),
        text(
            "blkparse",
            2,
            "  8,0    3        1     0.000123000   697  D   W 223490 + 8 [kjournald]\n  8,0    3        2     0.000323000     0  C   W 223490 + 8 [0]\n  8,16   0        1     0.500000000    12  D  RA 8 + 16 [fio]\n",
        ),
    ]
}

fn binaries() -> Vec<Sample> {
    let records: Vec<Record> = (0..40_u64)
        .map(|number| Record {
            time_ns: Some(number * 1_000_000_000),
            value_size: Some(100 + number),
            ..Record::new(TraceOperation::Get, number % 7)
        })
        .collect();
    let mut samples = vec![vscsi_1(), vscsi_2(), lcs(), cache2k()];
    for format in ["oracle-general", "parquet"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let mut writer = create(&path, OutputFormat::find(format).unwrap()).unwrap();
        writer.write(&TraceBatch::of(&records)).unwrap();
        writer.finish().unwrap();
        samples.push(Sample { format, name: format, bytes: std::fs::read(path).unwrap(), records: records.len() });
    }
    samples
}

fn vscsi_1() -> Sample {
    let record = |number: u32| {
        let mut bytes = [number, 512, 1].map(u32::to_le_bytes).concat();
        bytes.extend([0x2a, 0x100].map(u16::to_le_bytes).concat());
        bytes.extend([u64::from(number), 5_633_898].map(u64::to_le_bytes).concat());
        bytes
    };
    Sample { format: "vscsi1", name: "vscsi1", bytes: (0..4).flat_map(record).collect(), records: 4 }
}

fn vscsi_2() -> Sample {
    let record = |number: u32| {
        let mut bytes = [0x28_u16, 0x200].map(u16::to_le_bytes).concat();
        bytes.extend([number, 4096, 1].map(u32::to_le_bytes).concat());
        bytes.extend([u64::from(number), 5_633_898, 250].map(u64::to_le_bytes).concat());
        bytes
    };
    Sample { format: "vscsi2", name: "vscsi2", bytes: (0..4).flat_map(record).collect(), records: 4 }
}

fn lcs() -> Sample {
    let mut bytes = vec![0; 8192];
    for at in [0, 8184] {
        bytes[at..at + 8].copy_from_slice(&0x1234_5678_9abc_def0_u64.to_le_bytes());
    }
    bytes[8] = 2;
    for number in 0..3_u64 {
        bytes.extend(9_u32.to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend([100_u32, 5 << 8 | 3].map(u32::to_le_bytes).concat());
        bytes.extend((-1_i64).to_le_bytes());
    }
    Sample { format: "lcs", name: "lcs", bytes, records: 3 }
}

fn cache2k() -> Sample {
    let bytes = (0..600_u32).flat_map(|number| (0x4800_0a00 + number % 77).to_be_bytes()).collect();
    Sample { format: "cache2k", name: "cache2k", bytes, records: 600 }
}
