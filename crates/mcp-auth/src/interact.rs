//! User interaction during a login: opening a page, showing a code, and receiving the redirect.

pub(crate) mod browser;
pub(crate) mod callback;
mod interface;
pub(crate) mod loopback;
mod paste;
mod redirect;

pub use self::{
    browser::open_browser,
    interface::{DeviceCode, Interact, Redirect, Verdict, Visit},
    loopback::{LoopbackBrowser, OnMessage, OpenPage, Shown},
    paste::{AskForUrl, Paste, ShowCode},
    redirect::RedirectUri,
};
