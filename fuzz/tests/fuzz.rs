//! Runs every target as a test: its corpus, and a few hundred mutations. `cargo xtask fuzz` runs them for longer.

use mcp_fuzz::{TARGETS, play};

macro_rules! targets {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                play(stringify!($name));
            }
        )*

        #[test]
        fn every_target_is_a_test() {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!([$(stringify!($name)),*], known[..]);
        }
    };
}

targets! {
    lines json envelope
    stdio events frames challenge retry_after headers urls cassette
    content listing front_matter pages
    metadata tokens authorize_url callback
    config_read config_edit expand sandbox_profile
    query catalogue
    schema schema_work arguments outcome text
    projection model_arguments
}
