//! Text of a program, fit to be repeated.

/// One line of somebody's text, without control characters and of bounded length.
pub(crate) fn printable(text: &str) -> String {
    const MOST: usize = 300;
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    let mut shown: String = line.chars().filter(|c| !c.is_control()).take(MOST).collect();
    if line.chars().count() > MOST {
        shown.push('…');
    }
    shown
}
