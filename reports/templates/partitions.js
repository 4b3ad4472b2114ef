// Partitions at the moment that is chosen, or played: drawn as keyheat/pages/charts/partition_picture.py draws the
// still of the worst one, from the sheet of the chart. Nothing is unpacked before somebody asks for another moment.
// What is played is the page's range of time, which the strip below marks.
(() => {
  "use strict";
  const { content, charts, column, clock } = window.keyheat;
  const [TOP, REFUSED, SERVED, KEYS, NAMES] = [18, 56, 136, 8, 18];
  const MOST_BARS = 128;
  const NAMED_SHARE = 0.045;
  const FRESH_PART = 0.05;
  const [HOT, WARM] = [0.9, 0.4];
  const FRAMES = 150, FRAME_MS = 140; // a run is played in about twenty seconds at most
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const three = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
  const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

  const measured = (value) => three.format(value);
  const px = (value) => String(Number(value.toFixed(2)));
  const share = (value) => `${px(100 * value)}%`;
  const percent = (value) => `${Number((100 * value).toPrecision(4))} %`;
  const throttled = (refused) => (refused > 0 ? `${measured(refused)} throttled/s` : "none throttled");
  const asked = (bar) => bar.units + bar.refused;
  const there = (value) => value !== null && value === value;

  document.querySelectorAll(".moments").forEach((place) => {
    const sheet = content.sheets?.[place.dataset.chart];
    if (sheet) follow(place, sheet);
  });

  function follow(place, sheet) {
    const known = JSON.parse(place.dataset.known);
    const partitions = known.partitions.map(([number, from, to, parent, since]) => ({ number, from, to, parent, since }));
    const byNumber = new Map(partitions.map((one) => [one.number, one]));
    const cuts = partitions.filter((one) =>
      one.parent !== null && one.from > byNumber.get(one.parent).from && one.since >= sheet.start_s);
    const base = known.base_px;
    const slider = place.querySelector("input");
    const [play, worst] = ["play", "worst"].map((name) => place.querySelector(`[data-do=${name}]`));
    const [needle, chosen] = [".needle", ".chosen"].map((name) => place.querySelector(name));
    const said = place.querySelector(".moment-said");
    const drawing = place.querySelector("g.moment");
    let rates = null;
    let playing = null;

    // The units and throttles of each partition, as long as the run.
    function unpacked() {
      const of = (name, one) => column(sheet, name.replace("_0_", `_${one.number}_`));
      rates ??= new Map(partitions.map((one) => [one, known.columns.map((name) => of(name, one))]));
      return rates;
    }

    function moment(step) {
      const at = sheet.start_s + step * sheet.step_s;
      const past = at + sheet.step_s;
      const fresh = Math.max(sheet.step_s, FRESH_PART * sheet.rows * sheet.step_s);
      const all = [...unpacked()]
        .map(([one, [units, refused]]) => ({ ...one, units: units[step], refused: refused[step] }))
        .filter((one) => there(one.units));
      const parents = new Set(all.map((one) => one.parent));
      return {
        at,
        bars: all.filter((one) => !parents.has(one.number)),
        cuts: cuts.filter((one) => one.since < past).map((one) => [one.from, past - one.since <= fresh]),
        split: partitions.filter((one) => one.parent !== null && at <= one.since && one.since < past),
      };
    }

    function bar({ number, from, to, units, refused }) {
      const [served, lost] = [(SERVED * units) / known.highest, refused > 0 ? (REFUSED * refused) / known.refused : 0];
      const heat = units / known.ceiling >= HOT ? "hot" : units / known.ceiling >= WARM ? "warm" : "mild";
      const across = `x="${share(from)}" width="${share(to - from)}"`;
      return `<g data-partition="${number}"><rect class="keys" ${across} y="${base}" height="${KEYS}"/>`
        + `<rect class="served ${heat}" ${across} y="${px(base - served)}" height="${px(served)}"/>`
        + (lost ? `<rect class="refused" ${across} y="${px(base - served - lost)}" height="${px(lost)}"`
          + ` fill="url(#${place.dataset.chart}-stripes)"/>` : "")
        + (to - from >= NAMED_SHARE ? `<text x="${share((from + to) / 2)}" y="${base + KEYS + NAMES - 4}">${number}</text>` : "")
        + "</g>";
    }

    const cut = ([from, fresh]) =>
      `<g class="${fresh ? "cut fresh" : "cut"}">`
      + `<line x1="${share(from)}" x2="${share(from)}" y1="${TOP}" y2="${base + KEYS}"/>`
      + (fresh ? `<text x="${share(from)}" y="${TOP - 6}">split</text>` : "") + "</g>";

    const value = (one) =>
      `${measured(one.units)} of ${measured(known.ceiling)} ${known.unit}/s, ${throttled(one.refused)}`;

    function sentences({ at, bars, split }, hottest) {
      const keys = `${percent(hottest.from)} to ${percent(hottest.to)} of all hashes`;
      const found = [`${elapsed(at)}, at ${clock(at)} UTC: the hottest is partition ${hottest.number} (${keys}), ${value(hottest)}.`];
      if (bars.length > 1) {
        const [units, refused] = ["units", "refused"].map((name) => bars.reduce((sum, one) => sum + one[name], 0));
        found.push(`All ${whole.format(bars.length)} partitions together: ${measured(units)} ${known.unit}/s, ${throttled(refused)}.`);
      }
      for (const parent of [...new Set(split.map((one) => one.parent))].sort((a, b) => a - b)) {
        const into = split.filter((one) => one.parent === parent).map((one) => one.number).join(" and ");
        found.push(`Partition ${parent} has just split into ${into}.`);
      }
      return found.join(" ");
    }

    const elapsed = (at) => `${whole.format(at - sheet.start_s)} s`;

    function show(step) {
      const now = moment(step);
      const ordered = [...now.bars].sort((a, b) => asked(b) - asked(a));
      const shown = ordered.slice(0, MOST_BARS).sort((a, b) => a.from - b.from);
      drawing.innerHTML = shown.map(bar).join("") + now.cuts.map(cut).join(""); // of numbers alone
      slider.value = step;
      const at = share((step + 0.5) / sheet.rows);
      needle.setAttribute("x1", at);
      needle.setAttribute("x2", at);
      said.textContent = ordered.length ? sentences(now, ordered[0]) : "No partition is known then.";
      const words = ordered.length ? `hottest partition ${value(ordered[0])}` : "no partition is known";
      slider.setAttribute("aria-valuetext", `${elapsed(now.at)}: ${words}`);
    }

    const step = () => Number(slider.value);
    const last = sheet.rows - 1;
    let [first, end] = [0, last];

    function forward() {
      const each = Math.max(1, Math.ceil((end - first + 1) / FRAMES));
      show(step() >= end || step() < first ? first : Math.min(step() + each, end));
    }

    // The steps of the page's range; where the moment lies outside of it, it goes to the nearest of them.
    function within(range) {
      const [from, to] = range ?? [sheet.start_s, sheet.start_s + sheet.rows * sheet.step_s];
      const stepOf = (second) => Math.min(Math.max(second, 0), last);
      first = stepOf(Math.floor((from - sheet.start_s) / sheet.step_s));
      end = Math.max(first, stepOf(Math.ceil((to - sheet.start_s) / sheet.step_s) - 1));
      chosen.setAttribute("x", share(first / sheet.rows));
      chosen.setAttribute("width", range ? share((end + 1 - first) / sheet.rows) : "0");
      const inside = Math.min(Math.max(step(), first), end);
      if (inside !== step()) {
        pause();
        show(inside);
      }
    }

    function pause() {
      clearInterval(playing);
      playing = null;
      play.textContent = still.matches ? "Next moment" : "Play";
    }

    function start() {
      forward();
      if (still.matches) return; // nothing moves but what is asked for
      play.textContent = "Pause";
      playing = setInterval(() => (step() === end ? pause() : forward()), FRAME_MS);
    }

    slider.style.setProperty("--steps", sheet.rows);
    slider.max = last; // the page may keep longer steps than the run has
    slider.value = Math.floor((known.worst_s - sheet.start_s) / sheet.step_s);
    slider.addEventListener("input", () => {
      pause();
      show(step());
    });
    play.addEventListener("click", () => (playing === null ? start() : pause()));
    worst.addEventListener("click", () => {
      pause();
      show(Math.floor((known.worst_s - sheet.start_s) / sheet.step_s));
    });
    still.addEventListener("change", pause);
    document.addEventListener("keyheat-range", () => within(charts.range()));
    addEventListener("beforeprint", pause);
    pause();
    within(charts.range());
    place.querySelector(".controls").hidden = false;
  }
})();
