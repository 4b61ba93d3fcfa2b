//! A `files` workload, checked and complete.

use manometer_measure::{ByteSize, Rate};
use manometer_target::engine::directory::DatabaseManifest;
use serde_json::Value;

use super::oltp_ratios::WRITTEN_PER_READ_BYTES;
use super::settings::{FilesSettings, Personality};
use crate::file_threads::{FileOperation, check_threads};
use crate::setting_error::SettingError;

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;

/// The names of more files than this take more memory than a workload should.
const MAX_FILES: u64 = 1 << 27;
/// Each of `oltp`'s threads that write holds all files open.
const MAX_OLTP_FILES: u64 = 64;
/// A file or an append longer than this is a mistake.
const MAX_BYTES: u64 = 1 << 50;

/// The share of the files that exist at the start (Filebench's `prealloc=80`).
const PRESENT: (u64, u64) = (4, 5);

/// `oltp`'s files are multiples of this: any device's block, and any file system's.
pub(super) const OLTP_UNIT_BYTES: u64 = 64 * KIB;
/// The file of `oltp`'s log.
pub(super) const LOG_FILE_BYTES: u64 = 10 << 20;

/// A workload with all its numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FilesPlan {
    pub(super) personality: Personality,
    pub(super) files: u64,
    pub(super) mean_file_bytes: u64,
    /// 0 where nothing is appended.
    pub(super) mean_append_bytes: u64,
    /// 0 for one directory.
    pub(super) directory_width: u64,
    pub(super) threads: u32,
    pub(super) direct: bool,
    /// Operations per second at most.
    pub(super) rate: Option<Rate>,
}

impl FilesPlan {
    /// The numbers of `personality` as in dos Santos 2015 and Filebench.
    fn of(personality: Personality) -> Self {
        let plan = |files, mean_file_bytes, mean_append_bytes, directory_width, threads| Self {
            personality,
            files,
            mean_file_bytes,
            mean_append_bytes,
            directory_width,
            threads,
            direct: personality == Personality::Oltp,
            rate: None,
        };
        match personality {
            Personality::Fileserver => plan(500_000, 128 * KIB, 16 * KIB, 20, 50),
            Personality::Varmail => plan(4_000_000, 16 * KIB, 16 * KIB, 0, 16),
            Personality::Oltp => plan(10, 6 * GIB, 0, 0, 200),
        }
    }

    /// Completes `settings` with defaults, and checks them.
    ///
    /// # Errors
    /// The first invalid setting.
    pub(crate) fn new(settings: &FilesSettings) -> Result<Self, SettingError> {
        let own = Self::of(settings.personality);
        let bytes = |setting: Option<ByteSize>, own: u64| setting.map_or(own, |setting| setting.0);
        let plan = Self {
            files: settings.files.unwrap_or(own.files),
            mean_file_bytes: bytes(settings.mean_file_size, own.mean_file_bytes),
            mean_append_bytes: bytes(settings.mean_append_size, own.mean_append_bytes),
            directory_width: settings.directory_width.unwrap_or(own.directory_width),
            threads: settings.threads.unwrap_or(own.threads),
            direct: settings.direct.unwrap_or(own.direct),
            rate: settings.rate,
            ..own
        };
        plan.check_personality(settings)?;
        plan.check_files()?;
        plan.check_sizes()?;
        check_threads(plan.threads, plan.rate)?;
        Ok(plan)
    }

    /// Refuses settings that the personality does not use.
    fn check_personality(&self, settings: &FilesSettings) -> Result<(), SettingError> {
        let is_oltp = self.personality == Personality::Oltp;
        let unused = [
            ("mean_append_size", is_oltp && settings.mean_append_size.is_some()),
            ("directory_width", is_oltp && settings.directory_width.is_some()),
            ("direct", !is_oltp && settings.direct.is_some()),
        ];
        match unused.into_iter().find(|(_, unused)| *unused) {
            Some((name, _)) => {
                let got = format!("a setting that `{}` does not use", self.personality.name());
                Err(SettingError::new(name, got, "leave it out"))
            }
            None => Ok(()),
        }
    }

    fn check_files(&self) -> Result<(), SettingError> {
        // At least one exists at the start, and at least one can be created.
        let (least, most) = if self.is_stable() { (1, MAX_OLTP_FILES) } else { (2, MAX_FILES) };
        if !(least..=most).contains(&self.files) {
            return Err(SettingError::new("files", self.files, format!("write a whole number from {least} to {most}")));
        }
        if self.directory_width == 1 {
            let wanted = "write 0 for one directory, or a whole number from 2";
            return Err(SettingError::new("directory_width", 1, wanted));
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), SettingError> {
        let size = |name, bytes: u64, wanted: String| Err(SettingError::new(name, ByteSize(bytes), wanted));
        if !(1..=MAX_BYTES).contains(&self.mean_file_bytes) {
            return size("mean_file_size", self.mean_file_bytes, format!("write 1 to {}", ByteSize(MAX_BYTES)));
        }
        if self.is_stable() {
            if !self.mean_file_bytes.is_multiple_of(OLTP_UNIT_BYTES) {
                let nearest = ByteSize((self.mean_file_bytes / OLTP_UNIT_BYTES).max(1) * OLTP_UNIT_BYTES);
                let unit = ByteSize(OLTP_UNIT_BYTES);
                let wanted = format!("write a multiple of {unit}, such as {nearest}");
                return size("mean_file_size", self.mean_file_bytes, wanted);
            }
        } else if !(1..=MAX_BYTES).contains(&self.mean_append_bytes) {
            return size("mean_append_size", self.mean_append_bytes, format!("write 1 to {}", ByteSize(MAX_BYTES)));
        }
        Ok(())
    }

    /// Whether a run leaves the files as another run needs them.
    pub(crate) fn is_stable(&self) -> bool {
        self.personality == Personality::Oltp
    }

    /// How many files exist at the start.
    pub(crate) fn present(&self) -> u64 {
        if self.is_stable() { self.files } else { (self.files * PRESENT.0 / PRESENT.1).max(1) }
    }

    /// The bytes of the files that exist at the start, on average; exact for `oltp`.
    pub(crate) fn bytes(&self) -> u64 {
        let log_bytes = if self.is_stable() { LOG_FILE_BYTES } else { 0 };
        self.present().saturating_mul(self.mean_file_bytes).saturating_add(log_bytes)
    }

    /// The size of the data relative to the personality's default.
    pub(super) fn scale(&self) -> f64 {
        self.bytes() as f64 / Self::of(self.personality).bytes() as f64
    }

    pub(super) fn shrunk_files(&self, factor: f64) -> u64 {
        ((self.files as f64 * factor) as u64).max(2)
    }

    pub(super) fn shrunk_file_size(&self, factor: f64) -> ByteSize {
        // The log does not shrink.
        let left = (self.bytes() as f64 * factor - LOG_FILE_BYTES as f64).max(0.0) / self.files as f64;
        let units = left as u64 / OLTP_UNIT_BYTES;
        ByteSize(units.max(1) * OLTP_UNIT_BYTES)
    }

    /// The marker of the files.
    pub(crate) fn marker(&self, seed: u64) -> DatabaseManifest {
        // The seed decides which files exist and their sizes; `oltp`'s files are the same for all seeds.
        let drawn = if self.is_stable() { String::new() } else { format!(", drawn from seed {seed}") };
        let width = match self.directory_width {
            0 => "one directory".to_owned(),
            width => format!("{width} in a directory"),
        };
        DatabaseManifest {
            engine: "files".to_owned(),
            engine_version: String::new(),
            options: Value::Null,
            records: self.files,
            form: format!("{}, {} at first, {width}{drawn}", self.personality.name(), self.present()),
            value_bytes: self.mean_file_bytes,
            load: "as files".to_owned(),
            seed,
            loaded: false,
            changed: false,
            made_at_unix_ns: 0,
        }
    }

    /// The approximate bytes per second that it writes; nothing where only the device limits them.
    pub(crate) fn writes_per_s(&self) -> Option<f64> {
        let Some(Rate::Requests(rate)) = self.rate else { return None };
        let (file, append) = (self.mean_file_bytes as f64, self.mean_append_bytes as f64);
        // A file server's loop has eight operations: one writes a file, one appends. A mail server's has ten: two append.
        Some(match self.personality {
            Personality::Fileserver => rate * (file + append) / 8.0,
            Personality::Varmail => rate * 2.0 * append / 10.0,
            Personality::Oltp => rate * WRITTEN_PER_READ_BYTES,
        })
    }
}

/// The operations of a personality.
pub(super) fn operations(personality: Personality) -> &'static [FileOperation] {
    use FileOperation::{Append, Create, Delete, Fsync, Log, Open, Read, Stat, Write};
    match personality {
        Personality::Fileserver => &[Create, Write, Open, Append, Read, Delete, Stat],
        Personality::Varmail => &[Delete, Create, Append, Fsync, Open, Read],
        Personality::Oltp => &[Read, Write, Log],
    }
}

impl FilesSettings {
    /// The same workload with its data shrunk to the share `factor`; unchanged where it is invalid.
    pub fn shrunk(&self, factor: f64) -> Self {
        let Ok(plan) = FilesPlan::new(self) else { return self.clone() };
        match self.personality {
            Personality::Oltp => Self { mean_file_size: Some(plan.shrunk_file_size(factor)), ..self.clone() },
            Personality::Fileserver | Personality::Varmail => {
                Self { files: Some(plan.shrunk_files(factor)), ..self.clone() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(personality: Personality) -> FilesSettings {
        FilesSettings::of(personality)
    }

    #[test]
    fn the_numbers_are_those_of_the_thesis() {
        let of = |personality| FilesPlan::new(&settings(personality)).unwrap();
        let fileserver = of(Personality::Fileserver);
        assert_eq!((fileserver.files, fileserver.mean_file_bytes, fileserver.threads), (500_000, 131_072, 50));
        assert_eq!((fileserver.mean_append_bytes, fileserver.directory_width), (16_384, 20));
        assert_eq!((fileserver.present(), fileserver.bytes()), (400_000, 400_000 * 131_072));
        let varmail = of(Personality::Varmail);
        assert_eq!((varmail.files, varmail.mean_file_bytes, varmail.threads), (4_000_000, 16_384, 16));
        assert_eq!((varmail.mean_append_bytes, varmail.directory_width), (16_384, 0));
        let oltp = of(Personality::Oltp);
        assert_eq!((oltp.files, oltp.mean_file_bytes, oltp.threads, oltp.direct), (10, 6 << 30, 200, true));
        assert_eq!((oltp.present(), oltp.bytes()), (10, (60 << 30) + LOG_FILE_BYTES));
        assert!([fileserver, varmail, oltp].iter().all(|plan| plan.scale() == 1.0));
    }

    #[test]
    fn data_shrink_by_the_number_of_files_or_by_their_size() {
        for personality in [Personality::Fileserver, Personality::Varmail, Personality::Oltp] {
            let whole = settings(personality);
            assert!(whole.scales_to_disk());
            let tenth = whole.shrunk(0.1);
            assert!(!tenth.scales_to_disk());
            let plan = FilesPlan::new(&tenth).unwrap();
            assert!((plan.scale() - 0.1).abs() < 1e-3, "{}", plan.scale());
            assert!(FilesPlan::new(&whole.shrunk(1e-12)).is_ok(), "as little as there can be");
        }
        assert_eq!(settings(Personality::Varmail).shrunk(0.1).files, Some(400_000));
        assert_eq!(settings(Personality::Oltp).shrunk(0.1).files, None);
    }

    #[test]
    fn every_error_names_its_setting_and_a_valid_value() {
        let (mail, oltp) = (settings(Personality::Varmail), settings(Personality::Oltp));
        let bytes = |bytes| Some(ByteSize(bytes));
        let cases = [
            (FilesSettings { files: Some(1), ..mail.clone() }, "files", "from 2"),
            (FilesSettings { files: Some(1 << 40), ..mail.clone() }, "files", "to 134217728"),
            (FilesSettings { files: Some(65), ..oltp.clone() }, "files", "to 64"),
            (FilesSettings { mean_file_size: bytes(0), ..mail.clone() }, "mean_file_size", "write 1 to"),
            (FilesSettings { mean_file_size: bytes(u64::MAX), ..mail.clone() }, "mean_file_size", "write 1 to"),
            (FilesSettings { mean_file_size: bytes(100_000), ..oltp.clone() }, "mean_file_size", "such as 64KiB"),
            (FilesSettings { mean_append_size: bytes(0), ..mail.clone() }, "mean_append_size", "write 1 to"),
            (FilesSettings { mean_append_size: bytes(1), ..oltp.clone() }, "mean_append_size", "leave it out"),
            (FilesSettings { directory_width: Some(1), ..mail.clone() }, "directory_width", "0 for one directory"),
            (FilesSettings { directory_width: Some(20), ..oltp.clone() }, "directory_width", "leave it out"),
            (FilesSettings { direct: Some(true), ..mail.clone() }, "direct", "leave it out"),
            (FilesSettings { threads: Some(0), ..mail.clone() }, "threads", "1 to 512"),
            (FilesSettings { threads: Some(513), ..oltp }, "threads", "1 to 512"),
            (FilesSettings { rate: Some(Rate::Bytes(1)), ..mail }, "rate", "1000/s"),
        ];
        for (settings, name, wanted) in cases {
            let error = FilesPlan::new(&settings).unwrap_err();
            assert_eq!(error.name, name, "{error}");
            assert!(error.wanted.contains(wanted), "{error}");
        }
    }

    #[test]
    fn the_rate_determines_what_is_written() {
        let of = |personality| {
            let rated = FilesSettings { rate: Some(Rate::Requests(800.0)), ..settings(personality) };
            assert_eq!(FilesPlan::new(&settings(personality)).unwrap().writes_per_s(), None);
            FilesPlan::new(&rated).unwrap().writes_per_s().unwrap()
        };
        assert_eq!(of(Personality::Fileserver), 100.0 * (131_072.0 + 16_384.0));
        assert_eq!(of(Personality::Varmail), 160.0 * 16_384.0);
        // As many writes as reads, and a quarter of a mebibyte of the log for each 3,200.
        assert_eq!(of(Personality::Oltp), 800.0 * 2048.0 + 65_536.0);
    }

    #[test]
    fn a_marker_distinguishes_other_files() {
        let mail = FilesPlan::new(&settings(Personality::Varmail)).unwrap();
        let fewer = FilesPlan { files: 10, ..mail.clone() };
        let wider = FilesPlan { directory_width: 2, ..mail.clone() };
        let marker = mail.marker(1);
        assert!(marker.differences(&mail.marker(1), false).is_empty());
        for other in [mail.marker(2), fewer.marker(1), wider.marker(1)] {
            assert!(!marker.differences(&other, true).is_empty(), "{}", other.form);
        }
        let oltp = FilesPlan::new(&settings(Personality::Oltp)).unwrap();
        assert!(oltp.marker(1).differences(&oltp.marker(2), true).is_empty());
    }
}
