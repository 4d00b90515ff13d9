//! Detects growth during a run and resources that are left after it.
//!
//! Memory in use and resident memory are checked separately. Memory in use must return to where it was. Resident memory
//! depends on the allocator, which returns little to the system. Both rise under load until every connection has the
//! buffers and the queue it will keep. So the maximum of the second half of a run is compared with that of the first
//! half, in which all callers called at once.

use crate::gauge::Gauge;

/// The growth allowed in the second half: one part in this many.
const PART: u64 = 20;
const CHANCE_KIB: u64 = 4 << 10;
/// The growth allowed for resident memory, because of fragmentation.
const HOLES_KIB: u64 = 8 << 10;
/// Memory that a process keeps after its first use, and in-process servers with a reference to themselves.
const KEPT_KIB: u64 = 2 << 10;
/// Files that a process opens once and keeps: the pipe of the watchdog, those of the runtime.
const SLACK_FILES: u64 = 8;

/// The measurements of one run, in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Looks {
    pub(crate) before: Gauge,
    /// After a quarter of the run.
    warm: Option<Gauge>,
    half: Option<Gauge>,
    /// After the last response, before anything is closed.
    pub(crate) end: Gauge,
    pub(crate) after: Gauge,
    /// The maximum of each half.
    most: [Gauge; 2],
}

impl Looks {
    /// Adds a measurement at `done` of `of` calls.
    pub(crate) fn look(&mut self, now: Gauge, done: u64, of: u64) {
        let most = &mut self.most[usize::from(self.half.is_some())];
        *most = most.most(now);
        if done >= of / 4 {
            self.warm.get_or_insert(now);
        }
        if done >= of / 2 {
            self.half.get_or_insert(now);
        }
    }

    /// The values for the report.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let line = |count: &dyn Fn(Gauge) -> u64| {
            let [before, warm, half, end, after, early, late] =
                self.all().map(|(_, gauge)| count(gauge));
            format!(
                "{before} before, {warm} at a quarter, {half} at half, {end} at the end, {after} after; \
                 at most {early} until half, {late} then"
            )
        };
        vec![
            ("memory, MiB", line(&|gauge| gauge.resident_kib / 1_024)),
            ("of it in use, MiB", line(&|gauge| gauge.heap_kib / 1_024)),
            ("in pieces", line(&|gauge| gauge.blocks)),
            ("open files", line(&|gauge| gauge.files as u64)),
            ("processes left", self.after.children.to_string()),
        ]
    }

    /// All values by name.
    pub(crate) fn all(&self) -> [(&'static str, Gauge); 7] {
        let [warm, half] = [self.warm, self.half].map(Option::unwrap_or_default);
        [
            ("before", self.before),
            ("warm", warm),
            ("half", half),
            ("end", self.end),
            ("after", self.after),
            ("most_until_half", self.most[0]),
            ("most_then", self.most[1]),
        ]
    }

    /// The violated limits.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let Self { before, end, after, most: [early, late], .. } = *self;
        let (Some(warm), Some(_)) = (self.warm, self.half) else {
            return vec!["the run ended before the first measurement".into()];
        };
        let mut found = Vec::new();
        let mut check = |holds: bool, what: &str, from: u64, to: u64| {
            if !holds {
                found.push(format!("{what}: from {from} to {to}"));
            }
        };
        let is_flat = |early: u64, late: u64, chance| late <= early + early / PART + chance;
        let (from, to) = (early.resident_kib, late.resident_kib);
        check(is_flat(from, to, HOLES_KIB), "KiB of memory in the second half", from, to);
        let (from, to) = (early.heap_kib, late.heap_kib);
        check(is_flat(from, to, CHANCE_KIB), "KiB in use in the second half", from, to);
        let grown = end.files as u64 <= warm.files as u64 + SLACK_FILES;
        check(grown, "open files since a quarter", warm.files as u64, end.files as u64);
        found.extend(left(before, after));
        found
    }
}

/// The resources that `after` has and `before` had not, beyond what a process keeps.
pub(crate) fn left(before: Gauge, after: Gauge) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: &str, from: u64, to: u64, kept: u64| {
        if to > from + kept {
            found.push(format!("{what}: from {from} to {to}"));
        }
    };
    check("KiB in use before and after", before.heap_kib, after.heap_kib, KEPT_KIB);
    let files = |gauge: Gauge| gauge.files as u64;
    check("open files before and after", files(before), files(after), SLACK_FILES);
    check("processes left", 0, after.children as u64, 0);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gauge with these values in MiB.
    fn gauge(resident: u64, heap: u64) -> Gauge {
        Gauge { resident_kib: resident << 10, heap_kib: heap << 10, ..Gauge::default() }
    }

    /// A run with a measurement at every eighth: resident memory and memory in use.
    fn run(eighths: [(u64, u64); 8], after: (u64, u64)) -> Vec<String> {
        let mut looks = Looks { before: gauge(5, 1), ..Looks::default() };
        for (done, (resident, heap)) in (1..).zip(eighths) {
            looks.look(gauge(resident, heap), done, 8);
        }
        looks.after = gauge(after.0, after.1);
        looks.complaints()
    }

    #[test]
    fn memory_kept_by_the_allocator_is_not_a_leak() {
        let rising = [160, 190, 210, 220, 225, 226, 227, 227].map(|mib| (mib, mib - 20));
        assert_eq!(run(rising, (220, 2)), [""; 0]);
    }

    #[test]
    fn growth_and_leftovers_are_named() {
        let growing = [100, 110, 120, 130, 140, 150, 160, 170].map(|mib| (mib, 80));
        let found = run(growing, (150, 2));
        assert_eq!(found, ["KiB of memory in the second half: from 133120 to 174080"]);
        let leaking = growing.map(|(mib, _)| (200, mib));
        assert_eq!(run(leaking, (200, 70)).len(), 2);
        assert_eq!(Looks::default().complaints(), ["the run ended before the first measurement"]);
    }
}
