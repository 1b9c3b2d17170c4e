//! What the names of an element say of the kind of its page, or of the part of it that the element is: the words of `kinds.txt`.

use std::sync::LazyLock;

use html5ever::local_name;
use scraper::node::Element;

use super::words::{Words, attribute, words_of};

static KINDS: LazyLock<Words<Word>> = LazyLock::new(|| {
    Words::parse(include_str!("kinds.txt"), |heading| match heading {
        "discussion" => Word::Discussion,
        "thread" => Word::Thread,
        "card" => Word::Card,
        "user" => Word::User,
        "of-user" => Word::OfUser,
        "goods" => Word::Goods,
        "sku" => Word::Sku,
        "price" => Word::Price,
        "reviews" => Word::Reviews,
        _ => Word::List,
    })
});

/// The meaning of a word of `kinds.txt`, which explains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Discussion,
    Thread,
    Card,
    User,
    OfUser,
    Goods,
    Sku,
    Price,
    Reviews,
    List,
}

/// What the names of an element say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(u16);

impl Marks {
    pub(super) const DISCUSSION: u16 = 1;
    pub(super) const THREAD: u16 = 2;
    pub(super) const CARD: u16 = 4;
    pub(super) const GOODS: u16 = 8;
    pub(super) const PRICE: u16 = 16;
    pub(super) const LIST: u16 = 32;
    /// A page of one product.
    pub(super) const SKU: u16 = 64;
    /// The text of a post, by microdata.
    pub(super) const POST: u16 = 128;
    /// What buyers wrote.
    pub(super) const REVIEWS: u16 = 256;

    /// What the names of an element say, given the bits of each.
    pub(super) fn of(element: &Element, marks: u16) -> Self {
        let is_outermost = matches!(element.name.local, names!("html" "body" "main"));
        let means_list = is_outermost
            && marks & Self::LIST != 0
            && attribute(element, &local_name!("class"))
                .is_some_and(|classes| !classes.contains("single"));
        let is_of_goods = is_outermost && marks & (Self::GOODS | Self::LIST) == Self::GOODS;
        Self(
            if means_list { marks } else { marks & !Self::LIST }
                | if is_of_goods { Self::SKU } else { 0 },
        )
    }

    /// Whether it has one of these marks.
    pub(super) fn has(self, mark: u16) -> bool {
        self.0 & mark != 0
    }

    /// Whether it is about who wrote a post.
    pub(super) fn is_card(self) -> bool {
        self.has(Self::CARD)
    }

    /// Whether it is about something that is sold.
    pub(super) fn is_goods(self) -> bool {
        self.has(Self::GOODS)
    }
}

/// The bits of one name.
pub(super) fn marks_of(name: &str, lower: &str) -> u16 {
    let (mut marks, mut words, mut of_user, mut has_user) = (0, 0, 0, false);
    for (start, end) in words_of(name) {
        words += 1;
        match KINDS.get(&lower[start..end]) {
            // At a capital, "QA" is a part of a generated name.
            Some(Word::Discussion)
                if end - start == 2 && start > 0 && !name[..start].ends_with(['-', '_']) => {}
            Some(Word::Discussion) => marks |= Marks::DISCUSSION,
            Some(Word::Thread) => marks |= Marks::THREAD,
            Some(Word::Card) => marks |= Marks::CARD,
            Some(Word::Goods) => marks |= Marks::GOODS,
            Some(Word::Sku) => marks |= Marks::GOODS | Marks::SKU,
            Some(Word::Price) => marks |= Marks::PRICE,
            Some(Word::Reviews) => marks |= Marks::REVIEWS,
            Some(Word::List) => marks |= Marks::LIST,
            Some(word @ (Word::User | Word::OfUser)) => {
                of_user += 1;
                has_user |= word == Word::User;
            }
            None => {}
        }
    }
    if KINDS.get(lower) == Some(Word::Thread) {
        marks |= Marks::THREAD;
    }
    // A class that says how a page was filed.
    if words > 1 && (lower.starts_with("category-") || lower.starts_with("tag-")) {
        return 0;
    }
    if lower.bytes().any(|byte| byte.is_ascii_digit()) {
        marks &= !Marks::LIST;
    }
    if has_user && of_user == words { marks | Marks::CARD } else { marks }
}

#[cfg(test)]
mod tests {
    use super::{Marks, marks_of};

    #[test]
    fn a_generated_name_does_not_name_a_discussion() {
        let marks = |name: &str| marks_of(name, &name.to_ascii_lowercase());
        for name in ["qa", "site-qa", "qa-list", "pageTopic"] {
            assert_eq!(marks(name), Marks::DISCUSSION, "{name}");
        }
        assert_eq!(marks("theme-yiXxQA"), 0);
    }
}
