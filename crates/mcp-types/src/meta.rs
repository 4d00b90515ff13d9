//! Keys of `_meta`, and names of extensions, which use the same namespace.
//!
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta> requires the keys of a modern request.

/// The member of params and results that carries the keys below.
pub const META: &str = "_meta";
/// The prefix of the keys that the protocol reserves:
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic#_meta>.
pub const RESERVED_PREFIX: &str = "io.modelcontextprotocol/";
/// The token by which progress notifications refer to their request:
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#progress-flow>.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The revision of a request (from 2026-07-28).
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The name and version of the client (from 2026-07-28).
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The capabilities of the client (from 2026-07-28).
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The least severe log level to send during a request (from 2026-07-28).
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The name and version of the server (from 2026-07-28).
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The subscription a notification belongs to (from 2026-07-28).
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The extension for tasks.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
/// The extension for skills (SEP-2640).
pub const SKILLS: &str = "io.modelcontextprotocol/skills";
