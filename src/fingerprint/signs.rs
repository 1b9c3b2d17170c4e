//! Finds the signs of a normalised text: operators, currencies and units, which count in the digest (step 2 of the recipe in [`super`]).
//!
//! Whether a character is a sign depends on its neighbours alone, so a text can be read in parts that end at white space.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// From this length on, a token of one repeated sign is a ruler: `====`.
const RULER: usize = 4;

/// Reads the signs of a text, part by part.
#[derive(Debug, Default)]
pub(super) struct Signs {
    token: String,
    /// Where in the part the last token ends.
    end: usize,
    /// Whether there is a word or a token in the line up to there.
    has_content: bool,
}

impl Signs {
    /// Begins a text.
    pub(super) fn clear(&mut self) {
        (self.end, self.has_content) = (0, false);
    }

    /// The token that begins at this byte of the part: adjacent signs, in their normal form. Called in order for every character that
    /// [`may_be_sign`].
    #[inline(never)]
    pub(super) fn read(&mut self, part: &str, at: usize) -> Option<&str> {
        if at < self.end {
            return None;
        }
        let end = self.extend(part, at);
        if end == at {
            return None;
        }
        let is_marker = is_space(part[end..].chars().next()) && self.token.chars().all(is_marker);
        let is_ruler = self.token.len() >= RULER && is_ruler(&self.token);
        self.has_content = !is_marker && !is_ruler || self.has_content_before(part, at);
        self.end = end;
        let is_ornament = is_ruler || is_marker && !self.has_content;
        (!is_ornament).then_some(&self.token)
    }

    /// Ends a part: the next call of `read` is for the next one.
    pub(super) fn end_part(&mut self, part: &str) {
        (self.has_content, self.end) = (self.has_content_before(part, part.len()), 0);
    }

    /// Bytes of memory in use and in reserve.
    pub(super) fn size(&self) -> usize {
        self.token.capacity()
    }

    /// Sets the token to the signs from `at` on, and returns where they end.
    fn extend(&mut self, part: &str, at: usize) -> usize {
        self.token.clear();
        let mut before = part[..at].chars().next_back().map(narrow);
        let mut end = at;
        for character in part[at..].chars() {
            let next = end + character.len_utf8();
            let Some(sign) = sign(before, narrow(character), &part[next..]) else { break };
            self.token.push(sign);
            (before, end) = (Some(sign), next);
        }
        end
    }

    /// Whether there is a word or a token in the line of `at` before it.
    fn has_content_before(&self, part: &str, at: usize) -> bool {
        let ends_line = |c: &char| matches!(c, '\t'..='\r');
        let between = &part[self.end..at];
        let last = between.chars().rev().find(|c| ends_line(c) || c.is_alphanumeric());
        last.map_or(self.has_content, |last| !ends_line(&last))
    }
}

/// Whether a character is a sign between some neighbours.
pub(super) fn may_be_sign(character: char) -> bool {
    match narrow(character) {
        ascii @ '\0'..='\u{7f}' => is_ascii_sign(ascii as u8),
        // The arrows and what is no sign are frequent; a test looks up their categories.
        '\u{2010}' | '\u{2012}' | '–' | '°' | '‰' | '‱' | '٪' | '←'..='↔' => true,
        '\u{2014}'..='\u{2027}' | '\u{3000}'..='\u{a7ff}' => false,
        other => is_math_or_currency(other),
    }
}

/// The same for a byte of ASCII.
pub(super) const fn is_ascii_sign(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'&' | b'*' | b'+' | b'-' | b'/' | b'<'..=b'>' | b'@' | b'\\' | b'^' | b'|' | b'~')
}

fn is_math_or_currency(character: char) -> bool {
    let category = character.general_category();
    matches!(category, GeneralCategory::MathSymbol | GeneralCategory::CurrencySymbol)
}

fn is_currency(character: char) -> bool {
    let is_other = || character.general_category() == GeneralCategory::CurrencySymbol;
    character == '$' || !character.is_ascii() && is_other()
}

/// The normal form of a character if it is a sign between these neighbours.
fn sign(before: Option<char>, this: char, rest: &str) -> Option<char> {
    let after = rest.chars().next().map(narrow);
    let beside = |signs: &str| [before, after].iter().flatten().any(|c| signs.contains(*c));
    let is_prefix = || !is_word(before) && (is_word(after) || matches!(after, Some('(' | '/')));
    match this {
        '!' => (matches!(after, Some('=' | '~')) || is_prefix()).then_some(this),
        '~' => (beside("=!") || is_prefix()).then_some(this),
        '|' => (beside("|<=>") || !is_space(before) && !is_space(after)).then_some(this),
        '-' | '\u{2010}' | '\u{2012}' | '–' => {
            let is_arrow = before == Some('<') || matches!(after, Some('=' | '>'));
            let is_minus = if is_word(before) {
                matches!(this, '-' | '\u{2010}') && !is_word(after) && ends_word(rest)
            } else {
                begins_amount(rest)
            };
            (is_arrow || is_minus).then_some('−')
        }
        _ => may_be_sign(this).then_some(this),
    }
}

/// Whether a text that follows a word and a hyphen does not go on with a word, as after a grade: `A-`. Quotation marks do not matter.
fn ends_word(rest: &str) -> bool {
    let after = rest.chars().map(narrow).find(|c| !matches!(c, '\'' | '"' | '“' | '”' | '«' | '»'));
    !is_word(after) && !matches!(after, Some('-' | '\u{2010}'..='\u{2015}'))
}

/// Whether a text begins with a number or a currency: `5`, `.5`, `$5`.
fn begins_amount(rest: &str) -> bool {
    let mut rest = rest.chars().map(narrow);
    let first = rest.next();
    let digit = if first == Some('.') { rest.next() } else { first };
    digit.is_some_and(|c| c.is_numeric() || is_currency(c))
}

/// Whether one sign is repeated, at least [`RULER`] times.
fn is_ruler(token: &str) -> bool {
    let mut signs = token.chars();
    let first = signs.next();
    signs.clone().count() + 1 >= RULER && signs.all(|sign| Some(sign) == first)
}

/// The markers of headings, lists and quotations: `# `, `* `, `+ `, `> `.
fn is_marker(sign: char) -> bool {
    matches!(sign, '#' | '*' | '+' | '>' | '∙' | '⋅')
}

fn is_word(character: Option<char>) -> bool {
    character.is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// The ends of a text are white space too.
fn is_space(character: Option<char>) -> bool {
    character.is_none_or(char::is_whitespace)
}

/// The form in ASCII of a full-width one: normalising leaves some as they are.
fn narrow(character: char) -> char {
    match character {
        '！'..='～' => {
            char::from_u32(u32::from(character) - 0xfee0).expect("the block repeats ASCII")
        }
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{Class, Digest, Fingerprinter, Recipe, Sketch},
        *,
    };

    fn sketch(text: &str) -> Sketch {
        Fingerprinter::new(Recipe::default()).sketch(text)
    }

    fn signs(text: &str) -> Vec<String> {
        let mut signs = Vec::new();
        Fingerprinter::new(Recipe::default()).words(text, |class, word| {
            if class == Class::Sign {
                signs.push(word.to_owned());
            }
        });
        signs
    }

    #[test]
    fn other_signs_make_other_texts_with_the_same_signature() {
        for texts in [
            &["C", "C++", "C#", "C+"][..],
            &["F", "F#", "F♯"],
            &[
                "it is 5 degrees",
                "it is -5 degrees",
                "it is ±5 degrees",
                "it is ~5 degrees",
                "it is #5 degrees",
            ],
            &[
                "r = .45",
                "r = -.45",
                "r < .45",
                "r > .45",
                "r ≤ .45",
                "r ≥ .45",
                "r ≈ .45",
                "r .45",
            ],
            &[
                "5", "$5", "€5", "£5", "¥5", "₹5", "-$5", "$-5", "5°", "5%", "5‰", "√5", "@5",
                "<5", ">5",
            ],
            &["50 $", "50 €", "50"],
            &[
                "a && b", "a || b", "a & b", "a b", "a ^ b", "a <- b", "a < b", "a -> b", "a > b",
                "a => b",
            ],
            &[
                "x == y", "x != y", "x = y", "x === y", "x += y", "x -= y", "x |= y", "x =~ y",
                "x !~ y", "x <= y", "x >= y",
            ],
            &["!x", "x", "~x", "@x", "/x", "#x", "\\x", "&x"],
            &["if (!(a))", "if (a)"],
            &["a*b", "a/b", "a+b", "a−b", "a×b", "a÷b", "a|b", "a\\b", "a^b", "a b"],
            &["3 * 4", "3 / 4", "3 + 4", "3 − 4", "3 × 4", "3 < 4", "3 4"],
            &["Grade: A+", "Grade: A-", "Grade: A", "Grade: A*"],
            &["18+ years", "18- years", "18 years"],
            &["i++", "++i", "i"],
            &["AT&T", "AT T", "AT/T", "AT@T"],
            &["∂f ∈ A", "∂f ∉ A", "f A", "∫f ∈ A"],
            &["p ∧ q", "p ∨ q", "¬p ∨ q", "p → q", "p ↔ q"],
            &["价格$5，涨5%", "价格€5，涨5%", "价格$5，涨5‰", "价格5，涨5"],
            &["a |> b", "a > b", "a | b"],
        ] {
            for (at, text) in texts.iter().enumerate() {
                for other in &texts[..at] {
                    assert_ne!(sketch(text).digest, sketch(other).digest, "{text} {other}");
                    assert_eq!(sketch(text).signature, sketch(other).signature, "{text} {other}");
                }
            }
        }
    }

    #[test]
    fn punctuation_and_the_writing_of_signs_do_not_count() {
        for texts in [
            &[
                "The tide is high!",
                "The tide is high.",
                "The tide is high…",
                "The tide is high?!",
                "¡The tide is high!!!",
                "The tide is high",
            ][..],
            &["It costs 5%!", "It costs 5 %.", "It costs 5％！", "It costs 5\u{a0}%"],
            &["Learn C++!", "Learn C++.", "„Learn“ C＋＋", "Learn (C++)"],
            &["50 €", "50€", "50\u{202f}€."],
            &["-5 or −5", "–5 or ‐5", "－5 or ‑5"],
            &["5-7", "5–7", "5 - 7", "5—7", "5, 7"],
            &["pre-war", "pre – war", "pre war", "pre—war", "pre--war"],
            &["* one\n* two", "- one\n- two", "• one\n• two", "+ one\n\n  + two", "1 one\n2 two"]
                [..4],
            &["1. one\n2. two", "1) one\n2) two", "(1) one, (2) two"],
            &[
                "# Title\ntext",
                "### Title\n> text",
                "Title\n=====\ntext",
                "Title\n* * *\ntext",
                "Title\n~~~~~~~\ntext\n----",
            ],
            &[
                "Home | News | About",
                "Home - News - About",
                "Home • News · About",
                "| Home | News | About |",
                "Home ｜ News ｜ About",
            ],
            &[
                "你好，世界。",
                "你好、世界！",
                "「你好」：世界",
                "『你好』；世界？",
                "你好……世界",
                "“你好”——世界",
                "你好 世界～",
            ],
            &["他说：“数据库（系统）”。", "他说，「数据库系统」", "他说 数据库·系统"],
            &["A-", "“A-”", "A-.", "A-)", "'A-'"],
            &["the anti-war act", "the anti-“war” act", "the anti-'war' act"],
            &["x ＝ y＋1", "x = y+1", "x = y +1"],
            &["a !＝ b", "a != b", "a ！= b"],
            &["￥5 or ￡5", "¥5 or £5", "¥ 5 or £ 5"],
            &["½ cup", "1⁄2 cup"],
            &["[a] {b} (c)", "a; b: c", "a, b… c?", "«a» ‹b› §c", "a 😀 b ✓ c"],
            &["wow !\nyes ; no", "wow! yes, no", "wow!yes—no"],
        ] {
            for text in texts {
                assert_eq!(sketch(text).digest, sketch(texts[0]).digest, "{text}");
            }
        }
    }

    #[test]
    fn the_writing_of_quotation_marks_does_not_count() {
        for texts in [
            &[
                "l'été de l'amour, aujourd'hui",
                "l’été de l’amour, aujourd’hui",
                "l´été de l`amour, aujourd＇hui",
                "lʼété de l‘amour, aujourd′hui",
            ][..],
            &["dell'arte e c'è", "dell’arte e c’è", "dell‘arte e c´è"],
            &["м'ята і п'ять", "мʼята і пʼять", "м’ята і п’ять", "м`ята і п′ять"],
            &[
                "I don't, it's the dogs' '90s",
                "I don’t, it’s the dogs’ ’90s",
                "I don`t, it´s the dogs‘ ‘90s",
            ],
            &["צה\"ל וארה\"ב", "צה״ל וארה״ב", "צה”ל וארה“ב", "צה＂ל וארה„ב"],
            &["ג'ירפה וצ'יפס", "ג׳ירפה וצ׳יפס", "ג’ירפה וצ’יפס"],
            &["oʻzbek gʻalaba", "o'zbek g'alaba", "o‘zbek g‘alaba"],
            &["ἀλλ᾽ ἐγώ", "ἀλλ’ ἐγώ", "ἀλλ' ἐγώ"],
            &[
                "a word here",
                "a 'word' here",
                "a ‘word’ here",
                "a ‚word‘ here",
                "a `word` here",
                "a \"word\" here",
                "a “word” here",
                "a «word» here",
                "a ''word'' here",
            ],
            &["le mot été", "le mot 'été'", "le mot ‘été’", "le mot « été »"],
            &["המילה כאן", "'המילה' כאן", "‘המילה’ כאן", "״המילה״ כאן", "\"המילה\" כאן"],
            &["слово тут", "'слово' тут", "„слово“ тут", "‘слово’ тут"],
        ] {
            for text in texts {
                assert_eq!(sketch(text), sketch(texts[0]), "{text}");
            }
        }
        assert_ne!(sketch("l'arte").digest, sketch("l arte").digest);
    }

    #[test]
    fn adjacent_signs_are_one_token_in_their_normal_form() {
        for (text, expected) in [
            ("a &&b", &["&&"][..]),
            ("x ＝－5", &["=−"]),
            ("+＝+= |", &["+=+="]),
            ("é ≠ e", &["≠"]),
            ("e ＝\u{338} 中", &["≠"]),
            ("中％か％ไ%", &["%", "%", "%"]),
            ("* a * b\t# c #\n**d**", &["*", "#", "**", "**"]),
            ("+++ - — |-|", &["-"][..0]),
        ] {
            assert_eq!(signs(text), expected, "{text}");
        }
    }

    #[test]
    fn a_digest_is_that_of_words_and_signs() {
        let normal =
            ["it's", "−", "5", "°", "c", "or", "<", "$", "5", "价格a", "&&", "b", ""].join("\0");
        let text = "It’s -5 °C, or <\u{a0}＄5: 價格 a && b!";
        assert_eq!(sketch(text).digest, Some(Digest::of(normal.as_bytes())));
    }

    #[test]
    fn a_text_of_signs_alone_has_no_digest() {
        for text in ["+", "$$$ &&", "√ ≤ ¬"] {
            assert_eq!((sketch(text).features, sketch(text).digest), (0, None), "{text}");
        }
    }

    #[test]
    fn characters_that_are_not_looked_up_are_of_their_categories() {
        assert!(('←'..='↔').all(is_math_or_currency));
        assert!(!('\u{2014}'..='\u{2027}').chain('\u{3000}'..='\u{a7ff}').any(is_math_or_currency));
    }

    proptest! {
        #[test]
        fn signs_change_no_signature(words in prop::collection::vec("[a-zé5中か]{1,5}[ +*/&=<>#%€−]{1,4}", 1..8)) {
            let without = words.concat().replace(|c: char| !c.is_alphanumeric(), " ");
            let (with, without) = (sketch(&words.concat()), sketch(&without));
            prop_assert_eq!(with.features > 0, with.digest.is_some());
            // A sign between Chinese characters ends their run, as punctuation does.
            let is_chinese = words.concat().contains('中');
            prop_assert!(is_chinese || with.signature == without.signature);
        }
    }
}
