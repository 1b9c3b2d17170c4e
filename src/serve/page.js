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
  let points = [], samples = [], isPaused = false;

  const duration = seconds => seconds < 60 ? seconds.toFixed(0) + " s"
    : seconds < 3600 ? Math.round(seconds / 60) + " min" : (seconds / 3600).toFixed(1) + " h";

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
    const near = page.verdict === "near" ? " " + (page.similarity < 1 ? (Math.floor(100 * page.similarity) / 100).toFixed(2) : "≈1") : "";
    const repeats = page.match === null ? [] : [made("span", "address soft", "repeats ", link(page.match))];
    return made("tr", "", made("td", "", made("span", "chip " + page.verdict, page.verdict + near)), made("td", "", link(page.url), ...repeats));
  };

  // What speaks for it is in the report.
  const alarm = ({ text, evidence }) => {
    const card = made("p", "warning card", ...text.split(/(https?:\/\/[^\s);]+)/).map(link));
    if (evidence === null) return card;
    const anchor = made("a", "evidence", "Show");
    anchor.href = "report#" + evidence;
    card.append(" ", anchor);
    return card;
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

  // How long the queued URLs take at this rate, at least as long as those of the slowest host; or the pages that the budget admits.
  const estimate = ({ budget, counts, paused, slowest }, rate) => {
    const left = Math.min(budget ?? 0, counts.queued);
    if (paused || !(rate > 0 && left > 0)) return "";
    return left < counts.queued ? "; the " + grouped(left) + " pages left of max_pages take about " + duration(left / rate)
      : "; the " + grouped(left) + " queued URLs take about " + duration(Math.max(left / rate, slowest)) + ", more if they lead to others";
  };

  const show = now => {
    find("name").textContent = document.title = now.name;
    for (const name in now.counts) if (find(name)) find(name).replaceChildren(grouped(now.counts[name]), made("small", "", now.notes[name] ?? ""));
    if (find("suspended")) find("suspended").parentElement.hidden = !now.counts.suspended;
    find("controls").hidden = !now.controlled;
    isPaused = now.paused;
    find("pause").textContent = isPaused ? "Resume" : "Pause";
    find("phase").textContent = now.phase;
    find("phase").className = "badge " + (["running", "done"].includes(now.phase) ? "done" : "other");
    // The rate is that of the last minute, so that the estimate does not jump.
    const time = performance.now() / 1000;
    samples.push({ time, done: now.done });
    while (time - samples[0].time > 60) samples.shift();
    const past = time - samples[0].time, rate = (now.done - samples[0].done) / past;
    if (past >= 5) find("rate").textContent = rate.toFixed(1) + " " + now.unit + " a second in the last " + duration(past) + estimate(now, rate);
    // It is the last that is sent, and stays.
    if (now.end) {
      source.close();
      // The report is a file now.
      document.body.classList.add("ended");
      find("rate").textContent = now.end;
    }
    for (const point of now.series) if (!points.length || point.at > points.at(-1).at) points.push(point);
    if (points.length > 1200) points = points.filter((_, place) => place % 2 === 0);
    draw(now.unit);
    fill("judged", now.judged, row);
    fill("slow", now.slow ?? [], text => made("li", "", text));
    fill("alarms", now.alarms ?? [], alarm);
  };

  const source = new EventSource("events");
  source.onopen = () => {
    // It is sent all that there is; and what is started again counts from 0.
    points = [];
    samples = [];
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
