//! Who may do what, and who is asked.

mod approvals;
mod approver;
mod diff;
mod plan;
mod policy;
mod rules;

pub(crate) use self::{
    approvals::Standing,
    diff::diff,
    plan::{Plan, writes},
};
pub use self::{
    approvals::{ToolApprovals, ToolApprovalsError},
    approver::{Approval, ApprovalRequest, Approver, AskTerminal, DenyAll},
    plan::Planned,
    policy::{Decision, Policy, PolicyCall, TrustPolicy},
    rules::{Action, Rule, Rules},
};
