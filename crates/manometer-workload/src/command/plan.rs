//! Checks the settings of an external program: its words, its parser, and that it is installed.

use std::path::{Path, PathBuf};

use manometer_measure::regular_file;
use rustix::fs::{Access, access};

use super::parser::{self, Parser};
use super::{CommandLine, CommandSettings, ParserName};
use crate::setting_error::SettingError;
use crate::settings_file::{LONGEST_FILE_BYTES, MOST_FILE_BYTES};

/// Debian packages of programs that may be missing.
const PACKAGES: [(&str, &str); 6] = [
    ("fio", "fio"),
    ("db_bench", "rocksdb-tools"),
    ("redis-benchmark", "redis-tools"),
    ("redis-server", "redis-server"),
    ("sysbench", "sysbench"),
    ("java", "default-jre-headless"),
];

/// Checks that the command has words, that its parser gets the options it needs, and that the programs are installed.
///
/// # Errors
/// The first invalid setting.
pub fn validate(settings: &CommandSettings) -> Result<(), SettingError> {
    parser_of(settings)?;
    installed("command", &words_of("command", &settings.command)?, settings)?;
    match &settings.prepare {
        Some(prepare) => installed("prepare", &words_of("prepare", prepare)?, settings),
        None => Ok(()),
    }
}

/// The unit of the workload's performance.
pub fn unit(settings: &CommandSettings) -> &'static str {
    parser_of(settings).map_or("ops/s", |parser| parser.unit())
}

/// The operations whose latency distributions the program reports.
pub fn latencies(settings: &CommandSettings) -> Vec<&'static str> {
    parser_of(settings).map_or_else(|_| Vec::new(), |parser| parser.latencies())
}

/// Absolute paths of files that the words of the command name, such as job files, alone or after `=`. Files above 16
/// MiB are data and left out, as are files in the worker's own directory.
pub fn files_named(settings: &CommandSettings) -> Vec<PathBuf> {
    let commands = [Some(&settings.command), settings.prepare.as_ref()].into_iter().flatten();
    let words = commands.flat_map(|words| words_of("command", words).unwrap_or_default());
    let paths = words.map(|word| PathBuf::from(word.split_once('=').map_or(word.as_str(), |(_, value)| value)));
    let is_read = |path: &PathBuf| {
        let short = || path.metadata().is_ok_and(|file| file.is_file() && file.len() <= LONGEST_FILE_BYTES);
        path.is_absolute() && short()
    };
    paths.filter(is_read).collect()
}

/// The options by which a program keeps a rate of its own, without dashes. Each is a word with its value, or a word before it.
const PACING_OPTIONS: [&str; 7] = [
    // YCSB.
    "target",
    // fio: bytes and requests per second.
    "rate",
    "rate_iops",
    // sysbench shares `rate`; redis-benchmark and memtier_benchmark.
    "rps",
    "rate-limiting",
    // db_bench.
    "benchmark_write_rate_limit",
    "benchmark_read_rate_limit",
];

/// The option by which the program paces itself, with its value, on its command line or in a file that this names (a job
/// file of fio, properties of YCSB); `None` where it runs as fast as it can.
pub(super) fn pacing_option(settings: &CommandSettings, words: &[String]) -> Option<String> {
    let reads_files = words.iter().any(|word| file_name(word) == "fio" || word.contains("ycsb"));
    option_among(words).or_else(|| {
        let files = if reads_files { files_named(settings) } else { Vec::new() };
        files.iter().find_map(|path| {
            let text = regular_file::read_text(path, MOST_FILE_BYTES).ok()?;
            Some(format!("{} in {}", option_in_file(&text)?, path.display()))
        })
    })
}

fn option_among(words: &[String]) -> Option<String> {
    words.iter().enumerate().find_map(|(index, word)| {
        // YCSB's properties follow a `-p`.
        let is_property = index > 0 && words[index - 1] == "-p";
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let bare = name.trim_start_matches('-');
        let is_option = bare.len() < name.len() || is_property;
        let value = value.or_else(|| words.get(index + 1).map(String::as_str))?;
        (is_option && is_pacing(bare, value)).then(|| format!("{name} {value}"))
    })
}

fn option_in_file(text: &str) -> Option<String> {
    let options = text.lines().filter_map(|line| line.split_once('='));
    let mut options = options.map(|(name, value)| (name.trim(), value.trim()));
    options.find(|(name, value)| is_pacing(name, value)).map(|(name, value)| format!("{name} {value}"))
}

/// Whether the option holds the program back: a rate of 0 does not.
fn is_pacing(name: &str, value: &str) -> bool {
    let is_rate = value.starts_with(|first: char| first.is_ascii_digit()) && value.parse() != Ok(0.0);
    PACING_OPTIONS.contains(&name) && is_rate
}

/// A new parser of the program's output.
pub(super) fn parser_of(settings: &CommandSettings) -> Result<Box<dyn Parser>, SettingError> {
    let words = words_of("command", &settings.command)?;
    let parser = parser::new(settings.parser, &words, &settings.patterns)?;
    let lacks = |(program, _): &&(&str, &str)| words.iter().any(|word| file_name(word) == *program);
    let written = |wanted: &str| words.iter().any(|word| word.starts_with(wanted));
    match parser.needs().iter().filter(lacks).find(|(_, wanted)| !written(wanted)) {
        Some((program, wanted)) => {
            let text = format!("`{program}` reports nothing while it runs without it: add the word `{wanted}…`");
            Err(SettingError::new("command", format!("no word `{wanted}…`"), text))
        }
        None => Ok(parser),
    }
}

/// The words of a command, at least one.
pub(super) fn words_of(setting: &str, words: &CommandLine) -> Result<Vec<String>, SettingError> {
    let words = match words {
        CommandLine::List(words) => words.clone(),
        CommandLine::Line(line) => {
            shell_words::split(line).map_err(|_| SettingError::new(setting, line, "close the quotes"))?
        }
    };
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err(SettingError::new(setting, "no word", "write a program and its arguments")),
    }
}

/// The words of the command that prepares the workload whose command is `words`: `prepare`, or for fio its own command, which
/// creates the files of its jobs and ends. Otherwise fio would create them when it is started, in the measured phase.
pub(super) fn preparation(settings: &CommandSettings, words: &[String]) -> Result<Option<Vec<String>>, SettingError> {
    if let Some(prepare) = &settings.prepare {
        return words_of("prepare", prepare).map(Some);
    }
    let fio = words.iter().position(|word| file_name(word) == "fio").filter(|_| settings.parser == ParserName::Fio);
    Ok(fio.map(|fio| {
        // Options before the first job are those of a job file, or of all jobs by this name.
        let on_the_line = words.iter().any(|word| word.starts_with("--name")).then_some("--name=global");
        let added = on_the_line.into_iter().chain(["--create_only=1"]).map(str::to_owned);
        words[..=fio].iter().cloned().chain(added).chain(words[fio + 1..].iter().cloned()).collect()
    }))
}

/// The file name of a program's path.
pub(super) fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn installed(setting: &str, words: &[String], settings: &CommandSettings) -> Result<(), SettingError> {
    let program = &words[0];
    let path = settings.environment.get("PATH").map(Into::into).or_else(|| std::env::var_os("PATH"));
    let found = if program.contains('/') {
        is_program(Path::new(program))
    } else {
        let folders: Vec<PathBuf> = path.iter().flat_map(std::env::split_paths).collect();
        folders.iter().any(|folder| is_program(&folder.join(program)))
    };
    if found {
        return Ok(());
    }
    let package = PACKAGES.iter().find(|(name, _)| *name == file_name(program));
    let wanted = package.map_or_else(
        || "install it, or write its whole path".to_owned(),
        |(_, package)| format!("install it (Debian: `apt-get install {package}`), or write its whole path"),
    );
    Err(SettingError::new(setting, format!("`{program}`, which is not installed"), wanted))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paced_by(line: &str) -> Option<String> {
        option_among(&shell_words::split(line).unwrap())
    }

    #[test]
    fn programs_that_keep_a_rate_of_their_own_are_known_by_their_options() {
        for (line, option) in [
            ("ycsb run basic -P workloada -s -target 500", "-target 500"),
            ("java -cp . site.ycsb.Client -p target=500 -s", "target 500"),
            ("fio --rate_iops=500 --output-format=json+", "--rate_iops 500"),
            ("fio --rate=10m", "--rate 10m"),
            ("sysbench oltp_read_only --rate=20 run", "--rate 20"),
            ("memtier_benchmark --rate-limiting=100", "--rate-limiting 100"),
            (
                "db_bench --benchmarks=readwhilewriting --benchmark_write_rate_limit=1048576",
                "--benchmark_write_rate_limit 1048576",
            ),
        ] {
            assert_eq!(paced_by(line).as_deref(), Some(option), "{line}");
        }
        for line in
            ["fio --rw=randread", "fio --rate_iops=0", "sysbench --rate", "echo rate 5", "db_bench --rate_limit=7"]
        {
            assert_eq!(paced_by(line), None, "{line}");
        }
    }

    #[test]
    fn a_rate_in_a_job_file_is_found_too() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("job.fio");
        let paced_by = |text: &str, program: &str| {
            std::fs::write(&job, text).unwrap();
            let words = vec![program.to_owned(), job.display().to_string()];
            let settings = serde_json::from_value(json!({ "command": words, "parser": "fio" })).unwrap();
            pacing_option(&settings, &words)
        };
        let found = format!("rate_iops 500 in {}", job.display());
        assert_eq!(paced_by("[job]\nrw = randread\nrate_iops = 500\n", "/usr/bin/fio"), Some(found));
        for text in ["[job]\nrw=randread\n", "# rate=5\n; rate_iops=5\n", "rate=0\n", "rate\n", ""] {
            assert_eq!(paced_by(text, "fio"), None, "{text}");
        }
        assert_eq!(paced_by("rate=5\n", "my-program"), None, "its files are not known");
    }
}
