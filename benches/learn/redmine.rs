//! An issue tracker as Redmine has it: projects with issues, a wiki, a repository, news and forums, and views of them all by time.

use crate::{
    false_traps::{Numbers, page, world},
    prose::{Dice, Language, Prose},
    redmine_issues::issue_page,
    software::{drawn, item, made_up},
    target::Target,
    world::{Answer, World},
};

pub(crate) const PROJECTS: usize = 3;
pub(crate) const ISSUES: usize = 330;
pub(crate) const PAGES: usize = 90;
pub(crate) const REVISIONS: usize = 150;
pub(crate) const FILES: usize = 60;
const NEWS: usize = 30;
const TOPICS: usize = 60;
pub(crate) const USERS: usize = 30;
pub(crate) const VERSIONS: usize = 12;
/// Days since 1970.
const FIRST_DAY: usize = 18_262;
pub(crate) const TODAY: usize = 19_875;
const EVENTS: [&str; 8] = [
    "issues",
    "changesets",
    "news",
    "documents",
    "files",
    "wiki_edits",
    "messages",
    "time_entries",
];
/// The first seven are for all projects together as well.
const MENU: [&str; 14] = [
    "/activity",
    "/issues",
    "/time_entries",
    "/issues/gantt",
    "/issues/calendar",
    "/news",
    "/search",
    "",
    "/roadmap",
    "/documents",
    "/wiki",
    "/boards",
    "/files",
    "/repository",
];
const LOGIN: &str = "<p>Login. Password. Stay logged in. Lost password. Sign in.</p>";
pub(crate) const NO_DATA: &str = "<p>No data to display</p>";

/// 330 issues, 90 pages of a wiki, 150 revisions, 60 files, 30 news and 60 topics in three projects. Each page leads to the form to log in with its own
/// URL. Dates lead to the activity of the month before, which goes on without end, as calendars and charts do. Lists of issues are sorted by up to three
/// columns, and keep what was chosen. Issues have tabs, exports and, with the place in a list in their URLs, the links to their
/// neighbours; such URLs are pasted in notes. Pages of the wiki have versions, which are compared and annotated, and so have files.
pub(crate) fn redmine() -> World {
    let tracker = Tracker::new();
    let pages = ISSUES + PAGES + REVISIONS + FILES + NEWS + TOPICS;
    world("redmine", "/", pages, move |asked| tracker.answer(asked))
}

#[derive(Debug)]
pub(crate) struct Tracker {
    pub(crate) prose: Prose,
    pub(crate) numbers: Numbers,
    /// The names of projects, pages and files; the project of each thing is its number modulo their number.
    pub(crate) projects: Vec<String>,
    pub(crate) pages: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) hashes: Vec<String>,
    events: Vec<Event>,
}

/// An entry of the activity.
#[derive(Debug)]
struct Event {
    kind: &'static str,
    project: usize,
    day: usize,
    to: Target,
    /// The text that it begins.
    name: String,
}

/// Days since 1970 of a date, after the algorithms of Howard Hinnant.
fn day_of(year: usize, month: usize, day: usize) -> Option<usize> {
    let year = if month > 2 { year } else { year.checked_sub(1)? };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day;
    (year * 365 + year / 4 + year / 400 + of_year).checked_sub(year / 100 + 719_469)
}

pub(crate) fn date(day: usize) -> [usize; 3] {
    let (era, of_era) = ((day + 719_468) / 146_097, (day + 719_468) % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    [era * 400 + year + usize::from(month < 3), month, day]
}

fn show_date(day: usize) -> String {
    let [year, month, day] = date(day);
    format!("{year}-{month:02}-{day:02}")
}

fn read_date(text: &str) -> Option<usize> {
    let mut parts = text.split('-').map(|it| it.parse().ok());
    day_of(parts.next()??, parts.next()??, parts.next()??)
}

/// The day of something.
pub(crate) fn day(name: &str) -> usize {
    FIRST_DAY + Dice::of(&format!("day of {name}")).roll(TODAY - FIRST_DAY)
}

pub(crate) fn roll(name: &str, issue: usize, end: usize) -> usize {
    Dice::of(&format!("{name} of issue {issue}")).roll(end)
}

pub(crate) fn to(path: impl Into<String>) -> Target {
    Target::new(path)
}

/// With these instead of others of their names; parameters are in the order of their names.
pub(crate) fn with(mut to: Target, changes: &[(&str, &str)]) -> Target {
    for (name, value) in changes {
        to = to.set(name, value);
    }
    to.parameters.sort_by(|a, b| a.0.cmp(&b.0));
    to
}

pub(crate) fn user(user: usize) -> String {
    item(format!("user {user}"), &to(format!("/users/{user}")))
}

/// The files that a revision changed, of those of its project.
pub(crate) fn changed(revision: usize) -> Vec<usize> {
    let all = drawn(&format!("changed by {revision}"), 3, FILES / PROJECTS);
    all.iter().map(|it| it * PROJECTS + revision % PROJECTS).collect()
}

pub(crate) fn wiki_versions(page: usize) -> usize {
    1 + Dice::of(&format!("versions of {page}")).roll(6)
}

impl Tracker {
    fn new() -> Self {
        let names = [("issue", ISSUES), ("page", PAGES), ("revision", REVISIONS)];
        let names = names.into_iter().chain([("file", FILES), ("news", NEWS), ("topic", TOPICS)]);
        let names =
            names.flat_map(|(kind, count)| (0..count).map(move |it| format!("{kind} {it}")));
        let files = made_up("source", FILES, "_").into_iter().enumerate();
        let mut tracker = Self {
            prose: Prose::new(Language::English),
            numbers: Numbers::of(names),
            projects: made_up("project", PROJECTS, "-"),
            pages: made_up("wiki page of a project", PAGES, "_"),
            files: files.map(|(it, name)| format!("lib{}/{name}.rb", it / PROJECTS % 4)).collect(),
            hashes: (0..REVISIONS).map(|it| Dice::of(&format!("hash {it}")).hex(8)).collect(),
            events: Vec::new(),
        };
        "Wiki".clone_into(&mut tracker.pages[0]);
        tracker.events = tracker.all_events();
        tracker.events.sort_by_key(|it| it.day);
        tracker
    }

    fn all_events(&self) -> Vec<Event> {
        let event = |kind, project, name: String, to| Event {
            kind,
            project: project % PROJECTS,
            day: day(&name),
            to,
            name,
        };
        let mut events = Vec::new();
        for it in 0..ISSUES {
            events.push(event("issues", it, format!("issue {it}"), issue_page(it + 1)));
            for note in 0..notes(it) {
                let to = to(format!("/issues/{}#note-{}", it + 1, note + 1));
                events.push(event("issues", it, format!("note {note} on {it}"), to));
            }
        }
        for it in 0..REVISIONS {
            let to = self.repository(it % PROJECTS, &format!("revisions/{}", self.hashes[it]));
            events.push(event("changesets", it, format!("revision {it}"), to));
        }
        for it in 0..NEWS {
            events.push(event("news", it, format!("news {it}"), to(format!("/news/{}", it + 1))));
        }
        for it in 0..PAGES {
            for version in 1..=wiki_versions(it) {
                let to = self.wiki(it, &format!("/{version}"));
                events.push(event("wiki_edits", it, format!("{version} of page {it}"), to));
            }
        }
        for it in 0..TOPICS {
            let own = topic_page(it);
            events.push(event("messages", it, format!("topic {it}"), own.clone()));
            for reply in 0..replies(it) {
                events.push(event(
                    "messages",
                    it,
                    format!("reply {reply} to {it}"),
                    reply_page(it, reply),
                ));
            }
        }
        events
    }

    pub(crate) fn project(&self, project: usize, rest: &str) -> Target {
        to(format!("/projects/{}{rest}", self.projects[project]))
    }

    /// Of a project or of all.
    pub(crate) fn of(&self, project: Option<usize>, rest: &str) -> Target {
        project.map_or_else(|| to(rest), |it| self.project(it, rest))
    }

    pub(crate) fn wiki(&self, page: usize, rest: &str) -> Target {
        self.project(page % PROJECTS, &format!("/wiki/{}{rest}", self.pages[page]))
    }

    pub(crate) fn repository(&self, project: usize, rest: &str) -> Target {
        self.project(project, &format!("/repository/{rest}"))
    }

    fn begin(&self, name: &str) -> String {
        let text = self.prose.paragraphs(name, 1);
        text.split_inclusive(". ").next().unwrap_or_default().to_owned() + "</p>"
    }

    /// When something was written: the activity of the days until then.
    pub(crate) fn when(&self, project: usize, name: &str) -> String {
        let from = show_date(day(name));
        item("ago", &self.project(project, "/activity").with("from", from))
    }

    fn answer(&self, asked: &Target) -> Answer {
        const FILES: [(&str, &str); 6] = [
            (".atom", "application/atom+xml"),
            (".csv", "text/csv"),
            (".pdf", "application/pdf"),
            (".png", "image/png"),
            (".txt", "text/plain"),
            (".diff", "text/plain"),
        ];
        match FILES.iter().find(|it| asked.path.ends_with(it.0)) {
            Some((_, kind)) => Answer::file(kind),
            None => self.find(asked).unwrap_or_else(Answer::missing),
        }
    }

    fn find(&self, asked: &Target) -> Option<Answer> {
        let parts: Vec<&str> = asked.path.split('/').filter(|it| !it.is_empty()).collect();
        let number = |of: usize| parts.last()?.parse().ok().filter(|it| (1..=of).contains(it));
        let (project, rest) = match &parts[..] {
            ["projects", name, rest @ ..] => {
                (Some(self.projects.iter().position(|it| it == name)?), rest)
            }
            rest => (None, rest),
        };
        let (title, body) = match rest {
            ["issues", _] if number(ISSUES).is_some() => {
                return Some(self.issue(asked, number(ISSUES)?));
            }
            ["news", _] => return Some(self.news(asked, number(NEWS)? - 1)),
            ["boards", _, "topics", _] => return Some(self.topic(asked, number(TOPICS)? - 1)),
            ["wiki", rest @ ..] => return self.wiki_page(asked, project?, rest),
            ["repository", rest @ ..] => return self.in_repository(asked, project?, rest),
            ["attachments", ..] => return Some(Answer::file("application/octet-stream")),
            ["users", _] => ("User", self.user(number(USERS)?)),
            ["versions", _] => ("Version", self.version(number(VERSIONS)?)),
            ["login"] => {
                ("Login", LOGIN.to_owned() + &item("Lost password", &to("/account/lost_password")))
            }
            ["account", _] => {
                ("Account", "<p>First name. Last name. Email. Submit.</p>".to_owned())
            }
            [] if project.is_none() => {
                ("Home", self.list_of_projects() + &self.latest_news(None, 5))
            }
            ["projects"] => ("Projects", self.list_of_projects()),
            _ => self.section(asked, project, rest)?,
        };
        Some(Answer::junk(self.page(asked, project, title, &body)))
    }

    /// What each project and the site as a whole have.
    fn section(
        &self,
        asked: &Target,
        project: Option<usize>,
        rest: &[&str],
    ) -> Option<(&'static str, String)> {
        Some(match rest {
            [] => ("Overview", self.overview(project?)),
            ["issues"] => ("Issues", self.issues(asked, project)),
            ["issues", "report", ..] => ("Summary", self.report(project?)),
            ["issues", "calendar"] => ("Calendar", self.calendar(asked, project)),
            ["issues", "gantt"] => ("Gantt", self.gantt(asked, project)),
            ["activity"] => ("Activity", self.activity(asked, project)),
            ["time_entries", ..] => ("Spent time", self.spent(asked, project, rest)),
            ["news"] => ("News", self.latest_news(project, 10)),
            ["search"] => ("Search", self.search(asked, project)),
            ["roadmap"] => {
                let versions = (1..=VERSIONS).filter(|it| Some((it - 1) % PROJECTS) == project);
                let own = self.project(project?, "/roadmap").with("completed", 1);
                let versions = versions.map(|it| self.version(it));
                ("Roadmap", versions.collect::<String>() + &item("completed", &own))
            }
            ["boards"] => {
                let own = project? + 1;
                ("Forums", item("Forum", &to(format!("/boards/{own}"))))
            }
            ["boards", board] => ("Forum", self.board(asked, board)),
            ["documents"] => {
                let sorts = ["category", "date", "title", "author"];
                let sorts = sorts.map(|it| item(it, &asked.clone().set("sort_by", it)));
                ("Documents", sorts.concat() + NO_DATA)
            }
            ["files"] => {
                let sorts = ["filename", "created_on", "size", "downloads"];
                ("Files", sorts.map(|it| item(it, &asked.clone().set("sort", it))).concat())
            }
            _ => return None,
        })
    }

    pub(crate) fn page(
        &self,
        asked: &Target,
        project: Option<usize>,
        title: &str,
        body: &str,
    ) -> String {
        let back = format!("http://redmine.test{}", asked.show());
        let back =
            [("%", "%25"), (":", "%3A"), ("/", "%2F"), ("?", "%3F"), ("&", "%26"), ("=", "%3D")]
                .iter()
                .fold(back, |it, (from, to)| it.replace(from, to));
        let parts = if project.is_some() { &MENU[..] } else { &MENU[..7] };
        let menu: String = [to("/"), to("/projects"), to("/projects").with("jump", "overview")]
            .into_iter()
            .chain([to("/login").with("back_url", back), to("/account/register")])
            .chain(parts.iter().map(|it| self.of(project, it)))
            .map(|it| item("menu", &it))
            .collect();
        page(&self.prose, title, &format!("<ul>{menu}</ul>{body}"), &[])
    }

    fn list_of_projects(&self) -> String {
        let one = |it: usize| {
            item(&self.projects[it], &self.project(it, "")) + &self.begin(&format!("project {it}"))
        };
        (0..PROJECTS).map(one).collect()
    }

    fn overview(&self, project: usize) -> String {
        let issues = self.project(project, "/issues").with("set_filter", 1);
        let mut body = self.begin(&format!("project {project}"));
        for tracker in 1..=3 {
            let of = issues.clone().with("tracker_id", tracker);
            body += &item(format!("tracker {tracker}"), &of);
            for status in ["c", "*"] {
                body += &item(status, &with(of.clone(), &[("status_id", status)]));
            }
        }
        body += &item("View all issues", &issues);
        body += &item("Summary", &self.project(project, "/issues/report"));
        body += &item("Details", &self.project(project, "/time_entries"));
        body += &item("Report", &self.project(project, "/time_entries/report"));
        body += &drawn(&format!("members {project}"), 8, USERS)
            .iter()
            .map(|it| user(it + 1))
            .collect::<String>();
        body + &self.latest_news(Some(project), 5)
    }

    /// The events of thirty days.
    fn activity(&self, asked: &Target, project: Option<usize>) -> String {
        let until = asked.get("from").and_then(read_date).unwrap_or(TODAY);
        let kinds = EVENTS.map(|it| (it, format!("show_{it}")));
        let is_all = kinds.iter().all(|it| asked.get(&it.1).is_none());
        let is_shown = |event: &&Event| {
            project.is_none_or(|it| it == event.project)
                && (until.saturating_sub(30)..until).contains(&(event.day.saturating_sub(1)))
                && (is_all || asked.get(&format!("show_{}", event.kind)).is_some())
                && asked.number("user_id").is_none_or(|it| it == author(&event.name))
        };
        let own = self.of(project, "/activity");
        let mut body = String::new();
        for event in self.events.iter().rev().filter(is_shown) {
            body += &item(self.prose.title(&event.name), &event.to);
            body += &self.begin(&event.name);
            body += &user(author(&event.name));
        }
        if body.is_empty() {
            body += NO_DATA;
        }
        for near in [until.saturating_sub(30), until + 30] {
            if near < TODAY + 30 {
                body += &item("near", &with(asked.clone(), &[("from", &show_date(near))]));
            }
        }
        let kept = ["from", "user_id"].into_iter().filter_map(|it| Some((it, asked.get(it)?)));
        let kept: Vec<_> = kept.collect();
        for (kind, parameter) in kinds {
            body += &item(kind, &with(with(own.clone(), &kept), &[(&parameter, "1")]));
        }
        body + &item("Atom", &to(own.path.clone() + ".atom").with("from", show_date(until)))
    }

    /// Few entries in an order; their report by a column and criteria.
    fn spent(&self, asked: &Target, project: Option<usize>, rest: &[&str]) -> String {
        let issue = asked.get("issue_id").and_then(|it| it.trim_start_matches('~').parse().ok());
        let all = drawn("entries", 40, ISSUES).into_iter().filter(|it| {
            issue.is_none_or(|issue: usize| issue == it + 1)
                && project.is_none_or(|project| it % PROJECTS == project)
        });
        let mut body: String = match rest {
            [_, "report"] => ["year", "month", "week", "day"]
                .map(|it| item(it, &with(asked.clone(), &[("columns", it)])))
                .concat(),
            _ => all.map(|it| self.row(it) + &format!("<p>{}.25</p>", it % 8)).collect(),
        };
        for column in ["spent_on", "user", "activity", "issue", "hours"] {
            let is_chosen = asked.get("sort") == Some(column);
            let sort = if is_chosen { format!("{column}%3Adesc") } else { column.to_owned() };
            body += &item(column, &with(asked.clone(), &[("sort", &sort)]));
        }
        for rest in ["/time_entries", "/time_entries/report"] {
            let path = self.of(project, rest).path;
            body += &item("tab", &Target { path, ..asked.clone() });
        }
        let csv = self.of(project, "/time_entries.csv").path;
        body + &item("CSV", &Target { path: csv, ..asked.clone() })
    }

    fn user(&self, user: usize) -> String {
        let own = to("/activity").with("from", show_date(TODAY)).with("user_id", user);
        let mut body = item("Activity", &own);
        for filter in ["assigned_to_id", "author_id"] {
            let issues = to("/issues").with(filter, user).with("set_filter", 1);
            for status in ["o", "c", "*"] {
                body += &item(status, &with(issues.clone(), &[("status_id", status)]));
            }
        }
        let projects = drawn(&format!("projects of {user}"), 2, PROJECTS);
        let projects = projects.iter().map(|it| item(&self.projects[*it], &self.project(*it, "")));
        format!("<p>user {user}</p>") + &projects.collect::<String>() + &body
    }

    fn latest_news(&self, project: Option<usize>, most: usize) -> String {
        let all =
            (0..NEWS).rev().filter(|it| project.is_none_or(|project| it % PROJECTS == project));
        let one = |it: usize| {
            let name = format!("news {it}");
            item(self.prose.title(&name), &to(format!("/news/{}", it + 1))) + &self.begin(&name)
        };
        all.take(most).map(one).collect::<String>() + &item("all", &self.of(project, "/news"))
    }

    fn news(&self, asked: &Target, news: usize) -> Answer {
        let (name, project) = (format!("news {news}"), news % PROJECTS);
        let body = user(1 + news % USERS)
            + &self.when(project, &name)
            + &self.prose.paragraphs(&name, 3)
            + &item("News", &self.project(project, "/news"));
        let title = self.prose.title(&name);
        self.numbers.answer(&name, self.page(asked, Some(project), &title, &body))
    }

    /// The topics of a forum in an order.
    fn board(&self, asked: &Target, board: &str) -> String {
        let board: usize = board.parse().unwrap_or_default();
        let mut body = String::new();
        for column in ["created_on", "replies", "updated_on"] {
            let is_chosen = asked.get("sort") == Some(column);
            let sort = if is_chosen { format!("{column}%3Adesc") } else { column.to_owned() };
            body += &item(column, &with(asked.clone(), &[("sort", &sort)]));
        }
        let all = (0..TOPICS).filter(|it| it % PROJECTS + 1 == board);
        for topic in all {
            body += &item(self.prose.title(&format!("topic {topic}")), &topic_page(topic));
            body += &user(1 + topic % USERS);
            if replies(topic) > 0 {
                body += &item("last", &reply_page(topic, replies(topic) - 1));
            }
        }
        body
    }

    fn topic(&self, asked: &Target, topic: usize) -> Answer {
        let (name, project) = (format!("topic {topic}"), topic % PROJECTS);
        let mut body = user(1 + topic % USERS) + &self.when(project, &name);
        body += &self.prose.paragraphs(&name, 2);
        for reply in 0..replies(topic) {
            let text = format!("reply {reply} to {topic}");
            body += &item("RE", &reply_page(topic, reply));
            body += &(user(1 + (topic + reply * 7) % USERS) + &self.when(project, &text));
            body += &self.prose.paragraphs(&text, 1);
        }
        body += &item("Forum", &to(format!("/boards/{}", project + 1)));
        let title = self.prose.title(&name);
        self.numbers.answer(&name, self.page(asked, Some(project), &title, &body))
    }

    /// Words in what was chosen of issues, news and the like.
    fn search(&self, asked: &Target, project: Option<usize>) -> String {
        let Some(word) = asked.get("q") else { return "<p>Search. All words.</p>".to_owned() };
        let kinds = ["issues", "news", "wiki_pages", "messages"];
        let kind = kinds.iter().find(|it| asked.get(it).is_some()).unwrap_or(&"");
        let found = drawn(&format!("{word} in {kind}"), 10, ISSUES);
        let kinds = kinds.map(|it| {
            let to = self.of(project, "/search");
            item(it, &with(to, &[("q", word), (it, "1"), ("all_words", "1")]))
        });
        kinds.concat() + &found.iter().map(|it| self.row(*it)).collect::<String>()
    }
}

/// Who did something.
fn author(event: &str) -> usize {
    1 + drawn(event, 1, USERS)[0]
}

pub(crate) fn notes(issue: usize) -> usize {
    roll("notes", issue, 5)
}

fn replies(topic: usize) -> usize {
    Dice::of(&format!("replies to {topic}")).roll(5)
}

fn topic_page(topic: usize) -> Target {
    to(format!("/boards/{}/topics/{}", topic % PROJECTS + 1, topic + 1))
}

fn reply_page(topic: usize, reply: usize) -> Target {
    let message = TOPICS + topic * 5 + reply + 1;
    topic_page(topic).with("r", format!("{message}#message-{message}"))
}
