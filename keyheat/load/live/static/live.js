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
let latest = null, cameAt = 0;

function make(tag, text, className) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function rows(id, lines) {
  const body = $(id).tBodies[0] ?? $(id).createTBody();
  body.replaceChildren(...lines.map(cells => {
    const row = document.createElement("tr");
    row.append(...cells);
    return row;
  }));
}

const text = value => make("td", value);
const amount = value => make("td", value, "n");
const placeOf = one => `${one.index === null ? "table" : `index ${one.index}`}, ${one.direction}s`;

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
  $("name").textContent = run.scenario;
  $("question").textContent = run.question;
  const mode = run.billing_mode === "PROVISIONED" ? "provisioned" : "on-demand";
  const scale = run.scale === 1 ? "" : ` · every limit × ${run.scale}`;
  $("where").textContent = `judged table ${run.table} · ${mode} · ${run.target}${scale}`;
  const of = run.duration_s ? ` of ${span(run.duration_s)}` : "";
  const stats = [
    ["Accepted", number(now.now.accepted), "/s"], ["Throttled", number(now.now.throttled), "/s"],
    ["Throttles so far", number(now.throttles.total), ""],
    ["Errors so far", number(now.errors.total), kinds(now.errors.by_kind)], ["Elapsed", span(elapsed), of],
  ];
  $("stats").replaceChildren(...stats.map(([name, value, beside]) => {
    const box = document.createElement("div"), shown = make("dd", value);
    shown.append(make("span", beside));
    box.append(make("dt", name), shown);
    return box;
  }));
}

const kinds = by => Object.keys(by).length ? ` ${Object.keys(by).join(", ")}` : "";

function showThrottles(now, shown) {
  const names = Object.keys(NAMES).filter(name => now.throttles.by_constraint[name]);
  const lists = names.map(name => ({ name, values: now.throttles.by_constraint[name].slice(-shown) }));
  $("legend").replaceChildren(...names.map(name => {
    const entry = make("span", "");
    entry.append(make("i", "", `fill-${name}`), NAMES[name]);
    return entry;
  }));
  const words = Object.fromEntries(names.map(name => [name, NAMES[name].toLowerCase()]));
  stacked($("throttles"), lists, shown, now.end_s, words);
  $("reasons").hidden = !now.throttles.rows.length;
  rows("reasons", now.throttles.rows.map(one => [
    text(NAMES[one.constraint]), text(placeOf(one)), text(one.reason ?? "(none given)"),
    amount(number(one.per_s)), amount(number(one.total)),
  ]));
}

function showCapacity(now, shown) {
  const first = Math.max(0, Math.ceil(shown - now.run.elapsed_s));
  const wanted = now.capacity.map(one => placeOf(one));
  const grid = $("capacity");
  if ([...grid.children].map(box => box.dataset.of).join("\n") !== wanted.join("\n")) {
    grid.replaceChildren(...wanted.map(of => {
      const box = document.createElement("div"), chart = make("figure", "", "chart");
      box.dataset.of = of;
      chart.setAttribute("aria-label", `Units consumed each second: ${of}`);
      box.append(make("h3", of[0].toUpperCase() + of.slice(1)), make("p", ""), chart);
      return box;
    }));
  }
  now.capacity.forEach((one, place) => {
    const box = grid.children[place], values = one.consumed.slice(-shown);
    const mean = values.slice(-5).reduce((sum, value) => sum + value, 0) / Math.min(5, values.length);
    const held = one.limit === null ? "" : `, ${number(100 * mean / one.limit)} % of ${number(one.limit)} ${one.limit_is}`;
    box.querySelector("p").textContent = `${number(mean)} ${one.unit}/s${held}`;
    consumed(box.querySelector("figure"), values, one.limit, shown, first, now.end_s, one.unit, one.limit_is);
  });
}

function keyCell(key, share, fill) {
  const cell = make("td", key, "key"), bar = make("span", "", `bar fill-${fill}`);
  cell.title = key;
  bar.style.width = `${100 * share}%`;
  cell.append(bar);
  return cell;
}

function showKeys(keys) {
  const most = (list, field) => Math.max(1, ...list.map(one => one[field]));
  const units = most(keys.by_units, "consumed_units"), throttles = most(keys.by_throttles, "throttles");
  rows("by_units", keys.by_units.map(one => [
    keyCell(one.key, one.consumed_units / units, "accent"), amount(`${number(one.consumed_units)} ${one.unit}`),
    amount(`${number(one.asked_units)} ${one.unit}`), amount(`${number(100 * one.share)} %`),
  ]));
  rows("by_throttles", keys.by_throttles.map(one => [
    keyCell(one.key, one.throttles / throttles, "throttled"), amount(number(one.throttles)),
    amount(`${number(one.consumed_units)} ${one.unit}`),
  ]));
}

function showGenerator(generator) {
  $("missing").replaceChildren(...generator.missing.map(line => make("li", line)));
  const lines = generator.checks.length ? generator.checks : [
    `event loop ${number(generator.lag_p99_ms)} ms late (p99)`,
    `requests ${number(generator.late_p99_ms)} ms late (p99)`,
  ];
  const { missed, late, dropped } = generator;
  const counted = [[missed, "starts missed"], [late, "arrivals late"], [dropped, "arrivals dropped"]];
  const said = counted.filter(([many]) => many).map(([many, what]) => `${number(many)} ${what}`);
  $("checks").replaceChildren(...[...lines, ...said].map(line => make("li", line)));
  rows("processes", generator.processes.map(one => {
    const lost = one.state === "missing";
    const heard = one.silent_s === null ? "" : one.silent_s < 2 ? "now" : `${number(Math.round(one.silent_s))} s ago`;
    return [
      text(one.name), make("td", lost ? "lost" : one.state, lost ? "lost" : ""), amount(number(one.users)),
      amount(lost ? "" : `${number(one.cpu_percent)} %`), amount(lost ? "" : `${number(one.memory_bytes / 1e6)} MB`),
      amount(heard),
    ];
  }));
}

function showBeside(tables) {
  $("beside").hidden = !tables.length;
  rows("tables", tables.map(one => [
    text(one.table), ...["accepted", "throttled", "error", "write_units", "read_units"].map(name => amount(number(one[name]))),
  ]));
}

function show(now) {
  showHero(now);
  $("report").hidden = !now.report;
  $("running").hidden = now.state === "none";
  if (now.state === "none") return;
  const shown = Math.min(now.seconds, Math.max(60, 60 * Math.ceil(now.run.elapsed_s / 60)));
  showThrottles(now, shown);
  showCapacity(now, shown);
  showKeys(now.keys);
  showGenerator(now.generator);
  showBeside(now.beside);
}

async function ask() {
  try {
    const answer = await fetch("keyheat/now", { signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    latest = await answer.json();
    cameAt = Date.now();
    show(latest);
    $("stale").hidden = true;
  } catch (problem) {
    if (!["TypeError", "TimeoutError"].includes(problem.name) && !String(problem.message).startsWith("HTTP")) throw problem;
    $("since").textContent = cameAt ? new Date(cameAt).toISOString().slice(11, 19) + " UTC" : "never";
    $("stale").hidden = false;
  } finally {
    setTimeout(ask, EVERY_MS);
  }
}

addEventListener("resize", () => { if (latest) show(latest); });
ask();
