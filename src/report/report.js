"use strict";
// Filters and sorts the groups of duplicates, and sorts tables. Without it everything is shown, in the order of the page.
{
  const find = id => document.getElementById(id);
  const list = find("clusters"), controls = document.querySelector(".controls");
  if (list && controls) {
    const groups = [...list.children].map((element, place) => ({
      element, place, count: +element.dataset.count, least: element.dataset.least, text: "",
    }));
    const show = () => {
      const words = find("words").value.toLowerCase().split(/\s+/).filter(Boolean);
      const kind = find("kind").value, least = +find("least").value, most = +find("most").value;
      let shown = 0;
      for (const group of groups) {
        if (words.length && !group.text) group.text = group.element.textContent.toLowerCase();
        const isKind = !kind || (kind === "near") === (group.least !== "");
        const isNear = most >= 1 || (group.least !== "" && +group.least <= most);
        const isShown = isKind && isNear && group.count >= least && words.every(word => group.text.includes(word));
        group.element.hidden = !isShown;
        shown += isShown;
      }
      find("shown").value = shown === groups.length ? "" : shown + " of " + groups.length + " groups";
    };
    const sort = () => {
      const isLarge = find("order").value === "large";
      groups.sort((a, b) => (isLarge ? b.count - a.count : 0) || a.place - b.place);
      list.append(...groups.map(group => group.element));
    };
    controls.hidden = false;
    controls.addEventListener("input", show);
    find("order").addEventListener("change", sort);
    show();
  }
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
