//! Rows of figures, ratios and verdicts, aligned.

use crate::{
    catalogue::{Better, Target},
    worker::{BRIDGE, CONTENDERS, Contender, FLOOR, OURS, RMCP, SERDE_JSON, TUNED},
};

/// One figure of every contender.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    pub(crate) targets: &'static [Target],
    /// One per contender, `None` where it was not measured.
    pub(crate) values: [Option<f64>; CONTENDERS.len()],
}

impl Row {
    /// How many times better a contender is than another one.
    fn ratio(&self, contender: Contender, other: Contender) -> Option<f64> {
        let (value, other) = (self.values[contender]?, self.values[other]?);
        let ratio = match self.better {
            Better::Lower => other / value,
            Better::Higher => value / other,
        };
        // A value of zero, or within the noise, has no ratio.
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }

    /// The targets in words, and whether they hold.
    fn verdict(&self) -> (String, String) {
        let (words, verdicts): (Vec<_>, Vec<_>) =
            self.targets.iter().map(|target| self.judge(*target)).unzip();
        let all = |what: &str| verdicts.iter().all(|verdict| *verdict == what);
        let verdict = if all("ok") { verdicts.first() } else { None };
        let verdict = verdict.map_or_else(|| verdicts.join(", "), |verdict| (*verdict).to_owned());
        (words.join(", "), if all("") { String::new() } else { verdict })
    }

    fn judge(&self, target: Target) -> (String, &'static str) {
        let against = |other, times| {
            let reaches = |who| self.ratio(who, other).map(|ratio| ratio >= times);
            // Sizes have no floor.
            (reaches(OURS), reaches(FLOOR).unwrap_or(true))
        };
        let (text, (reached, floor_reaches)) = match target {
            Target::Times(times) => (format!(">= {times}x"), against(RMCP, times)),
            Target::TimesTuned(times) => (format!(">= {times}x tuned"), against(TUNED, times)),
            Target::OfFloor(times) => {
                let ratio = self.ratio(OURS, FLOOR);
                (format!("<= {times} floor"), (ratio.map(|ratio| ratio * times >= 1.0), true))
            }
        };
        let verdict = match (reached, floor_reaches) {
            (None, _) => "",
            (Some(true), _) => "ok",
            (Some(false), true) => "MISS",
            // The floor misses it too: the kernel's share is too large on this machine.
            (Some(false), false) => "MISS (floor too)",
        };
        (text, verdict)
    }
}

/// Prints the rows and says how many targets were missed.
pub(crate) fn print(title: &str, rows: &[Row]) {
    // Omit empty columns.
    let who: Vec<Contender> = (0..CONTENDERS.len())
        .filter(|&who| who < TUNED || rows.iter().any(|row| row.values[who].is_some()))
        .collect();
    let ratios: Vec<_> = [
        (FLOOR, RMCP),
        (OURS, RMCP),
        (OURS, TUNED),
        (OURS, FLOOR),
        (BRIDGE, RMCP),
        (OURS, SERDE_JSON),
    ]
    .into_iter()
    .filter(|(one, other)| who.contains(one) && who.contains(other))
    .collect();
    let mut header = vec![title.to_owned(), String::new()];
    header.extend(who.iter().map(|&who| CONTENDERS[who].to_owned()));
    header.extend(ratios.iter().map(|&(a, b)| format!("{}:{}", CONTENDERS[a], CONTENDERS[b])));
    header.extend(["target".into(), String::new()]);
    let numbers = 2..2 + who.len() + ratios.len();
    let mut lines = vec![header];
    let mut missed = 0;
    for row in rows {
        let (target, verdict) = row.verdict();
        missed += verdict.matches("MISS").count();
        let mut line = vec![row.name.clone(), row.unit.into()];
        line.extend(who.iter().map(|&who| row.values[who].map_or("-".into(), number)));
        line.extend(ratios.iter().map(|&(a, b)| row.ratio(a, b).map_or("-".into(), times)));
        line.extend([target, verdict]);
        lines.push(line);
    }
    let widths: Vec<_> =
        (0..lines[0].len()).map(|at| lines.iter().map(|line| line[at].len()).max()).collect();
    for line in &lines {
        let mut text = String::new();
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let width = width.unwrap_or(0);
            // Align numbers to the right, words to the left.
            text += &if numbers.contains(&at) {
                format!("{cell:>width$}  ")
            } else {
                format!("{cell:<width$}  ")
            };
        }
        println!("{}", text.trim_end());
    }
    match missed {
        0 => println!(),
        _ => println!("\n{missed} of the targets missed\n"),
    }
}

fn times(ratio: f64) -> String {
    let decimals = if ratio < 20.0 { 2 } else { 0 };
    format!("{ratio:.decimals$}x")
}

/// Three significant digits, with thousands as `k` and `M`.
fn number(value: f64) -> String {
    let (value, suffix) = match value.abs() {
        million if million >= 999_500.0 => (value / 1e6, "M"),
        thousand if thousand >= 9_995.0 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let decimals = match value.abs() {
        large if large >= 99.5 => 0,
        medium if medium >= 9.95 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}{suffix}")
}

/// The middle value, or the mean of the two in the middle.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(some: [Option<f64>; 4], better: Better, targets: &'static [Target]) -> Row {
        let values = std::array::from_fn(|who| some.get(who).copied().flatten());
        Row { name: String::new(), unit: "", better, targets, values }
    }

    #[test]
    fn lower_and_higher_both_read_as_times_better() {
        let values = [Some(1.0), Some(2.0), Some(8.0), None];
        assert_eq!(row(values, Better::Lower, &[]).ratio(OURS, RMCP), Some(4.0));
        assert_eq!(row(values, Better::Higher, &[]).ratio(OURS, RMCP), Some(0.25));
        assert_eq!(row(values, Better::Higher, &[]).ratio(OURS, TUNED), None);
    }

    #[test]
    fn a_target_the_floor_misses_is_told_apart() {
        let verdict = |ours, targets| {
            row([Some(3.0), Some(ours), Some(8.0), Some(6.0)], Better::Lower, targets).verdict().1
        };
        assert_eq!(verdict(4.0, &[]), "");
        assert_eq!(verdict(4.0, &[Target::Times(2.0)]), "ok");
        assert_eq!(verdict(5.0, &[Target::Times(2.0)]), "MISS");
        assert_eq!(verdict(5.0, &[Target::Times(3.0)]), "MISS (floor too)");
        assert_eq!(verdict(3.3, &[Target::OfFloor(1.15)]), "ok");
        assert_eq!(verdict(3.6, &[Target::OfFloor(1.15)]), "MISS");
        assert_eq!(verdict(4.0, &[Target::Times(2.0), Target::OfFloor(1.5)]), "ok");
        assert_eq!(verdict(4.0, &[Target::Times(2.0), Target::TimesTuned(2.0)]), "ok, MISS");
    }

    #[test]
    fn of_rates_the_floor_is_the_higher_one() {
        let verdict = |ours| {
            let values = [Some(3.0), Some(ours), None, None];
            row(values, Better::Higher, &[Target::OfFloor(1.5)]).verdict().1
        };
        assert_eq!(verdict(2.1), "ok");
        assert_eq!(verdict(1.9), "MISS");
    }

    #[test]
    fn numbers_keep_three_digits() {
        let text: Vec<_> =
            [0.018, 6.84, 15.44, 969.7, 9994.0, 20_487.0, 1_407_707.0].map(number).into();
        assert_eq!(text, ["0.02", "6.84", "15.4", "970", "9994", "20.5k", "1.41M"]);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut []), None);
    }
}
