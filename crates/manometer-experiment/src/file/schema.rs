//! The JSON Schema of the experiment file, for completion and validation in editors.

use serde_json::{Value, json};

use super::tables::ExperimentTable;

/// The JSON Schema, as kept in `docs/experiment.schema.json`.
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(ExperimentTable).to_value();
    // The default kind of a primary is `kv`, which the tagged type cannot express.
    if let Some(primary) = schema.pointer_mut("/$defs/PrimaryTable/oneOf") {
        for alternative in primary.as_array_mut().into_iter().flatten() {
            let kv = alternative.pointer("/properties/kind/const") == Some(&json!("kv"));
            if let Some(required) = alternative.get_mut("required").and_then(Value::as_array_mut).filter(|_| kv) {
                required.retain(|name| name != "kind");
            }
        }
    }
    let inline_trace = json!({
        "type": "object",
        "description": "A trace to replay: `{ trace = \"…\", model = \"open\" }`, with the settings of the trace.",
        "required": ["trace"],
    });
    if let Some(workload) = schema.pointer_mut("/$defs/KvSettings/properties/workload") {
        *workload = json!({ "anyOf": [workload.take(), inline_trace.clone()] });
    }
    for settings in ["IoSettings", "ReplaySettings"] {
        let properties = schema.pointer_mut(&format!("/$defs/{settings}/properties"));
        if let Some(properties) = properties.and_then(Value::as_object_mut) {
            properties.insert("workload".to_owned(), inline_trace.clone());
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use manometer_testing::repository_file;

    use super::*;

    #[test]
    fn the_schema_in_the_manual_is_current() {
        let path = repository_file("docs/experiment.schema.json");
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(kept == json_schema(), "docs/experiment.schema.json is not current: run `make docs`");
    }

    #[test]
    fn kind_is_optional_for_a_primary_and_required_for_a_neighbour() {
        let schema = json_schema();
        let required = |table: &str, kind: &str| {
            let alternatives = schema["$defs"][table]["oneOf"].as_array().unwrap();
            let one = alternatives.iter().find(|one| one["properties"]["kind"]["const"] == kind).unwrap();
            one["required"].as_array().unwrap().iter().any(|name| name == "kind")
        };
        assert!(!required("PrimaryTable", "kv"));
        assert!(required("PrimaryTable", "io"));
        assert!(required("NeighbourTable", "kv"));
    }
}
