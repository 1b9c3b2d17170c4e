"use strict";
// Shows what the crawl sends once a second.
const find = id => document.getElementById(id);
const grouped = number => number.toLocaleString("en");
let points = [], last, isPaused = false;

const duration = seconds => seconds < 60 ? seconds.toFixed(0) + " s"
  : seconds < 3600 ? Math.floor(seconds / 60) + " min" : (seconds / 3600).toFixed(1) + " h";

const draw = () => {
  const end = points.at(-1);
  if (!end || points.length < 2) return;
  const all = end.unique + end.exact + end.near || 1;
  const area = top => {
    const line = points.map(point => (600 * point.at / end.at).toFixed(1) + "," + (120 - 120 * top(point) / all).toFixed(1));
    return "M0,120L" + line.join("L") + "L600,120Z";
  };
  find("path-near").setAttribute("d", area(point => point.unique + point.exact + point.near));
  find("path-exact").setAttribute("d", area(point => point.unique + point.exact));
  find("path-unique").setAttribute("d", area(point => point.unique));
  find("pages").textContent = grouped(end.unique + end.exact + end.near) + " pages";
  find("worked").textContent = duration(end.at);
};

const link = url => {
  const anchor = document.createElement("a");
  anchor.textContent = url;
  if (/^https?:/.test(url)) anchor.href = url;
  anchor.rel = "noreferrer noopener nofollow";
  return anchor;
};

// Shows a part of the page if there are texts for it.
const fill = (part, list, tag, texts) => {
  find(part).hidden = !texts.length;
  if (find(list).children.length === texts.length && texts.every((text, place) => find(list).children[place].textContent === text)) return;
  find(list).replaceChildren(...texts.map(text => {
    const item = document.createElement(tag);
    if (tag === "p") item.className = "warning card";
    item.textContent = text;
    return item;
  }));
};

const show = now => {
  find("name").textContent = document.title = now.name;
  for (const name of ["fetched", "unique", "exact", "near", "queued", "failed"]) find(name).textContent = grouped(now.counts[name]);
  find("budget").textContent = "of at most " + grouped(now.max_pages);
  find("hosts").textContent = "active hosts: " + grouped(now.active_hosts) + ", in flight: " + now.in_flight;
  find("controls").hidden = !now.controlled;
  isPaused = now.paused;
  find("pause").textContent = isPaused ? "Resume" : "Pause";
  find("phase").textContent = isPaused ? "paused" : now.waits || "running";
  find("phase").className = "badge " + (isPaused || now.waits ? "other" : "done");
  const time = performance.now() / 1000;
  const received = now.counts.fetched + now.counts.asked_again;
  if (last && time - last.time >= 5) {
    const rate = (received - last.received) / (time - last.time);
    const left = Math.min(now.counts.queued, now.max_pages - now.counts.fetched);
    find("rate").textContent = rate.toFixed(1) + " pages a second" + (rate > 0 && left > 0 ? "; what is queued takes " + duration(left / rate) : "");
  }
  if (!last || time - last.time >= 5) last = { time, received };
  for (const point of now.series) if (!points.length || point.at > points.at(-1).at) points.push(point);
  if (points.length > 1200) points = points.filter((_, place) => place % 2 === 0);
  draw();
  find("judged").replaceChildren(...now.judged.map(page => {
    const row = document.createElement("tr");
    const chip = document.createElement("span");
    chip.className = "chip " + page.verdict;
    chip.textContent = page.verdict + (page.verdict === "near" ? " " + (Math.floor(100 * page.similarity) / 100).toFixed(2) : "");
    row.insertCell().append(chip);
    const cell = row.insertCell();
    cell.className = "left";
    cell.append(link(page.url));
    if (page.match) cell.append(document.createElement("br"), "repeats ", link(page.match));
    return row;
  }));
  fill("suspended", "hosts-held", "li", now.suspended);
  fill("attention", "alarms", "p", now.alarms);
};

const source = new EventSource("events");
source.onmessage = event => show(JSON.parse(event.data));
source.onerror = () => {
  find("phase").textContent = "no connection: the crawl has ended, or cannot be reached";
  find("phase").className = "badge other";
};

const send = async command => {
  const answer = await fetch(command, { method: "POST" });
  find("answer").textContent = answer.ok ? "" : await answer.text();
};
find("pause").addEventListener("click", () => send(isPaused ? "resume" : "pause"));
find("stop").addEventListener("click", () => send("stop"));
