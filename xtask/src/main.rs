//! Everything CI does, runnable at home: `cargo xtask <task>`.

fn main() {}
