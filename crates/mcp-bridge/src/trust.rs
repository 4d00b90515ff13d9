//! Rules, policies, approvals and plan mode: which calls may run, and when the user is asked.

mod approvals;
mod approved;
mod approver;
mod binding;
mod diff;
mod plan;
mod policy;
mod rules;
mod subject;

pub use self::{
    approvals::{ToolApprovals, ToolApprovalsError},
    approved::ApprovedServer,
    approver::{Approval, ApprovalRequest, Approver, AskTerminal, DenyAll},
    plan::Planned,
    policy::{Decision, Policy, PolicyCall, TrustPolicy},
    rules::{Action, Rule, Rules},
};
pub(crate) use self::{
    binding::Binding,
    diff::diff,
    plan::{Plan, writes},
    subject::Subject,
};
pub use crate::caller::ConversationId;
