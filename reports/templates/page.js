// Draws the page's figures in the reader's colours: light, dark, and light again on paper. Those that come near
// first. Words and tables wait for none of it.
(() => {
  "use strict";
  const { content, library } = window.keyheat;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const canZoom = matchMedia("(pointer: fine)").matches;
  const config = { displayModeBar: false, displaylogo: false, responsive: true, showTips: false };
  const PAPER_WIDTH_PX = 660;
  const NARROW_PX = 480; // so narrow, times would stand aslant
  const NEAR = "100px"; // outside of the window
  const QUIET_MS = 5000; // after which those that nobody has come near are drawn as well
  const TOO_OLD = "This picture needs a browser of 2023 or later; its numbers are in the tables.";
  const ids = Object.keys(content.figures);
  const stale = new Set(ids);
  const near = new Set();
  let onPaper = false;

  const isTimed = (id) => content.figures[id].layout.xaxis?.type === "date";

  function recoloured(value) {
    if (typeof value === "string") return content.dark[value] ?? value;
    if (Array.isArray(value)) return value.map(recoloured);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, recoloured(inner)]));
  }

  const coloured = (value) => dark.matches && !onPaper ? recoloured(value) : value;

  function figure(id) {
    const { data, layout } = coloured(structuredClone(content.figures[id]));
    if (content.template) layout.template = coloured(content.template);
    layout.dragmode = canZoom ? "zoom" : false;
    if (!onPaper && document.getElementById(id).clientWidth < NARROW_PX) {
      for (const name of Object.keys(layout).filter((each) => each.startsWith("xaxis"))) {
        const names = layout[name].ticktext;
        if (isTimed(id)) Object.assign(layout[name], { nticks: 4, tickangle: 0 });
        else if (names?.[0] === "min") // it would stand in p50
          Object.assign(layout[name], { ticktext: names.with(0, ""), tickangle: 0 });
      }
    }
    layout.autosize = !onPaper;
    if (onPaper) layout.width = PAPER_WIDTH_PX;
    return { data, layout };
  }

  function draw(id) {
    const place = document.getElementById(id);
    const { data, layout } = figure(id);
    Plotly.react(place, data, layout, config);
    stale.delete(id);
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
    if (library.there()) ids.forEach(draw);
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
  later(QUIET_MS);

  window.keyheat.charts = { undrawn: () => stale.size, isStale: (id) => stale.has(id) };
})();
