//! What the templates of origins are, by the pages themselves.

use super::{Arrived, Lines, Mode, Model, Script};

impl Model {
    /// As [`most_bits`](Self::most_bits), if the template is `percent` of the text: the bits that leave the own parts as alike as texts of that length
    /// have to be.
    pub(super) fn most_bits_beside(&self, features: u32, percent: u32) -> u32 {
        let plain = self.most_bits(features);
        let own = features * (100 - percent) / 100;
        if percent == 0 || own < 24 || self.options.mode == Mode::Classic {
            return plain;
        }
        let cosine = |bits: u32| (f64::from(bits) * std::f64::consts::PI / 256.0).cos();
        let own_cosine = |bits| {
            let share = f64::from(percent) / 100.0;
            (cosine(bits) - share) / (1.0 - share)
        };
        let least = cosine(self.most_bits(own));
        (0..=plain).rev().find(|&bits| own_cosine(bits) >= least - 1e-9).unwrap_or(0)
    }

    /// For each remembered origin the unique pages from which its template was learnt.
    fn samples(&self) -> Vec<(&'static str, Vec<&Arrived>)> {
        let mut origins: Vec<(&'static str, Vec<&Arrived>)> = Vec::new();
        for document in self.all.iter().filter(|document| document.alias_of.is_none()) {
            let Some(origin) = document.origin() else { continue };
            let known = origins.iter().position(|(other, _)| *other == origin);
            let (_, mut pages_of) =
                known.map_or((origin, Vec::new()), |place| origins.remove(place));
            let epochs = pages_of.len() / self.bounds.epoch;
            let late = &pages_of[epochs.saturating_sub(1) * self.bounds.epoch..];
            // Sites are in the order of their last samples. A page whose key is among the latest is no sample.
            if late.iter().any(|earlier| earlier.key == document.key) {
                origins.insert(known.unwrap_or(0), (origin, pages_of));
                continue;
            }
            pages_of.push(document);
            if origins.len() == self.bounds.origins.get() {
                origins.remove(0);
            }
            origins.push((origin, pages_of));
        }
        origins
    }

    /// The share of a text that other pages of its origin have too, in per cent.
    pub(super) fn template(&self, blocks: Option<&Lines>) -> u32 {
        let Some((origin, lines)) = blocks else { return 0 };
        let samples = self.samples();
        let pages_of = samples.iter().find(|(other, _)| other == origin);
        let pages_of = pages_of.map_or(&[][..], |(_, pages_of)| pages_of);
        let epoch = self.bounds.epoch;
        let running = pages_of.len() / epoch * epoch;
        let stands = |line: &String, pages: &[&Arrived]| {
            let holders = pages
                .iter()
                .filter(|page| page.blocks.as_ref().is_some_and(|(_, lines)| lines.contains(line)));
            holders.count() >= self.bounds.holders
        };
        let last = &pages_of[running.saturating_sub(epoch)..running];
        let known =
            lines.iter().filter(|line| stands(line, last) || stands(line, &pages_of[running..]));
        let chars = |line: &String| line.chars().count();
        let whole: usize = lines.iter().map(chars).sum();
        if whole == 0 || !self.options.templates {
            return 0;
        }
        (known.map(chars).sum::<usize>() * 100 / whole) as u32
    }
}

impl Arrived {
    pub(super) fn origin(&self) -> Option<&'static str> {
        self.blocks.as_ref().map(|(origin, _)| *origin)
    }
}

impl Script {
    /// The origin of the page, if it has one, and its lines.
    pub(super) fn blocks(&self, name: &str, text: usize) -> Option<Lines> {
        let origin = match name {
            "a" | "b" | "c" | "d" => "one",
            "e" | "f" => "two",
            "g" => "three",
            _ => return None,
        };
        let lines = &self.lines[text % self.lines.len()];
        let line = |&(kind, chars): &(u8, usize)| format!("{kind}{}", "é".repeat(chars));
        Some((origin, lines.iter().map(line).collect()))
    }
}
