//! `manometer array create`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use manometer_cache::tier::Arrangement;
use manometer_experiment::definition::FileSystem;
use manometer_lab::array::{self, ArraySpec, BuiltArray, DeviceUse, PlannedDevice, differences};
use manometer_measure::ByteSize;
use serde_json::json;

use super::refuse;
use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::Format;
use crate::process;
use crate::table::table;

/// The file system of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum FileSystemName {
    /// ext4.
    #[default]
    Ext4,
    /// XFS, which needs 300 MiB.
    Xfs,
}

/// Build an arrangement of devices or files, and mount it.
///
/// Sizes are those of the file, divided by its `scale`. A file that does not exist is created, and removed by `destroy`.
/// Whatever fails, every step before it is undone.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  manometer array create arrangements/bcache-1s-4h10.toml --origin /dev/sdb,/dev/sdc,/dev/sdd,/dev/sde --cache /dev/nvme1n1 --mount /mnt/array\n  \
    manometer array create mine.toml --origin /dev/sdb --cache /dev/nvme1n1 --dry-run\n  \
    manometer array create mine.toml --name small --origin disk.img --cache ssd.img"
)]
pub struct Args {
    /// File of the arrangement, as `cache tier` reads it.
    #[arg(value_name = "FILE")]
    arrangement: PathBuf,
    /// Devices or files of the origin, in order.
    #[arg(long, value_delimiter = ',', required = true, value_name = "DEVICE")]
    origin: Vec<PathBuf>,
    /// Devices or files of the cache, in order.
    #[arg(long, value_delimiter = ',', value_name = "DEVICE")]
    cache: Vec<PathBuf>,
    /// Make a file system on it and mount it here; without this, the device alone is built.
    #[arg(long, value_name = "DIR")]
    mount: Option<PathBuf>,
    /// The file system.
    #[arg(long, value_enum, default_value_t, requires = "mount")]
    file_system: FileSystemName,
    /// Name of the array; by default that of the arrangement.
    #[arg(long)]
    name: Option<String>,
    /// Take devices and files that hold data: these are lost.
    #[arg(long)]
    erase: bool,
    /// Check everything and say what would be taken; change nothing, but load modules of the kernel.
    #[arg(long)]
    dry_run: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Builds the array.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let arrangement = match Arrangement::load(&args.arrangement) {
        Ok(arrangement) => arrangement,
        Err(error) => return Ok(wrong_request(error)),
    };
    let file_system = match args.file_system {
        FileSystemName::Ext4 => FileSystem::Ext4,
        FileSystemName::Xfs => FileSystem::Xfs,
    };
    let absolute = |path: &Path| std::path::absolute(path);
    let mount = args.mount.as_deref().map(absolute).transpose()?.map(|point| (file_system, point));
    let paths = |paths: &[PathBuf]| paths.iter().map(|path| absolute(path)).collect::<Result<Vec<_>, _>>();
    let differences = differences(&arrangement);
    let spec = ArraySpec {
        name: args.name.clone().unwrap_or_else(|| arrangement.name.clone()),
        arrangement,
        origin: paths(&args.origin)?,
        cache: paths(&args.cache)?,
        mount,
        erase: args.erase,
        of_run: false,
        zeroed: false,
    };
    if args.dry_run {
        return match array::plan(&spec) {
            Ok(devices) => {
                let document = || json!({ "name": spec.name, "devices": devices, "differences": differences });
                args.format.print(document, || plan_text(&spec.name, &devices, &differences))?;
                Ok(ExitStatus::Done)
            }
            Err(error) => refuse(error),
        };
    }
    match array::create(&spec, &process::interruption()?) {
        Ok(built) => {
            let document = || json!({ "array": built, "differences": differences });
            args.format.print(document, || text(&built, &differences))?;
            Ok(ExitStatus::Done)
        }
        Err(error) => refuse(error),
    }
}

fn text(built: &BuiltArray, differences: &[String]) -> String {
    let device = built.device.as_deref().unwrap_or(Path::new(""));
    let mounted = match &built.mounted_at {
        Some(point) => format!(", mounted at {}", point.display()),
        None => String::new(),
    };
    format!("{} is {}{mounted}.\n{}", built.name, device.display(), differences_text(differences))
}

fn differences_text(differences: &[String]) -> String {
    let lines: Vec<String> = differences.iter().map(|text| format!("  {text}")).collect();
    format!("In this it differs from the simulation of the same file:\n{}", lines.join("\n"))
}

fn plan_text(name: &str, devices: &[PlannedDevice], differences: &[String]) -> String {
    let mut table = table(&["", "device", "size", "what happens to it"], 2);
    for PlannedDevice { place, path, bytes, used } in devices {
        let happens = match used {
            DeviceUse::Created => "is created",
            DeviceUse::Emptied => "is emptied",
            DeviceUse::Whole => "all of it is taken; what it holds is lost",
            DeviceUse::FirstPart => "its first part is taken; what that holds is lost",
        };
        table.add_row([place.clone(), path.display().to_string(), ByteSize(*bytes).to_string(), happens.to_owned()]);
    }
    format!("Nothing is built. {name} would take:\n{table}\n{}", differences_text(differences))
}
