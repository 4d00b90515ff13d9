//! Runs one target with its corpus and mutations of it.

use std::{
    cell::{Cell, RefCell},
    env,
    io::Write as _,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Mutex, Once, PoisonError, mpsc},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{
    Target, corpus,
    mutate::{Mutator, Random},
    target,
};

/// The number of mutations without a given time, which keeps tests short.
const ROUNDS: u32 = 300;
/// An input that takes longer than this counts as hanging, also on a slow and busy machine.
const HANGS: Duration = Duration::from_secs(60);
/// The limits for shrinking a failing input: attempts and time.
const SHRINKING: (u32, Duration) = (20_000, Duration::from_secs(10));

/// Checks every input of a target's corpus, then mutations of them: a few hundred, or as many as fit into
/// `MCP_FUZZ_SECONDS`. `MCP_FUZZ_SEED` repeats an earlier run.
///
/// # Panics
/// On the first input for which the property does not hold, with the input as a line of the corpus.
pub fn play(name: &str) {
    let target = target(name).unwrap_or_else(|| panic!("unknown target `{name}`"));
    let inputs = corpus::read(target).unwrap_or_else(|error| panic!("no corpus: {error}"));
    assert!(!inputs.is_empty(), "the corpus of `{name}` is empty");
    let watched = Watched::begin(target);
    for (line, input) in &inputs {
        if let Some(problem) = watched.check(input) {
            panic!("line {line} of the corpus of `{name}`: {problem}");
        }
    }
    let seconds: Option<f64> = number("MCP_FUZZ_SECONDS");
    let seed = number("MCP_FUZZ_SEED").unwrap_or_else(|| if seconds.is_some() { now() } else { 0 });
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let mutator = Mutator::new(inputs.into_iter().map(|(_, input)| input).collect());
    let mut random = Random::new(seed);
    let mut rounds = 0_u32;
    while until.map_or(rounds < ROUNDS, |until| Instant::now() < until) {
        rounds += 1;
        let input = mutator.input(&mut random);
        if let Some(problem) = watched.check(&input) {
            let (input, problem) = shrunk(&watched, input, problem);
            panic!("{}", report(target, &input, &problem, seed));
        }
    }
    if until.is_some() {
        eprintln!("{name}: {rounds} inputs from seed {seed}");
    }
}

fn report(target: &Target, input: &[u8], problem: &str, seed: u64) -> String {
    let line = corpus::escape(input);
    let name = target.name;
    format!(
        "target `{name}`, seed {seed}: {problem}\n\
         The shortest input found is the next line. It belongs into fuzz/corpus/{name}.txt with the fix.\n\
         {line}\n"
    )
}

fn number<T: std::str::FromStr>(variable: &str) -> Option<T> {
    let text = env::var(variable).ok()?;
    let number = text.parse().ok();
    assert!(number.is_some(), "{variable} must be a number, and is {text:?}");
    number
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or_default()
}

/// Removes the parts of an input that the failure does not need: halves first, single bytes last.
fn shrunk(watched: &Watched, mut input: Vec<u8>, mut problem: String) -> (Vec<u8>, String) {
    let (most, limit) = SHRINKING;
    let began = Instant::now();
    let mut tries = 0;
    let mut size = input.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        let mut shorter = false;
        while at < input.len() {
            tries += 1;
            if tries > most || began.elapsed() > limit {
                return (input, problem);
            }
            let mut without = input.clone();
            without.drain(at..(at + size).min(input.len()));
            match watched.check(&without) {
                Some(found) => (input, problem, shorter) = (without, found, true),
                None => at += size,
            }
        }
        if !shorter || size > 1 {
            size /= 2;
        }
    }
    (input, problem)
}

/// The current input and its start time.
type Running = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

/// A target with a watchdog: a panic becomes a value, and a hang ends the process.
struct Watched {
    target: &'static Target,
    running: Running,
    _stop: mpsc::Sender<()>,
}

impl Watched {
    fn begin(target: &'static Target) -> Self {
        let (stop, stopped) = mpsc::channel::<()>();
        let running = Running::default();
        let watched = running.clone();
        thread::spawn(move || {
            // The other end is dropped when the target is done.
            while stopped.recv_timeout(HANGS / 10) == Err(mpsc::RecvTimeoutError::Timeout) {
                let running = watched.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((since, input)) = &*running
                    && since.elapsed() > HANGS
                {
                    let hangs = format!("it runs for more than {HANGS:?}");
                    let _ =
                        std::io::stderr().write_all(report(target, input, &hangs, 0).as_bytes());
                    std::process::abort();
                }
            }
        });
        Self { target, running, _stop: stop }
    }

    /// Runs the target with `input`. Returns the panic message, if any.
    fn check(&self, input: &[u8]) -> Option<String> {
        hear_panics();
        self.note(Some((Instant::now(), input.to_vec())));
        QUIET.set(true);
        let checked = panic::catch_unwind(AssertUnwindSafe(|| (self.target.check)(input)));
        QUIET.set(false);
        self.note(None);
        checked.err().map(|_| HEARD.take())
    }

    fn note(&self, what: Option<(Instant, Vec<u8>)>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static HEARD: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Stores panic messages of a target instead of printing them: shrinking causes hundreds.
fn hear_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if QUIET.get() {
                HEARD.set(panic.to_string());
            } else {
                loud(panic);
            }
        }));
    });
}
