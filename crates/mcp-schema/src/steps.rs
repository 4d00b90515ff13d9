//! The cost of an instance with a schema, counted before the validator runs.

use serde_json::{Map, Value};

use crate::{
    error::NotChecked,
    keyword::{Part, subschemas},
    limits::MAX_DEPTH,
};

/// How many bytes of text are compared or copied in one step.
const BYTES_PER_STEP: usize = 64;
/// Steps per byte that is matched against a pattern, because an automaton may be in many states at once.
const PATTERN_STEPS: u64 = 64;
/// Steps of one exact division of fractions.
const DIVISION_STEPS: u64 = 256;
/// The validator compares the items of short arrays in pairs.
const UNIQUE_STEPS: u64 = 16;

/// The most steps that `instance` can take: every branch is followed to its end. The count itself takes no more steps
/// than it returns, and stops at `budget`.
pub(crate) fn count(root: &Value, instance: &Value, budget: u64) -> Result<u64, NotChecked> {
    let mut meter = Meter { root, budget, used: 0 };
    meter.apply(root, instance, Depth::default())?;
    Ok(meter.used)
}

#[derive(Clone, Copy, Default)]
struct Depth {
    /// The number of subschemas on the stack.
    nested: usize,
    /// Those of them at the same place of the instance, each of which looks for violations again.
    branches: u64,
}

struct Meter<'a> {
    root: &'a Value,
    budget: u64,
    used: u64,
}

impl<'a> Meter<'a> {
    fn charge(&mut self, steps: u64) -> Result<(), NotChecked> {
        self.used = self.used.saturating_add(steps);
        if self.used > self.budget {
            return Err(NotChecked::TooManySteps(self.budget));
        }
        Ok(())
    }

    fn apply(
        &mut self,
        schema: &'a Value,
        instance: &Value,
        depth: Depth,
    ) -> Result<(), NotChecked> {
        if depth.nested > MAX_DEPTH {
            return Err(NotChecked::TooDeep);
        }
        let Value::Object(keywords) = schema else { return self.charge(1) };
        let own = self.own(keywords, instance)?;
        self.charge(own.saturating_mul(1 + depth.branches))?;
        subschemas(self.root, keywords, |part, inner| self.part(part, inner, instance, depth))
    }

    fn part(
        &mut self,
        part: Part<'_>,
        schema: &'a Value,
        instance: &Value,
        depth: Depth,
    ) -> Result<(), NotChecked> {
        let inner = Depth { nested: depth.nested + 1, ..depth };
        // Looking up the part is a step, even if it is absent.
        self.charge(1)?;
        match (part, instance) {
            (Part::Whole, _) => {
                self.apply(schema, instance, Depth { branches: depth.branches + 1, ..inner })
            }
            (Part::Items, Value::Array(items)) => {
                items.iter().try_for_each(|item| self.apply(schema, item, inner))
            }
            (Part::Item(at), Value::Array(items)) => {
                items.get(at).map_or(Ok(()), |item| self.apply(schema, item, inner))
            }
            (Part::Members, Value::Object(members)) => {
                members.values().try_for_each(|member| self.apply(schema, member, inner))
            }
            (Part::Member(name), Value::Object(members)) => {
                members.get(name).map_or(Ok(()), |member| self.apply(schema, member, inner))
            }
            (Part::Names, Value::Object(members)) => members
                .keys()
                .try_for_each(|name| self.apply(schema, &Value::String(name.clone()), inner)),
            _ => Ok(()),
        }
    }

    /// The steps of the keywords that apply no subschemas.
    fn own(&self, keywords: &Map<String, Value>, instance: &Value) -> Result<u64, NotChecked> {
        let left = self.budget - self.used;
        let mut steps = 1 + keywords.len() as u64;
        if let Value::String(text) = instance {
            steps += text_steps(text);
        }
        for (keyword, value) in keywords {
            steps = steps.saturating_add(match (keyword.as_str(), value, instance) {
                ("enum" | "const" | "required" | "dependentRequired" | "dependencies", ..) => {
                    nodes(value, left)
                }
                ("pattern", _, Value::String(text)) => pattern_steps(text),
                ("patternProperties", Value::Object(patterns), Value::Object(members)) => {
                    let one: u64 = members.keys().map(|name| pattern_steps(name)).sum();
                    one.saturating_mul(patterns.len() as u64)
                }
                ("multipleOf", _, Value::Number(_)) => DIVISION_STEPS,
                ("uniqueItems", _, Value::Array(_)) => {
                    nodes(instance, left).saturating_mul(UNIQUE_STEPS)
                }
                ("additionalProperties" | "properties", _, Value::Object(members)) => {
                    members.len() as u64
                }
                _ => 0,
            });
            if steps > left {
                return Err(NotChecked::TooManySteps(self.budget));
            }
        }
        Ok(steps)
    }
}

fn text_steps(text: &str) -> u64 {
    (text.len() / BYTES_PER_STEP) as u64
}

fn pattern_steps(text: &str) -> u64 {
    (1 + text.len() as u64).saturating_mul(PATTERN_STEPS)
}

/// The number of nodes of a value, including their text, counted up to slightly more than `most`.
fn nodes(value: &Value, most: u64) -> u64 {
    let mut count = 0_u64;
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        count += 1;
        if count > most {
            break;
        }
        match value {
            Value::String(text) => count += text_steps(text),
            Value::Array(items) => rest.extend(items),
            Value::Object(members) => rest.extend(members.values()),
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn steps(schema: &Value, instance: &Value) -> Option<u64> {
        count(schema, instance, 1_000_000).ok()
    }

    #[test]
    fn ordinary_arguments_take_few_steps() {
        let schema = json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string", "pattern": "^/"}, "lines": {"type": "integer"},
            "mode": {"enum": ["a", "b"]}}});
        let arguments = json!({"path": "/etc/hosts", "lines": 10, "mode": "a"});
        assert!(steps(&schema, &arguments).unwrap() < 1_000);
    }

    #[test]
    fn every_keyword_is_charged_its_steps() {
        let long = "x".repeat(640);
        let cases = [
            (json!(true), json!(1), 1),
            (json!({}), json!(1), 1),
            (json!({}), json!(long), 11),
            (json!({"type": "integer", "minimum": 1}), json!(1), 3),
            (json!({"enum": ["a", "b"]}), json!(1), 5),
            (json!({ "const": long }), json!(1), 13),
            (json!({"required": ["a", "b"]}), json!({}), 5),
            (json!({"dependentRequired": {"a": ["b"]}}), json!({}), 5),
            (json!({"dependencies": {"a": ["b"]}}), json!({}), 5),
            (json!({"dependencies": {"a": true}}), json!({}), 6),
            (json!({"dependentSchemas": {"a": {}}}), json!({}), 5),
            (json!({"pattern": "^a"}), json!("abc"), 258),
            (json!({"pattern": "^a"}), json!(1), 2),
            (json!({"patternProperties": {"a": {}, "b": {}}}), json!({"x": 1, "yz": 2}), 648),
            (json!({"multipleOf": 2}), json!(4), 258),
            (json!({"multipleOf": 2}), json!("4"), 2),
            (json!({"uniqueItems": true}), json!([1, 2]), 50),
            (json!({"properties": {"a": {}, "b": {}}}), json!({"a": 1}), 6),
            (json!({"additionalProperties": {}}), json!({"a": 1}), 5),
            (json!({"propertyNames": {"minLength": 1}}), json!({"a": 1, "b": 1}), 7),
            (json!({"items": {}}), json!([1, 2]), 5),
            (json!({"items": [{}]}), json!([1, 2]), 4),
            (json!({"prefixItems": [{}, {}]}), json!([1]), 5),
            (json!({"additionalItems": {}}), json!([1]), 4),
            (json!({"contains": {}}), json!([1]), 4),
            (json!({"allOf": [{}]}), json!(1), 5),
            (json!({"anyOf": [{}]}), json!(1), 5),
            (json!({"oneOf": [{"allOf": [{}]}]}), json!(1), 11),
            (json!({"not": {}}), json!(1), 5),
            (json!({"if": {}, "then": {}, "else": {}}), json!(1), 13),
            (json!({"$ref": "#/$defs/a", "$defs": {"a": {}}}), json!(1), 6),
        ];
        for (schema, instance, expected) in &cases {
            assert_eq!(steps(schema, instance), Some(*expected), "{schema} with {instance}");
            assert_eq!(count(schema, instance, *expected), Ok(*expected), "{schema}");
            let less = expected - 1;
            assert_eq!(count(schema, instance, less), Err(NotChecked::TooManySteps(less)));
        }
        assert_eq!(nodes(&json!([1, 2, 3, 4]), 2), 3, "counting ends soon after the limit");
    }

    #[test]
    fn doubling_at_every_level_of_the_instance_is_over_budget() {
        let schema = json!({"properties": {"p": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
        let nested = (0..30).fold(json!({}), |inner, _| json!({ "p": inner }));
        assert_eq!(steps(&schema, &nested), None);
        assert!(steps(&schema, &json!({"p": {"p": {}}})).is_some());
    }

    #[test]
    fn many_branches_for_many_items_are_over_budget() {
        let branches: Vec<Value> = (0..5_000).map(|n| json!({ "const": n })).collect();
        let schema = json!({"items": {"anyOf": branches}});
        assert_eq!(steps(&schema, &json!(vec![-1; 1_000])), None);
        assert!(steps(&schema, &json!([-1, 2])).is_some());
    }

    #[test]
    fn deeply_nested_instance_is_rejected_before_stack_overflow() {
        let schema = json!({"items": {"$ref": "#"}});
        let nested = |levels| (0..levels).fold(json!([]), |inner, _| json!([inner]));
        // Each level has two subschemas: `items` and the target of its reference.
        assert!(count(&schema, &nested(64), 1_000_000).is_ok());
        assert_eq!(count(&schema, &nested(65), 1_000_000), Err(NotChecked::TooDeep));
    }
}
