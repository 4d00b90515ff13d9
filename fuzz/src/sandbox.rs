//! Targets for the sandbox settings of a server's entry.

use mcp_sandbox::Profile;

/// Any JSON as a profile: an accepted one is read back equal from what it writes, which is written the same again.
pub(crate) fn profile(data: &[u8]) {
    let Ok(value) = serde_json::from_slice(data) else { return };
    match Profile::from_json(&value) {
        Ok(profile) => {
            let written = profile.to_json();
            let again = Profile::from_json(&written).expect("a profile reads what it writes");
            assert_eq!(again, profile);
            assert_eq!(again.to_json(), written);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
