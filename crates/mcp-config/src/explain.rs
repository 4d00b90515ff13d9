//! "Why is this server (not) there?", answered in words.

use std::fmt;

use crate::{
    diagnostic::{Diagnostic, escaped, printable},
    model::{Remote, ServerConfig, Transport},
    policy::Exclusivity,
    redact::shown_args,
    resolve::{Candidate, Resolution, Rival, Verdict},
    scope::Precedence,
    signature::shown_url,
    template::Template,
};

/// Why a server is or is not there. Printing it gives the answer in a few lines.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation<'r> {
    /// The name asked about.
    pub name: String,
    /// Every entry of that name, the one that counts first.
    pub entries: Vec<&'r Candidate>,
    /// Entries of other names that are the same server and were left out for it.
    pub duplicates: Vec<&'r Candidate>,
    /// What the readers had to say about entries of that name.
    pub diagnostics: Vec<&'r Diagnostic>,
    /// A name like the one asked about, when there is none.
    pub similar: Option<String>,
    precedence: &'r Precedence,
}

impl Resolution {
    /// Explains what became of the server called `name`: where it comes from, what it shadowed, or
    /// why it is not there.
    pub fn explain(&self, name: &str) -> Explanation<'_> {
        let named = |candidate: &&Candidate| candidate.entry.config.name.as_str() == name;
        let mut entries: Vec<&Candidate> = self.candidates.iter().filter(named).collect();
        // Stable: within each group the order of precedence stays.
        entries.sort_by_key(|candidate| weight(&candidate.verdict));
        let loser = |candidate: &&Candidate| match &candidate.verdict {
            Verdict::Duplicate(rival, _) => rival.entry.config.name.as_str() == name,
            _ => false,
        };
        let similar = if entries.is_empty() { self.similar(name) } else { None };
        Explanation {
            name: name.to_owned(),
            entries,
            duplicates: self.candidates.iter().filter(loser).collect(),
            diagnostics: self
                .diagnostics
                .iter()
                .filter(|d| d.server.as_deref() == Some(name))
                .collect(),
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
                && (other.contains(&wanted) || wanted.contains(&other) || one_edit(&wanted, &other))
        };
        names.filter(near).min_by_key(|other| other.len().abs_diff(name.len())).map(str::to_owned)
    }
}

/// Whether one insertion, removal, change or swap of neighbours makes `a` of `b`.
fn one_edit(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let tail =
        a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(x, y)| x == y).count();
    let (mine, other) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    mine.len() <= 1 && other.len() <= 1 || mine.len() == 2 && mine.iter().eq(other.iter().rev())
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
                (_, false) => writeln!(out, "`{name}` is not there: its entry could not be used")?,
                (Some(similar), _) => {
                    writeln!(out, "`{name}` is not configured; did you mean `{similar}`?")?;
                }
                (None, _) => writeln!(out, "`{name}` is not configured in any scope")?,
            }
            return self
                .diagnostics
                .iter()
                .try_for_each(|diagnostic| writeln!(out, "  {diagnostic}"));
        };
        match &first.verdict {
            Verdict::Active => writeln!(out, "`{name}` is active")?,
            other => writeln!(out, "`{name}` is not there: {}", self.reason(first, other))?,
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
            Verdict::Disabled(None) => "its entry switches it off".to_owned(),
            Verdict::Disabled(Some(place)) => format!("switched off at {place}"),
            Verdict::Unapproved { changed: false } => {
                "it came with the project and waits for your approval".to_owned()
            }
            Verdict::Unapproved { changed: true } => {
                "it came with the project and has changed since you decided about it".to_owned()
            }
            Verdict::Rejected => "it came with the project and you turned it down".to_owned(),
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
                format!(
                    "an enterprise document is present, and {} servers never load then",
                    candidate.scope
                )
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

/// Where an entry stands: scope, file, position, dialect, pointer.
struct Source<'c>(&'c Candidate);

impl fmt::Display for Source<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Candidate { entry, scope, .. } = self.0;
        let pointer = escaped(&entry.place.pointer);
        write!(out, "{scope} scope, {} ({}, {pointer})", entry.place, entry.dialect)
    }
}

/// What would run, unexpanded, without anything secret.
pub(crate) struct Target<'c>(pub(crate) &'c ServerConfig);

impl fmt::Display for Target<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.transport {
            Transport::Stdio(stdio) => {
                out.write_str(&printable(stdio.command.unexpanded()))?;
                let args = shown_args(stdio.args.iter().map(Template::unexpanded));
                args.iter().try_for_each(|arg| write!(out, " {arg}"))?;
                match stdio
                    .env
                    .iter()
                    .map(|(name, _)| printable(name))
                    .collect::<Vec<_>>()
                    .as_slice()
                {
                    [] => Ok(()),
                    names => write!(out, "  (sets {})", names.join(", ")),
                }
            }
            Transport::Sdk(_) => out.write_str("inside this process"),
            other => {
                let url = other
                    .remote()
                    .map(|remote| shown_url(remote.url.unexpanded()))
                    .unwrap_or_default();
                write!(out, "{} {}", other.kind(), printable(&url))?;
                other.remote().map_or(Ok(()), |remote| asides(out, remote))
            }
        }
    }
}

/// What else an endpoint brings that runs, or that a user is sent to.
fn asides(out: &mut fmt::Formatter<'_>, remote: &Remote) -> fmt::Result {
    if let Some(helper) = &remote.headers_helper {
        let shown = shown_args(helper.unexpanded().split_whitespace());
        write!(out, "  (headers by `{}`)", shown.join(" "))?;
    }
    let Some(oauth) = &remote.oauth else { return Ok(()) };
    let places = [
        ("logs in at", &oauth.authorization_url),
        ("gets tokens at", &oauth.token_url),
        ("finds out where at", &oauth.metadata_url),
        ("comes back to", &oauth.redirect_uri),
        ("asks for", &oauth.resource),
    ];
    for (what, place) in places {
        if let Some(place) = place {
            write!(out, "  ({what} {})", printable(&shown_url(place.unexpanded())))?;
        }
    }
    Ok(())
}
