//! Runs the fuzz target named by `MCP_FUZZ_TARGET` under libFuzzer.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use mcp_fuzz::Target;

static TARGET: OnceLock<&'static Target> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("MCP_FUZZ_TARGET").expect("MCP_FUZZ_TARGET names a target");
        let target = mcp_fuzz::target(&name).expect("a target of this name");
        TARGET.set(target).ok();
    },
    |data: &[u8]| (TARGET.get().expect("init came first").check)(data)
);
