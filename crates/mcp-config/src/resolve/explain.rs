//! Explanations of why a server is or is not used.

use std::fmt;

use mcp_safe::text::escape;

use super::resolution::{Candidate, Resolution, Rival, Verdict};
use crate::{
    diagnostic::{Diagnostic, printable},
    dialect::Dialect,
    model::{Precedence, Remote, ServerConfig, Template, Transport, edits, shown_args, shown_url},
    policy::Exclusivity,
};

/// Explains why a server is or is not used. `Display` prints a few lines.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation<'r> {
    /// The requested name.
    pub name: String,
    /// All entries with that name, the used one first.
    pub entries: Vec<&'r Candidate>,
    /// Entries with other names that were left out because they are the same server.
    pub duplicates: Vec<&'r Candidate>,
    /// The diagnostics about entries with that name.
    pub diagnostics: Vec<&'r Diagnostic>,
    /// A similar name, if the requested one does not exist.
    pub similar: Option<String>,
    precedence: &'r Precedence,
}

impl Resolution {
    /// Explains the verdict on the server called `name`: its source and the entries it shadows, or the reason
    /// it is not used.
    pub fn explain(&self, name: &str) -> Explanation<'_> {
        let named = |candidate: &&Candidate| candidate.entry.config.name.as_str() == name;
        let mut entries: Vec<&Candidate> = self.candidates.iter().filter(named).collect();
        // A stable sort keeps the order of precedence within each group.
        entries.sort_by_key(|candidate| weight(&candidate.verdict));
        let loser = |candidate: &&Candidate| match &candidate.verdict {
            Verdict::Duplicate(rival, _) => rival.entry.config.name.as_str() == name,
            _ => false,
        };
        let about = |found: &&Diagnostic| found.server.as_deref() == Some(name);
        let similar = if entries.is_empty() { self.similar(name) } else { None };
        Explanation {
            name: name.to_owned(),
            entries,
            duplicates: self.candidates.iter().filter(loser).collect(),
            diagnostics: self.diagnostics.iter().filter(about).collect(),
            similar,
            precedence: &self.precedence,
        }
    }

    fn similar(&self, name: &str) -> Option<String> {
        let fold = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
        let wanted = fold(name);
        let names = self.candidates.iter().map(|candidate| candidate.entry.config.name.as_str());
        let near = |other: &&str| {
            let other = fold(other);
            !wanted.is_empty()
                && (other.contains(&wanted)
                    || wanted.contains(&other)
                    || edits(&wanted, &other) <= 1)
        };
        names.filter(near).min_by_key(|other| other.len().abs_diff(name.len())).map(str::to_owned)
    }
}

fn weight(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Active => 0,
        Verdict::Disabled(_) | Verdict::Duplicate(..) => 1,
        Verdict::Unapproved { .. } | Verdict::Rejected => 2,
        Verdict::Refused(_) | Verdict::Withheld(_) => 3,
        Verdict::Shadowed(_) => 4,
    }
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = printable(&self.name);
        let Some((first, rest)) = self.entries.split_first() else {
            match (&self.similar, self.diagnostics.is_empty()) {
                (_, false) => writeln!(out, "`{name}` is not used: its entry is invalid")?,
                (Some(similar), _) => {
                    writeln!(out, "`{name}` is not configured; did you mean `{similar}`?")?;
                }
                (None, _) => writeln!(out, "`{name}` is not configured in any scope")?,
            }
            return self.diagnostics.iter().try_for_each(|found| writeln!(out, "  {found}"));
        };
        match &first.verdict {
            Verdict::Active => writeln!(out, "`{name}` is active")?,
            other => writeln!(out, "`{name}` is not used: {}", self.reason(first, other))?,
        }
        writeln!(out, "  runs  {}", Target(&first.entry.config))?;
        writeln!(out, "  from  {}", Source(first))?;
        for other in rest {
            writeln!(out, "  not   {}", Source(other))?;
            writeln!(out, "        {}", self.reason(other, &other.verdict))?;
        }
        for duplicate in &self.duplicates {
            let other = &duplicate.entry.config.name;
            writeln!(out, "  not   `{other}`, {}", Source(duplicate))?;
            writeln!(out, "        {}", self.reason(duplicate, &duplicate.verdict))?;
        }
        self.diagnostics.iter().try_for_each(|diagnostic| writeln!(out, "  note  {diagnostic}"))
    }
}

impl Explanation<'_> {
    fn reason(&self, candidate: &Candidate, verdict: &Verdict) -> String {
        match verdict {
            Verdict::Active => "it is used".to_owned(),
            Verdict::Disabled(None) => "disabled in its entry".to_owned(),
            Verdict::Disabled(Some(place)) => format!("disabled at {place}"),
            Verdict::Unapproved { changed: false } => {
                "it came with the project and waits for your approval".to_owned()
            }
            Verdict::Unapproved { changed: true } => {
                "it came with the project and has changed since you decided about it".to_owned()
            }
            Verdict::Rejected => "it came with the project and you rejected it".to_owned(),
            Verdict::Shadowed(rival) => format!("same name; {}", self.outranks(rival, candidate)),
            Verdict::Duplicate(rival, signature) => format!(
                "same server as `{}` ({signature}); {}",
                rival.entry.config.name,
                self.outranks(rival, candidate)
            ),
            Verdict::Refused(refusal) => refusal.to_string(),
            Verdict::Withheld(Exclusivity::All) => {
                "an enterprise document is present, and only its servers load".to_owned()
            }
            Verdict::Withheld(_) => {
                let scope = candidate.scope;
                format!("an enterprise document is present, which excludes {scope} servers")
            }
        }
    }

    fn outranks(&self, rival: &Rival, candidate: &Candidate) -> String {
        let (winner, loser) = (rival.scope, candidate.scope);
        if self.precedence.outranks(winner, loser) {
            format!("the {winner} scope outranks the {loser} scope")
        } else {
            format!("{} comes first within the {winner} scope", rival.entry.place)
        }
    }
}

/// The source of an entry: scope, file, position, dialect unless it is the common one, pointer.
struct Source<'c>(&'c Candidate);

impl fmt::Display for Source<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Candidate { entry, scope, .. } = self.0;
        let pointer = escape(&entry.place.pointer);
        write!(out, "{scope} scope, {} (", entry.place)?;
        // The title of the common dialect is the name of a file, which may be another one.
        if entry.dialect != Dialect::McpJson {
            write!(out, "{}, ", entry.dialect)?;
        }
        write!(out, "{pointer})")
    }
}

/// The program or URL, unexpanded and without secrets.
pub(crate) struct Target<'c>(pub(crate) &'c ServerConfig);

impl fmt::Display for Target<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.transport {
            Transport::Stdio(stdio) => {
                out.write_str(&printable(stdio.command.unexpanded()))?;
                let args = shown_args(stdio.args.iter().map(Template::unexpanded));
                args.iter().try_for_each(|arg| write!(out, " {arg}"))?;
                let names: Vec<String> =
                    stdio.env.iter().map(|(name, _)| printable(name)).collect();
                if names.is_empty() {
                    return Ok(());
                }
                write!(out, "  (sets {})", names.join(", "))
            }
            Transport::Sdk(_) => out.write_str("inside this process"),
            Transport::Http(remote) | Transport::Sse(remote) | Transport::Ws(remote) => {
                let url = shown_url(remote.url.unexpanded());
                write!(out, "{} {}", self.0.transport.kind(), printable(&url))?;
                write_endpoint_details(out, remote)
            }
        }
    }
}

/// The helper program and OAuth URLs of an endpoint.
fn write_endpoint_details(out: &mut fmt::Formatter<'_>, remote: &Remote) -> fmt::Result {
    if let Some(helper) = &remote.headers_helper {
        let shown = shown_args(helper.unexpanded().split_whitespace());
        write!(out, "  (headers by `{}`)", shown.join(" "))?;
    }
    let Some(oauth) = &remote.oauth else { return Ok(()) };
    let places = [
        ("logs in at", &oauth.authorization_url),
        ("gets tokens at", &oauth.token_url),
        ("reads OAuth metadata at", &oauth.metadata_url),
        ("redirects to", &oauth.redirect_uri),
        ("requests tokens for", &oauth.resource),
    ];
    for (what, place) in places {
        if let Some(place) = place {
            write!(out, "  ({what} {})", printable(&shown_url(place.unexpanded())))?;
        }
    }
    Ok(())
}
