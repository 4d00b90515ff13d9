//! Any bytes, in any dialect: no panic, and every finding says where.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_config::{Dialect, Environment, Layers, NoInputs, ReadOptions, Scope, expand, read, resolve};

fuzz_target!(|data: &[u8]| {
    let Some((pick, bytes)) = data.split_first() else { return };
    let dialects = Dialect::ALL;
    let mut options = ReadOptions::new(["x.json", "x.toml", "x.yaml"][usize::from(*pick) % 3]);
    // One in so many is left to detection.
    options.dialect = dialects.get(usize::from(*pick) % (dialects.len() + 1)).copied();
    options.project = Some("/code/app".as_ref());
    let document = read(bytes, &options);
    for diagnostic in &document.diagnostics {
        assert!(diagnostic.place.position.is_some() && !diagnostic.found.is_empty());
    }
    let mut layers = Layers::new();
    layers.push(Scope::User, document.clone());
    layers.push(Scope::Project, document);
    let resolution = resolve(&layers);
    for candidate in &resolution.candidates {
        let _ = resolution.explain(candidate.entry.config.name.as_str()).to_string();
        let _ = expand(&candidate.entry.config, &Environment::empty(), &NoInputs);
    }
});
