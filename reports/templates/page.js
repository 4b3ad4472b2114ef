// Draws the page's figures in the reader's colours: light, dark, and light again on paper. Those that come near
// first; each in the steps that can be seen of the chosen range. Words, tables and buttons wait for none of it.
(() => {
  "use strict";
  const { content, library, column, overlaid, steps, joined, utc, clock } = window.keyheat;
  const sheets = content.sheets ?? {};
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const canZoom = matchMedia("(pointer: fine)").matches;
  const config = { displayModeBar: false, displaylogo: false, responsive: true, showTips: false };
  const PAPER_WIDTH_PX = 660;
  const NARROW_PX = 480; // so narrow, times would stand aslant
  const MOST = { line: 1800, bar: 1440, heat: 720 };
  const APART = 60; // bars so many and more have no room for a gap: here and there one would look like a minute without a point
  const FINEST = 600; // spans nearer to each other than this part of what is seen are drawn as one
  const NEAR = "100px"; // outside of the window
  const QUIET_MS = 5000; // after which those that nobody has come near are drawn as well
  const TOO_OLD = "This picture needs a browser of 2023 or later; its numbers are in the tables.";
  const ids = Object.keys(content.figures);
  const stale = new Set(ids);
  const near = new Set();
  let range = null;
  let onPaper = false;
  let chosen = () => {};

  const isTimed = (id) => content.figures[id].layout.xaxis?.type === "date";
  const iso = (second) => utc(second).slice(0, -1);
  const epoch = (text) => Date.parse(`${String(text).replace(" ", "T")}Z`) / 1000;
  const day = (second) => utc(second).slice(0, 10);
  const ticks = ([from, to]) => to - from < 600 ? "%H:%M:%S" : day(from) === day(to - 1) ? "%H:%M" : "%H:%M\n%Y-%m-%d";

  function recoloured(value) {
    if (typeof value === "string") return content.dark[value] ?? value;
    if (Array.isArray(value)) return value.map(recoloured);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, recoloured(inner)]));
  }

  function fill(trace, sheet) {
    if (trace.meta.spans) return fillSpans(trace, sheet);
    const heat = trace.type === "heatmap";
    const at = steps(sheet, range, MOST[heat ? "heat" : trace.type === "bar" ? "bar" : "line"]);
    const begin = sheet.start_s + at.first * sheet.step_s;
    const width = at.each * sheet.step_s;
    trace.x0 = iso(heat ? begin + width / 2 : begin);
    trace.dx = width * 1000;
    if (heat) {
      trace.z = trace.meta.z.map((names) => joined(overlaid(sheet, names), at));
      if (trace.meta.positive) trace.z = trace.z.map((row) => row.map((value) => (value > 0 ? value : null)));
      return;
    }
    trace.y = joined(column(sheet, trace.meta), at);
    if (trace.type === "bar") trace.width = width * (trace.y.length > APART ? 1000 : 940);
    else trace.y.push(trace.y.at(-1)); // so that the last step has a width too
  }

  function fillSpans(trace, sheet) {
    const names = ["from_utc", "to_utc", "resource", "direction", "constraint", "throttles", "confidence", "rule"];
    const [from, to, resource, direction, constraint, throttles, confidence, rule] =
      names.map((name) => column(sheet, name));
    const last = {};
    const spans = [];
    const [first, past] = range ?? [from[0], to.reduce((most, each) => Math.max(most, each), 0)];
    for (let row = 0; row < from.length; row++) {
      if (constraint[row] !== trace.meta.spans || from[row] >= past || to[row] <= first) continue;
      const owner = `${resource[row]} ${direction[row]}`;
      const before = last[owner];
      if (before && from[row] - before.to < (past - first) / FINEST) {
        before.to = Math.max(before.to, to[row]);
        before.throttles += throttles[row];
        before.confidence = Math.min(before.confidence, confidence[row]);
      } else {
        last[owner] = { from: from[row], to: to[row], throttles: throttles[row], owner,
                        confidence: confidence[row], rule: rule[row] };
        spans.push(last[owner]);
      }
    }
    trace.base = spans.map((one) => iso(one.from));
    trace.x = spans.map((one) => (one.to - one.from) * 1000);
    trace.y = spans.map((one) => trace.meta.rows[one.owner]);
    trace.customdata = spans.map((one) => [trace.meta.name, one.throttles.toLocaleString("en-US"),
      `${Math.round(one.confidence * 100)} %`, clock(one.from), clock(one.to), one.rule || "–"]);
  }

  // Where a limit is drawn, the axis reaches to it; finer steps may reach higher than those that were drawn.
  function heighten(data, layout) {
    if (!layout.yaxis?.range || !layout.shapes?.length) return;
    const heights = data.filter((one) => one.y && !one.yaxis && one.type !== "heatmap" && !one.base);
    const highest = Math.max(0, ...heights.map((one) => one.y.reduce((most, each) => Math.max(most, each ?? 0), 0)),
      ...layout.shapes.filter((one) => one.xref === "paper").map((one) => one.y0));
    if (heights.length && highest) layout.yaxis.range = [0, highest * 1.08];
  }

  function figure(id) {
    const made = structuredClone(content.figures[id]);
    const sheet = sheets[id];
    if (sheet) for (const trace of made.data) if (trace.meta) fill(trace, sheet);
    if (range && isTimed(id)) {
      made.layout.xaxis.range = range.map(iso);
      made.layout.xaxis.tickformat = ticks(range);
      if (sheet) heighten(made.data, made.layout);
    }
    const { data, layout } = dark.matches && !onPaper ? recoloured(made) : made;
    layout.dragmode = canZoom ? "zoom" : false;
    if (!onPaper && document.getElementById(id).clientWidth < NARROW_PX) {
      const names = layout.xaxis.ticktext;
      if (isTimed(id)) Object.assign(layout.xaxis, { nticks: 4, tickangle: 0 });
      else if (names?.[0] === "min") // it would stand in p50
        Object.assign(layout.xaxis, { ticktext: names.with(0, ""), tickangle: 0 });
    }
    layout.autosize = !onPaper;
    if (onPaper) layout.width = PAPER_WIDTH_PX;
    return { data, layout };
  }

  function draw(id) {
    const place = document.getElementById(id);
    const first = !place.data;
    const { data, layout } = figure(id);
    Plotly.react(place, data, layout, { ...config, doubleClick: isTimed(id) && sheets[id] ? false : "reset" });
    stale.delete(id);
    if (first && isTimed(id) && sheets[id]) {
      place.on("plotly_relayout", (change) => {
        const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
        if (from !== undefined) chosen([epoch(from), epoch(to)]);
      });
      place.on("plotly_doubleclick", () => chosen(null));
    }
  }

  // One chart after the other, and the page answers in between: for as long as it has been busy.
  let drawing = false;
  async function drawNear() {
    const id = [...near].find((each) => stale.has(each));
    drawing = id !== undefined;
    if (!drawing || !(await isThere())) return;
    const took = timed(() => draw(id));
    setTimeout(() => requestAnimationFrame(drawNear), took);
  }
  const drawSoon = () => drawing || requestAnimationFrame(drawNear);

  async function isThere() {
    const there = await library.soon();
    if (!there) say(TOO_OLD);
    await new Promise((done) => setTimeout(done)); // to begin it was long enough a task by itself
    return there;
  }

  function timed(work) {
    const began = performance.now();
    work();
    return performance.now() - began;
  }

  function say(words) {
    for (const id of ids) {
      const place = document.getElementById(id);
      place.textContent = words;
      place.style.height = "auto";
    }
  }

  async function drawIdle() {
    const id = ids.find((each) => stale.has(each));
    if (id === undefined || !(await isThere())) return;
    if (stale.has(id)) draw(id);
    later(200);
  }
  const later = (rest_ms) => setTimeout(
    () => (window.requestIdleCallback ? requestIdleCallback(drawIdle) : drawIdle()), rest_ms);

  function redraw(which = ids) {
    which.forEach((id) => stale.add(id));
    drawSoon();
  }

  dark.addEventListener("change", () => {
    redraw();
    later(QUIET_MS);
  });
  addEventListener("beforeprint", () => {
    onPaper = true;
    if (library.now()) ids.forEach(draw);
    else say(TOO_OLD);
  });
  addEventListener("afterprint", () => {
    onPaper = false;
    if (!library.there()) return;
    ids.forEach((id) => {
      draw(id);
      Plotly.Plots.resize(document.getElementById(id));
    });
  });

  const watch = new IntersectionObserver((entries) => {
    entries.forEach((one) => near[one.isIntersecting ? "add" : "delete"](one.target.id));
    drawSoon();
  }, { rootMargin: NEAR });
  ids.forEach((id) => watch.observe(document.getElementById(id)));
  if (ids.length) addEventListener("scroll", () => library.soon(), { once: true, passive: true }); // on the way to one
  later(QUIET_MS);

  window.keyheat.charts = {
    timed: ids.filter((id) => sheets[id] && isTimed(id)),
    ranges: () => ids.filter((id) => sheets[id] && isTimed(id))
      .map((id) => content.figures[id].layout.xaxis.range.map(epoch)),
    show: (next) => {
      range = next;
      redraw(window.keyheat.charts.timed);
      document.dispatchEvent(new Event("keyheat-range"));
    },
    range: () => range,
    onChosen: (tell) => (chosen = tell),
    undrawn: () => stale.size,
    isStale: (id) => stale.has(id),
  };
})();
