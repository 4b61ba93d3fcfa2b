//! The text that a page shows instead of a chart without data.

use serde_json::{Value, json};

/// Characters of a line: what a telephone's screen holds.
const LINE: usize = 48;
const LINE_HEIGHT: usize = 17;

/// A specification with the reasons as its text, in the format of `file`, the chart's own.
pub(super) fn spec(name: &str, title: &str, file: &Value, reasons: &[String]) -> Value {
    let mut lines = vec![format!("{title}: nothing to draw")];
    lines.extend(reasons.iter().flat_map(|reason| wrapped(reason)));
    json!({
        "$schema": file["$schema"],
        "description": lines.join(" "),
        "data": { "name": name },
        "width": "container",
        "height": LINE_HEIGHT * (lines.len() + 1),
        "layer": [{
            "data": { "values": [{}] },
            "mark": {
                "type": "text", "text": lines, "align": "left", "baseline": "top", "fontSize": 13,
                "lineHeight": LINE_HEIGHT, "x": 6, "y": 6,
            },
        }],
    })
}

/// `text` in lines, broken between words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < LINE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let text = "The recording holds no level sizes of the primary's engine: this chart is left out.";
        let lines = wrapped(text);
        assert_eq!(lines.join(" "), text);
        assert!(lines.iter().all(|line| line.chars().count() <= LINE), "{lines:?}");
        assert!(wrapped("").is_empty());
    }

    #[test]
    fn nothing_to_draw_is_a_chart_that_says_why() {
        for chart in super::super::CHARTS {
            let spec = chart.spec_of(0, &["None was chosen.".to_owned()]);
            let lines = spec["layer"][0]["mark"]["text"].as_array().unwrap();
            assert_eq!(lines[0], format!("{}: nothing to draw", chart.title));
            assert_eq!(lines[1], "None was chosen.");
            assert_eq!(spec["data"]["name"], chart.name);
        }
    }
}
