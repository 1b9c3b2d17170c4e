//! How a server writes URLs. It remembers what each of them means, so that nothing has to read them.

use std::{cell::RefCell, collections::HashMap};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::prose::Dice;

/// How named values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `/list?color=red&size=small`
    Query,
    /// `/list/red/small/`
    Path,
    /// `/list/color-is-red/size-is-small/`
    Pairs,
    /// `/list-red-small.html`
    File,
    /// `/list/red+small`
    Plus,
    /// `/list;color=red;size=small`
    Matrix,
    /// `/list?f=color_red-size_small`
    Packed,
    /// `/list?f=color:red&f=size:small`
    Repeated,
    /// `/list?f[0]=color:red&f[1]=size:small`
    Indexed,
    /// `/list?f=Y29sb3I6cmVk`
    Base64,
}

const STYLES: [Style; 10] = [
    Style::Query,
    Style::Path,
    Style::Pairs,
    Style::File,
    Style::Plus,
    Style::Matrix,
    Style::Packed,
    Style::Repeated,
    Style::Indexed,
    Style::Base64,
];

/// The URLs of a part of a site, and what they show.
pub(crate) struct Addresses<T> {
    style: Style,
    base: String,
    /// The parameter of the styles that have one.
    parameter: &'static str,
    known: RefCell<HashMap<String, T>>,
}

impl<T: Clone> Addresses<T> {
    /// Below one of these paths, in any style.
    pub(crate) fn new(bases: &[&str], dice: &mut Dice) -> Self {
        let base = if dice.one_in(4) {
            format!("/{}", dice.word())
        } else {
            (*dice.pick(bases)).to_owned()
        };
        let parameter = *dice.pick(&["filter", "q", "f", "s", "view"]);
        Self { style: *dice.pick(&STYLES), base, parameter, known: RefCell::default() }
    }

    /// The URL with these named values.
    pub(crate) fn write(&self, values: &[(&str, String)], what: T) -> String {
        let Self { base, parameter, .. } = self;
        let pairs = |within: &str, between: &str| {
            let pair = |(name, value): &(&str, String)| [*name, within, value].concat();
            values.iter().map(pair).collect::<Vec<_>>().join(between)
        };
        let words =
            |between: &str| values.iter().map(|it| it.1.as_str()).collect::<Vec<_>>().join(between);
        let url = match self.style {
            _ if values.is_empty() => format!("{base}/"),
            Style::Query => format!("{base}?{}", pairs("=", "&")),
            Style::Path => format!("{base}/{}/", words("/")),
            Style::Pairs => format!("{base}/{}/", pairs("-is-", "/")),
            Style::File => format!("{base}-{}.html", words("-")),
            Style::Plus => format!("{base}/{}", words("+")),
            Style::Matrix => format!("{base};{}", pairs("=", ";")),
            Style::Packed => format!("{base}?{parameter}={}", pairs("_", "-")),
            Style::Repeated => {
                format!("{base}?{parameter}={}", pairs(":", &format!("&{parameter}=")))
            }
            Style::Indexed => {
                let one = |(place, (name, value)): (usize, &(&str, String))| {
                    format!("{parameter}[{place}]={name}:{value}")
                };
                format!(
                    "{base}?{}",
                    values.iter().enumerate().map(one).collect::<Vec<_>>().join("&")
                )
            }
            Style::Base64 => format!("{base}?{parameter}={}", base64(&pairs(":", "|"))),
        };
        self.keep(url, what)
    }

    /// Remembers a URL.
    pub(crate) fn keep(&self, url: String, what: T) -> String {
        self.known.borrow_mut().entry(url.clone()).or_insert(what);
        url
    }

    /// What is at a URL.
    pub(crate) fn read(&self, url: &str) -> Option<T> {
        self.known.borrow().get(url).cloned()
    }
}

/// For URLs, without padding.
pub(crate) fn base64(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(text)
}
