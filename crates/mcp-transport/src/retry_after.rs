//! Parses `Retry-After`: seconds, or a date. <https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3>

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, header};

/// The upper limit for the value of a header.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    read(text.trim(), now.as_secs())
}

pub(crate) fn read(text: &str, now: u64) -> Option<Duration> {
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) => date(text)?.saturating_sub(now),
    };
    Some(Duration::from_secs(seconds).min(LONGEST))
}

/// Parses `Wed, 21 Oct 2015 07:28:00 GMT` into seconds since 1970.
fn date(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let (_, day, month, year) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (clock, zone) = (words.next()?, words.next()?);
    let mut parts = clock.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let day: u64 = day.parse().ok()?;
    let month = MONTHS.iter().position(|known| *known == month)? as u64 + 1;
    let year: u64 = year.parse().ok()?;
    let sane = zone == "GMT" && (1970..=9999).contains(&year) && (1..=31).contains(&day);
    if !sane || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days since 0000-03-01, with years that begin in March, so that leap days come last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read_and_bounded() {
        assert_eq!(read("120", 0), Some(Duration::from_secs(120)));
        assert_eq!(date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(date("Wed, 21 Oct 2015 07:28:00 GMT"), Some(1_445_412_480));
        assert_eq!(date("Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        assert_eq!(
            read("Wed, 21 Oct 2015 07:28:00 GMT", 1_445_412_470),
            Some(Duration::from_secs(10))
        );
        assert_eq!(read("Wed, 21 Oct 2015 07:28:00 GMT", 1_999_999_999), Some(Duration::ZERO));
        assert_eq!(read("99999999999", 0), Some(LONGEST));
        for text in [
            "",
            "soon",
            "-1",
            "Wed, 32 Oct 2015 07:28:00 GMT",
            "Wed, 21 Oct 1015 07:28:00 GMT",
            "1.5",
        ] {
            assert_eq!(read(text, 0), None, "{text}");
        }
    }
}
