//! Counts the attributes of a tag whose end the tokenizer has not seen.

/// Reads text that may lie inside a tag, in every way in which it can be read at once: from each `<` a reading begins, and it
/// dies at the `>` that would end its tag. Readings in the same state merge, so that the work is linear.
pub(super) struct TagReader {
    /// The most attributes of any reading that is in this state, by [`State`].
    readings: [Option<usize>; STATES],
}

const STATES: usize = 9;

/// Where in a tag a reading is; the tokenizer's states of the same names in the HTML Standard, 13.2.5.
#[derive(Clone, Copy)]
enum State {
    Open,
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    DoubleQuoted,
    SingleQuoted,
    Unquoted,
}

use State::{
    AfterName, BeforeName, BeforeValue, DoubleQuoted, Name, Open, SingleQuoted, TagName, Unquoted,
};

impl TagReader {
    /// A reader of what follows `before`, in which the tag must have begun.
    pub(super) fn new(before: &str) -> Self {
        let mut reader = Self { readings: [None; STATES] };
        reader.read(before);
        reader
    }

    pub(super) fn read(&mut self, text: &str) {
        for &byte in text.as_bytes() {
            let mut next = [None; STATES];
            for state in ALL {
                let Some(count) = self.readings[state as usize] else { continue };
                let Some(to) = state.after(byte) else { continue };
                let begins = matches!((state, to), (BeforeName | AfterName, Name));
                let slot = &mut next[to as usize];
                *slot = (*slot).max(Some(count + usize::from(begins)));
            }
            if byte == b'<' {
                next[Open as usize] = next[Open as usize].max(Some(0));
            }
            self.readings = next;
        }
    }

    /// The most attributes that the tag can have up to here.
    pub(super) fn attributes(&self) -> usize {
        self.readings.iter().flatten().copied().max().unwrap_or(0)
    }
}

const ALL: [State; STATES] =
    [Open, TagName, BeforeName, Name, AfterName, BeforeValue, DoubleQuoted, SingleQuoted, Unquoted];

impl State {
    /// The state after one more byte; none if the tag ends there or never was one.
    fn after(self, byte: u8) -> Option<Self> {
        let space = matches!(byte, b'\t' | b'\n' | 0x0C | b'\r' | b' ');
        Some(match (self, byte) {
            (Open, b'/') => Open,
            (Open, _) if byte.is_ascii_alphabetic() => TagName,
            (DoubleQuoted, b'"') | (SingleQuoted, b'\'') => BeforeName,
            (DoubleQuoted | SingleQuoted, _) => self,
            (Open, _) | (_, b'>') => return None,
            (BeforeValue, b'"') => DoubleQuoted,
            (BeforeValue, b'\'') => SingleQuoted,
            (BeforeValue, _) if space => BeforeValue,
            (BeforeValue, _) => Unquoted,
            (Name | AfterName, _) if space => AfterName,
            (Name | AfterName, b'=') => BeforeValue,
            (TagName | BeforeName | Unquoted, _) if space => BeforeName,
            (TagName | BeforeName | Name | AfterName, b'/') => BeforeName,
            (TagName | Unquoted, _) => self,
            (BeforeName | Name | AfterName, _) => Name,
        })
    }
}
