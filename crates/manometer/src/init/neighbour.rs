//! The neighbour of the store.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;

/// The words of a command line of fio that Manometer needs to read its results.
const FIO_REQUIRED: &[&str] = &["fio", "--output-format=json+", "--status-interval=1"];
/// The words that say what fio does.
const FIO_JOB: &[&str] = &[
    "--name=job",
    "--directory={directory}",
    "--size=256M",
    "--rw=randrw",
    "--bs=4k",
    "--direct=1",
    "--randseed={seed}",
    "--time_based",
    "--runtime=24h",
];

/// What a neighbour does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum NeighbourKind {
    /// Random reads of 4 KiB.
    Reader,
    /// Random writes of 64 KiB.
    Writer,
    /// Random reads and writes of 64 KiB.
    Mixed,
    /// Sequential reads of 1 MiB, as a backup or a scan.
    Backup,
    /// Small sequential synced writes, as a log.
    Log,
    /// Another store of the same engine, half updates.
    Store,
    /// A job of fio.
    Fio,
    /// Nobody: how fast and how steady the store is alone.
    None,
}

impl NeighbourKind {
    /// Its settings in the experiment.
    pub(super) fn table(self) -> String {
        match self {
            Self::Reader => io("256MiB", "4KiB", &["random_ratio = 1.0"]),
            Self::Writer => io("256MiB", "64KiB", &["write_ratio = 1.0", "random_ratio = 1.0"]),
            Self::Mixed => io("256MiB", "64KiB", &["write_ratio = 0.5", "random_ratio = 1.0"]),
            Self::Backup => io("256MiB", "1MiB", &["random_ratio = 0.0"]),
            Self::Log => io("64MiB", "4KiB", &["write_ratio = 1.0", "random_ratio = 0.0", "dsync = true"]),
            Self::Store => "kind = \"kv\"\nworkload = \"ycsb-a\"\nthreads = 1".to_owned(),
            Self::Fio => fio(),
            Self::None => String::new(),
        }
    }

    /// What its intensities are: the settings and their values.
    pub(super) fn ladder(self) -> Option<(&'static str, &'static [u32])> {
        match self {
            Self::Reader | Self::Writer | Self::Mixed => Some(("iodepth", &[1, 4, 16])),
            Self::Backup | Self::Log => Some(("iodepth", &[1, 4])),
            Self::Store | Self::Fio | Self::None => None,
        }
    }

    /// The number of phases with it.
    pub(super) fn steps(self) -> usize {
        self.ladder().map_or(usize::from(self != Self::None), |(_, values)| values.len())
    }

    /// Whether its phases can take turns in short blocks: a program would be started again for each.
    pub(super) fn is_interleaved(self) -> bool {
        !matches!(self, Self::Fio | Self::None)
    }

    /// What it is, in a sentence.
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Reader => "random reads of 4 KiB",
            Self::Writer => "random writes of 64 KiB",
            Self::Mixed => "random reads and writes of 64 KiB",
            Self::Backup => "a backup that reads a file from its beginning to its end",
            Self::Log => "a log whose small writes are synced",
            Self::Store => "another store of the same kind",
            Self::Fio => "a job of fio",
            Self::None => "nobody",
        }
    }
}

/// The settings of a neighbour that reads and writes a file.
fn io(file_size: &str, block_size: &str, ratios: &[&str]) -> String {
    format!("kind = \"io\"\nfile_size = \"{file_size}\"\nblock_size = \"{block_size}\"\n{}", ratios.join("\n"))
}

/// The settings of a job of fio.
fn fio() -> String {
    let quoted = |words: &[&str]| words.iter().map(|word| format!("    \"{word}\",\n")).collect::<String>();
    format!(
        "kind = \"command\"\nparser = \"fio\"\n# Any command line of fio; the first {} words are required. Its files are \
         created before it is measured.\ncommand = [\n{}{}]",
        FIO_REQUIRED.len(),
        quoted(FIO_REQUIRED),
        quoted(FIO_JOB)
    )
}

impl fmt::Display for NeighbourKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.to_possible_value().map(|value| value.get_name().to_owned());
        f.write_str(&name.unwrap_or_default())
    }
}

impl FromStr for NeighbourKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        <Self as ValueEnum>::from_str(text, false).map_err(|_| {
            let names: Vec<String> = Self::value_variants().iter().map(ToString::to_string).collect();
            format!("`{text}` is not a neighbour: write one of {}", names.join(", "))
        })
    }
}
