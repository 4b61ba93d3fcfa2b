//! The settings of a trace's format, in flags and experiment files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::csv_columns::Columns;
use crate::error::TraceError;
use crate::format::{Format, ReadOptions, time_unit_ns};

/// How to read a trace, where its content does not show it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct TraceForm {
    /// The format of the trace; default: recognised by its content. `docs/traces.md` lists the formats.
    #[cfg_attr(feature = "clap", arg(long, value_name = "FORMAT"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_format: Option<String>,
    /// The columns of a CSV file, by number from 0 or by name: `time_ms=0,key=1,value_size=3,op=5`; for a block device
    /// `time_ms=0,op=1,offset=2,size=3`.
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// The delimiter of a CSV file, with `columns`; default: a comma.
    #[cfg_attr(feature = "clap", arg(long, requires = "columns"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// The unit of times in CSV and KV-replay: `s`, `ms`, `us` or `ns` (CSV: s, KV-replay: ms).
    #[cfg_attr(feature = "clap", arg(long, value_name = "UNIT"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<String>,
}

impl TraceForm {
    /// The options for reading the trace.
    ///
    /// # Errors
    /// A setting is invalid; the text says what would be right.
    pub fn options(&self, keep_keys: bool) -> Result<ReadOptions, TraceError> {
        Ok(ReadOptions {
            format: self.input_format.as_deref().map(Format::find).transpose()?,
            columns: self.columns()?,
            time_unit_ns: self.time_unit.as_deref().map(time_unit_ns).transpose()?,
            keep_keys,
            keep_details: false,
        })
    }

    fn columns(&self) -> Result<Option<Columns>, TraceError> {
        let wrong = |delimiter: char, wanted| {
            Err(TraceError::Wrong(format!("the delimiter is `{}`: {wanted}", delimiter.escape_default())))
        };
        match (&self.columns, self.delimiter) {
            (None, None) => Ok(None),
            (None, Some(delimiter)) => {
                wrong(delimiter, "it separates columns: name them with `columns`, or leave it out")
            }
            (Some(columns), None) => columns.parse().map(Some),
            (Some(columns), Some(delimiter)) => match u8::try_from(delimiter) {
                Ok(byte) if byte.is_ascii() => Ok(Some(columns.parse::<Columns>()?.delimited_by(byte))),
                _ => wrong(delimiter, "write one ASCII character"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_nothing_is_refused_with_what_would() {
        let form = |columns: Option<&str>, delimiter| TraceForm {
            columns: columns.map(str::to_owned),
            delimiter,
            ..TraceForm::default()
        };
        let read = |form: TraceForm| form.options(false).map(|options| options.columns.is_some());
        assert!(!read(form(None, None)).unwrap());
        assert!(read(form(Some("key=1"), None)).unwrap() && read(form(Some("key=1"), Some('\t'))).unwrap());
        let cases = [
            (form(None, Some(';')), "name them with `columns`"),
            (form(Some("key=1"), Some('é')), "one ASCII character"),
            (form(Some("key"), None), "has no `=`"),
            (TraceForm { input_format: Some("tape".to_owned()), ..TraceForm::default() }, "write one of parquet"),
            (TraceForm { time_unit: Some("h".to_owned()), ..TraceForm::default() }, "s, ms, us or ns"),
        ];
        for (form, wanted) in cases {
            let error = read(form).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
