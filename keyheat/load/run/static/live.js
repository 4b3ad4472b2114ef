"use strict";
// Asks for the numbers once a second and shows them. Everything that comes from the run is put in as text.

const EVERY_MS = 1000;
const NAMES = {
  partition: "Partition limit", table: "Provisioned throughput", max_on_demand: "On-demand maximum",
  account: "Account quota", undetermined: "Not named",
};
const STATES = { none: "Waiting", loading: "Loading", ended: "Ended" };
const TONES = { ...NAMES, good: "No throttling", invalid: "Generator limit", idle: "Idle" };
const $ = id => document.getElementById(id);
let cameAt = 0;

function number(value) {
  const digits = value !== 0 && Math.abs(value) < 10 && !Number.isInteger(value) ? 1 : 0;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function make(tag, text, className) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

function rows(id, lines) {
  $(id).tBodies[0].replaceChildren(...lines.map(cells => {
    const row = document.createElement("tr");
    row.append(...cells);
    return row;
  }));
}

const text = (value, className) => make("td", value, className);
const amount = value => make("td", value, "n");
const resourceOf = row => `${row.index === null ? "table" : `index ${row.index}`}, ${row.direction}s`;

function span(seconds) {
  const whole = Math.round(seconds), minutes = Math.floor(whole / 60);
  return [minutes && `${minutes} min`, (whole % 60 || !minutes) && `${whole % 60} s`].filter(Boolean).join(" ");
}

function showHero(now) {
  const about = now.sentence.about;
  $("hero").className = `hero ${about}`;
  $("chip").textContent = now.state === "loading" ? TONES[about] : STATES[now.state];
  if ($("sentence").textContent !== now.sentence.text) $("sentence").textContent = now.sentence.text;
  document.title = now.state === "loading" ? `${number(now.throttles.per_s)}/s throttled · Keyheat` : "Keyheat: live";
  if (now.state === "none") return;
  const run = now.run, elapsed = Math.min(run.elapsed_s, run.duration_s ?? Infinity);
  $("name").textContent = run.name;
  $("question").textContent = run.question;
  const mode = run.billing_mode === "PROVISIONED" ? "provisioned" : "on-demand";
  const scale = run.scale === 1 ? "" : ` · every limit × ${run.scale}`;
  $("where").textContent = `judged table ${run.table} · ${mode} · ${run.target}${scale}`;
  const stats = [
    ["Throttled", number(now.throttles.per_s), "/s"],
    ["Throttles so far", number(now.throttles.total), ""],
    ["Elapsed", span(elapsed), run.duration_s ? ` of ${span(run.duration_s)}` : ""],
  ];
  $("stats").replaceChildren(...stats.map(([name, value, beside]) => {
    const box = document.createElement("div"), shown = make("dd", value);
    shown.append(make("span", beside));
    box.append(make("dt", name), shown);
    return box;
  }));
}

function limitCell(name) {
  const cell = make("td", ""), mark = make("i", "", `fill-${name}`);
  cell.append(mark, NAMES[name]);
  return cell;
}

function barCell(words, share, fill, className) {
  const cell = make("td", words, className), bar = make("span", "", `bar fill-${fill}`);
  cell.title = words;
  bar.style.width = `${100 * Math.min(1, share)}%`;
  cell.append(bar);
  return cell;
}

function showTable(now) {
  $("reasons").hidden = !now.throttles.rows.length;
  rows("reasons", now.throttles.rows.map(row => [
    limitCell(row.constraint), text(resourceOf(row)), text(row.reason ?? "(none given)"),
    amount(number(row.per_s)), amount(number(row.total)),
  ]));
  rows("capacity", now.capacity.map(row => [
    barCell(resourceOf(row), row.limit === null ? 0 : row.consumed_per_s / row.limit, "accent", "bars"),
    amount(`${number(row.consumed)} ${row.unit}`), amount(`${number(row.consumed_per_s)} ${row.unit}`),
    amount(row.limit === null ? "" : `${number(row.limit)} ${row.limit_is}`),
    amount(row.limit === null ? "" : `${number(100 * row.consumed_per_s / row.limit)} %`),
  ]));
}

function showKeys(keys) {
  const most = (list, field) => Math.max(1, ...list.map(row => row[field]));
  const units = most(keys.by_units, "consumed_units"), throttles = most(keys.by_throttles, "throttles");
  rows("by_units", keys.by_units.map(row => [
    barCell(row.key, row.consumed_units / units, "accent", "key bars"), text(resourceOf(row)),
    amount(`${number(row.consumed_units)} ${row.unit}`), amount(`${number(100 * row.share)} %`),
  ]));
  rows("by_throttles", keys.by_throttles.map(row => [
    barCell(row.key, row.throttles / throttles, "throttled", "key bars"), text(resourceOf(row)),
    amount(number(row.throttles)), amount(`${number(row.consumed_units)} ${row.unit}`),
  ]));
}

function showGenerator(generator) {
  $("missing").replaceChildren(...generator.missing.map(line => make("li", line)));
  $("checks").replaceChildren(...generator.checks.map(line => make("li", line)));
  rows("processes", generator.processes.map(row => {
    const lost = row.state === "missing";
    return [
      text(row.name), text(lost ? "lost" : row.state, lost ? "lost" : ""), amount(number(row.users)),
      amount(lost ? "" : `${number(row.cpu_percent)} %`),
    ];
  }));
}

function show(now) {
  showHero(now);
  $("report").hidden = !now.report;
  $("running").hidden = now.state === "none";
  if (now.state === "none") return;
  showTable(now);
  showKeys(now.keys);
  showGenerator(now.generator);
}

async function ask() {
  try {
    const answer = await fetch("keyheat/now", { signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    show(await answer.json());
    cameAt = Date.now();
    $("stale").hidden = true;
  } catch (problem) {
    if (!["TypeError", "TimeoutError"].includes(problem.name) && !String(problem.message).startsWith("HTTP")) throw problem;
    $("since").textContent = cameAt ? new Date(cameAt).toISOString().slice(11, 19) + " UTC" : "never";
    $("stale").hidden = false;
  } finally {
    setTimeout(ask, EVERY_MS);
  }
}

ask();
