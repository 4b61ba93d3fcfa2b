//! The JSON Schema of the experiment file, for completion and validation in editors.

use serde_json::{Map, Value, json};

use super::real_vs_synthetic::{KIND, RealVsSynthetic};
use super::tables::ExperimentTable;

/// The name of the schema, by which editors and programs know it: it needs no network.
pub const SCHEMA_ID: &str = "urn:manometer:experiment";

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
    let comparison = comparison_schema();
    let object = schema.as_object_mut();
    let (dialect, mut definitions) =
        object.map_or_else(Default::default, |object| (object.remove("$schema"), object.remove("$defs")));
    if let Some(definitions) = definitions.as_mut().and_then(Value::as_object_mut) {
        let (own, names) = (comparison.get("$defs").and_then(Value::as_object), ["$defs", "$schema"]);
        definitions.extend(own.into_iter().flatten().map(|(name, definition)| (name.clone(), definition.clone())));
        let without = |schema: &Value| {
            let fields = schema.as_object().into_iter().flatten().filter(|(name, _)| !names.contains(&name.as_str()));
            fields.map(|(name, field)| (name.clone(), field.clone())).collect::<Map<String, Value>>()
        };
        definitions.insert("ExperimentTable".to_owned(), Value::Object(without(&schema)));
        definitions.insert("RealVsSynthetic".to_owned(), Value::Object(without(&comparison)));
    }
    json!({
        "$schema": dialect,
        "$id": SCHEMA_ID,
        "title": "An experiment file of Manometer",
        "description": "An experiment, or with `kind = \"real-vs-synthetic\"` a comparison of a trace with synthetic loads.",
        "if": { "required": ["kind"], "properties": { "kind": { "const": KIND } } },
        "then": { "$ref": "#/$defs/RealVsSynthetic" },
        "else": { "$ref": "#/$defs/ExperimentTable" },
        "$defs": definitions,
    })
}

/// The schema of a file of the kind `real-vs-synthetic`, which may extend another and has no other keys.
fn comparison_schema() -> Value {
    let mut schema = schemars::schema_for!(RealVsSynthetic).to_value();
    if let Some(kind) = schema.pointer_mut("/properties/kind") {
        *kind = json!({ "const": KIND, "description": "Compares a trace with synthetic loads of its keys." });
    }
    if let Some(properties) = schema.pointer_mut("/properties").and_then(Value::as_object_mut) {
        let extends = "Another file of this kind, relative to this one. Tables are merged; values of this file win.";
        properties.insert("extends".to_owned(), json!({ "type": "string", "description": extends }));
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("additionalProperties".to_owned(), json!(false));
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
    fn the_kind_decides_which_keys_a_file_has() {
        let schema = json_schema();
        let keys = |table: &str| {
            let properties = schema["$defs"][table]["properties"].as_object().unwrap();
            properties.keys().map(String::as_str).collect::<Vec<_>>()
        };
        assert_eq!(schema["if"]["properties"]["kind"]["const"], "real-vs-synthetic");
        for (place, table, has, lacks) in [
            ("then", "RealVsSynthetic", ["trace", "caches", "engines", "slabs", "extends"], "primary"),
            ("else", "ExperimentTable", ["primary", "neighbour", "plan", "device", "extends"], "caches"),
        ] {
            assert_eq!(schema[place]["$ref"], format!("#/$defs/{table}"));
            assert_eq!(schema["$defs"][table]["additionalProperties"], false, "{table}");
            assert!(has.iter().all(|key| keys(table).contains(key)) && !keys(table).contains(&lacks), "{table}");
        }
        // Every definition that is referred to exists.
        let text = schema.to_string();
        for reference in text.split("\"#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(schema["$defs"][reference].is_object(), "{reference}");
        }
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
