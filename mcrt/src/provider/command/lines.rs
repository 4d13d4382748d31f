//! Lines of bounded length, whoever writes them.
use secrecy::zeroize::Zeroizing;
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Longest line: the largest kubeconfig, and as much again for how JSON writes it.
pub(super) const LONGEST: usize = 2 << 20;

/// What is said of one that is longer.
pub(super) const TOO_LONG: &str = "is longer than 2 MiB, which no description of a cluster is";

/// Reads lines, and of one that is too long no more than its end.
pub(super) struct Lines<R> {
    source: BufReader<R>,
    line: Zeroizing<Vec<u8>>,
    is_too_long: bool,
    number: usize,
}

/// A line and its number, from 1 on; none of it if it is too long.
pub(super) type Numbered = (usize, Option<Zeroizing<Vec<u8>>>);

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source: BufReader::new(source),
            line: Zeroizing::default(),
            is_too_long: false,
            number: 0,
        }
    }

    /// The next line that is not empty; nothing at the end. Dropped at any point, it goes on where it was.
    pub(super) async fn next(&mut self) -> io::Result<Option<Numbered>> {
        loop {
            let chunk = self.source.fill_buf().await?;
            let is_end = chunk.is_empty();
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if self.line.len() + part.len() > LONGEST {
                self.is_too_long = true;
                self.line.clear();
            } else if !self.is_too_long {
                self.line.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.source.consume(used);
            if end.is_none() && !is_end {
                continue;
            }
            self.number += 1;
            let line = std::mem::take(&mut self.line);
            if std::mem::take(&mut self.is_too_long) {
                return Ok(Some((self.number, None)));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some((self.number, Some(line))));
            }
            if is_end {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &[u8]) -> Vec<(usize, Option<String>)> {
        let mut lines = Lines::new(text);
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next().await.unwrap() {
            all.push((number, line.map(|line| String::from_utf8(line.to_vec()).unwrap())));
        }
        all
    }

    #[tokio::test]
    async fn lines_are_counted_and_empty_ones_left_out() {
        let some = |line: &str| Some(line.to_owned());
        assert_eq!(
            all(b"a\n\n \r\nb\nc").await,
            [(1, some("a")), (4, some("b")), (5, some("c"))]
        );
        assert_eq!(all(b"").await, []);
        assert_eq!(all(b"\n").await, []);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_over() {
        let mut text = vec![b'x'; LONGEST + 1];
        text.extend(b"\nb\n");
        text.extend(vec![b'y'; LONGEST]);
        text.extend(vec![b'z'; LONGEST]);
        let all = all(&text).await;
        assert_eq!(all, [(1, None), (2, Some("b".into())), (3, None)]);
    }
}
