//! Posts forms with client authentication.

use crate::{
    error::LoginError,
    http::{HttpRequest, HttpResponse},
    oauth::{client::Client, fetch::Fetch, form::Form},
};

/// An endpoint that accepts forms, and the client that posts them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormEndpoint<'a> {
    pub(crate) fetch: &'a Fetch,
    pub(crate) url: &'a str,
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a Client,
}

impl FormEndpoint<'_> {
    /// Builds the request with `form` and the client authentication.
    pub(crate) fn request(&self, mut form: Form) -> Result<HttpRequest, LoginError> {
        let header = self.client.authenticate(&mut form, self.issuer)?;
        let request = self.fetch.request("POST", self.url);
        let mut request = request.header("content-type", "application/x-www-form-urlencoded");
        request.headers.extend(header.map(|header| ("authorization", header)));
        request.body = form.encode();
        Ok(request)
    }

    /// Posts `form`.
    pub(crate) async fn post(
        &self,
        form: Form,
        asking: &'static str,
    ) -> Result<HttpResponse, LoginError> {
        self.fetch.send(self.request(form)?, asking).await
    }
}
