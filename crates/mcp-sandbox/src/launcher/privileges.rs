//! Capabilities of this process and of everything it starts.

use rustix::{
    io,
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
        clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
        set_capabilities_secure_bits, set_no_new_privs,
    },
};

pub(super) fn make_inheritable() -> io::Result<()> {
    let sets = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: sets.permitted, ..sets })
}

/// Gives up all capabilities for good, also for programs started as root or with a set-user-id bit.
pub(super) fn drop_all() -> Result<(), String> {
    set_no_new_privs(true).map_err(|error| format!("no_new_privs: {error}"))?;
    // These three need a capability. Without one there is nothing to give up, which the last step checks.
    let _ = clear_ambient_capability_set();
    let _ = set_capabilities_secure_bits(
        CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
    );
    for number in 0..64 {
        let _ = remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number));
    }
    let nothing = CapabilitySet::empty();
    let sets = CapabilitySets { effective: nothing, permitted: nothing, inheritable: nothing };
    set_capabilities(None, sets).map_err(|error| format!("capabilities: {error}"))
}
