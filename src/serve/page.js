"use strict";
// Shows what the program sends once a second.
{
  const find = id => document.getElementById(id);
  const grouped = number => number.toLocaleString("en");
  const made = (tag, className, ...children) => {
    const element = document.createElement(tag);
    element.className = className;
    element.append(...children);
    return element;
  };
  let points = [], last, isPaused = false;

  const duration = seconds => seconds < 60 ? seconds.toFixed(0) + " s"
    : seconds < 3600 ? Math.floor(seconds / 60) + " min" : (seconds / 3600).toFixed(1) + " h";

  const drawLine = (name, values, shown) => {
    const chart = find("chart-" + name), end = points.at(-1).at, most = Math.max(...values);
    chart.hidden = !(most > 0);
    const line = points.map((point, place) => (600 * point.at / end).toFixed(1) + "," + (120 - 120 * values[place] / (most || 1)).toFixed(1));
    chart.querySelector("path").setAttribute("d", "M0,120L" + line.join("L") + "L600,120Z");
    chart.querySelector(".now").textContent = shown(values.at(-1)) + ", at most " + shown(most);
    chart.querySelector(".worked").textContent = duration(end);
  };

  const draw = unit => {
    const end = points.at(-1);
    if (!end || points.length < 2) return;
    const all = end.unique + end.exact + end.near;
    const area = top => {
      const line = points.map(point => (600 * point.at / end.at).toFixed(1) + "," + (120 - 120 * top(point) / (all || 1)).toFixed(1));
      return "M0,120L" + line.join("L") + "L600,120Z";
    };
    find("path-near").setAttribute("d", area(point => point.unique + point.exact + point.near));
    find("path-exact").setAttribute("d", area(point => point.unique + point.exact));
    find("path-unique").setAttribute("d", area(point => point.unique));
    find("all").textContent = grouped(all) + " " + unit;
    find("worked").textContent = duration(end.at);
    find("verdicts").hidden = false;
    const judged = point => point.unique + point.exact + point.near;
    const rate = (point, place) => place ? (judged(point) - judged(points[place - 1])) / (point.at - points[place - 1].at) : 0;
    drawLine("rate", points.map(rate), value => value.toFixed(1));
    drawLine("waiting", points.map(point => point.queued), grouped);
    drawLine("memory", points.map(point => point.memory), value => grouped(Math.round(value / 1e6)) + " MB");
  };

  const link = url => {
    if (!/^https?:/.test(url)) return made("span", "", url);
    const anchor = made("a", "", url);
    anchor.href = url;
    anchor.rel = "noreferrer noopener nofollow";
    return anchor;
  };
  const row = page => {
    const near = page.verdict === "near" ? " " + (Math.floor(100 * page.similarity) / 100).toFixed(2) : "";
    const repeats = page.match === null ? [] : [made("span", "address soft", "repeats ", link(page.match))];
    return made("tr", "", made("td", "", made("span", "chip " + page.verdict, page.verdict + near)), made("td", "", link(page.url), ...repeats));
  };

  // What has not changed stays, so that it can be selected and clicked.
  const shown = {};
  const fill = (list, all, item) => {
    const text = JSON.stringify(all);
    if (shown[list] === text) return;
    shown[list] = text;
    find(list).replaceChildren(...all.map(item));
    for (const part of document.querySelectorAll("[data-of=" + list + "]")) part.hidden = !all.length;
  };

  const show = now => {
    find("name").textContent = document.title = now.name;
    for (const name in now.counts) if (find(name)) find(name).replaceChildren(grouped(now.counts[name]), made("small", "", now.notes[name] ?? ""));
    find("controls").hidden = !now.controlled;
    isPaused = now.paused;
    find("pause").textContent = isPaused ? "Resume" : "Pause";
    find("phase").textContent = now.phase;
    find("phase").className = "badge " + (["running", "done"].includes(now.phase) ? "done" : "other");
    const time = performance.now() / 1000;
    if (last && time - last.time >= 5) {
      const rate = (now.done - last.done) / (time - last.time);
      find("rate").textContent = rate.toFixed(1) + " " + now.unit + " a second" + (rate > 0 && now.left > 0 ? "; what is queued takes " + duration(now.left / rate) : "");
    }
    if (!last || time - last.time >= 5) last = { time, done: now.done };
    // It is the last that is sent, and stays.
    if (now.end) {
      source.close();
      find("rate").textContent = now.end;
    }
    for (const point of now.series) if (!points.length || point.at > points.at(-1).at) points.push(point);
    if (points.length > 1200) points = points.filter((_, place) => place % 2 === 0);
    draw(now.unit);
    fill("judged", now.judged, row);
    fill("slow", now.slow ?? [], text => made("li", "", text));
    fill("alarms", now.alarms ?? [], text => made("p", "warning card", ...text.split(/(https?:\/\/[^\s);]+)/).map(link)));
  };

  const source = new EventSource("events");
  source.onopen = () => {
    // It is sent all that there is; and what is started again counts from 0.
    points = [];
    last = undefined;
  };
  source.onmessage = event => show(JSON.parse(event.data));
  source.onerror = () => {
    find("phase").textContent = "no connection: it has ended, or cannot be reached";
    find("phase").className = "badge other";
  };

  const send = async command => {
    const answer = await fetch(command, { method: "POST" });
    find("answer").textContent = answer.ok ? "" : await answer.text();
  };
  find("pause").addEventListener("click", () => send(isPaused ? "resume" : "pause"));
  find("stop").addEventListener("click", () => send("stop"));
}
