// The range of time that all charts show: chosen by dragging over one, by buttons or by keys, said in words.
(() => {
  "use strict";
  const place = document.getElementById("range");
  const { content, charts, counted, csv, clock, utc } = window.keyheat;
  const sheets = content.sheets ?? {};
  let range = null;

  document.querySelectorAll("button.save").forEach((button) => {
    const sheet = sheets[button.dataset.chart];
    if (!sheet) return;
    button.hidden = false;
    button.addEventListener("click", () => save(sheet));
  });

  function save(sheet) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv(sheet, range)], { type: "text/csv" }));
    link.download = `${sheet.name}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  if (!place || !charts.timed.length) return;
  const LEAST_S = 2;
  const whole = content.whole;
  const words = document.getElementById("range-words");
  const numbers = document.getElementById("range-numbers");
  const strip = place.querySelector(".strip i");
  const buttons = Object.fromEntries([...place.querySelectorAll("button")].map((one) => [one.dataset.do, one]));
  const many = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const few = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

  const amount = (value) => (value >= 1000 ? many : few).format(value);

  function span(seconds) {
    const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    let left = Math.round(seconds);
    const said = [];
    for (const [each, unit] of parts) {
      if (left >= each) said.push(`${Math.floor(left / each)} ${unit}`);
      left %= each;
    }
    return said.slice(0, 2).join(" ") || "0 s";
  }

  function choose(next) {
    if (next) {
      let [from, to] = next.map((second) => Math.round(second));
      const length = Math.min(Math.max(to - from, LEAST_S), whole[1] - whole[0]);
      from = Math.min(Math.max(from, whole[0]), whole[1] - length);
      next = length >= whole[1] - whole[0] ? null : [from, from + length];
    }
    range = next;
    charts.show(range);
    tell();
    noteSoon();
  }

  // The range is in the address, so that a link shows it: #t=14:35:52-14:36:04, behind a section as #keys&t=...
  const TIME = /^t=(?:(\d{4}-\d\d-\d\d)T)?(\d\d:\d\d:\d\d)-(?:(\d{4}-\d\d-\d\d)T)?(\d\d:\d\d:\d\d)$/;
  const DAY_S = 86400;

  function address() {
    const parts = location.hash.slice(1).replace(/%3a/gi, ":").split("&");
    return { section: parts.find((one) => one && !one.includes("=")) ?? "", times: parts.find((one) => TIME.test(one)) };
  }

  function asked(times) {
    const [, day, from, lastDay, to] = TIME.exec(times);
    const begin = at(day, from, Math.floor(whole[0]));
    const end = at(lastDay, to, begin);
    const seen = [Math.max(begin, whole[0]), Math.min(end, whole[1])];
    return seen[0] < seen[1] ? seen : null;
  }

  // A time without a day is the first one after a moment.
  function at(day, time, after) {
    const moment = (date) => Date.parse(`${date}T${time}Z`) / 1000;
    if (day) return moment(day);
    const first = moment(utc(after).slice(0, 10));
    return first < after ? first + DAY_S : first;
  }

  function note() {
    const times = range && `t=${range.map((second) => clock(second).replace(" ", "T")).join("-")}`;
    const hash = [address().section, times].filter(Boolean).join("&");
    history.replaceState(history.state, "", hash ? `#${hash}` : location.href.split("#")[0]);
  }

  // Browsers allow so many changes of the address in half a minute, and keys that are held down make more.
  let noting = 0;
  function noteSoon() {
    clearTimeout(noting);
    noting = setTimeout(note, 300);
  }

  function follow() {
    const { section, times } = address();
    const next = times ? asked(times) : null;
    if (next) choose(next);
    else if (range) noteSoon(); // a section was gone to: the range stays
    if (section && times) document.getElementById(section)?.scrollIntoView();
  }

  const move = {
    in: ([from, to]) => [from + (to - from) / 4, to - (to - from) / 4],
    out: ([from, to]) => [from - (to - from) / 2, to + (to - from) / 2],
    earlier: ([from, to]) => [from - (to - from) / 2, to - (to - from) / 2],
    later: ([from, to]) => [from + (to - from) / 2, to + (to - from) / 2],
    whole: () => null,
  };
  const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "earlier", ArrowRight: "later",
                 0: "whole", Home: "whole", Escape: "whole" };

  const act = (name) => choose(move[name](range ?? whole));

  function tell() {
    const [from, to] = range ?? whole;
    const length = whole[1] - whole[0];
    words.textContent = range
      ? `${clock(from)} to ${clock(to)} UTC: ${span(to - from)} of ${span(length)}`
      : `The whole run: ${clock(from)} to ${clock(to)} UTC, ${span(length)}`;
    strip.style.left = `${(100 * (from - whole[0])) / length}%`;
    strip.style.width = `${Math.max(0.5, (100 * (to - from)) / length)}%`;
    for (const name of ["out", "earlier", "later", "whole"]) disable(buttons[name], !range);
    disable(buttons.earlier, !range || from <= whole[0]);
    disable(buttons.later, !range || to >= whole[1]);
    disable(buttons.in, to - from <= LEAST_S);
    numbers.replaceChildren(...said(to - from).map(([name, value]) => {
      const pair = document.createElement("div");
      const [term, detail] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      detail.textContent = value;
      pair.append(term, detail);
      return pair;
    }));
  }

  // A button that is disabled while it has the focus would lose it, and with it the keys.
  const disable = (button, off) => button.setAttribute("aria-disabled", String(off));

  function said(length) {
    const found = [];
    const counts = content.numbers.counts;
    if (counts) {
      const sheet = sheets[counts.sheet];
      const of = (names) => names.reduce((sum, name) => sum + counted(sheet, name, range), 0);
      const [accepted, throttled] = [of(counts.accepted), of(counts.throttled)];
      found.push([counts.name, `${amount(accepted)} (${amount(accepted / length)}/s)`]);
      const share = counts.of_all && accepted + throttled
        ? `, ${few.format((100 * throttled) / (accepted + throttled))} %` : "";
      found.push(["Throttled", throttled >= 0.5 ? `${amount(throttled)} (${amount(throttled / length)}/s${share})` : "none"]);
    }
    for (const heat of content.numbers.heat) {
      const sheet = sheets[heat.sheet];
      let most = null;
      for (const [name] of sheet.columns) {
        const units = counted(sheet, name, range);
        if (units > 0 && (!most || units > most[1])) most = [name, units];
      }
      if (most) found.push([heat.name, `${heat.keys[most[0]]}, ${amount(most[1] / length)} ${heat.unit}/s`]);
    }
    return found;
  }

  for (const [name, button] of Object.entries(buttons)) {
    button.addEventListener("click", () => button.getAttribute("aria-disabled") !== "true" && act(name));
  }
  place.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    event.preventDefault();
    act(KEYS[event.key]);
  });
  charts.onChosen(choose);
  place.hidden = false;
  tell();
  addEventListener("hashchange", follow);
  follow();
  performance.mark("usable");
})();
