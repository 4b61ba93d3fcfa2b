//! YCSB with `-s`: a status line with the operations so far and, in brackets, the counts of each kind.
//!
//! ```text
//! 2017-05-20 18:55:44:512 10 sec: 376385 operations; 37634.74 current ops/sec; … [READ: Count=188431, … 99.9=15359, …]
//! ```
//!
//! YCSB in Java reports `current ops/sec` and counts in the brackets since the line before; the port to C++
//! reports no current rate and counts since the beginning. A read-modify-write is also counted as the read
//! and the update that it consists of; here it is counted once.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Amount, OperationReport, Parser, Report, grown};

static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\d+ sec: (?<all>\d+) operations;(?<current> \S+ current ops/sec;)?")
        .expect("the constant pattern is valid")
});
static KIND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\[(?<kind>[A-Z-]+): Count=(?<count>\d+),? (?<fields>[^\]]*)\]").expect("the constant pattern is valid")
});
/// Java formats decimals for the host's locale: `Avg=148,97, 90=337`.
static FIELD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?<name>[\w.]+)=(?<whole>\d+)(?:[.,](?<part>\d+))?").expect("the constant pattern is valid")
});

const KINDS: [(&str, &str); 6] = [
    ("READ", "read"),
    ("UPDATE", "update"),
    ("INSERT", "insert"),
    ("SCAN", "scan"),
    ("DELETE", "delete"),
    ("READ-MODIFY-WRITE", "read_modify_write"),
];
/// The reported statistics in microseconds, and their names here.
const NUMBERS: [(&str, &str); 7] = [
    ("Avg", "mean"),
    ("Min", "min"),
    ("Max", "max"),
    ("90", "p90"),
    ("99", "p99"),
    ("99.9", "p999"),
    ("99.99", "p9999"),
];

#[derive(Debug, Default)]
pub(super) struct Ycsb {
    before: BTreeMap<&'static str, u64>,
}

impl Parser for Ycsb {
    fn line(&mut self, line: &str) -> Option<Vec<Report>> {
        let status = STATUS.captures(line)?;
        let since_the_beginning = status.name("current").is_none();
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut report = Report::default();
        for found in KIND.captures_iter(line) {
            let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == &found["kind"]) else { continue };
            let latest = found["count"].parse().ok()?;
            let before = self.before.insert(kind, latest).filter(|_| since_the_beginning);
            counts.insert(kind, grown(latest, before.unwrap_or(0)));
            report = with_latencies(report, kind, &found);
        }
        let both = counts.get("read_modify_write").copied().unwrap_or(0);
        for kind in ["read", "update"] {
            counts.entry(kind).and_modify(|count| *count = count.saturating_sub(both));
        }
        let counted = |(kind, count): (&str, u64)| (kind.to_owned(), OperationReport::requests(Amount::Count(count)));
        report.operations = counts.into_iter().map(counted).collect();
        Some(vec![report])
    }

    fn operations(&self) -> Vec<String> {
        KINDS.iter().map(|(_, kind)| (*kind).to_owned()).collect()
    }

    fn state(&self) -> Vec<(String, &'static str)> {
        KINDS.iter().flat_map(|(_, kind)| NUMBERS.map(|(_, number)| (format!("{kind}_{number}_us"), "us"))).collect()
    }

    fn needs(&self) -> &'static [(&'static str, &'static str)] {
        &[("ycsb", "-s"), ("ycsb.sh", "-s"), ("java", "-s")]
    }
}

/// The latencies of `kind`. YCSB writes zeros, which are ignored, where there were no operations.
fn with_latencies(report: Report, kind: &str, found: &Captures<'_>) -> Report {
    if &found["count"] == "0" {
        return report;
    }
    FIELD.captures_iter(&found["fields"]).fold(report, |report, field| {
        let Some((_, number)) = NUMBERS.iter().find(|(latest, _)| *latest == &field["name"]) else { return report };
        let part = field.name("part").map_or("0", |part| part.as_str());
        report.with_state(&format!("{kind}_{number}_us"), format!("{}.{part}", &field["whole"]).parse().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::parser::read_all;

    fn count(report: &Report, kind: &str) -> u64 {
        match report.operations[kind].requests {
            Amount::Count(count) => count,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_java_program_counts_since_the_line_before() {
        let (reports, _) = read_all(&mut Ycsb::default(), include_str!("samples/ycsb.txt"));
        let [begin, first, second] = reports.as_slice() else { panic!("{reports:?}") };
        assert!(begin.operations.is_empty());
        assert_eq!((count(first, "read"), count(first, "insert")), (188_431, 189_530));
        assert_eq!((count(second, "read"), count(second, "insert")), (312_914, 311_032));
        assert_eq!((second.state["read_mean_us"], second.state["read_p99_us"]), (367.63, 749.0));
        assert_eq!(second.state["insert_p999_us"], 5103.0);
    }

    /// What YCSB 0.17.0 printed: `-s`, `status.interval=1`, every kind of request, 20,000 a second for 4 s. Its
    /// first line has an infinite rate, its last kinds that did nothing and whose mean is not a number.
    #[test]
    fn a_whole_run_of_the_java_program_adds_up_to_its_own_summary() {
        let (reports, _) = read_all(&mut Ycsb::default(), include_str!("samples/ycsb-java.txt"));
        assert_eq!(reports.len(), 6);
        let sum = |kind| reports.iter().map(|report| count(report, kind)).sum::<u64>();
        // The summary counts the 7,900 read-modify-writes as reads and updates as well.
        assert_eq!(sum("read_modify_write"), 7_900);
        assert_eq!((sum("read"), sum("update")), (47_940 - 7_900, 31_880 - 7_900));
        assert_eq!((sum("insert"), sum("scan")), (4_025, 4_001));
        let all = ["read", "update", "insert", "scan", "read_modify_write"].map(sum);
        assert_eq!(all.iter().sum::<u64>(), 79_946);
        assert_eq!(reports[1].state["scan_mean_us"], 0.5);
        assert_eq!(reports[1].state["insert_p999_us"], 11.0);
        let last = reports.last().unwrap();
        assert_eq!(last.state.get("read_p99_us"), Some(&0.0));
        assert!(!last.state.contains_key("insert_p99_us") && !last.state.contains_key("scan_mean_us"));
    }

    #[test]
    fn the_port_to_cpp_counts_since_the_beginning() {
        let (reports, _) = read_all(&mut Ycsb::default(), include_str!("samples/ycsb-cpp.txt"));
        let counts: Vec<u64> = reports[1..].iter().map(|report| count(report, "insert")).collect();
        assert_eq!(counts, [1_489_546, 2_479_666 - 1_489_546]);
        assert_eq!(reports[1].state["insert_p999_us"], 49.47);
    }

    #[test]
    fn a_read_modify_write_is_one_request() {
        let line = "2020-06-03 11:21:32:197 10 sec: 1649 operations; 164.9 current ops/sec; \
            [READ: Count=1649, Max=9, Min=6, Avg=8.02, 90=3, 99=6, 99.9=7, 99.99=9] \
            [READ-MODIFY-WRITE: Count=792, Max=9, Min=6, Avg=8.3, 90=3, 99=6, 99.9=7, 99.99=9] \
            [UPDATE: Count=792, Max=9, Min=6, Avg=8.3, 90=3, 99=6, 99.9=7, 99.99=9]";
        let report = Ycsb::default().line(line).unwrap().remove(0);
        assert_eq!(["read", "update", "read_modify_write"].map(|kind| count(&report, kind)), [857, 0, 792]);
    }

    #[test]
    fn decimals_may_have_a_comma() {
        let line = "2020-10-23 11:12:57:246 50 sec: 1296057 operations; 32807,4 current ops/sec; \
            [READ: Count=155767, Max=116479, Min=1, Avg=148,97, 90=337, 99=675, 99.9=8975, 99.99=97279]";
        let report = Ycsb::default().line(line).unwrap().remove(0);
        let latest =
            ["mean", "min", "max", "p90", "p99", "p999", "p9999"].map(|name| report.state[&format!("read_{name}_us")]);
        assert_eq!(latest, [148.97, 1.0, 116_479.0, 337.0, 675.0, 8975.0, 97_279.0]);
    }

    #[test]
    fn other_lines_mean_nothing() {
        assert_eq!(Ycsb::default().line("[OVERALL], Throughput(ops/sec), 98.9"), None);
    }
}
