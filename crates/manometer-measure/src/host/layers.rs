//! The layers of a block device: partition, mapping, array, cache or loop device, down to the disks.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::block_device::{BlockDevice, device_of};

/// The limit of layers of a device.
const MAX_LAYERS: usize = 64;

/// The kind of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    /// A partition of a disk.
    Partition,
    /// A disk.
    Disk,
    /// A software RAID.
    Md,
    /// A device-mapper mapping: a logical volume, an encrypted device.
    Dm,
    /// A disk with a cache (bcache).
    Bcache,
    /// A file as a block device.
    Loop,
}

/// One layer of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// Its name, such as `dm-0`.
    pub name: String,
    /// Its kind.
    pub kind: LayerKind,
    /// The names of the devices directly below it.
    pub maps_to: Vec<String>,
    /// The name of a mapping, or the backing file of a loop device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The device itself.
    #[serde(skip)]
    pub device: BlockDevice,
}

/// The layers of `device`: the device itself, then the devices below it, nearest first.
pub fn layers_of(device: &BlockDevice) -> Vec<Layer> {
    layers_with(device, &device_of)
}

/// As [`layers_of`], with `holder` for the device that holds the backing file of a loop device.
fn layers_with(device: &BlockDevice, holder: &dyn Fn(&Path) -> Option<BlockDevice>) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    let mut next = VecDeque::from([device.clone()]);
    while let Some(device) = next.pop_front().filter(|_| layers.len() < MAX_LAYERS) {
        if layers.iter().any(|layer| layer.name == device.name) {
            continue;
        }
        let kind = kind_of(&device);
        let under = under(&device, kind, holder);
        layers.push(Layer {
            name: device.name.clone(),
            kind,
            maps_to: under.iter().map(|device| device.name.clone()).collect(),
            label: label(&device, kind),
            device,
        });
        next.extend(under);
    }
    layers
}

fn kind_of(device: &BlockDevice) -> LayerKind {
    let has = |name: &str| device.sysfs.join(name).exists();
    match () {
        () if has("partition") => LayerKind::Partition,
        () if has("loop/backing_file") => LayerKind::Loop,
        () if has("dm") => LayerKind::Dm,
        () if has("md") => LayerKind::Md,
        // A backing or cache device also has a directory `bcache`; only the combined device has that name.
        () if device.name.starts_with("bcache") => LayerKind::Bcache,
        () => LayerKind::Disk,
    }
}

fn under(device: &BlockDevice, kind: LayerKind, holder: &dyn Fn(&Path) -> Option<BlockDevice>) -> Vec<BlockDevice> {
    let folders = match kind {
        LayerKind::Partition => device.sysfs.parent().map(Path::to_owned).into_iter().collect(),
        LayerKind::Loop => return backing_file(device).and_then(|file| holder(&file)).into_iter().collect(),
        LayerKind::Bcache => [entries(&device.sysfs.join("slaves")), caches(device)].concat(),
        LayerKind::Disk | LayerKind::Md | LayerKind::Dm => entries(&device.sysfs.join("slaves")),
    };
    folders.iter().filter_map(|folder| BlockDevice::at(folder)).collect()
}

/// The caches of a bcache device: its cache set links to the `bcache` directory of each.
fn caches(device: &BlockDevice) -> Vec<PathBuf> {
    let of_set = entries(&device.sysfs.join("bcache/cache"));
    let cache = |path: &PathBuf| {
        let number = path.file_name()?.to_str()?.strip_prefix("cache")?;
        let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        fs::canonicalize(path).ok().filter(|_| numbered)?.parent().map(Path::to_owned)
    };
    of_set.iter().filter_map(cache).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn backing_file(device: &BlockDevice) -> Option<PathBuf> {
    let text = fs::read_to_string(device.sysfs.join("loop/backing_file")).ok()?;
    Some(PathBuf::from(text.strip_suffix('\n').unwrap_or(&text)))
}

fn label(device: &BlockDevice, kind: LayerKind) -> Option<String> {
    let path = match kind {
        LayerKind::Dm => "dm/name",
        LayerKind::Loop => "loop/backing_file",
        _ => return None,
    };
    let text = fs::read_to_string(device.sysfs.join(path)).ok()?;
    Some(text.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use manometer_testing::LoopDevice;

    use super::*;

    /// A sysfs of `devices` (folder below `block/`, its files with their text), each with its own number.
    struct Sysfs(tempfile::TempDir);

    impl Sysfs {
        fn new(devices: &[(&str, &[(&str, &str)])]) -> Self {
            let root = tempfile::tempdir().unwrap();
            for (minor, (folder, files)) in devices.iter().enumerate() {
                let folder = root.path().join("block").join(folder);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("dev"), format!("8:{minor}\n")).unwrap();
                for (name, text) in *files {
                    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
                    fs::write(folder.join(name), text).unwrap();
                }
            }
            Self(root)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join("block").join(name)
        }

        fn link(&self, from: &str, to: &str) {
            fs::create_dir_all(self.path(from).parent().unwrap()).unwrap();
            symlink(self.path(to), self.path(from)).unwrap();
        }

        fn device(&self, name: &str) -> BlockDevice {
            BlockDevice::at(&self.path(name)).unwrap()
        }

        fn chain(&self, name: &str) -> Vec<(String, LayerKind, Vec<String>)> {
            let layers = layers_with(&self.device(name), &|_| Some(self.device("sda/sda2")));
            layers.into_iter().map(|layer| (layer.name, layer.kind, layer.maps_to)).collect()
        }
    }

    fn layer(name: &str, kind: LayerKind, maps_to: &[&str]) -> (String, LayerKind, Vec<String>) {
        (name.to_owned(), kind, maps_to.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn a_loop_device_on_a_volume_on_an_array_has_the_disks_below_them() {
        let sysfs = Sysfs::new(&[
            ("sda", &[]),
            ("sda/sda1", &[("partition", "1\n")]),
            ("sda/sda2", &[("partition", "2\n")]),
            ("sdb", &[]),
            ("sdb/sdb1", &[("partition", "1\n")]),
            ("md0", &[("md/level", "raid1\n")]),
            ("dm-0", &[("dm/name", "vg-data\n")]),
            ("loop0", &[("loop/backing_file", "/srv/disk.img\n")]),
        ]);
        sysfs.link("md0/slaves/sda1", "sda/sda1");
        sysfs.link("md0/slaves/sdb1", "sdb/sdb1");
        sysfs.link("dm-0/slaves/md0", "md0");
        assert_eq!(
            sysfs.chain("dm-0"),
            [
                layer("dm-0", LayerKind::Dm, &["md0"]),
                layer("md0", LayerKind::Md, &["sda1", "sdb1"]),
                layer("sda1", LayerKind::Partition, &["sda"]),
                layer("sdb1", LayerKind::Partition, &["sdb"]),
                layer("sda", LayerKind::Disk, &[]),
                layer("sdb", LayerKind::Disk, &[]),
            ]
        );
        assert_eq!(
            sysfs.chain("loop0"),
            [
                layer("loop0", LayerKind::Loop, &["sda2"]),
                layer("sda2", LayerKind::Partition, &["sda"]),
                layer("sda", LayerKind::Disk, &[]),
            ]
        );
        let labels = layers_with(&sysfs.device("dm-0"), &|_| None);
        assert_eq!(labels[0].label.as_deref(), Some("vg-data"));
    }

    #[test]
    fn a_bcache_device_shows_its_backing_disk_and_its_cache() {
        let sysfs = Sysfs::new(&[
            ("sda", &[("bcache/state", "clean\n")]),
            ("nvme0n1", &[("bcache/priority_stats", "\n")]),
            ("bcache0", &[("bcache/dirty_data", "0\n")]),
        ]);
        sysfs.link("bcache0/slaves/sda", "sda");
        sysfs.link("../fs/bcache/5f/cache0", "nvme0n1/bcache");
        sysfs.link("../fs/bcache/5f/cache_available_percent", "nvme0n1/bcache/priority_stats");
        sysfs.link("bcache0/bcache/cache", "../fs/bcache/5f");
        assert_eq!(
            sysfs.chain("bcache0"),
            [
                layer("bcache0", LayerKind::Bcache, &["sda", "nvme0n1"]),
                layer("sda", LayerKind::Disk, &[]),
                layer("nvme0n1", LayerKind::Disk, &[]),
            ]
        );
    }

    #[test]
    fn layers_in_a_cycle_end() {
        let sysfs = Sysfs::new(&[("dm-0", &[("dm/name", "a\n")]), ("dm-1", &[("dm/name", "b\n")])]);
        sysfs.link("dm-0/slaves/dm-1", "dm-1");
        sysfs.link("dm-1/slaves/dm-0", "dm-0");
        assert_eq!(sysfs.chain("dm-0").len(), 2);
    }

    #[test]
    fn a_layer_is_serialised_with_name_kind_and_devices_below() {
        let sysfs = Sysfs::new(&[("dm-0", &[("dm/name", "home\n")])]);
        let json = serde_json::to_value(layers_with(&sysfs.device("dm-0"), &|_| None)).unwrap();
        assert_eq!(json, serde_json::json!([{"name": "dm-0", "kind": "dm", "maps_to": [], "label": "home"}]));
    }

    #[test]
    fn a_real_loop_device_maps_to_the_device_of_its_file() {
        let Some(device) = LoopDevice::new(1 << 20) else { return };
        let file = device.image.clone();
        let found = BlockDevice::at(&Path::new("/sys/class/block").join(device.path.file_name().unwrap()));
        let layers = found.as_ref().map(layers_of).unwrap();
        assert_eq!(layers[0].kind, LayerKind::Loop);
        assert_eq!(layers[0].label.as_deref(), file.to_str());
        let under: Vec<String> = device_of(&file).into_iter().map(|device| device.name).collect();
        assert_eq!(layers[0].maps_to, under);
    }
}
