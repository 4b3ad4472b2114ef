// The index of runs: search, filters, order and views, all of them in the address; on a server, live.
(() => {
  "use strict";
  const AT_ONCE = 100, EVERY_MS = 1000, WIDTH = 300, HEIGHT = 72;
  const CALM = 0.1, LEAST_SHARE = 0.05; // an axis reaches at least so far from the median, or up to such a share
  const SETUPS = 8; // that are said, the newest
  const LACKING = "no number"; // of a run in which a gate failed for that
  const STANDS = { failed: "regressed", unaccepted: "to be looked at", invalid: "not valid" }; // by the newest session
  const $ = (id) => document.getElementById(id);
  const live = $("underway") !== null;
  let content = JSON.parse($("content").textContent);
  let said = content.version ?? null; // of what is shown, as the server names it
  let columns, words, texts, order = [], shown = AT_ONCE;
  let open = new Set();

  // ---- numbers and words, as the reports write them

  const NOTHING = "–";
  const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 20 });
  const measured = (value) => {
    if (value === null) return NOTHING;
    if (value === 0) return "0";
    const digits = 2 - Math.floor(Math.log10(Math.abs(value)));
    return grouped.format(digits > 0 ? Number(value.toFixed(digits)) : Math.round(value * 10 ** digits) / 10 ** digits);
  };
  const percent = (share) => {
    if (share === null) return NOTHING;
    const value = share * 100;
    if (value > 0 && value < 0.1) return "under 0.1 %";
    if ((value > 0 && value < 1) || (value > 99 && value < 100)) return `${Math.min(value, 99.9).toFixed(1)} %`;
    return `${value.toFixed(0)} %`;
  };
  const span = (seconds) => {
    if (seconds === null) return NOTHING;
    const total = Math.round(seconds);
    const parts = [[Math.floor(total / 86400), "d"], [Math.floor(total / 3600) % 24, "h"], [Math.floor(total / 60) % 60, "min"], [total % 60, "s"]];
    return parts.filter(([value]) => value).slice(0, 2).map(([value, unit]) => `${value} ${unit}`).join(" ") || "0 s";
  };
  const titled = (name) => (name[0].toUpperCase() + name.slice(1)).replace(/_(s|ms)$/, ", $1").replace("_per_s", "/s").replaceAll("_", " ").replace(".", ", ");
  const moment = (epoch) => new Date(epoch * 1000).toISOString().slice(0, 16).replace("T", " ");
  const some = (count, thing) => `${grouped.format(count)} ${thing}${count === 1 ? "" : "s"}`;
  const inUnit = (value, unit) => unit === "share" ? percent(value) : unit === "ms" ? (value === null ? NOTHING : `${measured(value)} ms`) : measured(value);

  function make(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (className) made.className = className;
    return made;
  }
  function drawn(tag, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  // ---- the columns of the table

  const named = (name) => (row) => words[columns[name][row]];
  const amount = (name) => (row) => columns[name]?.[row] ?? null;
  const MEASURED = [
    ["write", "accepted_units_per_s.write", "WCU/s", measured, true],
    ["read", "accepted_units_per_s.read", "RCU/s", measured, true],
    ["throttled", "throttle_share", "Throttled", percent, true],
    ["p99", "p99_ms", "p99 ms", measured, true],
  ];
  const TABLE = [
    { id: "started", title: "Started (UTC)", of: amount("started"), down: true },
    { id: "run", title: "Scenario", of: named("scenario") },
    { id: "on", title: "Target", of: named("target"), minor: true },
    { id: "found", title: "Verdict", of: named("verdict") },
    { id: "sure", title: "Confidence", of: amount("sure"), say: percent, number: true, minor: true, down: true },
    ...MEASURED.map(([id, field, title, say, minor]) => ({ id, field, title, of: amount(field), say, number: true, minor, down: true })),
    { id: "lasted", title: "Lasted", of: amount("duration"), say: span, number: true, minor: true, down: true },
    { id: "report", title: "Report", of: (row) => columns.link[row] === null ? null : 0 },
  ];
  const there = () => TABLE.filter((one) => !one.field || columns[one.field]);

  // ---- what is asked for, as the address says it

  const asked = { q: "", verdict: "", scenario: "", target: "", order: "-started", view: "runs", run: "" };
  const UNSAID = { ...asked };

  function readAddress() {
    const said = new URLSearchParams(location.hash.slice(1));
    for (const name of Object.keys(asked)) asked[name] = said.get(name) ?? UNSAID[name];
    if (!TABLE.some((one) => one.id === asked.order.replace("-", ""))) asked.order = UNSAID.order;
    if (asked.view !== "trends") asked.view = "runs";
    if (asked.run) open.add(asked.run);
  }
  function address(more) {
    const wanted = { ...asked, ...more };
    const said = Object.entries(wanted).filter(([name, value]) => value !== UNSAID[name]);
    return `#${new URLSearchParams(said)}`;
  }
  function writeAddress() {
    history.replaceState(null, "", address());
    $("to-runs").href = address({ view: "runs" });
    $("to-trends").href = address({ view: "trends" });
  }

  // ---- search, filters and order

  function take(fresh) {
    content = fresh;
    ({ columns, words } = content);
    for (const trend of content.trends) {
      for (const series of trend.series) {
        series.title ??= titled(series.measure);
        series.values = trend.rows.map((number) => columns[series.measure][number]);
      }
    }
    const searched = ["scenario", "verdict", "limited", "labels", "table", "target", "question", "suite", "session", "machine", "status"].map(named);
    texts = columns.key.map((key, row) =>
      [moment(columns.started[row]), columns.folder[row], columns.worse[row] ? "worse" : "", columns.baseline[row] ? "baseline" : "", ...searched.map((of) => of(row))]
        .join("\n").toLowerCase());
    for (const name of ["verdict", "scenario", "target"]) fill($(name), name);
    const problems = content.problems;
    $("problems").hidden = !problems.length;
    $("problem-count").textContent = some(problems.length, "place");
    $("problem-list").replaceChildren(...problems.map(([place, why]) => {
      const line = make("li");
      line.append(make("code", place), ` ${why}`);
      return line;
    }));
    $("sentence").textContent = content.sentence;
    $("empty").hidden = columns.key.length > 0 || problems.length > 0 || (live && !$("underway").hidden);
    $("there").hidden = !columns.key.length;
  }

  function fill(select, name) {
    const counts = new Map();
    for (const word of columns[name]) counts.set(word, (counts.get(word) ?? 0) + 1);
    const options = [...counts].map(([word, count]) => [words[word], count]).sort(([a], [b]) => a.localeCompare(b));
    if (asked[name] && !options.some(([text]) => text === asked[name])) options.push([asked[name], 0]);
    const wanted = [new Option("all", ""), ...options.map(([text, count]) => new Option(`${text} (${count})`, text))];
    if ([...select.options].map((one) => one.text).join("\n") !== wanted.map((one) => one.text).join("\n")) select.replaceChildren(...wanted);
    select.value = asked[name];
  }

  function choose() {
    const parts = asked.q.toLowerCase().split(/\s+/).filter(Boolean);
    const filters = ["verdict", "scenario", "target"].filter((name) => asked[name]).map((name) => [columns[name], words.indexOf(asked[name])]);
    order = [];
    for (let row = 0; row < texts.length; row++) {
      if (filters.every(([column, word]) => column[row] === word) && parts.every((part) => texts[row].includes(part))) order.push(row);
    }
    const down = asked.order.startsWith("-") ? -1 : 1;
    const { of } = TABLE.find((one) => one.id === asked.order.replace("-", ""));
    const values = new Map(order.map((row) => [row, of(row)]));
    order.sort((a, b) => {
      const one = values.get(a), other = values.get(b);
      if (one === other) return columns.started[b] - columns.started[a] || a - b;
      if (one === null || other === null) return one === null ? 1 : -1; // what is not known comes last
      return down * (typeof one === "string" ? one.localeCompare(other) : one - other);
    });
  }

  // ---- the table

  function head() {
    $("head").replaceChildren(...there().map((one) => {
      const cell = make("th", null, `${one.number ? "n " : ""}${one.minor ? "minor" : ""}`.trim());
      const button = make("button", one.title);
      cell.scope = "col";
      button.type = "button";
      button.dataset.order = one.id;
      const now = asked.order.replace("-", "") === one.id;
      cell.setAttribute("aria-sort", !now ? "none" : asked.order.startsWith("-") ? "descending" : "ascending");
      cell.append(button);
      return cell;
    }));
  }

  function row(number) {
    const line = make("tr");
    line.id = columns.key[number];
    for (const one of there()) line.append(cell(one, number));
    return line;
  }

  function cell(one, number) {
    const made = make("td", null, `${one.number ? "n " : ""}${one.minor ? "minor" : ""}`.trim());
    if (one.id === "started") {
      made.textContent = moment(columns.started[number]);
      made.className = "when";
    } else if (one.id === "run") {
      const button = make("button", one.of(number), "open");
      button.type = "button";
      button.setAttribute("aria-expanded", String(open.has(columns.key[number])));
      made.append(button);
      if (words[columns.suite[number]]) made.append(make("span", suiteOf(number), "under"));
    } else if (one.id === "found") {
      made.append(make("span", one.of(number), `tone ${words[columns.tone[number]]}`));
      if (words[columns.limited[number]]) made.append(make("span", words[columns.limited[number]], "under"));
      if (columns.worse[number]) made.append(make("span", "gate failed", "under flag"));
    } else if (one.id === "report") {
      made.append(report(number));
    } else {
      const value = one.of(number);
      made.textContent = one.say ? one.say(value) : value;
    }
    return made;
  }

  const suiteOf = (number) => `${words[columns.suite[number]]}${columns.baseline[number] ? " · baseline" : ""}`;

  function report(number) {
    if (columns.link[number] === null) return make("span", columns.tone[number] !== undefined && words[columns.tone[number]] === "idle" ? NOTHING : "none yet", "count");
    const link = make("a", "Open");
    link.href = columns.link[number];
    link.append(make("span", ` the report of ${named("scenario")(number)}, ${moment(columns.started[number])}`, "hidden"));
    return link;
  }

  function about(number) {
    const line = make("tr", null, "about"), wide = make("td"), list = make("dl", null, "facts");
    wide.colSpan = there().length;
    const add = (name, value, beside) => {
      if (value === null || value === undefined || value === "") return;
      const said = make("dd", value);
      if (beside) said.append(" ", make("small", beside));
      list.append(make("dt", name), said);
    };
    const word = (name) => named(name)(number);
    add("Question", word("question"));
    add("Directory", columns.folder[number]);
    add("Table", word("table"));
    add("Limited", word("labels"));
    add("Broken thresholds", word("broken"));
    add("Suite", words[columns.suite[number]] ? `${suiteOf(number)}, session ${word("session")}` : "");
    add("Status", word("status"));
    add("Attempts", columns.attempts[number] === null ? "" : `${grouped.format(columns.attempts[number])}, ${grouped.format(columns.throttled[number] ?? 0)} throttled`);
    for (const [name, says] of Object.entries(content.says)) {
      if (columns[name] && columns[name][number] !== null) {
        const unit = name === "throttle_share" ? "share" : "";
        add(titled(name), inUnit(columns[name][number], unit), says);
      }
    }
    add("Machine", word("machine"));
    add("Seed", columns.seed[number] === null ? "" : String(columns.seed[number]));
    if (columns.link[number] === null && columns.folder[number] && word("tone") !== "idle") add("Report", `keyheat report ${columns.folder[number]}`, "writes it");
    if (word("tone") === "idle" && columns.folder[number]) add("To do", `keyheat analyze ${columns.folder[number]}`, "says what can be said of it");
    if (live && columns.link[number] !== null) {
      const files = make("a", "files and exports");
      files.href = columns.link[number].replace(/report$/, "files");
      const said = make("dd");
      said.append(files);
      list.append(make("dt", "Download"), said);
    }
    wide.append(list);
    line.append(wide);
    return line;
  }

  function list() {
    const focused = document.activeElement?.closest("#rows tr")?.id;
    const lines = document.createDocumentFragment();
    for (const number of order.slice(0, shown)) {
      lines.append(row(number));
      if (open.has(columns.key[number])) lines.append(about(number));
    }
    $("rows").replaceChildren(lines);
    if (focused) document.getElementById(focused)?.querySelector(".open")?.focus({ preventScroll: true });
    const rest = order.length - shown;
    $("more").hidden = rest <= 0;
    $("more").textContent = `Show ${Math.min(rest, AT_ONCE)} more of ${grouped.format(rest)}`;
  }

  function showMore() {
    const lines = document.createDocumentFragment();
    for (const number of order.slice(shown, shown + AT_ONCE)) {
      lines.append(row(number));
      if (open.has(columns.key[number])) lines.append(about(number));
    }
    shown += AT_ONCE;
    $("rows").append(lines);
    const rest = order.length - shown;
    $("more").hidden = rest <= 0;
    $("more").textContent = `Show ${Math.min(rest, AT_ONCE)} more of ${grouped.format(rest)}`;
  }

  // ---- trends

  function pictures() {
    const chosen = new Set(order);
    const trends = content.trends.filter((trend) => trend.rows.some((number) => chosen.has(number)));
    $("pictures").replaceChildren(...trends.map(picture));
    return trends.length;
  }

  function picture(trend) {
    const box = make("article", null, "picture"), title = make("h3"), link = make("a", trend.name);
    link.href = address(itsRuns(trend));
    const of = [trend.suite ? `of ${trend.suite}, ${trend.target}` : trend.target, trend.says, some(trend.rows.length, "run"), trend.left_out ? `${grouped.format(trend.left_out)} older ones left out` : ""];
    title.append(link, make("small", ` ${of.filter(Boolean).join(", ")}`));
    const flag = STANDS[trend.stands] ?? (trend.worse ? "became worse" : null);
    if (flag) title.append(" ", make("small", flag, trend.worse ? "flag" : "flag doubt"));
    box.append(title);
    const strip = sessions(trend);
    if (strip) box.append(strip, fromTo(trend));
    const sparks = make("div", null, "sparks");
    sparks.append(...trend.series.map((series) => spark(trend, series)));
    box.append(sparks);
    if (trend.setups.length) box.append(setups(trend));
    return box;
  }

  const itsRuns = (trend) => ({ view: "runs", scenario: trend.scenario, target: trend.target, q: trend.suite ? `${trend.suite}, ${trend.name}` : "", verdict: "" });

  // A cell for each session: what came of it for this case, and whether the setup had changed.
  function sessions(trend) {
    if (trend.sessions.length < 2) return null;
    const nameOf = (number) => words[columns.session[number]];
    const changed = new Map(trend.setups.map(([place, says]) => [nameOf(trend.rows[place]), says]));
    const strip = make("div", null, "strip");
    strip.setAttribute("role", "img");
    strip.setAttribute("aria-label", sessionsInWords(trend));
    strip.append(...trend.sessions.map(([number, mark]) => {
      const session = nameOf(number), says = changed.get(session) ?? [];
      const cell = make("i", null, `${mark}${says.length ? " changed" : ""}`);
      cell.title = [`${moment(columns.started[number])}, session ${session}`, content.marks[mark], ...says].join("\n");
      return cell;
    }));
    return strip;
  }

  // Of each mark how many there are; of those that are not as they should be, which.
  function sessionsInWords(trend) {
    const said = Object.entries(content.marks).map(([mark, says]) => {
      const those = trend.sessions.filter(([, one]) => one === mark).map(([number]) => moment(columns.started[number]));
      if (!those.length) return null;
      return mark === "held" || mark === "first" ? `${says} in ${those.length}` : `${says} in that of ${those.join(", ")}`;
    });
    return [some(trend.sessions.length, "session"), ...said.filter(Boolean)].join("; ");
  }

  function fromTo(trend) {
    const ends = make("div", null, "ends"), [first] = trend.sessions[0], [last] = trend.sessions[trend.sessions.length - 1];
    ends.append(...[first, last].map((number) => make("span", moment(columns.started[number]))));
    return ends;
  }

  function setups(trend) {
    const list = make("ul", null, "setups"), left = trend.setups.length - SETUPS;
    for (const [place, says] of trend.setups.slice(-SETUPS)) {
      const line = make("li");
      line.append(make("b", moment(columns.started[trend.rows[place]])), ` ${says.join("; ")}`);
      list.append(line);
    }
    if (left > 0) list.prepend(make("li", `${some(left, "earlier change")} of the setup`));
    return list;
  }

  // What is nearly the same looks so: one percent more or less is no cliff.
  function axis(values, unit) {
    let low = Math.min(...values), high = Math.max(...values);
    if (unit === "share") return [Math.min(0, low), Math.max(high, LEAST_SHARE)];
    const middle = [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
    low = Math.min(low, middle - CALM * Math.abs(middle));
    high = Math.max(high, middle + CALM * Math.abs(middle));
    if (low < high / 2) low = Math.min(0, low);
    return high > low ? [low, high] : [0, 1];
  }

  function spark(trend, series) {
    const known = series.values.filter((value) => value !== null);
    const levels = series.baseline === null ? known : [...known, series.baseline];
    const [low, high] = axis(levels, series.unit);
    const x = (at) => series.values.length === 1 ? WIDTH / 2 : (at / (series.values.length - 1)) * WIDTH;
    const y = (value) => HEIGHT - ((value - low) / (high - low)) * (HEIGHT - 8) - 4;
    const lacking = new Set(series.worse.filter((place) => series.values[place] === null));
    const edge = series.better === "higher" ? HEIGHT - 4 : 4; // worse than any number
    const at = (place) => `${x(place).toFixed(1)} ${(lacking.has(place) ? edge : y(series.values[place])).toFixed(1)}`;
    const places = [...series.values.keys()].filter((place) => series.values[place] !== null);
    const art = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": inWords(trend, series) });
    art.append(drawn("path", { class: "way", d: places.map((place, first) => `${first ? "L" : "M"}${at(place)}`).join("") }));
    art.append(drawn("path", { class: "dots", d: places.map((place) => `M${at(place)}h0`).join("") }));
    const between = (place) => place ? (x(place - 1) + x(place)) / 2 : 0;
    for (const [place] of trend.setups) art.append(drawn("path", { class: "setup", d: `M${between(place).toFixed(1)} 0V${HEIGHT}` }));
    if (series.baseline !== null) art.append(drawn("path", { class: "base", d: `M0 ${y(series.baseline).toFixed(1)}H${WIDTH}` }));
    for (const [place, , , worse] of series.changes) {
      art.append(drawn("path", { class: worse ? "worse" : "other", d: `M${between(place).toFixed(1)} 0V${HEIGHT}` }));
    }
    if (series.worse.length) art.append(drawn("path", { class: "bad", d: series.worse.map((place) => `M${at(place)}h0`).join("") }));
    const figure = make("figure"), caption = make("figcaption"), box = make("div", null, "box"), ends = make("div", null, "ends");
    const last = lacking.has(series.values.length - 1) ? LACKING : inUnit(known[known.length - 1], series.unit);
    caption.append(make("span", series.title), make("b", last));
    caption.title = series.says;
    box.append(art);
    const [least, most] = [Math.min(...known), Math.max(...known)].map((value) => inUnit(value, series.unit));
    const reach = least === most ? `${lacking.size ? "" : "always "}${least}` : `${least} to ${most}`;
    ends.append(make("span", lacking.size ? `${reach}, or ${LACKING} (${some(lacking.size, "run")})` : reach));
    if (series.baseline !== null) ends.append(make("span", `baseline ${inUnit(series.baseline, series.unit)}`));
    const note = make("p", changeOf(trend, series), "said");
    figure.append(caption, box, ends, note);
    point(art, trend, series, [...places, ...lacking].sort((a, b) => a - b), { x, at }, note);
    return figure;
  }

  function changeOf(trend, series) {
    const last = series.changes[series.changes.length - 1];
    if (!last) return "";
    const [place, before, after, worse, lasts] = last;
    const by = before ? ` (${after > before ? "+" : "−"}${percent(Math.abs(after / before - 1))})` : "";
    const when = moment(columns.started[trend.rows[place]]);
    const now = lasts ? "" : `; ${inUnit(series.now, series.unit)} by now`;
    return `${worse ? "Worse" : "Changed"} ${lasts ? "since" : "from"} ${when}: ${inUnit(before, series.unit)} → ${inUnit(after, series.unit)}${by}${now}`;
  }

  function inWords(trend, series) {
    const known = series.values.filter((value) => value !== null);
    const held = series.baseline === null ? "" : `, baseline ${inUnit(series.baseline, series.unit)}`;
    const lacking = series.worse.filter((place) => series.values[place] === null).length;
    const failed = series.worse.length ? ` A gate failed in ${some(series.worse.length, "run")}${lacking ? `, of which ${grouped.format(lacking)} had ${LACKING}` : ""}.` : "";
    return `${series.title} of ${trend.name} over ${some(known.length, "run")}: from ${inUnit(Math.min(...known), series.unit)} to ${inUnit(Math.max(...known), series.unit)}, last ${inUnit(known[known.length - 1], series.unit)}${held}. ${changeOf(trend, series)}${failed}`.trim();
  }

  function point(art, trend, series, places, draw, note) {
    let mark = null, near = null;
    const quiet = note.textContent;
    art.addEventListener("pointermove", (event) => {
      const frame = art.getBoundingClientRect(), wanted = ((event.clientX - frame.left) / frame.width) * WIDTH;
      near = places.reduce((best, place) => Math.abs(draw.x(place) - wanted) < Math.abs(draw.x(best) - wanted) ? place : best);
      mark ??= art.appendChild(drawn("path", { class: "here" }));
      mark.setAttribute("d", `M${draw.at(near)}h0`);
      const value = series.values[near];
      note.textContent = `${moment(columns.started[trend.rows[near]])}: ${value === null ? LACKING : inUnit(value, series.unit)}`;
      art.style.cursor = "pointer";
    });
    art.addEventListener("pointerleave", () => { mark?.remove(); mark = near = null; note.textContent = quiet; });
    art.addEventListener("click", () => {
      if (near !== null) location.hash = address({ ...itsRuns(trend), run: columns.key[trend.rows[near]] });
    });
  }

  // ---- all of it

  function show() {
    choose();
    const runs = asked.view === "runs";
    $("runs-view").hidden = !runs;
    $("trends-view").hidden = runs;
    for (const name of ["runs", "trends"]) {
      if (asked.view === name) $(`to-${name}`).setAttribute("aria-current", "page");
      else $(`to-${name}`).removeAttribute("aria-current");
    }
    head();
    let drawnOnes = 0;
    if (runs) list(); else drawnOnes = pictures();
    const all = columns.key.length;
    const newest = all ? `, the newest of ${moment(Math.max(...columns.started))} UTC` : "";
    const which = order.length === all ? `${some(all, "run")}${runs ? newest : ""}` : `${grouped.format(order.length)} of ${some(all, "run")}`;
    const words = runs ? which : `${some(drawnOnes, "trend")} of ${which}`;
    if ($("count").textContent !== words) $("count").textContent = words;
  }

  function goTo(key) {
    const place = order.findIndex((number) => columns.key[number] === key);
    if (place < 0) return;
    while (shown <= place) showMore();
    document.getElementById(key)?.scrollIntoView({ block: "center" });
  }

  function follow() {
    readAddress();
    $("q").value = asked.q;
    for (const name of ["verdict", "scenario", "target"]) fill($(name), name);
    shown = AT_ONCE;
    writeAddress();
    show();
    if (asked.run && asked.view === "runs") goTo(asked.run);
  }

  function ask(more) {
    Object.assign(asked, more);
    shown = AT_ONCE;
    writeAddress();
    show();
  }

  $("tools").addEventListener("submit", (event) => event.preventDefault());
  $("tools").addEventListener("input", (event) => ask({ [event.target.name]: event.target.value }));
  $("tools").addEventListener("reset", () => setTimeout(() => ask({ q: "", verdict: "", scenario: "", target: "" })));
  $("head").addEventListener("click", (event) => {
    const id = event.target.dataset?.order;
    if (!id) return;
    const [now, first] = [asked.order, TABLE.find((one) => one.id === id).down ? `-${id}` : id];
    ask({ order: now === first ? (first === id ? `-${id}` : id) : first });
    document.querySelector(`#head [data-order="${id}"]`).focus();
  });
  $("rows").addEventListener("click", (event) => {
    const button = event.target.closest(".open");
    if (!button) return;
    const line = button.closest("tr"), key = line.id, now = !open.has(key);
    if (now) line.after(about(columns.key.indexOf(key))); else line.nextElementSibling.remove();
    open[now ? "add" : "delete"](key);
    button.setAttribute("aria-expanded", String(now));
    asked.run = now ? key : "";
    writeAddress();
  });
  $("more").addEventListener("click", showMore);
  new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting) && !$("more").hidden) showMore(); }, { rootMargin: "400px" }).observe($("more"));
  addEventListener("hashchange", follow);
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); $("q").focus(); }
    if (event.key === "Escape" && event.target === $("q")) { $("q").value = ""; ask({ q: "" }); }
  });
  addEventListener("beforeprint", () => { while (shown < order.length) showMore(); pictures(); });

  take(content);
  follow();
  performance.mark("usable");
  if (live) watch();

  // ---- on a server: what is under way, and what is new

  function watch() {
    let heard = Date.now();
    const tag = {};
    const get = async (name) => {
      const answer = await fetch(name, { headers: tag[name] ? { "If-None-Match": tag[name] } : {}, cache: "no-store", signal: AbortSignal.timeout(15000) });
      if (answer.status === 304) return null;
      if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
      tag[name] = answer.headers.get("ETag");
      return answer.json();
    };
    const look = async () => {
      try {
        const now = await get("now.json");
        if (now) {
          moving(now.underway);
          if (now.version !== said) {
            const fresh = await get("runs.json");
            if (fresh) { said = fresh.version; take(fresh); writeAddress(); show(); }
          }
        }
        heard = Date.now();
        $("gone").hidden = true;
      } catch (problem) {
        if (!["TypeError", "TimeoutError", "AbortError"].includes(problem.name) && !String(problem.message).startsWith("HTTP")) throw problem;
        $("since").textContent = `${new Date(heard).toISOString().slice(11, 19)} UTC`;
        $("gone").hidden = false;
      } finally {
        setTimeout(look, EVERY_MS);
      }
    };
    look();
  }

  function moving(runs) {
    $("underway").hidden = !runs.length;
    $("empty").hidden = runs.length > 0 || columns.key.length > 0 || content.problems.length > 0;
    const there = new Map([...$("moving").children].map((item) => [item.dataset.key, item]));
    $("moving").replaceChildren(...runs.map((run) => movingRun(run, there.get(run.key) ?? fresh(run))));
    document.title = runs.length ? `${runs.length} under way · Keyheat` : "All runs · Keyheat";
  }

  function fresh(run) {
    const item = make("li");
    item.dataset.key = run.key;
    const bar = make("progress");
    bar.setAttribute("aria-label", `How far ${run.scenario} is`);
    item.append(make("h3"), make("p", run.question), bar, make("p"), drawn("svg", { viewBox: "0 0 60 40", preserveAspectRatio: "none", role: "img" }), make("p", run.folder));
    return item;
  }

  function movingRun(run, item) {
    const [title, , bar, numbers, art] = item.children;
    const of = run.duration_s === null ? "" : ` of ${span(run.duration_s)}`;
    title.replaceChildren(run.scenario, make("small", ` ${run.target}, ${run.doing}, ${span(run.elapsed_s)}${of}`));
    bar.max = run.duration_s ?? 1;
    if (run.duration_s === null) bar.removeAttribute("value");
    else bar.value = Math.min(run.duration_s, run.elapsed_s);
    const [accepted, throttled, errors] = run.seconds[run.seconds.length - 1] ?? [0, 0, 0];
    numbers.replaceChildren(make("b", grouped.format(accepted)), " accepted and ", make("b", grouped.format(throttled)), ` throttled a second; so far ${grouped.format(run.accepted)} and ${grouped.format(run.throttled)}${run.errors ? `, ${some(run.errors, "error")}` : ""}${errors ? " (now, too)" : ""}`);
    const most = Math.max(1, ...run.seconds.map(([one, other]) => one + other));
    const bars = (from, height, left) => `M${left} ${40 - from * 40 / most}h.8v${-height * 40 / most}h-.8z`;
    const first = 60 - run.seconds.length;
    art.replaceChildren(
      drawn("path", { class: "accepted", d: run.seconds.map(([one], place) => bars(0, one, first + place)).join("") }),
      drawn("path", { class: "throttled", d: run.seconds.map(([one, other], place) => bars(one, other, first + place)).join("") }));
    art.setAttribute("aria-label", `Requests of each of the last ${run.seconds.length} seconds: ${accepted} accepted and ${throttled} throttled in the last one`);
    return item;
  }
})();
