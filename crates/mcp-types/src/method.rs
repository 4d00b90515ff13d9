//! Method names of requests and notifications, in every revision.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/schema> and <https://modelcontextprotocol.io/specification/2026-07-28/schema> define the parameters and results.

/// Opens a session (up to 2025-11-25): <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization>.
pub const INITIALIZE: &str = "initialize";
/// Checks whether the peer responds (up to 2025-11-25): <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping>.
pub const PING: &str = "ping";
/// Requests the server's revisions and capabilities (from 2026-07-28): <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning>.
pub const SERVER_DISCOVER: &str = "server/discover";

/// Lists tools.
pub const TOOLS_LIST: &str = "tools/list";
/// Calls a tool.
pub const TOOLS_CALL: &str = "tools/call";
/// Lists resources.
pub const RESOURCES_LIST: &str = "resources/list";
/// Lists resource templates.
pub const RESOURCES_TEMPLATES_LIST: &str = "resources/templates/list";
/// Reads a resource.
pub const RESOURCES_READ: &str = "resources/read";
/// Subscribes to one resource (up to 2025-11-25): <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions>.
pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
/// Ends a subscription to a resource (up to 2025-11-25).
pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
/// Lists prompts.
pub const PROMPTS_LIST: &str = "prompts/list";
/// Renders a prompt.
pub const PROMPTS_GET: &str = "prompts/get";
/// Completes an argument of a prompt or a resource template.
pub const COMPLETION_COMPLETE: &str = "completion/complete";
/// Sets the least severe log level to send (up to 2025-11-25): <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging#setting-log-level>.
pub const LOGGING_SET_LEVEL: &str = "logging/setLevel";
/// Opens a stream of change notifications (from 2026-07-28): <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions>.
pub const SUBSCRIPTIONS_LISTEN: &str = "subscriptions/listen";
/// Lists skills: <https://modelcontextprotocol.io/seps/2640-skills-extension>.
pub const SKILLS_LIST: &str = "skills/list";

/// Requests the state of a task.
pub const TASKS_GET: &str = "tasks/get";
/// Requests the result of a task (2025-11-25): <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>.
pub const TASKS_RESULT: &str = "tasks/result";
/// Sends the input that a task requires.
pub const TASKS_UPDATE: &str = "tasks/update";
/// Cancels a task.
pub const TASKS_CANCEL: &str = "tasks/cancel";

/// Requests input from the user.
pub const ELICITATION_CREATE: &str = "elicitation/create";
/// Requests a completion by the host's model.
pub const SAMPLING_CREATE_MESSAGE: &str = "sampling/createMessage";
/// Requests the host's roots.
pub const ROOTS_LIST: &str = "roots/list";

/// The client has completed initialization (up to 2025-11-25).
pub const INITIALIZED: &str = "notifications/initialized";
/// A request is cancelled: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation>.
pub const CANCELLED: &str = "notifications/cancelled";
/// Progress of a request: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress>.
pub const PROGRESS: &str = "notifications/progress";
/// A log message.
pub const MESSAGE: &str = "notifications/message";
/// The list of tools changed.
pub const TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";
/// The list of prompts changed.
pub const PROMPTS_LIST_CHANGED: &str = "notifications/prompts/list_changed";
/// The list of resources changed.
pub const RESOURCES_LIST_CHANGED: &str = "notifications/resources/list_changed";
/// A resource changed.
pub const RESOURCES_UPDATED: &str = "notifications/resources/updated";
/// The host's roots changed (up to 2025-11-25).
pub const ROOTS_LIST_CHANGED: &str = "notifications/roots/list_changed";
/// The server accepted a subscription (from 2026-07-28).
pub const SUBSCRIPTIONS_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// The user has finished at the URL of an elicitation (2025-11-25): <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
/// The state of a task changed.
pub const TASKS: &str = "notifications/tasks";
/// The state of a task changed (2025-11-25).
pub const TASKS_STATUS: &str = "notifications/tasks/status";
