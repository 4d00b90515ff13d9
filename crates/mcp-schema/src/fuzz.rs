//! A fuzz target for the `fuzz` folder of the workspace. Not part of the API.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};

use crate::{Schema, keyword::subschemas, schema::options, steps};

const BUDGET: u64 = 50_000;
/// A keyword that accepts everything and counts its evaluations.
const METER: &str = "x-meter";

/// Takes a schema on the first line and an instance on the second. Asserts that the validator applies no more
/// subschemas than were counted in advance, both when it looks for one violation and for all.
pub fn work(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Some((schema, instance)) = text.split_once('\n') else { return };
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return };
    let Ok(instance) = serde_json::from_str::<Value>(instance) else { return };
    let Ok(admitted) = Schema::admit(&schema) else { return };
    let Ok(counted) = steps::count(&schema, &instance, BUDGET) else { return };
    let Some((validator, visits)) = metered(&schema) else { return };
    let valid = validator.is_valid(&instance);
    let visited = visits.swap(0, Ordering::Relaxed);
    assert!(visited <= counted, "{visited} visits, but only {counted} steps were counted");
    let violations = validator.iter_errors(&instance).count();
    let visited = visits.load(Ordering::Relaxed);
    assert!(
        visited <= counted,
        "{visited} visits for errors, but only {counted} steps were counted"
    );
    assert_eq!(valid, violations == 0);
    let listed = admitted.check(&instance, BUDGET).expect("it is within the budget");
    assert_eq!(listed.is_empty(), valid);
    assert!(listed.len() <= 8);
}

/// The schema with a meter in each of its subschemas, and the total count of all meters.
fn metered(schema: &Value) -> Option<(jsonschema::Validator, Arc<AtomicU64>)> {
    let mut places = HashSet::new();
    let mut rest = vec![schema];
    while let Some(place) = rest.pop() {
        let Value::Object(members) = place else { continue };
        if places.insert(std::ptr::from_ref(place)) {
            subschemas(schema, members, |_, inner| {
                rest.push(inner);
                Ok(())
            })
            .ok()?;
        }
    }
    let visits = Arc::new(AtomicU64::new(0));
    let meter = Meter(visits.clone());
    let validator = options()
        .with_keyword(METER, move |_, _, _| Ok(Box::new(meter.clone())))
        .build(&with_meters(schema, &places))
        .ok()?;
    Some((validator, visits))
}

fn with_meters(value: &Value, places: &HashSet<*const Value>) -> Value {
    match value {
        Value::Object(members) => {
            let copies = members.iter().map(|(name, one)| (name.clone(), with_meters(one, places)));
            let mut copy: Map<String, Value> = copies.collect();
            if places.contains(&std::ptr::from_ref(value)) {
                copy.insert(METER.into(), Value::Null);
            }
            Value::Object(copy)
        }
        Value::Array(items) => items.iter().map(|item| with_meters(item, places)).collect(),
        other => other.clone(),
    }
}

#[derive(Clone)]
struct Meter(Arc<AtomicU64>);

impl<'i> Keyword<'i> for Meter {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        self.is_valid(instance);
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        true
    }
}
