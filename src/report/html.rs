//! `report.html`: one file, no script, everything that strangers wrote escaped.

use askama::{PrimitiveType, Template};
use url::Url;

use crate::{
    filter::Step,
    page::numbers::thousands,
    report::{
        Cluster, Host, HostAside, Member, Report, audited, counted, duration, minute, percent,
        shown, told_over,
    },
    sink::{DUPLICATES, PAGES, SKIPPED, record::VerdictName},
    state::Reason,
};

/// Hosts that the page shows; `report.json` has them all.
const HOSTS: usize = 200;
/// Characters of a title or URL that the page shows.
const SHOWN: usize = 300;

#[derive(Template)]
#[template(path = "report.html", config = "src/report/askama.toml")]
struct Page<'a> {
    report: &'a Report,
    hosts: &'a [Host],
    aside: &'a [HostAside],
    reasons: Vec<(Reason, u64)>,
}

pub(super) fn render(report: &Report) -> askama::Result<String> {
    let mut reasons: Vec<_> = report.counts.skipped.iter().map(|(r, n)| (*r, *n)).collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let hosts = &report.hosts[..report.hosts.len().min(HOSTS)];
    let aside = &report.aside[..report.aside.len().min(HOSTS)];
    Page { report, hosts, aside, reasons }.render()
}

impl Page<'_> {
    fn exact(&self) -> u64 {
        self.report.counts.exact.body + self.report.counts.exact.text
    }

    fn share(&self, part: impl PrimitiveType<Value = u64>) -> String {
        percent(part.get(), self.report.counts.judged())
    }

    /// The address a link may lead to: nothing but `http` and `https`, in ASCII.
    fn href(url: &str) -> Option<String> {
        let url = Url::parse(url).ok()?;
        matches!(url.scheme(), "http" | "https").then(|| url.into())
    }

    /// A language as an attribute may name it.
    fn lang(cluster: &Cluster) -> Option<&str> {
        cluster
            .lang
            .as_deref()
            .filter(|lang| lang.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
    }

    fn shown(text: &str) -> String {
        shown(text, SHOWN)
    }

    fn grouped(number: impl PrimitiveType<Value = u64>) -> String {
        thousands(number.get())
    }

    fn worked(&self) -> String {
        duration(self.report.seconds)
    }

    fn finished(&self) -> String {
        minute(self.report.finished)
    }

    fn until(host: &HostAside) -> String {
        minute(host.until)
    }

    fn urls(host: &HostAside) -> String {
        counted(usize::try_from(host.urls).unwrap_or(usize::MAX), "URL")
    }

    fn audited(report: &Report) -> String {
        audited(&report.search.audit)
    }

    fn over(report: &Report) -> String {
        told_over(report.search.audit.over)
    }

    fn found_by(member: &Member) -> &'static str {
        match (member.verdict, member.step) {
            (VerdictName::Near, _) => "near",
            (_, Some(Step::Body)) => "same body",
            _ => "same text",
        }
    }
}
