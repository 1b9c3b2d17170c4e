//! Standard output that protects a terminal from what pages say.

use std::io::{self, IsTerminal, StdoutLock, Write};

/// What takes the place of a control character.
const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();
/// The first byte of U+0080 to U+00BF, of which the first half are control characters.
const LEAD: u8 = 0xC2;

/// Standard output. On a terminal, control characters of pages (titles, passages) are replaced, because a terminal obeys them. A file or a pipe gets
/// all bytes as they are.
pub(super) struct Terminal {
    out: StdoutLock<'static>,
    is_tty: bool,
    /// Whether the last byte was [`LEAD`], which is still to be written.
    has_lead: bool,
}

impl Terminal {
    pub(super) fn stdout() -> Self {
        let out = io::stdout().lock();
        Self { is_tty: out.is_terminal(), out, has_lead: false }
    }
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_tty {
            return self.out.write(bytes);
        }
        self.out.write_all(&printable(bytes, &mut self.has_lead))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The bytes of a text without its control characters, but for ends of lines and tabs. A part of a text may end in the middle of a character.
fn printable(bytes: &[u8], has_lead: &mut bool) -> Vec<u8> {
    let mut shown = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        let is_after_lead = std::mem::replace(has_lead, byte == LEAD);
        let is_second = is_after_lead && matches!(byte, 0x80..=0x9F);
        shown.extend((is_after_lead && !is_second).then_some(LEAD));
        match byte {
            b'\n' | b'\t' => shown.push(byte),
            0..0x20 | 0x7F => shown.extend(REPLACEMENT),
            _ if is_second => shown.extend(REPLACEMENT),
            LEAD => {}
            _ => shown.push(byte),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced_wherever_a_text_is_cut() {
        let text = "a\u{1b}[31m\u{7}b\r\u{7f}\u{9b}1m\u{80}é«\u{a0}中\t\u{85}\n".as_bytes();
        let expected = "a�[31m�b���1m�é«\u{a0}中\t�\n";
        for cut in 0..=text.len() {
            let mut has_lead = false;
            let (first, second) = text.split_at(cut);
            let shown = [first, second].map(|part| printable(part, &mut has_lead)).concat();
            assert_eq!(String::from_utf8(shown).unwrap(), expected, "cut at {cut}");
        }
    }
}
