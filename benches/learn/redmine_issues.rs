//! The issues of a Redmine: lists of them as chosen, in tables, months and charts, and each with its notes.

use crate::{
    prose::Dice,
    redmine::{
        ISSUES, NO_DATA, PROJECTS, REVISIONS, TODAY, Tracker, USERS, VERSIONS, date, day, notes,
        roll, to, user, with,
    },
    software::{drawn, item},
    target::Target,
    world::Answer,
};

/// What a list of issues can be narrowed to, with the number of values.
const FILTERS: [(&str, usize); 6] = [
    ("tracker_id", 3),
    ("priority_id", 5),
    ("assigned_to_id", USERS),
    ("author_id", USERS),
    ("fixed_version_id", VERSIONS),
    ("category_id", 6),
];
const COLUMNS: [&str; 7] =
    ["id", "tracker", "status", "priority", "subject", "assigned_to", "updated_on"];

fn value(filter: &str, issue: usize) -> usize {
    let of = FILTERS.iter().find(|it| it.0 == filter).map_or(1, |it| it.1);
    match filter {
        "fixed_version_id" => {
            let of_project = VERSIONS / PROJECTS;
            1 + issue % PROJECTS + PROJECTS * roll(filter, issue, of_project)
        }
        _ => 1 + roll(filter, issue, of),
    }
}

fn is_closed(issue: usize) -> bool {
    roll("status", issue, 5) > 1
}

pub(crate) fn issue_page(issue: usize) -> Target {
    to(format!("/issues/{issue}"))
}

/// An issue with its neighbours in a list, and, of a longer list, its place there.
fn place_in_list(issue: usize, is_counted: bool) -> Target {
    let mut to = issue_page(issue);
    if is_counted {
        to = to.with("issue_count", ISSUES).with("issue_position", ISSUES + 1 - issue);
    }
    to.with("next_issue_id", issue - 1).with("prev_issue_id", issue + 1)
}

fn month_of(asked: &Target) -> (usize, usize) {
    let [year, month, _] = date(TODAY);
    let asked_month = asked.number("month").filter(|it| (1..=12).contains(it));
    (asked.number("year").unwrap_or(year).max(2), asked_month.unwrap_or(month))
}

impl Tracker {
    /// The numbers of issues by each filter and status.
    pub(crate) fn report(&self, project: usize) -> String {
        let issues = self.project(project, "/issues").with("set_filter", 1);
        let mut body = String::new();
        for (filter, values) in FILTERS {
            let name = filter.trim_end_matches("_id");
            body += &item("Details", &self.project(project, &format!("/issues/report/{name}")));
            let is_here =
                |it: &usize| filter != "fixed_version_id" || (it - 1) % PROJECTS == project;
            for value in (1..=values).filter(is_here) {
                for status in ["o", "c", "*"] {
                    let changes = [(filter, value.to_string()), ("status_id", status.to_owned())];
                    let changes = changes.each_ref().map(|(name, value)| (*name, value.as_str()));
                    body += &item(status, &with(issues.clone(), &changes));
                }
            }
        }
        body
    }

    /// The issues that are asked for by short filters or by those of the form.
    fn chosen(asked: &Target, project: Option<usize>) -> Vec<usize> {
        let wanted = |filter: &str| {
            asked.number(filter).or_else(|| asked.number(&format!("v%5B{filter}%5D%5B%5D")))
        };
        let status = asked.get("status_id").or_else(|| asked.get("op%5Bstatus_id%5D"));
        let status = status.unwrap_or(if asked.get("query_id") == Some("1") { "*" } else { "o" });
        let is_in = |issue: &usize| {
            project.is_none_or(|it| issue % PROJECTS == it)
                && (status == "*" || (status == "c") == is_closed(*issue))
                && FILTERS.iter().all(|it| wanted(it.0).is_none_or(|is| is == value(it.0, *issue)))
        };
        (0..ISSUES).filter(is_in).collect()
    }

    pub(crate) fn issues(&self, asked: &Target, project: Option<usize>) -> String {
        let mut all = Self::chosen(asked, project);
        let sort = asked.get("sort").unwrap_or("id%3Adesc");
        let keys: Vec<&str> = sort.split("%2C").collect();
        for key in keys.iter().rev() {
            let (name, turned) = key.split_once("%3A").map_or((*key, false), |it| (it.0, true));
            let place = |it: &usize| if name == "id" { *it } else { roll(name, *it, 9) };
            all.sort_by_key(|it| if turned { ISSUES - place(it) } else { place(it) });
        }
        let shown_on_page = asked.number("per_page").unwrap_or(25).clamp(1, 100);
        let at = asked.number("page").unwrap_or(1).max(1);
        let mut body = String::new();
        for column in COLUMNS {
            let turned =
                if keys[0] == column { format!("{column}%3Adesc") } else { column.to_owned() };
            let rest = keys.iter().filter(|it| it.trim_end_matches("%3Adesc") != column).take(2);
            let sort = rest.fold(turned, |sort, it| sort + "%2C" + it);
            body += &item(column, &with(asked.clone(), &[("sort", &sort)]));
        }
        for issue in all.iter().skip((at - 1) * shown_on_page).take(shown_on_page) {
            body += &self.row(*issue);
        }
        if all.is_empty() {
            body += NO_DATA;
        }
        for it in (1..=all.len().div_ceil(shown_on_page)).filter(|it| *it != at) {
            body += &item(it, &with(asked.clone(), &[("page", &it.to_string())]));
        }
        for it in ["25", "50", "100"] {
            let to = asked.clone().without("page");
            body += &item(it, &with(to, &[("per_page", it)]));
        }
        for ending in ["atom", "csv", "pdf"] {
            let to = Target { path: format!("{}.{ending}", asked.path), ..asked.clone() };
            body += &item(ending, &to.without("page"));
        }
        body + &self.issue_sidebar(project)
    }

    fn issue_sidebar(&self, project: Option<usize>) -> String {
        let issues = self.of(project, "/issues");
        let report = project.map(|it| item("Summary", &self.project(it, "/issues/report")));
        let queries = (1..=3).map(|it| item("query", &issues.clone().with("query_id", it)));
        item("View all issues", &issues.clone().with("set_filter", 1))
            + &report.unwrap_or_default()
            + &queries.collect::<String>()
    }

    pub(crate) fn row(&self, issue: usize) -> String {
        let title = self.prose.title(&format!("issue {issue}"));
        item(issue + 1, &issue_page(issue + 1))
            + &item(title, &issue_page(issue + 1))
            + &user(value("assigned_to_id", issue))
    }

    /// An issue with its notes. With its place in a list, it has links to its neighbours there, which keep the list.
    pub(crate) fn issue(&self, asked: &Target, number: usize) -> Answer {
        let (issue, name) = (number - 1, format!("issue {}", number - 1));
        let project = issue % PROJECTS;
        let mut body = String::new();
        for near in ["prev_issue_id", "next_issue_id"] {
            if let Some(near) = asked.number(near).filter(|it| (1..=ISSUES).contains(it)) {
                body += &item(near, &place_in_list(near, asked.get("issue_count").is_some()));
            }
        }
        body += &(user(value("author_id", issue)) + &self.when(project, &name));
        body += &user(value("assigned_to_id", issue));
        body +=
            &item("Target version", &to(format!("/versions/{}", value("fixed_version_id", issue))));
        body += &self.prose.paragraphs(&name, 2);
        for it in drawn(&format!("related to {issue}"), issue % 3, ISSUES) {
            body += &item(self.prose.title(&format!("issue {it}")), &issue_page(it + 1));
        }
        for it in drawn(&format!("revisions of {issue}"), issue % 2, REVISIONS / PROJECTS) {
            let hash = &self.hashes[it * PROJECTS + project];
            body += &item(hash, &self.repository(project, &format!("revisions/{hash}")));
        }
        if issue % 5 == 0 {
            body += &item("log", &to(format!("/attachments/{number}")));
            body += &item("log", &to(format!("/attachments/download/{number}/production.log")));
        }
        let spent = self.project(project, "/time_entries").with("issue_id", format!("~{number}"));
        body += &item("Spent time", &spent);
        for tab in ["history", "notes", "properties"] {
            body += &item(tab, &issue_page(number).with("tab", tab));
        }
        for note in 0..notes(issue) {
            let note = format!("note {note} on {issue}");
            let mut dice = Dice::of(&format!("links of {note}"));
            body += &(user(1 + dice.roll(USERS)) + &self.when(project, &note));
            body += &self.prose.paragraphs(&note, 1);
            match (dice.roll(6), 2 + dice.roll(ISSUES - 2)) {
                (0, other) => body += &item("see", &place_in_list(other, true)),
                (1, other) => body += &item("see", &place_in_list(other, false)),
                (2, other) => body += &item("see", &issue_page(other)),
                _ => {}
            }
        }
        for ending in ["atom", "pdf"] {
            body += &item(ending, &to(format!("/issues/{number}.{ending}")));
        }
        body += &self.issue_sidebar(Some(project));
        let title = self.prose.title(&name);
        self.numbers.answer(&name, self.page(asked, Some(project), &title, &body))
    }

    /// The tables of a version: its issues by tracker and status.
    pub(crate) fn version(&self, version: usize) -> String {
        let project = (version - 1) % PROJECTS;
        let issues = self.project(project, "/issues").with("fixed_version_id", version);
        let issues = issues.with("set_filter", 1);
        let mut body = item(format!("Version {version}"), &to(format!("/versions/{version}")));
        for status in ["o", "c", "*"] {
            body += &item(status, &with(issues.clone(), &[("status_id", status)]));
        }
        let all = (0..ISSUES).filter(|it| value("fixed_version_id", *it) == version);
        body + &all.take(20).map(|it| self.row(it)).collect::<String>()
    }

    /// A month with what begins in it.
    pub(crate) fn calendar(&self, asked: &Target, project: Option<usize>) -> String {
        let (year, month) = month_of(asked);
        let mut body = String::new();
        for issue in Self::chosen(asked, project) {
            let [of_year, of_month, _] = date(day(&format!("issue {issue}")));
            if (of_year, of_month) == (year, month) {
                body += &item(self.prose.title(&format!("issue {issue}")), &issue_page(issue + 1));
            }
        }
        for near in [year * 12 + month - 2, year * 12 + month] {
            let (year, month) = (near / 12, near % 12 + 1);
            let changes = [("month", &*month.to_string()), ("year", &*year.to_string())];
            body += &item(format!("{year}-{month}"), &with(asked.clone(), &changes));
        }
        body + &self.issue_sidebar(project)
    }

    /// A chart of some months.
    pub(crate) fn gantt(&self, asked: &Target, project: Option<usize>) -> String {
        let (year, month) = month_of(asked);
        let months = asked.number("months").unwrap_or(6).clamp(1, 24);
        let zoom = asked.number("zoom").unwrap_or(2).clamp(1, 4);
        let at = |begin: usize, zoom: usize| {
            let (year, month) = (begin / 12, begin % 12 + 1);
            let [year, month] = [year, month].map(|it| it.to_string());
            let [months, zoom] = [months, zoom].map(|it| it.to_string());
            with(
                asked.clone(),
                &[("year", &year), ("month", &month), ("months", &months), ("zoom", &zoom)],
            )
        };
        let begin = year * 12 + month - 1;
        let mut body =
            item("previous", &at(begin - months, zoom)) + &item("next", &at(begin + months, zoom));
        for zoom in [zoom - 1, zoom + 1] {
            if (1..=4).contains(&zoom) {
                body += &item("zoom", &at(begin, zoom));
            }
        }
        for ending in ["pdf", "png"] {
            let to = at(begin, zoom);
            body += &item(ending, &Target { path: format!("{}.{ending}", asked.path), ..to });
        }
        let all = Self::chosen(asked, project);
        body += &all.iter().take(60).map(|it| self.row(*it)).collect::<String>();
        body + &self.issue_sidebar(project)
    }
}
