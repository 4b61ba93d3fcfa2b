//! The sentences drawn from real recordings: each must follow from the numbers beside it, on every surface.
//!
//! What a sentence may say is worked out here from the rows of `summary.json`, not by the functions that write sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use manometer_testing::real_data;
use serde_json::Value;

use crate::support::Scene;

/// A loss of at most this share is none that matters.
const MARGIN: f64 = 0.05;

/// A wider interval needs a longer phase.
const WIDE: f64 = 0.10;

/// A phase with neighbours.
struct Row<'a> {
    id: &'a str,
    value: f64,
    interval: Option<(f64, f64)>,
    seconds: f64,
    row: &'a Value,
}

/// One recording on all its surfaces.
struct Surfaces {
    name: String,
    summary: Value,
    /// What the terminal shows.
    text: String,
    /// The page, without its markup's escapes.
    page: String,
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[][..], Vec::as_slice)
}

impl Surfaces {
    fn headline(&self) -> &str {
        text(&self.summary, "headline")
    }

    fn claim(&self) -> &str {
        text(&self.summary, "claim")
    }

    fn grade(&self) -> &str {
        text(&self.summary["verdict"], "grade")
    }

    /// The measured phases with neighbours, pressures computed anew from the performances.
    fn rows(&self) -> Vec<Row<'_>> {
        let phases = list(&self.summary, "phases");
        let mean = |phase: &Value| phase["performance"]["mean"].as_f64();
        let Some(baseline) = phases.iter().find(|phase| text(phase, "kind") == "baseline").and_then(mean) else {
            return Vec::new();
        };
        let is_higher = text(&self.summary["criterion"], "better") == "higher";
        let row = |phase: &'_ Value| {
            let share = mean(phase)? / baseline;
            let value = if is_higher { 1.0 - share } else { share - 1.0 };
            let reported = phase["pressure"]["value"].as_f64().unwrap();
            assert!((value - reported).abs() < 1e-9, "{}: {value} {reported}", self.name);
            Some(value)
        };
        let with_neighbours = phases.iter().filter(|phase| text(phase, "kind") == "pressure");
        with_neighbours
            .filter_map(|phase| {
                let end = |key: &str| phase["pressure"][key].as_f64();
                Some(Row {
                    id: text(phase, "id"),
                    value: row(phase)?,
                    interval: end("ci_low").zip(end("ci_high")),
                    seconds: phase["end_s"].as_f64()? - phase["start_s"].as_f64()?,
                    row: phase,
                })
            })
            .collect()
    }

    /// The phases in which a fatal threat leaves nothing to conclude, of a result that is not void as a whole.
    fn void_phases(&self) -> BTreeSet<&str> {
        let fatal =
            list(&self.summary["verdict"], "reasons").iter().filter(|reason| text(reason, "strength") == "fatal");
        let phases = fatal.flat_map(|reason| list(reason, "phases"));
        if self.grade() == "void" { BTreeSet::new() } else { phases.filter_map(Value::as_str).collect() }
    }

    fn check(&self) {
        self.check_verdict();
        self.check_claim();
        self.check_scale();
        self.check_findings();
        self.check_lengths();
        self.check_surfaces();
    }

    #[track_caller]
    fn expect(&self, holds: bool, what: &str) {
        assert!(holds, "{}: {what}\n{}\n{}", self.name, self.headline(), self.summary["verdict"]);
    }

    /// The grade is the worst that a reason leaves, and the headline begins with it.
    fn check_verdict(&self) {
        let ranks = ["sound", "indicative", "void"];
        let rank = |grade: &str| ranks.iter().position(|known| *known == grade).unwrap();
        let reasons = list(&self.summary["verdict"], "reasons");
        let allowed = reasons.iter().map(|reason| rank(text(reason, "allows"))).max().unwrap_or(0);
        let is_measured = text(&self.summary["verdict"], "about") != "nothing";
        self.expect(!is_measured || rank(self.grade()) == allowed, "the grade is that of the reasons");
        let order: Vec<usize> = reasons.iter().map(|reason| rank(text(reason, "allows"))).collect();
        self.expect(order.is_sorted_by(|one, other| one >= other), "the greatest threat comes first");
        let begins = |lead: &str| self.headline().starts_with(lead);
        let lead = match self.grade() {
            "sound" => !begins("Indicative") && !begins("Void") && !begins("Not a storage result"),
            "indicative" => begins("Indicative: "),
            _ => begins("Void: ") || begins("Not a storage result: "),
        };
        self.expect(lead, "the headline says the grade first");
        let decisive = reasons.first().map(|reason| text(reason, "clause"));
        let is_said = self.grade() == "sound"
            || decisive.is_some_and(|clause| self.headline().contains(clause))
            || self.headline().contains("without a confidence interval");
        self.expect(is_said, "the headline says the decisive reason");
    }

    /// What the claim says of the worst phase follows from the intervals.
    fn check_claim(&self) {
        let rows = self.rows();
        if rows.is_empty() {
            self.expect(text(&self.summary["verdict"], "about") != "pressure", "no verdict on a pressure without one");
            self.expect(!self.claim().contains(" cost"), "no cost without a pressure");
            return;
        }
        self.expect(text(&self.summary["verdict"], "about") == "pressure", "the verdict is about the pressure");
        let claim = self.claim();
        if self.headline().starts_with("Void: ") {
            self.expect(claim == "nothing can be concluded from this run", "a void run claims nothing");
            self.expect(self.summary["claim_phase"].is_null(), "a void run is about no phase");
            return;
        }
        let void = self.void_phases();
        let judged: Vec<&Row<'_>> = rows.iter().filter(|row| !void.contains(row.id)).collect();
        let largest = |is_selected: &dyn Fn(&Row<'_>) -> bool| {
            let selected = judged.iter().filter(|row| is_selected(row));
            selected.max_by(|one, other| one.value.total_cmp(&other.value)).map(|row| row.id)
        };
        let told = self.told_from_w0();
        let harmful = largest(&|row| told.contains(row.id) && row.interval.is_some_and(|(low, _)| low > 0.0));
        let untested = largest(&|row| row.interval.is_none());
        let claimed = self.summary["claim_phase"].as_str().unwrap();
        let row = judged.iter().find(|row| row.id == claimed).unwrap();
        let greatest_end = judged.iter().filter_map(|row| row.interval).map(|ends| ends.1).fold(f64::MIN, f64::max);
        match (harmful, untested) {
            (Some(harmful), _) => {
                self.expect(claimed == harmful, "the worst phase that is shown to harm is named");
                self.expect(!claim.starts_with("no "), "harm is not denied");
                self.check_settings(row);
                self.check_interval(row);
            }
            (None, Some(untested)) => {
                self.expect(claimed == untested, "the worst untested phase is named");
                self.expect(claim.ends_with("without a confidence interval"), "it has no interval");
                self.expect(claim.starts_with("harm to "), "what is not known comes first");
                let is_named = self.headline().contains(" run ") || self.headline().contains("Run longer phases.");
                self.expect(is_named || self.grade() == "void", "the needed length is named");
            }
            (None, None)
                if judged
                    .iter()
                    .all(|row| told.contains(row.id) && row.interval.is_some_and(|(_, high)| high < 0.0)) =>
            {
                self.expect(claim.starts_with("no neighbour harms "), "every interval is below 0");
            }
            (None, None) if greatest_end <= MARGIN => {
                self.expect(claim.starts_with("no neighbour costs "), "every interval is below the margin");
            }
            (None, None) => {
                self.expect(claim.starts_with("no harm to ") && !claim.contains(" cost"), "nothing is shown");
                self.expect(Some(claimed) == largest(&|_| true), "the phase with the largest pressure is named");
            }
        }
        let says = |words: &str| self.headline().contains(words);
        let is_listed = judged.iter().filter(|row| row.interval.is_none()).all(|row| says(row.id));
        self.expect(harmful.is_none() || is_listed, "untested phases are listed");
        self.expect(void.iter().all(|id| says(id)), "void phases are listed");
    }

    /// The phases that a corrected test tells from `w0`.
    fn told_from_w0(&self) -> BTreeSet<&str> {
        let phases = list(&self.summary, "phases");
        let is_w0 = |phase: &&Value| text(phase, "kind") == "baseline" && phase["performance"]["mean"].is_number();
        let w0 = phases.iter().find(is_w0).map_or("", |phase| text(phase, "id"));
        let tests = list(&self.summary, "scale_tests").iter().filter(|test| test["differ"] == true);
        let pairs = tests.map(|test| (text(test, "a"), text(test, "b")));
        pairs.filter_map(|(a, b)| if a == w0 { Some(b) } else { (b == w0).then_some(a) }).collect()
    }

    /// The interval in the claim is that of the phase.
    fn check_interval(&self, row: &Row<'_>) {
        let (low, high) = row.interval.unwrap();
        let said = self.claim().split_once("(95 % interval ").map(|(_, rest)| rest).unwrap_or_default();
        let said = said.trim_end_matches([')', '%', ' ']);
        let ends: Vec<f64> = said.split(" to ").map(|end| end.replace('−', "-").parse().unwrap()).collect();
        let (low, high) = match text(&self.summary["criterion"], "better") {
            "higher" => (100.0 * low, 100.0 * high),
            _ => (1.0 + low, 1.0 + high),
        };
        let is_near = |said: f64, is: f64| (said - is).abs() <= 0.51_f64.max(0.01 * is.abs());
        self.expect(ends.len() == 2 && is_near(ends[0], low) && is_near(ends[1], high), "the interval is the phase's");
    }

    /// Every setting of the running neighbours that differs between phases is named with its value.
    fn check_settings(&self, row: &Row<'_>) {
        let mut values: BTreeMap<&String, BTreeSet<String>> = BTreeMap::new();
        for phase in list(&self.summary, "phases") {
            for (key, value) in phase["settings"].as_object().into_iter().flatten() {
                values.entry(key).or_default().insert(value.to_string());
            }
        }
        let running: BTreeSet<&String> =
            row.row["neighbours"].as_object().into_iter().flatten().map(|one| one.0).collect();
        for (key, value) in row.row["settings"].as_object().into_iter().flatten() {
            let (workload, setting) = key.split_once('.').unwrap();
            if !running.contains(&workload.to_owned()) || values[key].len() < 2 {
                continue;
            }
            let number = value.as_f64();
            let words = match (setting, number) {
                ("write_ratio", Some(0.0)) => "reads only".to_owned(),
                ("write_ratio" | "random_ratio", Some(share)) => format!("{} %", (1000.0 * share).round() / 10.0),
                ("iodepth", Some(depth)) => format!("queue depth {depth}"),
                ("block_size", Some(bytes)) if bytes >= 1024.0 => format!("{} KiB", bytes / 1024.0),
                _ => {
                    value.as_str().map_or_else(|| value.to_string(), |text| text.replace("iB", " iB").replace(' ', ""))
                }
            };
            let is_named = self.claim().contains(&words) || self.claim().replace(' ', "").contains(&words);
            self.expect(is_named, &format!("{key} = {words} is named"));
        }
    }

    /// Only tested phases are on the scale, and phases share a step only if no test tells them from its first.
    fn check_scale(&self) {
        let phases = list(&self.summary, "phases");
        let is_tested = |id: &str| {
            let phase = phases.iter().find(|phase| text(phase, "id") == id).unwrap();
            phase["performance"]["ci_low"].is_number()
        };
        let tests: BTreeMap<(&str, &str), f64> = list(&self.summary, "scale_tests")
            .iter()
            .flat_map(|test| {
                let (a, b) = (text(test, "a"), text(test, "b"));
                let p_value = test["p_value"].as_f64().unwrap();
                [((a, b), p_value), ((b, a), p_value)]
            })
            .collect();
        let line = self.text.lines().find_map(|line| line.strip_prefix("Pressure scale: "));
        let Some(line) = line else {
            self.expect(!self.text.contains(" ~ w"), "no scale, no step");
            return;
        };
        let (steps, untested) = line.split_once("; untested: ").map_or((line, ""), |(steps, rest)| (steps, rest));
        for step in steps.split(" < ").filter(|step| !step.is_empty()) {
            let ids: Vec<&str> = step.split(" ~ ").collect();
            self.expect(ids.iter().all(|id| is_tested(id)), "a phase on the scale has an interval");
            let first = ids[0];
            let is_alike = |id: &&&str| tests.get(&(first, **id)).is_some_and(|p_value| *p_value >= 0.05);
            self.expect(
                ids[1..].iter().all(|id| is_alike(&id)),
                "phases on a step do not differ significantly from its first",
            );
        }
        let untested: Vec<&str> = untested.split(", ").filter(|id| !id.is_empty()).collect();
        self.expect(untested.iter().all(|id| !is_tested(id)), "an untested phase has no interval");
    }

    /// A rule has one line for all its phases, or one for each strength of its threat.
    fn check_findings(&self) {
        let mut seen = BTreeSet::new();
        for finding in list(&self.summary, "findings") {
            let key = format!("{} {} {}", finding["id"], finding["threat"], finding["text"]);
            let is_several = ["import-note", "phase-cut"].contains(&text(finding, "id"));
            let short = if is_several { key } else { format!("{} {}", finding["id"], finding["threat"]) };
            self.expect(seen.insert(short), &format!("{} is one line", finding["id"]));
        }
    }

    /// A missing or wide interval says which length would do, and that is longer than the phase.
    fn check_lengths(&self) {
        let mut wanting = 0;
        for row in self.rows() {
            let is_wide = row.interval.is_none_or(|(low, high)| high - low > WIDE);
            let needed = &row.row["pressure"]["needed"];
            if !is_wide {
                self.expect(needed.is_null(), &format!("{} is long enough", row.id));
                continue;
            }
            wanting += 1;
            let length = needed["phase_s"].as_f64();
            self.expect(length.is_some(), &format!("{} says how long it would have to be", row.id));
            let baseline_is_short = row.interval.is_none();
            let is_longer = length.is_some_and(|length| length > row.seconds * 0.99) || baseline_is_short;
            self.expect(is_longer, &format!("{} would have to be longer than {} s: {needed}", row.id, row.seconds));
        }
        let is_said = self.text.contains("\nIntervals: ");
        // No length mends a void result.
        let is_void = self.grade() == "void";
        self.expect(wanting == 0 || is_said != is_void, "the terminal says the needed length");
    }

    /// The terminal and the page say the same, first the headline, then the verdict with at most three reasons.
    fn check_surfaces(&self) {
        let first = self.text.lines().find(|line| !line.is_empty()).unwrap_or_default();
        self.expect(first == self.headline(), "the terminal begins with the headline");
        let title = match text(&self.summary["verdict"], "about") {
            "pressure" => format!("Verdict: {}", self.grade()),
            "performance" => format!("Verdict on the performance alone: {}", self.grade()),
            _ => "No verdict: nothing was measured".to_owned(),
        };
        self.expect(self.text.contains(&format!("\n{title}.")), "the terminal has the verdict");
        let shown = self
            .text
            .lines()
            .filter(|line| ["  1. ", "  2. ", "  3. ", "  4. "].iter().any(|number| line.starts_with(number)));
        let shown = shown.count();
        let reasons = list(&self.summary["verdict"], "reasons").len();
        self.expect(shown == reasons.min(3), "the terminal has at most three reasons");
        let more = list(&self.summary, "findings").len() - shown;
        let says_more = more == 0 || self.text.contains(&format!("  {more} more finding"));
        self.expect(says_more, "the terminal says how many more findings there are");
        self.expect(self.page.contains(self.headline()), "the page has the headline");
        self.expect(self.page.contains(&format!("<strong>{title}</strong>")), "the page has the verdict");
    }
}

/// The text of a page as it was before it became HTML, with names in headings within backticks again.
fn unescaped(html: &str) -> String {
    let html = html.replace("<code>", "`").replace("</code>", "`").replace('\u{a0}', " ");
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&")];
    pairs.iter().fold(html, |html, (from, to)| html.replace(from, to))
}

/// The logs below `folder` of the real data; none where it is absent.
fn logs(folder: &str) -> Vec<PathBuf> {
    let Some(folder) = real_data(folder) else { return Vec::new() };
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut logs: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(".out.xz")).collect();
    logs.sort();
    logs
}

/// Imports each log of `folder`, and checks what is said of each, and of all together.
fn check(folder: &str) {
    let logs = logs(folder);
    if logs.is_empty() {
        return;
    }
    let scene = Scene::new();
    let files: Vec<String> = logs.iter().map(|path| path.display().to_string()).collect();
    let document = scene.run(&format!("import storiks {} --out all --format json", files.join(" "))).status(0).json();
    let runs = list(&document, "runs");
    assert_eq!(runs.len(), logs.len());
    for (run, log) in runs.iter().zip(&files) {
        let dir = text(run, "dir");
        let said = scene.run(&format!("report {dir} --out page.html")).status(0);
        let surfaces = Surfaces {
            name: log.clone(),
            summary: run["summary"].clone(),
            text: said.out(),
            page: unescaped(&scene.read("page.html")),
        };
        assert_eq!(scene.json(&format!("{dir}/summary.json")), surfaces.summary, "{log}");
        println!("{}\n  {}", log.rsplit('/').next().unwrap(), surfaces.headline());
        surfaces.check();
    }
    check_together(&document);
}

/// The headline of a folder names a run that is not void, whose interval is above 0 and above that of the least.
fn check_together(document: &Value) {
    let (headline, runs) = (text(document, "headline"), list(document, "runs"));
    println!("{headline}");
    let pressure = |run: &Value| {
        let summary = &run["summary"];
        let claimed = summary["claim_phase"].as_str()?;
        let phase = list(summary, "phases").iter().find(|phase| text(phase, "id") == claimed)?;
        let (low, high) = (phase["pressure"]["ci_low"].as_f64()?, phase["pressure"]["ci_high"].as_f64()?);
        let is_usable =
            text(&summary["verdict"], "about") == "pressure" && text(&summary["verdict"], "grade") != "void";
        is_usable.then(|| (text(summary, "claim").to_owned(), phase["pressure"]["value"].as_f64().unwrap(), low, high))
    };
    let usable: Vec<_> = runs.iter().filter_map(pressure).collect();
    let worst = usable.iter().max_by(|one, other| one.1.total_cmp(&other.1));
    match worst {
        Some((claim, _, low, _)) if usable.len() > 1 => {
            assert!(headline.contains(claim.as_str()), "{headline}\n{claim}");
            let least = usable.iter().map(|one| one.3).fold(f64::MAX, f64::min);
            let is_apart = *low > least;
            assert!(is_apart || !headline.contains(" most"), "{headline}");
            assert!(*low > 0.0 || !headline.contains(" most"), "{headline}");
        }
        _ => assert!(!headline.contains(" most"), "{headline}"),
    }
}

#[test]
fn what_is_said_of_readers_beside_neighbours_follows_from_the_numbers() {
    check("storiks/icpe2021");
    check("storiks");
}

#[test]
fn what_is_said_of_every_other_kind_of_recording_follows_from_the_numbers() {
    check("storiks/kinds");
}

#[test]
fn what_is_said_of_growing_write_ratios_follows_from_the_numbers() {
    check("storiks/pressure1");
}

#[test]
fn what_is_said_of_many_neighbours_follows_from_the_numbers() {
    check("storiks/pressure3");
}
