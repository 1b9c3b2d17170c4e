//! The text of a page does not depend on its surroundings, and changes only as much as the page does.

use proptest::prelude::*;

use super::{
    body::{Sample, samples},
    extract,
};

/// Boilerplate that sites put around their pages and change from one fetch to the next.
const BOILERPLATE: [&str; 9] = [
    "<nav><ul><li><a href=/a>Home</a></li><li><a href=/b>News of the day</a></li></ul></nav>",
    "<div class=\"cookie-banner\"><p>We use cookies to make this site better, and share data with partners. Accept or refuse.</p></div>",
    "<div class=\"ad-slot\"><p>Buy a boat now, pay it back in thirty years. No interest, if you are quick.</p></div>",
    "<div class=q7><ul><li><a href=/1>One</a></li><li><a href=/2>Two of them</a></li><li><a href=/3>Three</a></li></ul></div>",
    "<div class=related><h3>More</h3><p><a href=/4>A story about something else</a></p><p>Its first words, to make you curious.</p></div>",
    "<div><h3><a href=/5>A teaser without a class</a></h3><p>Which begins like this, and goes on elsewhere.</p></div>",
    "<footer><p>All rights reserved, none granted. Printed on recycled electrons since 1996.</p></footer>",
    "<aside><p>Subscribe to our letter, which comes every Tuesday and never on other days.</p></aside>",
    "<form class=newsletter><p>Your address, please. We shall not give it to anybody.</p><input name=mail></form>",
];

fn sample() -> impl Strategy<Value = Sample> {
    (0..samples().len()).prop_map(|index| samples().swap_remove(index))
}

fn boilerplate() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&BOILERPLATE[..]), 0..4)
        .prop_map(|blocks| blocks.concat())
}

#[test]
fn teasers_above_and_below_a_short_text_are_not_part_of_it() {
    let find = |word: &str| *BOILERPLATE.iter().find(|block| block.contains(word)).unwrap();
    let (teaser, advertisement) = (find("teaser"), find("boat"));
    for (above, below) in [(1, 1), (1, 2), (3, 3)] {
        for mut sample in samples() {
            let above = [&teaser.repeat(above), advertisement].concat();
            sample.around[0].insert_str(0, &above);
            sample.around[1].push_str(&teaser.repeat(below));
            assert_eq!(extract(&sample.markup()).text, sample.text(), "{}", sample.name);
        }
    }
}

proptest! {
    #[test]
    fn boilerplate_around_the_content_changes_nothing(mut sample in sample(), above in boilerplate(), below in boilerplate()) {
        let before = extract(&sample.markup()).text;
        sample.around[0].insert_str(0, &above);
        sample.around[1].push_str(&below);
        prop_assert_eq!(extract(&sample.markup()).text, before, "{}", sample.name);
    }

    #[test]
    fn a_removed_paragraph_takes_nothing_else_with_it(mut sample in sample(), removed in any::<prop::sample::Index>()) {
        sample.content.remove(removed.index(sample.content.len()));
        prop_assert_eq!(extract(&sample.markup()).text, sample.text(), "{}", sample.name);
    }

    #[test]
    fn a_paragraph_that_is_repeated_is_text_twice(mut sample in sample(), which in any::<prop::sample::Index>(), times in 2_usize..12) {
        let at = which.index(sample.content.len());
        let paragraph = sample.content[at].clone();
        for _ in 1..times {
            sample.content.insert(at, paragraph.clone());
        }
        prop_assert_eq!(extract(&sample.markup()).text, sample.text(), "{}", sample.name);
    }
}
