//! Measures write amplification: loads random keys, then updates them uniformly. `amplification DIRECTORY RECORDS
//! VALUE_BYTES MEMTABLE_BYTES UPDATES`.

#![allow(clippy::print_stdout, reason = "an example program prints its result")]

use std::path::Path;

use rlsm::{Compression, Database, Options, Sync};

fn io_bytes(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0)
}

/// A bijection on 64-bit numbers, so that keys are random and unique.
fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn key(number: u64) -> String {
    format!("{:016x}", mix(number + 1))
}

fn directory_bytes(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|file| file.blocks() * 512).sum()
}

struct Phase {
    written: u64,
    device: u64,
    user: u64,
}

impl Phase {
    fn begin() -> Self {
        Self { written: io_bytes("wchar:"), device: io_bytes("write_bytes:"), user: 0 }
    }

    fn print(&self, name: &str, directory: &Path, live: u64) {
        let per_user = |bytes: u64| bytes as f64 / self.user as f64;
        println!(
            "{name}: written {:.2}, to the device {:.2}, space {:.3}",
            per_user(io_bytes("wchar:") - self.written),
            per_user(io_bytes("write_bytes:") - self.device),
            directory_bytes(directory) as f64 / live as f64
        );
    }
}

fn main() -> rlsm::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<u64>().ok());
    let [Some(records), Some(value_bytes), Some(memtable), Some(updates)] = [2, 3, 4, 5].map(number) else {
        println!("amplification DIRECTORY RECORDS VALUE_BYTES MEMTABLE_BYTES UPDATES");
        return Ok(());
    };
    let directory = Path::new(&arguments[1]);
    let database: Database = Options::new()
        .memtable_bytes(memtable)
        .sync(Sync::Never)
        .level1_compression(Compression::None)
        .open(directory)?;
    let live = records * (16 + value_bytes);
    let mut value = vec![0; value_bytes as usize];
    let mut put = |phase: &mut Phase, key: String, salt: u64| {
        let words = value.chunks_mut(8).enumerate();
        words.for_each(|(at, word)| word.copy_from_slice(&mix(salt + at as u64).to_le_bytes()[..word.len()]));
        phase.user += 16 + value_bytes;
        database.put(key.as_bytes(), &value)
    };
    let mut phase = Phase::begin();
    for record in 0..records {
        put(&mut phase, key(record), record)?;
    }
    phase.print("load", directory, live);
    for part in 0..4 {
        let mut phase = Phase::begin();
        for update in 0..updates / 4 {
            let number = part * updates / 4 + update;
            put(&mut phase, key(mix(number + (1 << 40)) % records), number)?;
        }
        phase.print("update", directory, live);
        println!("{:?}", database.stats()?);
    }
    Ok(())
}
