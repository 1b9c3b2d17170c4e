//! Which source file imports which: the graph that the rules about circles and levels are checked on.

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens::Source;

/// A module that is a file, as its path from the crate's root.
pub(crate) type Module = Vec<String>;

/// Which file imports from which others. A name that a parent re-exports counts as an import from the file that defines it; imports between
/// a module and the ones inside it are left out.
pub(crate) struct Imports(BTreeMap<Module, BTreeSet<Module>>);

impl Imports {
    pub(crate) fn of<'a>(sources: impl Iterator<Item = &'a Source> + Clone) -> Self {
        let files: BTreeSet<Module> =
            sources.clone().map(|source| source.module.clone()).filter(|m| !m.is_empty()).collect();
        let exports = exports(sources.clone(), &files);
        let mut graph: BTreeMap<Module, BTreeSet<Module>> =
            files.iter().map(|file| (file.clone(), BTreeSet::new())).collect();
        for source in sources {
            let Some(from) = graph.get_mut(&source.module) else { continue };
            for mention in source.mentions() {
                if let Some(to) = definition(&mention.path, &files, &exports)
                    && !to.starts_with(&source.module)
                    && !source.module.starts_with(&to)
                {
                    from.insert(to);
                }
            }
        }
        Self(graph)
    }

    /// The files that lie on circles, each with the circle's files.
    pub(crate) fn circles(&self) -> Vec<Vec<Module>> {
        let reach: BTreeMap<&Module, BTreeSet<&Module>> =
            self.0.keys().map(|from| (from, self.reachable(from))).collect();
        let mut circles: BTreeSet<Vec<Module>> = BTreeSet::new();
        for (from, reached) in &reach {
            let together = reached.iter().filter(|to| reach[**to].contains(from));
            let circle: Vec<Module> = together.map(|to| (*to).clone()).collect();
            if !circle.is_empty() {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// How many files the longest chain of imports among the files below `room` has. There must be no circle.
    pub(crate) fn levels(&self, room: &str) -> usize {
        let mut known = BTreeMap::new();
        let inside = self.0.keys().filter(|file| file[0] == room);
        inside.map(|file| self.level(file, room, &mut known)).max().unwrap_or(0)
    }

    fn level<'a>(
        &'a self,
        file: &'a Module,
        room: &str,
        known: &mut BTreeMap<&'a Module, usize>,
    ) -> usize {
        if let Some(level) = known.get(file) {
            return *level;
        }
        let below = self.0[file].iter().filter(|to| to[0] == room);
        let level = 1 + below.map(|to| self.level(to, room, known)).max().unwrap_or(0);
        known.insert(file, level);
        level
    }

    fn reachable<'a>(&'a self, from: &'a Module) -> BTreeSet<&'a Module> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&Module> = self.0[from].iter().collect();
        while let Some(file) = open.pop() {
            if reached.insert(file) {
                open.extend(&self.0[file]);
            }
        }
        reached
    }
}

/// For each module, the names that it re-exports and the paths that they stand for.
type Exports = BTreeMap<Module, BTreeMap<String, Module>>;

fn exports<'a>(sources: impl Iterator<Item = &'a Source>, files: &BTreeSet<Module>) -> Exports {
    let mut exports = Exports::new();
    for source in sources {
        let own = source.relative_uses().into_iter().chain(source.mentions());
        let children = own.map(|mention| mention.path).filter(|path| {
            path.len() > source.module.len() + 1
                && path.starts_with(&source.module)
                && files.contains(&path[..=source.module.len()])
        });
        let names = exports.entry(source.module.clone()).or_default();
        for path in children {
            names.insert(path.last().expect("not empty").clone(), path);
        }
    }
    exports
}

/// The file in which what is named by `path` is defined.
fn definition(path: &[String], files: &BTreeSet<Module>, exports: &Exports) -> Option<Module> {
    let mut path = path.to_vec();
    for _ in 0..8 {
        let file = (1..=path.len()).rev().map(|end| &path[..end]).find(|p| files.contains(*p))?;
        let name = path.get(file.len());
        let Some(exported) = name.and_then(|name| exports.get(file)?.get(name)) else {
            return Some(file.to_vec());
        };
        let rest = path[file.len() + 1..].to_vec();
        path = exported.iter().cloned().chain(rest).collect();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn imports(files: &[(&str, &str)]) -> Imports {
        let sources: Vec<_> =
            files.iter().map(|(file, text)| Source::new(Path::new(file), text)).collect();
        Imports::of(sources.iter())
    }

    #[test]
    fn a_circle_through_a_name_that_the_parent_re_exports_is_found() {
        let found = imports(&[
            ("a/mod.rs", "mod b; mod c; pub use b::B; use self::c::C;"),
            ("a/b.rs", "use super::C;"),
            ("a/c.rs", "use super::B;"),
            ("a/d.rs", "use super::{B, C};"),
        ]);
        let names = |circle: &Vec<Module>| circle.iter().map(|file| file.join("::")).collect();
        let circles: Vec<Vec<String>> = found.circles().iter().map(names).collect();
        assert_eq!(circles, [["a::b", "a::c"]]);
    }

    #[test]
    fn parent_and_child_may_name_each_other() {
        let found = imports(&[
            ("a/mod.rs", "mod b; use b::B; pub struct A;"),
            ("a/b.rs", "use super::A; pub struct B;"),
        ]);
        assert!(found.circles().is_empty());
        assert_eq!(found.levels("a"), 1);
    }

    #[test]
    fn levels_are_the_longest_chain() {
        let found = imports(&[
            ("a/mod.rs", "mod b; mod c; mod d; use b::B;"),
            ("a/b.rs", "use super::c::C; use crate::x::X;"),
            ("a/c.rs", "use super::d::D;"),
            ("a/d.rs", ""),
            ("x.rs", ""),
        ]);
        assert_eq!(found.levels("a"), 3);
    }
}
