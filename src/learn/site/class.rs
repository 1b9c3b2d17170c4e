//! The pages whose URLs differ in one part only.

use super::super::trial::Repeats;

/// The text of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::learn) struct Text {
    /// The number of the text that it is or nearly repeats.
    pub(in crate::learn) group: u32,
    /// A hash of the text itself; 0 if it is not known any more.
    pub(in crate::learn) hash: u16,
}

/// The pages that are the same but for one part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Class {
    /// The texts that they have, the first two.
    pub(super) groups: [u32; 2],
    /// Hashes of the first pages with them.
    pub(super) hashes: [u16; 2],
    pub(super) members: u8,
    /// The first page's value of the part in which they differ.
    pub(super) value: u16,
    /// Whether another one has another value.
    pub(super) varies: bool,
    /// Whether all have exactly the same text.
    pub(super) is_unanimous: bool,
    /// For each place: a page of this class repeats exactly one that differs from it there.
    pub(super) identical: u16,
    /// The same, but it repeats it nearly.
    pub(super) same: u16,
    /// The same, but it does not repeat it.
    pub(super) different: u16,
    /// Links in a row within the pattern that led to the page of this key, and whether it had no new text.
    pub(super) chain: u16,
    /// A set of the values of suspects that its pages have, by a hash of five bits.
    pub(super) suspects: u32,
    /// Pages of the list of this key that are fetched although its pattern gives little.
    pub(super) pages: u8,
}

impl Class {
    /// Whether a page with this text repeats one of this class.
    pub(super) fn repeats(&self, text: Text) -> Repeats {
        match self.groups.iter().position(|group| *group == text.group) {
            None => Repeats::Not,
            Some(place) if text.hash != 0 && self.hashes[place] == text.hash => Repeats::Exactly,
            Some(_) => Repeats::Nearly,
        }
    }

    /// The same as a trial, if it is one. A page that repeats some other one says nothing about this class, and neither does a new one with the text of this class: its
    /// links lead elsewhere, as they do if they have a session.
    pub(super) fn outcome(&self, text: Text, is_new: bool) -> Option<Repeats> {
        let has_text = text.hash != 0 && self.hashes.contains(&text.hash);
        Some(self.repeats(text)).filter(|it| it.is_success() || is_new && !has_text)
    }

    /// How its pages repeat those that differ from them at the place of this bit: exactly, nearly, not.
    pub(super) fn compared(&self, bit: u16) -> [bool; 3] {
        [self.identical, self.same, self.different].map(|it| it & bit != 0)
    }

    /// Whether all its pages have the same text.
    pub(super) fn agrees(&self) -> bool {
        self.members > 1 && self.groups[1] == 0
    }

    /// Whether a page of this class has another value of the part.
    pub(super) fn differs(&self, value: u16) -> bool {
        self.members > 0 && (self.varies || self.value != value)
    }

    pub(super) fn add(&mut self, text: Text, value: u16) {
        if self.members == 0 {
            self.value = value;
        }
        self.varies |= self.value != value;
        self.is_unanimous = match self.repeats(text) {
            Repeats::Exactly => self.is_unanimous,
            Repeats::Nearly => false,
            Repeats::Not => {
                if let Some(free) = self.groups.iter().position(|known| *known == 0) {
                    (self.groups[free], self.hashes[free]) = (text.group, text.hash);
                }
                self.members == 0
            }
        };
        self.members = self.members.saturating_add(1);
    }
}
