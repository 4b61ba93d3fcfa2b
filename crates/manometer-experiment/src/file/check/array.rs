//! The table `[array]`, and whether its arrangements have the devices that they need.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Checker;
use crate::definition::{ARRANGEMENT_KEY, ArraySettings, Experiment, FileSystem};
use crate::file::tree::Node;

impl Checker<'_> {
    /// Reads the optional table `[array]`, with absolute paths.
    pub(super) fn read_array(&mut self, root: &Node) -> Option<ArraySettings> {
        let node = root.get("array")?;
        let mut array: ArraySettings = self.read_root_table(root, "array")?;
        if let Some(arrangement) = node.get("arrangement") {
            array.arrangement = self.arrangement_path(arrangement, &array.arrangement);
        }
        for (key, paths) in [("origin", &array.origin), ("cache", &array.cache)] {
            if paths.iter().any(|path| path.as_os_str().is_empty()) {
                let origin = node.get(key).map(|node| &node.origin);
                self.report(format!("a path in `{key}` is empty"), origin, Some("name devices or files"));
            }
        }
        array.origin.iter_mut().chain(&mut array.cache).for_each(|path| *path = absolute(path));
        if let Some(budget) = root.get("device").and_then(|device| device.get("write_budget")) {
            let help =
                "what was written is recorded in the device directory, which an array does not outlive: remove it";
            self.report("`write_budget` is not for an array", Some(&budget.key_origin), Some(help));
        }
        Some(array)
    }

    fn arrangement_path(&self, node: &Node, path: &Path) -> PathBuf {
        absolute(&self.sources.folder(&node.origin).join(path))
    }

    /// Reads the values of a key of the device or of the array in a sweep.
    pub(super) fn read_device_values(&mut self, root: &Node, key: &str, node: &Node) -> Vec<Value> {
        if key.starts_with("array.") && root.get("array").is_none() {
            let help = "add an `[array]` with the devices";
            self.report(format!("`{key}` needs an array"), Some(&node.key_origin), Some(help));
            return Vec::new();
        }
        match key {
            ARRANGEMENT_KEY => {
                let path = |element: &Node| match element.to_json() {
                    Value::String(path) => json!(self.arrangement_path(element, Path::new(&path))),
                    other => other,
                };
                let paths = node.elements().iter().map(path).collect();
                self.read_names(key, node);
                paths
            }
            "array.file_system" => {
                for element in node.elements() {
                    self.read::<FileSystem>(element, key);
                }
                node.elements().iter().map(Node::to_json).collect()
            }
            _ => self.read_names(key, node),
        }
    }

    /// Reports the arrangements that cannot be read or need more devices than there are.
    pub(super) fn check_arrays(&mut self, root: &Node, experiment: &Experiment) {
        let array = root.get("array");
        let own = array.and_then(|array| array.get("arrangement")).map(|node| &node.origin);
        let swept = root.get("sweep").and_then(|sweep| sweep.get(ARRANGEMENT_KEY));
        let origin = swept.map(|node| &node.key_origin).or(own).cloned();
        let mut arrays: Vec<ArraySettings> =
            experiment.combinations().into_iter().filter_map(|run| run.array).collect();
        arrays.dedup();
        let wrong = arrays.iter().find_map(|array| {
            let arrangement = array.load();
            arrangement.and_then(|arrangement| array.devices(&arrangement).map(drop)).err()
        });
        if let Some(message) = wrong {
            self.report(message, origin.as_ref(), None);
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
