//! Arguments that a modern client repeats in HTTP headers: `x-mcp-header` in a tool's schema.
//!
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>

use base64::{Engine as _, engine::general_purpose::STANDARD};
use mcp_jsonrpc::RawJson;
use mcp_types::header::PARAM_PREFIX;

/// The deepest level of annotated properties.
const DEEPEST: usize = 16;

/// The arguments of one tool that are repeated in headers.
#[derive(Debug, Default)]
pub(crate) struct HeaderParams(Vec<Param>);

#[derive(Debug)]
struct Param {
    /// The path to the value in the arguments.
    path: Vec<String>,
    /// The full header name in lower case.
    header: String,
}

impl HeaderParams {
    /// The annotated properties of `schema`, reachable through `properties` only.
    pub(crate) fn of(schema: &RawJson) -> Self {
        let mut params = Vec::new();
        collect(schema, &mut Vec::new(), &mut params);
        Self(params)
    }

    /// Checks that headers and arguments match. The error names the header.
    pub(crate) fn check(
        &self,
        arguments: &RawJson,
        header: impl Fn(&str) -> Option<String>,
    ) -> Result<(), String> {
        for Param { path, header: name } in &self.0 {
            let mut value = Some(arguments.clone());
            for step in path {
                value = value.and_then(|object| object.get(step));
            }
            let expected = value.filter(|value| !value.is_null()).map(|value| plain(&value));
            let actual = header(name).map(|text| decode_value(&text)).transpose();
            let actual = actual.map_err(|()| format!("header `{name}` is not valid Base64"))?;
            if expected != actual {
                return Err(format!("header `{name}` does not match the argument it repeats"));
            }
        }
        Ok(())
    }
}

fn collect(schema: &RawJson, path: &mut Vec<String>, params: &mut Vec<Param>) {
    let Some(properties) = schema.get("properties").filter(|_| path.len() < DEEPEST) else {
        return;
    };
    for (name, property) in properties.members() {
        path.push(name);
        if let Some(header) =
            property.get("x-mcp-header").and_then(|raw| raw.decode::<String>().ok())
        {
            let header = format!("{PARAM_PREFIX}{}", header.to_ascii_lowercase());
            params.push(Param { path: path.clone(), header });
        }
        collect(&property, path, params);
        path.pop();
    }
}

/// The text of a value as a header repeats it, before encoding.
fn plain(value: &RawJson) -> String {
    value.decode::<String>().unwrap_or_else(|_| value.as_str().to_owned())
}

/// Decodes a header's value: `=?base64?…?=` wraps text that a header cannot hold.
pub(crate) fn decode_value(text: &str) -> Result<String, ()> {
    let wrapped = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match wrapped {
        None => Ok(text.to_owned()),
        Some(inner) => {
            let bytes = STANDARD.decode(inner).map_err(|_| ())?;
            String::from_utf8(bytes).map_err(|_| ())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn header_params_must_match_arguments() {
        let params = HeaderParams::of(&json(
            r#"{"properties":{"region":{"type":"string","x-mcp-header":"Region"},
                "in":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}"#,
        ));
        let check = |arguments: &str, headers: &[(&str, &str)]| {
            params.check(&json(arguments), |name| {
                headers.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let region = "mcp-param-region";
        assert!(
            check(r#"{"region":"eu","in":{"n":7}}"#, &[(region, "eu"), ("mcp-param-n", "7")])
                .is_ok()
        );
        assert!(check("{}", &[]).is_ok());
        assert!(check(r#"{"region":null}"#, &[]).is_ok());
        assert!(check(r#"{"region":"Hello"}"#, &[(region, "=?base64?SGVsbG8=?=")]).is_ok());
        assert!(check(r#"{"region":"SGVsbG8="}"#, &[(region, "SGVsbG8=")]).is_ok());
        for wrong in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "hello"] {
            assert!(check(r#"{"region":"Hello"}"#, &[(region, wrong)]).is_err(), "{wrong}");
        }
        assert!(check(r#"{"region":"eu"}"#, &[]).is_err());
        assert!(check("{}", &[(region, "eu")]).is_err());
    }
}
