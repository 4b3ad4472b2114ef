// The range of time that all charts show: chosen by dragging over one, by buttons or by keys, said in words.
(() => {
  "use strict";
  const place = document.getElementById("range");
  const { content, charts, counted, csv, clock } = window.keyheat;
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
  performance.mark("usable");
})();
