//! `with_*` setters, so that a server can be written as one expression.

use std::time::Duration;

use mcp_sandbox::Profile;

use super::server::{
    AlwaysLoad, AuthKind, ConnectMode, EraPin, InheritEnv, Limits, OAuth, Remote, ServerConfig,
    Stdio, Timeouts, Tls, ToolFilter,
};
use super::template::{SecretText, Template};

/// Generates one method for each field: takes the value, sets the field, returns `self`.
macro_rules! setters {
    ($of:ty { $($(#[$doc:meta])* $name:ident($field:ident: $kind:ty) = $value:expr;)* }) => {
        impl $of {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(mut self, $field: $kind) -> Self {
                    self.$field = $value;
                    self
                }
            )*
        }
    };
}

setters!(ServerConfig {
    /// Enables or disables the server.
    with_enabled(enabled: bool) = enabled;
    /// Sets the timeouts.
    with_timeouts(timeouts: Timeouts) = timeouts;
    /// Sets which of its tools are offered.
    with_tools(tools: ToolFilter) = tools;
    /// Sets which of its tools stay in the prompt.
    with_always_load(always_load: AlwaysLoad) = always_load;
    /// Sets whether the server is trusted.
    with_trust(trust: bool) = trust;
    /// Sets limits on the length of its text.
    with_limits(limits: Limits) = limits;
    /// Sets when to connect.
    with_connect(connect: ConnectMode) = Some(connect);
    /// Requires a protocol era or revision.
    with_era(era: EraPin) = Some(era);
    /// Sets how requests authenticate.
    with_auth(auth: AuthKind) = Some(auth);
    /// Sets the description.
    with_description(description: impl Into<String>) = Some(description.into());
});

setters!(Stdio {
    /// Sets its arguments.
    with_args(args: impl IntoIterator<Item = impl Into<Template>>) = args.into_iter().map(Into::into).collect();
    /// Sets the names of the variables that are passed on.
    with_env_pass(env_pass: impl IntoIterator<Item = impl Into<String>>) = env_pass.into_iter().map(Into::into).collect();
    /// Sets the names of the variables that are removed.
    with_env_unset(env_unset: impl IntoIterator<Item = impl Into<String>>) = env_unset.into_iter().map(Into::into).collect();
    /// Sets how much of the host's environment it inherits.
    with_inherit_env(inherit_env: InheritEnv) = inherit_env;
    /// Sets a file of variables.
    with_env_file(env_file: impl Into<Template>) = Some(env_file.into());
    /// Sets the directory to start it in.
    with_cwd(cwd: impl Into<Template>) = Some(cwd.into());
    /// Sets its sandbox.
    with_sandbox(sandbox: Profile) = Some(sandbox);
});

impl Stdio {
    /// Sets one environment variable.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<Box<str>>, value: impl Into<SecretText>) -> Self {
        self.env.insert(name, value.into());
        self
    }
}

setters!(Remote {
    /// Sets a command that prints headers.
    with_headers_helper(headers_helper: impl Into<Template>) = Some(headers_helper.into());
    /// Sets known OAuth settings.
    with_oauth(oauth: OAuth) = Some(Box::new(oauth));
    /// Sets the TLS certificates.
    with_tls(tls: Tls) = Some(Box::new(tls));
});

impl Remote {
    /// Sets one header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<Box<str>>, value: impl Into<SecretText>) -> Self {
        self.headers.insert(name, value.into());
        self
    }
}

setters!(OAuth {
    /// Sets the id of a client registered in advance.
    with_client_id(client_id: impl Into<Template>) = Some(client_id.into());
    /// Sets the client's secret.
    with_client_secret(client_secret: impl Into<SecretText>) = Some(client_secret.into());
    /// Sets the scopes to request.
    with_scopes(scopes: impl IntoIterator<Item = impl Into<String>>) = scopes.into_iter().map(Into::into).collect();
    /// Sets the loopback port of the redirect URI.
    with_callback_port(callback_port: u16) = Some(callback_port);
    /// Sets the complete redirect URI.
    with_redirect_uri(redirect_uri: impl Into<Template>) = Some(redirect_uri.into());
    /// Sets the URL of the authorization server's metadata.
    with_metadata_url(metadata_url: impl Into<Template>) = Some(metadata_url.into());
    /// Sets the authorization endpoint.
    with_authorization_url(authorization_url: impl Into<Template>) = Some(authorization_url.into());
    /// Sets the token endpoint.
    with_token_url(token_url: impl Into<Template>) = Some(token_url.into());
    /// Sets the resource to request a token for.
    with_resource(resource: impl Into<Template>) = Some(resource.into());
});

setters!(Tls {
    /// Sets a file of certificate authorities.
    with_ca(ca: impl Into<Template>) = Some(ca.into());
    /// Sets the file of the client certificate.
    with_cert(cert: impl Into<Template>) = Some(cert.into());
    /// Sets the file of its private key.
    with_key(key: impl Into<Template>) = Some(key.into());
});

setters!(Timeouts {
    /// Sets the time for the server to start.
    with_startup(startup: Duration) = Some(startup);
    /// Sets the time for one call without progress.
    with_call(call: Duration) = Some(call);
    /// Sets the time for one call in total.
    with_total(total: Duration) = Some(total);
});

setters!(ToolFilter {
    /// Offers only tools that match these globs.
    with_allow(allow: impl IntoIterator<Item = impl Into<String>>) = Some(allow.into_iter().map(Into::into).collect());
    /// Never offers tools that match these globs.
    with_deny(deny: impl IntoIterator<Item = impl Into<String>>) = deny.into_iter().map(Into::into).collect();
});

setters!(Limits {
    /// Limits descriptions of tools, in characters.
    with_description(description: usize) = Some(description);
    /// Limits outputs of tools, in characters.
    with_output(output: usize) = Some(output);
});
