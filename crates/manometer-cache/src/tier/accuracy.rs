//! Where the model contradicts the measurements of the cache thesis (its section 6.3): ratios of throughput on the wrong
//! side of 1, and the arrangement of the lowest cost. `benches/tier_fit.py` writes the figures.

use std::sync::LazyLock;

use serde::Deserialize;

/// The comparisons of the shipped arrangements under the workloads of the cache thesis.
const RATIOS: &str = include_str!("../../arrangements/ratios.json");

/// What a ratio compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatioKind {
    /// dm-cache and bcache on the same devices.
    Caches,
    /// A cache and its origin alone.
    Origin,
    /// SSDs alone and the same SSDs as a cache.
    Ssd,
}

/// The throughput of an arrangement divided by that of another.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThesisRatio {
    /// The workload.
    pub workload: String,
    /// What is compared.
    pub kind: RatioKind,
    /// The arrangement whose throughput is divided.
    pub of: String,
    /// The arrangement by whose throughput it is divided.
    pub by: String,
    /// The ratio of the thesis.
    pub thesis: f64,
    /// The ratio of the model.
    pub model: f64,
}

impl ThesisRatio {
    /// Whether the model puts the same arrangement ahead.
    pub fn has_right_sign(&self) -> bool {
        (self.model > 1.0) == (self.thesis > 1.0)
    }

    fn concerns(&self, arrangement: &str, workload: &str) -> bool {
        self.workload == workload && (self.of == arrangement || self.by == arrangement)
    }

    /// The contradiction, as a sentence.
    fn sentence(&self) -> String {
        let Self { of, by, thesis, model, .. } = self;
        let side = |ratio: f64| if ratio > 1.0 { "ahead of" } else { "behind" };
        let measured = if *thesis > 1.0 { "ahead" } else { "behind" };
        format!(
            "the model puts {of} {} {by} ({model:.2} times its throughput); the cache thesis measured it {measured} \
            ({thesis:.2})",
            side(*model)
        )
    }
}

/// The arrangements with the lowest cost per MB/s under a workload, by the rule and the prices of the cache thesis.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheapestArrangement {
    /// The workload.
    pub workload: String,
    /// That of the thesis.
    pub thesis: String,
    /// That of the model.
    pub model: String,
}

/// The comparison of the model with the cache thesis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModelAccuracy {
    /// All ratios.
    pub ratios: Vec<ThesisRatio>,
    /// The cheapest arrangement of each workload.
    pub cheapest: Vec<CheapestArrangement>,
}

/// The comparison that ships with the arrangements.
pub fn model_accuracy() -> &'static ModelAccuracy {
    static ACCURACY: LazyLock<ModelAccuracy> = LazyLock::new(|| {
        // A part of the program, which a test reads: an empty comparison would hide what the model is known to get wrong.
        serde_json::from_str(RATIOS).expect("arrangements/ratios.json is a comparison")
    });
    &ACCURACY
}

/// What is known to be wrong about an arrangement of this name under a workload of this name, a sentence each.
pub fn accuracy_notes(arrangement: &str, workload: &str) -> Vec<String> {
    let ModelAccuracy { ratios, cheapest } = model_accuracy();
    let wrong = ratios.iter().filter(|ratio| ratio.concerns(arrangement, workload) && !ratio.has_right_sign());
    let costs = cheapest.iter().filter(|cheapest| {
        let CheapestArrangement { workload: under, thesis, model } = cheapest;
        under == workload && thesis != model && (thesis == arrangement || model == arrangement)
    });
    let cost = |CheapestArrangement { thesis, model, .. }: &CheapestArrangement| {
        format!("the model makes {model} the cheapest arrangement per MB/s; by the cache thesis it is {thesis}")
    };
    wrong.map(ThesisRatio::sentence).chain(costs.map(cost)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contradiction_names_both_sides() {
        let ratio = ThesisRatio {
            workload: "oltp".to_owned(),
            kind: RatioKind::Caches,
            of: "a".to_owned(),
            by: "b".to_owned(),
            thesis: 1.5,
            model: 0.43,
        };
        assert!(!ratio.has_right_sign() && ratio.concerns("b", "oltp") && !ratio.concerns("b", "varmail"));
        let text = "the model puts a behind b (0.43 times its throughput); the cache thesis measured it ahead (1.50)";
        assert_eq!(ratio.sentence(), text);
        let ahead = ThesisRatio { thesis: 0.9, model: 1.2, ..ratio };
        assert!(ahead.sentence().contains("ahead of b") && ahead.sentence().contains("measured it behind (0.90)"));
    }

    #[test]
    fn the_comparison_that_ships_is_read() {
        let ModelAccuracy { ratios, cheapest } = model_accuracy();
        assert_eq!((ratios.len(), cheapest.len()), (75, 3));
        assert_eq!(accuracy_notes("mine", "oltp"), Vec::<String>::new());
        for wrong in ratios.iter().filter(|ratio| !ratio.has_right_sign()) {
            for name in [&wrong.of, &wrong.by] {
                assert!(accuracy_notes(name, &wrong.workload).contains(&wrong.sentence()));
            }
        }
    }
}
