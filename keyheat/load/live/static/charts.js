"use strict";
// Small charts of the last minutes: drawn whole each second, in the page's own colours.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 170, LEFT = 48, RIGHT = 8, TOP = 10, BOTTOM = 22;

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

// The next round number that is enough for the largest value; half of it is round, too.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 3, 4, 5, 6, 8, 10].map(step => step * power).find(step => step >= value) ?? value;
}

function number(value) {
  const digits = value !== 0 && Math.abs(value) < 10 && !Number.isInteger(value) ? 1 : 0;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// Where things lie in one chart: the newest `shown` seconds end at the right edge.
function scales(place, shown, largest) {
  const width = Math.max(240, place.clientWidth), top = roundUp(largest);
  const inner = width - LEFT - RIGHT, depth = HEIGHT - TOP - BOTTOM;
  return {
    width, top, inner, step: inner / shown,
    x: second => LEFT + inner * second / shown,
    y: value => TOP + depth * (1 - value / top),
  };
}

function frame(place, at, shown) {
  const svg = element("svg", { viewBox: `0 0 ${at.width} ${HEIGHT}`, height: HEIGHT, role: "img", "aria-label": place.getAttribute("aria-label") });
  for (const value of [0, at.top / 2, at.top]) {
    element("line", { class: "grid", x1: LEFT, x2: at.width - RIGHT, y1: at.y(value), y2: at.y(value) }, svg);
    const label = element("text", { x: LEFT - 8, y: at.y(value) + 4, "text-anchor": "end" }, svg);
    label.textContent = number(value);
  }
  const every = shown > 120 ? 60 : shown > 60 ? 30 : 15;
  for (let ago = 0; ago <= shown; ago += every) {
    const anchor = ago === 0 ? "end" : ago === shown ? "start" : "middle";
    const label = element("text", { x: at.x(shown - ago), y: HEIGHT - 5, "text-anchor": anchor }, svg);
    label.textContent = ago === 0 ? "now" : every === 60 ? `−${ago / 60} min` : `−${ago} s`;
  }
  return svg;
}

// Columns stacked on each other: one list of numbers for each constraint.
function stacked(place, lists, shown, end, words) {
  const totals = Array.from({ length: shown }, (_, i) => lists.reduce((sum, one) => sum + one.values[i], 0));
  const at = scales(place, shown, Math.max(1, ...totals)), svg = frame(place, at, shown);
  const base = new Array(shown).fill(0);
  for (const one of lists) {
    let path = "";
    one.values.forEach((value, i) => {
      if (!value) return;
      const low = at.y(base[i]), high = at.y(base[i] + value), wide = Math.max(at.step - 0.6, 0.6);
      path += `M${at.x(i).toFixed(1)} ${low.toFixed(1)}V${high.toFixed(1)}h${wide.toFixed(1)}V${low.toFixed(1)}z`;
      base[i] += value;
    });
    element("path", { class: `fill-${one.name}`, d: path }, svg);
  }
  const said = i => lists.filter(one => one.values[i]).map(one => `${number(one.values[i])} ${words[one.name]}`);
  put(place, svg, at, shown, end, i => said(i).length ? said(i) : ["no throttles"]);
}

// An area under a line, and the limit that it is held against.
function consumed(place, values, limit, shown, first, end, unit, limitIs) {
  const at = scales(place, shown, Math.max(1, limit ?? 0, ...values) * 1.04), svg = frame(place, at, shown);
  const points = values.map((value, i) => [at.x(i + 0.5), at.y(value)]).slice(first);
  if (points.length) {
    const line = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
    const left = points[0][0].toFixed(1), right = points.at(-1)[0].toFixed(1), ground = at.y(0).toFixed(1);
    element("path", { class: "area", d: `M${left} ${ground}L${line}L${right} ${ground}z` }, svg);
    element("path", { class: "edge", d: `M${line}` }, svg);
  }
  if (limit !== null) {
    element("line", { class: "limit", x1: LEFT, x2: at.width - RIGHT, y1: at.y(limit), y2: at.y(limit) }, svg);
  }
  const held = limit === null ? [] : [`${number(limit)} ${unit}/s ${limitIs}`];
  put(place, svg, at, shown, end, i => [`${number(values[i])} ${unit} consumed`, ...held]);
}

// Puts a chart in its place, with what it says of the second under the pointer.
function put(place, svg, at, shown, end, words) {
  place.querySelector("svg")?.remove();
  place.prepend(svg);
  place.pointed ??= null;
  const show = () => {
    place.querySelector(".said")?.remove();
    svg.querySelector(".at")?.remove();
    if (place.pointed === null) return;
    const i = Math.floor((place.pointed - LEFT) / at.step);
    if (i < 0 || i >= shown) return;
    const x = at.x(i + 0.5), box = document.createElement("div"), when = document.createElement("b");
    element("line", { class: "at", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }, svg);
    when.textContent = `${new Date((end - shown + i) * 1000).toISOString().slice(11, 19)} UTC`;
    box.className = "said";
    box.append(when, ...words(i).flatMap((line, n) => n ? [document.createElement("br"), line] : [line]));
    place.append(box);
    box.style.left = `${Math.min(x + 12, at.width - box.offsetWidth)}px`;
  };
  svg.onpointermove = event => { place.pointed = event.clientX - svg.getBoundingClientRect().left; show(); };
  svg.onpointerleave = () => { place.pointed = null; show(); };
  show();
}
