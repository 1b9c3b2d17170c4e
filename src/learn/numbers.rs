//! Every number and every name that decides something in the learner.
//!
//! The names are those of standards of the web or of several programs; what a site means by others it shows by its pages.

/// A part that makes no difference: the share of pages that repeat the one without it, at least.
pub(super) const GOOD: f32 = 0.999;
/// A part that makes one: the same share, at most. So one that changes one page in a hundred is never left out.
pub(super) const BAD: f32 = 0.98;
/// Of a segment or a host that makes a difference, and of a parameter whose name says that it makes none, the share of pages that repeat another one *exactly*, at
/// most: what changes some texts changes others slightly.
pub(super) const BAD_EXACT: f32 = 0.85;
/// How often a part that makes a difference may be left out: once in so many.
pub(super) const SURE: f32 = 1_000.0;
/// Prior odds by name: what nearly all servers ignore, and other spellings of a path.
pub(super) const EXPECTED: f32 = 600.0;
/// Prior odds by name: where a link was found, or how a page is shown; and parts with many values that all look like ids.
pub(super) const LIKELY: f32 = 100.0;
/// Different values from which on those of a part that look like ids are taken for such, and one page under that many values of a last segment, or one text under that many URLs, for an error page.
pub(super) const MANY_VALUES: u32 = 12;
/// Pages that repeat one that differs in this part, and in others, before it is tried together with others; different values of a segment before more than a few
/// pages speak for leaving it out; and pages of a class that speak for it, unless its values look like ids.
pub(super) const MIN_PAIRS: u32 = 3;
/// Evidence from which on a candidate says how likely a page repeats another one, and is kept.
pub(super) const MIN_TRIALS: u32 = 4;
/// It says so if pages had another text less often than this.
pub(super) const PERHAPS: f32 = 0.6;
/// Evidence from which on what a candidate expects is for its test to judge, and a site is worth being kept.
pub(super) const MANY_TRIALS: u32 = 20;

/// Pages in a row that gave nothing, after which a pattern has ended: then fewer than one in fifty gives something, 95 % sure.
pub(super) const ENOUGH: f32 = 150.0;
/// The same for the views of one path: pages that its parameters choose, arrange or mark.
pub(super) const ENOUGH_VIEWS: f32 = 40.0;
/// How many pages without one a gain makes up for: a pattern of which fewer than one page in so many gives something ends sooner or later.
pub(super) const GAIN: f32 = 20.0;
/// What a page counts that says little: one that only rearranges known passages, if it was found on a page of another pattern or on one that gave something, for
/// there are only so many of these; and one that a candidate expected to repeat another page, which is for its test to judge.
pub(super) const WEAK: f32 = 0.125;
/// A pattern that has ended gets half of the requests after each so many further pages.
pub(super) const HALVING: f32 = 8.0;
/// A pattern comes late if a page of it is less likely to give something.
pub(super) const LATE: f32 = 0.2;
/// A page gives something if at least so many sampled passages of it are new (one in four is sampled), and one in so many of all.
pub(super) const MIN_NEW_PASSAGES: usize = 4;
pub(super) const NEW_SHARE: usize = 8;
/// Sampled passages before it that are new, too, of one that counts: where known text is arranged anew, at most four in a row are new across each seam.
pub(super) const NEW_RUN: usize = 2;

/// One in this many of the URLs that a rule defers is fetched all the same, up to [`FULL_RATE`] of them, and then one in 64 times as many.
pub(super) const SAMPLE_ONE_IN: u64 = 50;
pub(super) const FULL_RATE: u32 = 20;

/// URLs: parts that are looked at, so that the cost of a URL is bounded, and segments from which on all paths have one shape.
pub(super) const MAX_PARTS: usize = 12;
pub(super) const MAX_DEPTH: usize = 10;
/// The longest word that says of which kind a page is.
pub(super) const MAX_WORD: usize = 16;
/// Paths or numbers with which a word was seen from which on it says of which kind a page is.
pub(super) const MANY_CONTEXTS: u32 = 16;
/// Hosts of a site from which on it may have any number of them.
pub(super) const MANY_HOSTS: usize = 16;

/// Bytes of all sites together, and of the last URLs of one, so that it takes at most 2 MiB.
pub(super) const MAX_BYTES: usize = 64 << 20;
pub(super) const URL_BYTES: usize = 1 << 18;
/// Of a site: pages by their URLs, paths and gains, classes of pages, candidates, patterns, words and the last URLs that are remembered.
pub(super) const PAGES: usize = 12_288;
pub(super) const PATHS: usize = 6_144;
pub(super) const CLASSES: usize = 12_288;
pub(super) const CANDIDATES: usize = 1_792;
pub(super) const PATTERNS: usize = 1_760;
pub(super) const WORDS: usize = 512;
pub(super) const RECENT: usize = 2_048;
/// Bits of the filter of passages, and bits for each: with more it begins anew.
pub(super) const BITS: usize = 1 << 23;
pub(super) const BITS_PER_PASSAGE: usize = 8;
/// What was learnt is kept after so many observations; until then these are.
pub(super) const SAVED: u64 = 65_536;

/// Where a link was found: campaigns, click ids and sessions. Nearly all servers ignore them, or have the same page for each.
pub(super) const IGNORED: &str = "fbclid gclid dclid msclkid yclid mc_cid mc_eid _ga igshid sid sessid session sessionid phpsessid jsessionid cfid cftoken zenid";
/// Where a link was found, or how a page is shown.
pub(super) const CIRCUMSTANCES: &str =
    "spm campaign from ref referrer referer source src amp print printable theme skin trackback";
/// What selects a page, or a part of a list: such a parameter is left out by many pages only.
pub(super) const CONTENT: &str = "hl lang language locale page p id q query search start offset pg";
/// Names of the index page of a directory, without their endings.
pub(super) const INDEX: [&str; 2] = ["index", "default"];
/// Endings that servers add to a path without one.
pub(super) const ENDINGS: [&str; 3] = ["html", "htm", "php"];
