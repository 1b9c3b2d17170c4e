//! How the filter learns the templates of sites, and goes on with what another has learnt.

#[cfg(test)]
use std::num::NonZeroU32;

#[cfg(test)]
use super::{Bounds, Templates};
use super::{Document, Filter, Lesson, Outdated, Share};

/// A lesson about the template of a site, and what it outdates: what must be kept and what need not be, so that another filter can
/// [go on](Filter::relearn) from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taught {
    /// The lesson.
    pub lesson: Lesson,
    /// The lessons that count no longer.
    pub outdated: Vec<Outdated>,
}

impl<I, D> Filter<I, D> {
    /// What share of this document the template of its site is, as far as it is known by now.
    pub fn template(&self, subject: &Document) -> Share {
        let known = self.templates.as_ref().zip(subject.blocks.as_ref());
        known.map_or(Share::NONE, |(templates, blocks)| templates.share(blocks))
    }

    /// What the document that was judged last has taught about the template of its site, if it did.
    pub fn taught(&self) -> Option<&Taught> {
        self.taught.as_ref()
    }

    /// Takes a lesson that an earlier filter has taken. They come oldest first, without those that are outdated.
    pub fn relearn(&mut self, lesson: &Lesson) {
        if let Some(templates) = &mut self.templates {
            templates.learn(lesson);
        }
    }

    /// Learns from a unique document, before it gets its number.
    pub(super) fn learn(&mut self, subject: &Document) {
        self.taught =
            self.templates.as_mut().zip(subject.blocks.as_ref()).and_then(|(templates, blocks)| {
                let lesson = templates.lesson(self.next, subject.key, blocks)?;
                let outdated = templates.learn(&lesson);
                Some(Taught { lesson, outdated })
            });
    }
}

#[cfg(test)]
impl<I, D> Filter<I, D> {
    /// An empty filter with other bounds: of what it learns of templates, and of how many equal representatives it knows by digest.
    pub(crate) fn bounded(mut self, bounds: Bounds, equal_limit: NonZeroU32) -> Self {
        self.templates = self.templates.map(|_| Templates::new(bounds));
        self.equal_limit = equal_limit.get() as usize;
        self
    }
}
