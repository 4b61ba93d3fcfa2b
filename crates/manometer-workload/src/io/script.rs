//! The timetable of an `io` workload.

use super::IoSettings;
use super::change::apply;
use crate::script::{self, ScriptError, ScriptStep};

/// Parses a timetable and tries every step on the settings that the steps before it leave. Steps at the same time become
/// one.
///
/// # Errors
/// The first invalid step.
pub fn parse_script(text: &str, settings: &IoSettings, fs_block_bytes: u64) -> Result<Vec<ScriptStep>, ScriptError> {
    let mut settings = settings.clone();
    script::parse_script(text, |changes| {
        settings = apply(&settings, changes, fs_block_bytes).map_err(|wrong| wrong.to_string())?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn parse(text: &str) -> Result<Vec<ScriptStep>, ScriptError> {
        parse_script(text, &IoSettings::default(), 4096)
    }

    #[test]
    fn changes_at_one_time_are_tried_together() {
        let deep =
            IoSettings { block_size: manometer_measure::ByteSize(4 << 20), iodepth: 256, ..IoSettings::default() };
        parse_script("1m: iodepth = 1024; 1m: block_size = 1MiB", &deep, 4096).unwrap();
        assert!(parse_script("1m: iodepth = 1024; 2m: block_size = 1MiB", &deep, 4096).is_err());
    }

    #[test]
    fn the_seeds_example_is_read() {
        let steps = parse("20m: iodepth = 2; 25m: write_ratio = 0.5; 25m: block_size=8KiB;").unwrap();
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].at_ns, 1200 * SECOND_NS);
        assert_eq!(steps[0].settings["iodepth"], 2);
        assert_eq!(steps[1].at_ns, 1500 * SECOND_NS);
        assert_eq!(steps[1].settings["write_ratio"], 0.5);
        assert_eq!(steps[1].settings["block_size"], "8KiB");
        assert_eq!(parse(" ").unwrap(), []);
    }

    #[test]
    fn errors_name_their_step_and_a_valid_form() {
        for (text, step, reason) in [
            ("iodepth = 2", 1, "20m: iodepth = 2"),
            ("1m: iodepth = 2; soon: iodepth = 4", 2, "15m"),
            ("1m: iodepth = 2; 2m: iodepth", 2, "setting = value"),
            ("1m: iodepht = 2", 1, "`iodepth`"),
            ("1m: iodepth = 2; 2m: iodepth = 4000", 2, "1 to 1024"),
            ("2m: iodepth = 2; 1m: iodepth = 4", 2, "earlier"),
            ("1m: files = 2", 1, "start"),
            ("1m: script = x", 1, "script"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.step, step, "{error}");
            assert!(error.reason.contains(reason), "{error}");
        }
    }
}
