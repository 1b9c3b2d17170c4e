//! The path and the parameters of a request.
#![expect(
    clippy::needless_pass_by_value,
    reason = "values are numbers, strings and literals alike"
)]

/// A path with its parameters in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) path: String,
    pub(crate) parameters: Vec<(String, String)>,
}

impl Target {
    pub(crate) fn parse(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parameters = query.split('&').filter(|part| !part.is_empty()).map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (name.to_owned(), value.to_owned())
        });
        Self { path: path.to_owned(), parameters: parameters.collect() }
    }

    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), parameters: Vec::new() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }

    /// With this parameter at the end.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.parameters.push((name.to_owned(), value.to_string()));
        self
    }

    /// With another value for this parameter, in its place.
    #[must_use]
    pub(crate) fn set(mut self, name: &str, value: impl ToString) -> Self {
        match self.parameters.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value.to_string(),
            None => self = self.with(name, value),
        }
        self
    }

    #[must_use]
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.parameters.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn show(&self) -> String {
        let pair = |(name, value): &(String, String)| format!("{name}={value}");
        let parts: Vec<String> = self.parameters.iter().map(pair).collect();
        let mark = if parts.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.path, parts.join("&"))
    }
}
