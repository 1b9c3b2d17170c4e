//! Where a URL that has been fetched leads: links, redirects, sitemaps.

use super::{Answered, Parsed, Recorder, discover::Origin, settle::same_site};
use crate::{
    crawl::{error::CrawlError, frontier::Task, sitemap::Sitemap},
    page::{NormalUrl, Timestamp},
    report::counted,
    sink::warc,
    state::{Reason, SkipCause, UrlKind, UrlRow, UrlState},
};

/// Redirects in a row that are followed.
const MAX_HOPS: u32 = 10;

impl Recorder {
    /// Enters the links of a page, and its canonical link, which is followed within its site whatever the verdict.
    pub(super) fn follow(
        &mut self,
        from: &UrlRow,
        parsed: &Parsed,
        cause: Option<SkipCause>,
        at: Timestamp,
    ) -> Result<(), CrawlError> {
        let depth = self.state().depth(from.id)? + 1;
        let origin = Origin {
            kind: UrlKind::Page,
            depth,
            hops: 0,
            referrer: Some(from.id),
            seed: None,
            cause,
            at,
        };
        if let Some(canonical) = &parsed.canonical
            && same_site(&from.url, canonical.as_str())
        {
            self.discover(canonical, &Origin { cause: None, ..origin })?;
        }
        for link in &parsed.links {
            self.discover(link, &origin)?;
        }
        Ok(())
    }

    pub(super) fn settle_redirect(
        &mut self,
        task: &Task,
        status: u16,
        target: &Result<NormalUrl, String>,
        exchange: Option<warc::Exchange>,
    ) -> Result<(), CrawlError> {
        self.archive_plain(exchange)?;
        let row = &task.queued.url;
        let at = Timestamp::now();
        let hops = row.hops + 1;
        let detail = match target {
            Ok(target) if target.as_str() == row.url => {
                "to itself, as some servers do until a cookie comes back; nothing else to follow"
                    .to_owned()
            }
            Ok(target) if hops <= MAX_HOPS => {
                let (kind, depth, referrer) = (row.kind, self.state().depth(row.id)?, Some(row.id));
                self.discover(
                    target,
                    &Origin { kind, depth, hops, referrer, seed: None, cause: None, at },
                )?;
                target.as_str().to_owned()
            }
            Ok(target) => format!(
                "{} (not followed: more than {MAX_HOPS} redirects in a row)",
                target.as_str()
            ),
            Err(why) => why.clone(),
        };
        let state = UrlState::Skipped(Reason::Redirect);
        Ok(self.state().settle_url(row.id, state, Some(&detail), Some(status), at)?)
    }

    pub(super) fn settle_sitemap(
        &mut self,
        task: &Task,
        answered: &Answered,
        sitemap: &Sitemap,
    ) -> Result<(), CrawlError> {
        let row = &task.queued.url;
        let origin = Origin {
            kind: UrlKind::Page,
            depth: 0,
            hops: 0,
            referrer: Some(row.id),
            seed: None,
            cause: None,
            at: answered.at,
        };
        let pages = sitemap.urls.iter().map(|entry| (&entry.url, UrlKind::Page));
        let nested = sitemap.nested.iter().map(|url| (url, UrlKind::Sitemap));
        for (url, kind) in pages.chain(nested) {
            if let Ok(url) = NormalUrl::new(url, &self.url_options) {
                self.discover(&url, &Origin { kind, ..origin })?;
            }
        }
        for problem in &sitemap.problems {
            tracing::warn!(url = row.url, %problem, "sitemap");
        }
        let (pages, nested) = (sitemap.urls.len(), sitemap.nested.len());
        let found = format!("{}, {}", counted(pages, "page"), counted(nested, "sitemap"));
        let problems = sitemap.problems.len() + sitemap.more_problems;
        let detail = match problems {
            0 => found,
            problems => format!("{found}, {}", counted(problems, "problem")),
        };
        let state = UrlState::Skipped(Reason::Sitemap);
        Ok(self.state().settle_url(
            row.id,
            state,
            Some(&detail),
            Some(answered.status),
            answered.at,
        )?)
    }
}
