//! Any bytes, bare and behind a checksum that is right: refused, or a catalogue that is written as
//! it was read. And any definition: refused, or kept to the letter.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_search::{Catalogue, Origin};
use sha2::{Digest, Sha256};

fuzz_target!(|data: &[u8]| {
    check(data);
    // No fuzzer guesses a checksum, so what is behind it would never be read.
    let mut whole = format!("mcp-catalogue 1 {:x}\n", Sha256::digest(data)).into_bytes();
    whole.extend_from_slice(data);
    check(&whole);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(catalogue) = Catalogue::new("s", Origin::new("c", 1), [text, "{}"]) else { return };
    let again = Catalogue::decode(&catalogue.encode()).expect("what was written is read");
    assert!(again.definitions().eq(catalogue.definitions()));
    assert_eq!(again.definitions().next().map(|(text, _)| text), Some(text.trim()));
});

fn check(bytes: &[u8]) {
    if let Ok(catalogue) = Catalogue::decode(bytes) {
        assert_eq!(catalogue.encode(), bytes);
        assert_eq!(catalogue.cards(str::to_owned).len(), catalogue.definitions().count());
    }
}
