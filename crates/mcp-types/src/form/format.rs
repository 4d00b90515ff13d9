//! Validates the text formats of forms.

use super::TextFormat;

/// Whether `text` has the format. Any text is valid for a format that the protocol does not define.
pub(super) fn fits(format: &TextFormat, text: &str) -> bool {
    match format {
        TextFormat::Email => is_email(text),
        TextFormat::Uri => is_uri(text),
        TextFormat::Date => is_date(text),
        TextFormat::DateTime => is_date_time(text),
        TextFormat::Other(_) => true,
    }
}

/// The syntax of HTML's `<input type=email>`: no quoted local parts.
fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.rsplit_once('@') else { return false };
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&b);
    let is_label = |label: &str| {
        let is_inner = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        !label.is_empty()
            && label.len() <= 63
            && is_inner
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    !name.is_empty() && name.bytes().all(is_name) && domain.split('.').all(is_label)
}

/// A scheme followed by the characters of a URI: <https://www.rfc-editor.org/rfc/rfc3986#section-2>.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&b);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(is_scheme)
        && !rest.is_empty()
        && rest.bytes().all(is_allowed)
}

/// `full-date` of <https://www.rfc-editor.org/rfc/rfc3339#section-5.6>.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let [_, _, _, _, b'-', _, _, b'-', _, _] = bytes else { return false };
    let parts = (number(&bytes[..4]), number(&bytes[5..7]), number(&bytes[8..]));
    let (Some(year), Some(month), Some(day)) = parts else { return false };
    let is_leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `date-time` of <https://www.rfc-editor.org/rfc/rfc3339#section-5.6>.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    let (clock, is_offset) = if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        (clock, true)
    } else {
        let Some(at) = time.rfind(['+', '-']) else { return false };
        (&time[..at], is_clock(&time[at + 1..], &[23, 59]))
    };
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (clock, None),
    };
    let is_fraction = fraction
        .is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    // Seconds may be 60, for a leap second.
    is_date(date) && is_clock(clock, &[23, 59, 60]) && is_fraction && is_offset
}

/// Whether the parts between colons have two digits each, with at most these values.
fn is_clock(text: &str, most: &[u32]) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let fits = |(part, most): (&&str, &u32)| {
        part.len() == 2 && number(part.as_bytes()).is_some_and(|value| value <= *most)
    };
    parts.len() == most.len() && parts.iter().zip(most).all(fits)
}

fn number(digits: &[u8]) -> Option<u32> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')))
}
