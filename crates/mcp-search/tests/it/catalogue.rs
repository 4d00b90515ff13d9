//! The catalogue file.

use std::fs;

use mcp_search::{
    Index,
    catalogue::{Catalogue, CatalogueError, Loaded, Origin},
};
use proptest::prelude::*;

use crate::found;

fn sample() -> Catalogue {
    let mut origin = Origin::new("signature", 1000);
    origin.ttl_ms = Some(500);
    origin.server_version = Some("1.2.3".into());
    let definitions = [
        r#"{ "name": "read_file", "description": "Read a file", "inputSchema": { "type": "object" } }"#,
        r#"{"name":"write_file","description":"Write \"text\" 天气","limit":12345678901234567890123}"#,
    ];
    Catalogue::new("files", origin, definitions).expect("the definitions are objects")
}

#[test]
fn stored_catalogue_is_loaded_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("files.catalogue");
    assert!(matches!(Catalogue::load(&path), Loaded::Missing));
    sample().store(&path).unwrap();
    let Loaded::Found(again) = Catalogue::load(&path) else { panic!("not found") };
    assert_eq!(again.server(), "files");
    assert_eq!(again.origin(), sample().origin());
    let definitions: Vec<_> =
        again.definitions().map(|(text, hash)| (text.to_owned(), hash.to_owned())).collect();
    assert_eq!(definitions.len(), 2);
    // Byte for byte as the server sent it.
    assert!(definitions[0].0.starts_with(r#"{ "name": "read_file","#));
    assert_eq!(definitions[0].1.len(), 64);

    let mut index = Index::new();
    index.replace_server("files", again.cards(|name| format!("mcp__files__{name}")));
    assert_eq!(found(&index, "read"), "mcp__files__read_file");
    // No temporary file is left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_damaged_or_foreign_file_is_ignored_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("files.catalogue");
    let good = sample().encode();
    let damaged = String::from_utf8(good.clone()).unwrap().replace("Read a file", "Read a fily");
    let newer =
        String::from_utf8(good.clone()).unwrap().replace("mcp-catalogue 1", "mcp-catalogue 2");
    for bytes in [
        &b""[..],
        b"{}",
        b"mcp-catalogue",
        damaged.as_bytes(),
        newer.as_bytes(),
        &good[..good.len() - 1],
        &[0xff; 100],
    ] {
        fs::write(&path, bytes).unwrap();
        assert!(matches!(Catalogue::load(&path), Loaded::Ignored(_)));
    }
    sample().store(&path).unwrap();
    assert!(matches!(Catalogue::load(&path), Loaded::Found(_)));
}

#[test]
fn folder_in_place_of_the_file_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Catalogue::load(folder.path()), Loaded::Ignored(CatalogueError::Io(_))));
    assert!(sample().store(&folder.path().join("none").join("x")).is_err());
}

#[test]
fn definitions_must_be_objects() {
    for odd in ["", "[]", "7", "{", "{} {}"] {
        let made = Catalogue::new("s", Origin::new("", 0), [odd]);
        assert!(matches!(made, Err(CatalogueError::Malformed(_))), "{odd}");
    }
}

proptest! {
    #[test]
    fn any_changed_bit_is_detected(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let mut bytes = sample().encode();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(Catalogue::decode(&bytes).is_err());
    }

    #[test]
    fn any_truncation_is_detected(at in any::<prop::sample::Index>()) {
        let bytes = sample().encode();
        prop_assert!(Catalogue::decode(&bytes[..at.index(bytes.len())]).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_rejected(bytes in any::<Vec<u8>>()) {
        prop_assert!(Catalogue::decode(&bytes).is_err());
    }

    #[test]
    fn catalogues_round_trip_through_bytes(
        server in "\\PC{0,20}", config in "\\PC{0,20}", listed in any::<u64>(), ttl in any::<Option<u64>>(),
        version in prop::option::of("\\PC{0,20}"), texts in prop::collection::vec("\\PC{0,40}", 0..5),
    ) {
        let mut origin = Origin::new(config, listed);
        origin.ttl_ms = ttl;
        origin.server_version = version;
        let definitions = texts.iter().map(|text| serde_json::json!({ "name": text }).to_string());
        let made = Catalogue::new(server.clone(), origin, definitions).unwrap();
        let again = Catalogue::decode(&made.encode()).unwrap();
        prop_assert_eq!(again.server(), server);
        prop_assert_eq!(again.origin(), made.origin());
        prop_assert!(again.definitions().eq(made.definitions()));
    }
}
