//! The cost of a schema without an instance: the number of paths through its references and branches.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::{
    error::NotChecked,
    keyword::{Part, subschemas},
    limits::{MAX_DEPTH, MAX_PATHS, MAX_PATTERNS},
};

/// Keywords with an uncounted cost: the first two depend on the path by which a subschema was reached, and the others
/// validate the branches next to them again at every level.
const UNSUPPORTED: [&str; 4] =
    ["$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"];

/// Checks that no place of `root` has too many paths, or an endless one.
pub(crate) fn admit(root: &Value) -> Result<(), NotChecked> {
    Scan::default().value(root, 0)?;
    let mut paths = Paths { root, known: HashMap::new(), later: vec![root] };
    while let Some(schema) = paths.later.pop() {
        if paths.of(schema, 0)?.count > MAX_PATHS {
            return Err(NotChecked::TooManyPaths);
        }
    }
    Ok(())
}

/// Rejects unsupported keywords, and a nested `$id`, which changes the root of `#/…`.
#[derive(Default)]
struct Scan {
    patterns: usize,
}

impl Scan {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), NotChecked> {
        if depth > MAX_DEPTH {
            return Err(NotChecked::TooDeep);
        }
        match value {
            Value::Object(members) => {
                self.keywords(members, depth)?;
                members.values().try_for_each(|member| self.value(member, depth + 1))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.value(item, depth + 1)),
            _ => Ok(()),
        }
    }

    fn keywords(&mut self, members: &Map<String, Value>, depth: usize) -> Result<(), NotChecked> {
        if depth > 0 && members.get("$id").is_some_and(Value::is_string) {
            return Err(NotChecked::Keyword("$id"));
        }
        if let Some(keyword) = UNSUPPORTED.iter().find(|word| members.contains_key(**word)) {
            return Err(NotChecked::Keyword(keyword));
        }
        self.patterns += usize::from(members.get("pattern").is_some_and(Value::is_string));
        let named = members.get("patternProperties").and_then(Value::as_object);
        self.patterns += named.map_or(0, Map::len);
        if self.patterns > MAX_PATTERNS { Err(NotChecked::TooManyPatterns) } else { Ok(()) }
    }
}

/// The paths through one subschema that stay at one place of the instance.
#[derive(Clone, Copy)]
struct Cost {
    count: u64,
    height: usize,
}

struct Paths<'a> {
    root: &'a Value,
    /// By address; `None` while the cost is being counted.
    known: HashMap<*const Value, Option<Cost>>,
    /// Subschemas that apply to other places of the instance.
    later: Vec<&'a Value>,
}

impl<'a> Paths<'a> {
    fn of(&mut self, schema: &'a Value, depth: usize) -> Result<Cost, NotChecked> {
        let leaf = Cost { count: 1, height: 1 };
        let Value::Object(members) = schema else { return Ok(leaf) };
        if depth > MAX_DEPTH {
            return Err(NotChecked::TooDeep);
        }
        match self.known.insert(schema, None) {
            Some(None) => return Err(NotChecked::Endless),
            Some(Some(cost)) => {
                self.known.insert(schema, Some(cost));
                return Ok(cost);
            }
            None => {}
        }
        let mut cost = leaf;
        subschemas(self.root, members, |part, inner| {
            if part != Part::Whole {
                self.later.push(inner);
                return Ok(());
            }
            let inner = self.of(inner, depth + 1)?;
            cost.count = cost.count.saturating_add(inner.count);
            cost.height = cost.height.max(inner.height + 1);
            Ok(())
        })?;
        if cost.height > MAX_DEPTH {
            return Err(NotChecked::TooDeep);
        }
        self.known.insert(schema, Some(cost));
        Ok(cost)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `a(n)` applies `a(n-1)` twice, by `word`.
    fn doubling(levels: usize, word: &str) -> Value {
        let mut defs = json!({"a0": {"type": "string"}});
        for level in 1..=levels {
            let below = json!({"$ref": format!("#/$defs/a{}", level - 1)});
            defs[format!("a{level}")] = json!({ word: [below, below] });
        }
        json!({"$defs": defs, "properties": {"p": {"$ref": format!("#/$defs/a{levels}")}}})
    }

    #[test]
    fn doubling_references_are_rejected_for_every_branch_keyword() {
        for word in ["allOf", "anyOf", "oneOf"] {
            assert_eq!(admit(&doubling(40, word)), Err(NotChecked::TooManyPaths));
            assert_eq!(admit(&doubling(8, word)), Ok(()));
        }
    }

    #[test]
    fn endless_deep_and_dynamic_references_are_rejected() {
        let endless = json!({"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"});
        assert_eq!(admit(&endless), Err(NotChecked::Endless));
        let mut defs = json!({"a0": {"type": "string"}});
        for level in 1..5_000 {
            defs[format!("a{level}")] = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        }
        let chain = json!({"$defs": defs, "$ref": "#/$defs/a4999"});
        assert_eq!(admit(&chain), Err(NotChecked::TooDeep));
        // `items` is counted first, so that half of the other chain is already known.
        let head = json!({"$defs": chain["$defs"], "contains": {"$ref": "#/$defs/a200"},
            "items": {"$ref": "#/$defs/a100"}});
        assert_eq!(admit(&head), Err(NotChecked::TooDeep));
        let dynamic = json!({"items": {"$dynamicRef": "#n"}});
        assert_eq!(admit(&dynamic), Err(NotChecked::Keyword("$dynamicRef")));
        let mut nested = json!({"properties": {"a": {}}});
        for _ in 0..30 {
            nested = json!({"anyOf": [nested], "unevaluatedProperties": false});
        }
        assert_eq!(admit(&nested), Err(NotChecked::Keyword("unevaluatedProperties")));
        let patterns: Vec<Value> = (0..300).map(|n| json!({"pattern": format!("a{n}")})).collect();
        assert_eq!(admit(&json!({ "anyOf": patterns })), Err(NotChecked::TooManyPatterns));
        let based = json!({"$defs": {"a": {"$id": "https://example.test/a"}}});
        assert_eq!(admit(&based), Err(NotChecked::Keyword("$id")));
    }

    #[test]
    fn deeply_nested_schemas_are_rejected() {
        let lists = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let objects = |levels| (0..levels).fold(json!(1), |inner, _| json!({ "x": inner }));
        for nested in [lists(128), objects(128)] {
            assert_eq!(admit(&json!({ "const": nested })), Err(NotChecked::TooDeep));
        }
        for nested in [lists(127), objects(127)] {
            assert_eq!(admit(&json!({ "const": nested })), Ok(()));
        }
        let chain =
            |levels| (0..levels).fold(json!({"type": "null"}), |inner, _| json!({"not": inner}));
        assert_eq!((admit(&chain(127)), admit(&chain(128))), (Ok(()), Err(NotChecked::TooDeep)));
    }

    #[test]
    fn schema_limits_are_exact() {
        let branches = |count: usize| json!({"anyOf": vec![true; count]});
        assert_eq!(admit(&branches(49_999)), Ok(()));
        assert_eq!(admit(&branches(50_000)), Err(NotChecked::TooManyPaths));
        let patterns = |count: usize| -> Value {
            let one = |n: usize| (format!("p{n}"), json!({"pattern": "a"}));
            json!({"properties": (0..count).map(one).collect::<serde_json::Map<_, _>>(),
                "patternProperties": {"a": true, "b": true}})
        };
        assert_eq!(admit(&patterns(254)), Ok(()));
        assert_eq!(admit(&patterns(255)), Err(NotChecked::TooManyPatterns));
    }

    #[test]
    fn recursion_that_descends_into_the_instance_is_admitted() {
        let tree = json!({"$id": "https://example.test/tree", "type": "object", "properties": {
            "$id": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}}});
        assert_eq!(admit(&tree), Ok(()));
    }
}
