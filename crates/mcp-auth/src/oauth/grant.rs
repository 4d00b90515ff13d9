//! The OAuth grants.

mod code;
mod consented;
mod device;
pub(crate) mod machine;
pub(crate) mod refresh;

use std::sync::Arc;

use super::{
    context::{Context, Turn},
    hints::Hints,
    options::LoginMethod,
};
use crate::{error::LoginError, interact::Interact};

/// Runs an authorization with the user. `turn` excludes other tasks until it is done.
///
/// # Cancel safety
/// Dropped while waiting for the user, it leaves the login unchanged (a client that was registered is not reused).
/// Once a code can be redeemed, a separate task redeems it and stores the tokens.
pub(crate) async fn authorize(
    context: &Arc<Context>,
    method: LoginMethod,
    interact: &dyn Interact,
    hints: &Hints,
    turn: Turn,
) -> Result<(), LoginError> {
    let plan = context.plan(hints).await?;
    let consented = match method {
        LoginMethod::DeviceCode => device::obtain_consent(context, plan, interact).await?,
        LoginMethod::Browser => code::obtain_consent(context, plan, interact).await?,
    };
    let context = context.clone();
    let task = tokio::spawn(async move {
        let _turn = turn;
        consented.redeem(&context).await?.keep(&context).await
    });
    task.await.unwrap_or(Err(LoginError::Ended))
}
