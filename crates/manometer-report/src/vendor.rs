//! The libraries that draw the charts, as their makers built them.

/// Vega, Vega-Lite and vega-embed, in the order in which a page loads them.
const LIBRARIES: [&str; 3] = [
    include_str!("../vendor/vega.min.js"),
    include_str!("../vendor/vega-lite.min.js"),
    include_str!("../vendor/vega-embed.min.js"),
];

/// The libraries as the texts of `script` elements. The names of their source maps are left out: a
/// browser would look for files that are not there.
pub(crate) fn scripts() -> impl Iterator<Item = String> {
    LIBRARIES.into_iter().map(|library| {
        let lines = library.lines().filter(|line| !line.starts_with("//# sourceMappingURL="));
        lines.collect::<Vec<_>>().join("\n").replace("</script", "<\\/script")
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use manometer_testing::{crate_file, installed};

    #[test]
    fn the_libraries_are_those_whose_checksums_are_listed() {
        let vendor = crate_file("vendor");
        if !installed("sha256sum") {
            return;
        }
        let mut check = Command::new("sha256sum");
        let check = check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(&vendor).output().unwrap();
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
        let listed = std::fs::read_to_string(vendor.join("SHA256SUMS")).unwrap();
        for file in ["vega.min.js", "vega-lite.min.js", "vega-embed.min.js"] {
            assert!(listed.contains(&format!("  {file}\n")), "{file} is not listed");
        }
    }

    #[test]
    fn no_library_ends_its_script_early_or_names_a_source_map() {
        for script in super::scripts() {
            assert!(!script.to_lowercase().contains("</script"));
            assert!(!script.contains("sourceMappingURL"));
        }
    }
}
