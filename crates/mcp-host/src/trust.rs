//! Permissions: approvers, policies, rules, hooks, and the trust of servers by scope.

pub use mcp_bridge::{
    Approval, ApprovalRequest, ApprovedServer, Approver, AskTerminal,
    hooks::{After, Before, Hook, HookCall, Verdict, after, before},
    tool::redact,
    trust::{
        Action, ConversationId, Decision, DenyAll, Planned, Policy, PolicyCall, Rule, Rules,
        ToolApprovals, ToolApprovalsError, TrustPolicy,
    },
};
