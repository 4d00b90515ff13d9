//! Every target, as a test: its corpus, and a few hundred mutations of it. `cargo xtask fuzz` gives
//! each as many seconds as it is told.

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
    config_read config_edit expand
    query catalogue
    schema arguments outcome text
}
