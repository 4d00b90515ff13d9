//! The size of a run, from the command line.

use std::{path::PathBuf, time::Duration};

/// The transport of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Stdio,
    HttpModern,
    HttpLegacy,
    Ws,
    InProcess,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Stdio, Self::HttpModern, Self::HttpLegacy, Self::Ws, Self::InProcess];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::HttpModern => "http (2026-07-28)",
            Self::HttpLegacy => "http (sessions)",
            Self::Ws => "ws",
            Self::InProcess => "in process",
        }
    }
}

/// The size of a run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) mode: &'static str,
    pub(crate) counts: [(Kind, u32); 5],
    /// One server in this many is connected through the bridge.
    pub(crate) bridged: u32,
    /// Callers per server, which is the number of its calls in flight.
    pub(crate) callers: u32,
    /// Calls of each caller, one after the other.
    pub(crate) rounds: u32,
    /// Time limit for the whole run.
    pub(crate) limit: Duration,
    pub(crate) seed: u64,
    /// Inject failures for this long instead of running the load.
    pub(crate) soak: Option<Duration>,
    pub(crate) json: Option<PathBuf>,
}

impl Plan {
    /// 200 servers, 10,000 calls in flight, a million calls.
    fn full() -> Self {
        let counts = [
            (Kind::Stdio, 80),
            (Kind::HttpModern, 20),
            (Kind::HttpLegacy, 20),
            (Kind::Ws, 40),
            (Kind::InProcess, 40),
        ];
        Self {
            mode: "full",
            counts,
            bridged: 4,
            callers: 50,
            rounds: 100,
            limit: Duration::from_secs(1_800),
            seed: 1,
            soak: None,
            json: None,
        }
    }

    fn quick() -> Self {
        let counts = Kind::ALL.map(|kind| (kind, 4));
        let limit = Duration::from_secs(300);
        Self { mode: "quick", counts, bridged: 3, callers: 40, rounds: 12, limit, ..Self::full() }
    }

    fn soaking(duration: Duration) -> Self {
        let counts = Kind::ALL.map(|kind| (kind, 6));
        let limit = duration + Duration::from_secs(300);
        let soak = Some(duration);
        Self { mode: "soak", counts, bridged: 1, callers: 4, soak, limit, ..Self::full() }
    }

    pub(crate) fn servers(&self) -> u32 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    pub(crate) fn calls(&self) -> u64 {
        u64::from(self.servers()) * u64::from(self.callers) * u64::from(self.rounds)
    }

    /// Reads the command line.
    pub(crate) fn read(arguments: &[String]) -> Result<Self, String> {
        let mut plan = Self::full();
        let (mut json, mut seed, mut rounds, mut only) = (None, None, None, None);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            let number = |text: &String| {
                text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"))
            };
            match word.as_str() {
                "--quick" => plan = Self::quick(),
                "--soak" => plan = Self::soaking(Duration::from_secs(number(value()?)?)),
                "--only" => only = Some(value()?),
                "--rounds" => rounds = Some(number(value()?)?),
                "--seed" => seed = Some(number(value()?)?),
                "--json" => json = Some(PathBuf::from(value()?)),
                other => return Err(format!("`{other}` is none of {USAGE}")),
            }
        }
        plan.json = json;
        plan.seed = seed.unwrap_or(plan.seed);
        if let Some(rounds) = rounds {
            plan.rounds =
                u32::try_from(rounds).map_err(|_| format!("{rounds} rounds are too many"))?;
        }
        if let Some(only) = only {
            plan.counts
                .iter_mut()
                .filter(|(kind, _)| kind.name() != only)
                .for_each(|(_, n)| *n = 0);
            if plan.servers() == 0 {
                return Err(format!(
                    "`{only}` is none of {}",
                    Kind::ALL.map(Kind::name).join(", ")
                ));
            }
        }
        Ok(plan)
    }
}

pub(crate) const USAGE: &str =
    "[--quick | --soak SECONDS] [--only TRANSPORT] [--rounds N] [--seed N] [--json FILE]";
