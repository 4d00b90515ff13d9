//! Checks that need a toolchain which may not be installed.
//!
//! The CI script runs on machines that have one toolchain and cannot fetch another. There a check that is not possible
//! is printed and not an error. Machines that install all toolchains pass `--strict`.

/// The checks that were not possible.
pub(crate) struct Unchecked {
    is_strict: bool,
    count: usize,
}

impl Unchecked {
    pub(crate) fn new(is_strict: bool) -> Self {
        Self { is_strict, count: 0 }
    }

    /// Prints what was not checked, in the words that `.ci/run` repeats at its end.
    pub(crate) fn add(&mut self, what: &str) {
        println!("NOT CHECKED: {what}");
        self.count += 1;
    }

    pub(crate) fn judge(self) -> Result<(), String> {
        match self.count {
            0 => Ok(()),
            _ if !self.is_strict => Ok(()),
            count => Err(format!("{count} of the checks need what is not installed, see above")),
        }
    }
}

/// Whether the arguments are `--strict`.
pub(crate) fn parse(arguments: &[String]) -> Result<bool, String> {
    match arguments {
        [] => Ok(false),
        [flag] if flag == "--strict" => Ok(true),
        [other, ..] => Err(format!("this task takes `--strict` or nothing, not `{other}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchecked_is_an_error_only_if_strict() {
        for (is_strict, adds, fails) in
            [(false, true, false), (true, true, true), (true, false, false)]
        {
            let mut unchecked = Unchecked::new(is_strict);
            if adds {
                unchecked.add("Rust 1.0");
            }
            assert_eq!(unchecked.judge().is_err(), fails, "{is_strict} {adds}");
        }
    }

    #[test]
    fn other_arguments_are_refused() {
        assert_eq!(parse(&["--strict".into()]), Ok(true));
        assert!(parse(&["--quick".into()]).unwrap_err().contains("`--quick`"));
    }
}
