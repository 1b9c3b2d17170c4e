//! Traps, and honest sites that look like them. Each seed is another variant.

mod addresses;
mod broken;
mod calendar;
mod facets;
mod growing;
mod hosts;
mod pagers;
mod parameter;
mod plot;
mod sessions;
mod site;

use crate::{prose::Dice, world::World};

/// A variant for a host, as the dice wants it.
type Kind = fn(&str, &mut Dice) -> World;

/// Twelve traps and four that look like them.
pub(crate) const KINDS: [(&str, Kind); 16] = [
    ("calendar", calendar::calendar),
    ("facets", facets::facets),
    ("session in query", sessions::in_query),
    ("session in path", sessions::in_path),
    ("growing path", growing::growing),
    ("growing path with noise", growing::with_noise),
    ("nested relative links", growing::nested),
    ("soft 404", broken::soft_404),
    ("redirects that count", broken::redirects),
    ("endless pager", pagers::endless),
    ("unlimited subdomains", hosts::subdomains),
    ("rearranged", facets::rearranged),
    ("paginated list", pagers::long_list),
    ("dated archive", calendar::archive),
    ("catalogue", facets::catalogue),
    ("parameter of one in a hundred", parameter::parameter),
];

/// The variant of a kind with this seed.
pub(crate) fn world((name, kind): (&str, Kind), seed: u64) -> World {
    let name = format!("{name} {seed}");
    kind(&format!("{}.test", name.replace(' ', "-")), &mut Dice::of(&name))
}
