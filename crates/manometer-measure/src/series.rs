//! The manual's page of sample series and their columns.

use std::fmt::Write as _;

use crate::samples::Column;

/// The manual's description of a sample series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesDescription {
    /// The name of the series, with `<placeholders>` where there are several.
    pub name: String,
    /// What it holds, for people.
    pub description: String,
    /// Its columns.
    pub columns: Vec<Column>,
}

impl SeriesDescription {
    /// The description of the series `name`.
    pub fn new(name: impl Into<String>, description: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { name: name.into(), description: description.into(), columns }
    }
}

const HEAD: &str = "\
# Sample series and their columns

`manometer schema columns` writes this page. Every series of a recording also has the column `t_ns`, the end of the
sample interval in nanoseconds of the monotonic clock. The file stores the unit, meaning and source of each column as
metadata; null is a gap. A name in angle brackets is a placeholder: `core<N>.user` stands for `core0.user`, `core1.user`, …
";

/// The manual's page of `series`.
pub fn manual_page(series: &[SeriesDescription]) -> String {
    let mut page = HEAD.to_owned();
    for SeriesDescription { name, description, columns } in series {
        _ = write!(page, "\n## `{name}`\n\n{description}\n\n");
        page.push_str("| column | unit | meaning | source |\n| --- | --- | --- | --- |\n");
        for Column { name, unit, meaning, from } in columns {
            let source = if from.is_empty() { "the workload".to_owned() } else { format!("`{from}`") };
            _ = writeln!(page, "| `{name}` | {unit} | {} | {source} |", meaning.replace('|', "\\|"));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_a_table_of_its_columns() {
        let column = Column::new("a", "B").meaning("One | two.").from("/proc/a");
        let page = manual_page(&[SeriesDescription::new("one", "About.", vec![column])]);
        assert!(page.ends_with(
            "## `one`\n\nAbout.\n\n| column | unit | meaning | source |\n| --- | --- | --- | --- |\n\
             | `a` | B | One \\| two. | `/proc/a` |\n"
        ));
    }
}
