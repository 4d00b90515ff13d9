//! Rows of figures, ratios and verdicts, aligned.

use crate::{
    catalogue::{Better, Target},
    worker::{CONTENDERS, FLOOR, OURS, REFERENCE},
};

/// One figure of every contender.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    pub(crate) target: Option<Target>,
    /// One per contender, `None` where it was not measured.
    pub(crate) values: [Option<f64>; CONTENDERS.len()],
}

impl Row {
    /// How many times better than rmcp a contender is.
    fn ratio(&self, contender: usize) -> Option<f64> {
        let (value, reference) = (self.values[contender]?, self.values[REFERENCE]?);
        let ratio = match self.better {
            Better::Lower => reference / value,
            Better::Higher => value / reference,
        };
        // Where one of them takes nothing at all, or less than the noise, there is no ratio.
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }

    /// The target in words, and whether it holds.
    fn verdict(&self) -> (String, &'static str) {
        let Some(target) = self.target else { return (String::new(), "") };
        let (text, reached, floor_reaches) = match target {
            Target::Times(times) => (
                format!(">= {times}x"),
                self.ratio(OURS).map(|ratio| ratio >= times),
                // A size has no floor to compare with.
                self.ratio(FLOOR).is_none_or(|ratio| ratio >= times),
            ),
            Target::OfFloor(times) => (
                format!("<= {times} floor"),
                self.values[OURS]
                    .zip(self.values[FLOOR])
                    .map(|(ours, floor)| ours <= floor * times),
                true,
            ),
        };
        let verdict = match (reached, floor_reaches) {
            (None, _) => "",
            (Some(true), _) => "ok",
            (Some(false), true) => "MISS",
            // Nobody could: the kernel's share is too large on this machine.
            (Some(false), false) => "MISS (floor too)",
        };
        (text, verdict)
    }
}

/// Prints the rows and says how many targets were missed.
pub(crate) fn print(title: &str, rows: &[Row]) {
    let mut lines = vec![[
        title.to_owned(),
        String::new(),
        CONTENDERS[0].into(),
        CONTENDERS[1].into(),
        CONTENDERS[2].into(),
        "floor:rmcp".into(),
        "ours:rmcp".into(),
        "target".into(),
        String::new(),
    ]];
    let mut missed = 0;
    for row in rows {
        let (target, verdict) = row.verdict();
        missed += usize::from(verdict.starts_with("MISS"));
        let [floor, ours, rmcp] = row.values.map(|value| value.map_or("-".into(), number));
        let [floor_ratio, ours_ratio] =
            [FLOOR, OURS].map(|contender| row.ratio(contender).map_or("-".into(), times));
        lines.push([
            row.name.clone(),
            row.unit.into(),
            floor,
            ours,
            rmcp,
            floor_ratio,
            ours_ratio,
            target,
            verdict.into(),
        ]);
    }
    let widths: Vec<_> =
        (0..lines[0].len()).map(|at| lines.iter().map(|line| line[at].len()).max()).collect();
    for line in &lines {
        let mut text = String::new();
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let width = width.unwrap_or(0);
            // Numbers to the right, words to the left.
            text += &if (2..7).contains(&at) {
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

    fn row(values: [Option<f64>; 3], better: Better, target: Target) -> Row {
        Row { name: String::new(), unit: "", better, target: Some(target), values }
    }

    #[test]
    fn lower_and_higher_both_read_as_times_better() {
        let values = [Some(1.0), Some(2.0), Some(8.0)];
        assert_eq!(row(values, Better::Lower, Target::Times(4.0)).ratio(OURS), Some(4.0));
        assert_eq!(row(values, Better::Higher, Target::Times(4.0)).ratio(OURS), Some(0.25));
    }

    #[test]
    fn a_target_the_floor_misses_is_told_apart() {
        let verdict = |ours, target| {
            row([Some(3.0), Some(ours), Some(8.0)], Better::Lower, target).verdict().1
        };
        assert_eq!(verdict(4.0, Target::Times(2.0)), "ok");
        assert_eq!(verdict(5.0, Target::Times(2.0)), "MISS");
        assert_eq!(verdict(5.0, Target::Times(3.0)), "MISS (floor too)");
        assert_eq!(verdict(3.3, Target::OfFloor(1.15)), "ok");
        assert_eq!(verdict(3.6, Target::OfFloor(1.15)), "MISS");
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
