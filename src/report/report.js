"use strict";
// Searches the page, filters and sorts the groups of duplicates, and sorts tables. Without it everything is shown, in the order of the page.
{
  const find = id => document.getElementById(id);
  const list = find("clusters"), controls = document.querySelector(".controls");
  let words = [], searchGroups = () => [], groupNamed = () => null;
  const isFound = text => words.every(word => text.includes(word));
  // A URL as the crawl knows it: without its fragment and the parameters that the crawl removes. `*` stands for any ending.
  const tracking = find("find").dataset.tracking.toLowerCase().split(" ").filter(Boolean);
  const isTracking = parameter => {
    const name = parameter.split("=")[0];
    return tracking.some(known => known.endsWith("*") ? name.startsWith(known.slice(0, -1)) : name === known);
  };
  const normal = word => {
    if (!/^https?:/.test(word)) return word;
    const [address, ...query] = word.split("#")[0].split("?");
    const kept = query.join("?").split("&").filter(parameter => !isTracking(parameter)).join("&");
    return kept ? address + "?" + kept : address;
  };
  if (list && controls) {
    // A browser takes long for elements, and shows few: those that are not needed yet stay text.
    const page = 500, mark = "<details class=\"card cluster\"", rest = find("rest");
    const later = rest ? rest.textContent.split(mark).slice(1).map(html => mark + html) : [];
    if (rest) rest.remove();
    const template = document.createElement("template");
    const made = group => {
      if (!group.element) {
        template.innerHTML = group.html;
        group.element = template.content.firstElementChild;
      }
      return group.element;
    };
    const attribute = (html, name) => html.match(name + "=\"([^\"]*)\"")[1];
    const groups = [...list.children, ...later].map((it, place) => {
      const isText = typeof it === "string", element = isText ? null : it;
      const [count, least] = ["data-count", "data-least"].map(name => isText ? attribute(it, name) : it.getAttribute(name));
      return { element, html: it, place, count: +count, least, text: "" };
    });
    const textOf = group => {
      if (group.element) return group.element.textContent;
      template.innerHTML = group.html;
      return template.content.textContent;
    };
    let limit = page, found = groups;
    const draw = () => {
      list.replaceChildren(...found.slice(0, limit).map(made));
      for (const marked of list.querySelectorAll(".found")) marked.classList.remove("found");
      for (const { element } of words.length && found.length <= 10 ? found : []) {
        element.open = true;
        for (const member of element.querySelectorAll("ol > li")) member.classList.toggle("found", isFound(member.textContent.toLowerCase()));
      }
      const shown = Math.min(limit, found.length);
      find("shown").value = shown === groups.length ? ""
        : (shown < found.length ? "the first " + shown + " of " : "") + found.length + (found.length === 1 ? " group" : " groups") + (found.length < groups.length ? " of " + groups.length : "");
    };
    const show = () => {
      const kind = find("kind").value, least = +find("least").value, most = find("most").value === "" ? 1 : +find("most").value;
      const isShown = group => {
        if (words.length && !group.text) group.text = textOf(group).toLowerCase();
        const isKind = !kind || (kind === "near") === (group.least !== "");
        const isNear = most >= 1 || (group.least !== "" && +group.least <= most);
        return isKind && isNear && group.count >= least && isFound(group.text);
      };
      const isLarge = find("order").value === "large";
      found = groups.filter(isShown).sort((a, b) => (isLarge ? b.count - a.count : 0) || a.place - b.place);
      limit = page;
      list.scrollTop = 0;
      draw();
      return found;
    };
    searchGroups = show;
    groupNamed = id => {
      const group = groups.find(it => it.element ? it.element.id === id : it.html.includes(" id=") && made(it).id === id);
      if (!group) return null;
      if (!found.includes(group)) {
        for (const [filter, value] of [["kind", ""], ["least", 1], ["most", 1]]) find(filter).value = value;
        show();
      }
      limit = Math.max(limit, found.indexOf(group) + 1);
      draw();
      return group.element;
    };
    const more = to => {
      if (limit >= found.length) return;
      limit = to;
      draw();
    };
    controls.hidden = false;
    controls.addEventListener("input", show);
    list.addEventListener("scroll", () => list.scrollTop + 2 * list.clientHeight > list.scrollHeight && more(limit + page));
    draw();
  }
  const parts = [...document.querySelectorAll("section.rows")].map(part => ({
    part, groups: part.querySelectorAll(":scope > details"), tables: [...part.querySelectorAll("table")].map(table => {
      const note = document.createElement("p");
      note.className = "soft more";
      note.hidden = true;
      table.parentElement.before(note);
      return { card: table.parentElement, note, rows: [...table.tBodies[0].rows].map(row => ({ row, text: "" })) };
    }),
  }));
  const search = () => {
    words = find("find").value.toLowerCase().split(/\s+/).filter(Boolean).map(normal);
    const isSearch = words.length > 0;
    // What links to a URL says nothing of what became of it.
    const url = isSearch && words.length === 1 && /^https?:/.test(words[0]) ? ">" + words[0].replaceAll("&", "&amp;") + "</" : "";
    const isOwn = html => html.toLowerCase().includes(url);
    const inGroups = searchGroups();
    let hits = inGroups.length, own = url ? inGroups.some(it => isOwn(it.element ? it.element.innerHTML : it.html)) : hits > 0;
    if (list) find("duplicates").hidden = isSearch && !hits;
    for (const { part, groups, tables } of parts) {
      let count = 0;
      for (const { card, note, rows } of tables) {
        let found = 0;
        for (const entry of rows) {
          if (isSearch && !entry.text) entry.text = entry.row.textContent.toLowerCase();
          found += !(entry.row.hidden = isSearch && !isFound(entry.text));
          own ||= isSearch && !entry.row.hidden && isOwn(entry.row.cells[0].innerHTML);
        }
        card.hidden = isSearch && !found;
        note.hidden = !isSearch || !found;
        note.textContent = found.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " shown";
        count += found;
      }
      for (const group of groups) {
        group.open = isSearch && group.querySelector("tbody tr:not([hidden])") !== null;
        group.hidden = isSearch && !group.open;
      }
      part.hidden = isSearch && !count;
      hits += count;
    }
    document.body.classList.toggle("searching", isSearch);
    find("nothing").hidden = !isSearch || own;
  };
  find("find").parentElement.hidden = false;
  find("find").addEventListener("input", search);
  // A link may lead to what is closed, not drawn yet, or left out of its list: then it is searched.
  const follow = () => {
    const name = location.hash.slice(1);
    if (!name) return;
    if (words.length) {
      find("find").value = "";
      search();
    }
    const target = groupNamed(name) ?? find(name);
    if (target) {
      if (target.tagName === "DETAILS") target.open = true;
      target.scrollIntoView();
    } else if (name.includes("-")) {
      find("find").value = name.slice(name.indexOf("-") + 1);
      search();
      scrollTo(0, 0);
    }
  };
  addEventListener("hashchange", follow);
  follow();
  const value = row => text => row.cells[text].textContent.trim();
  const number = text => /^[\d,.]+/.test(text) ? parseFloat(text.replaceAll(",", "")) : NaN;
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], rows = [...body.rows];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const isDescending = head.ariaSort !== "descending";
        for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
        head.ariaSort = isDescending ? "descending" : "ascending";
        rows.sort((a, b) => {
          const [x, y] = [value(a)(column), value(b)(column)];
          const order = number(x) - number(y) || x.localeCompare(y);
          return isDescending ? -order : order;
        });
        body.append(...rows);
      });
    });
  }
}
