// Draws the page's figures in the reader's colours: light, dark, and light again on paper.
(() => {
  "use strict";
  const content = JSON.parse(document.getElementById("figures").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const canZoom = matchMedia("(pointer: fine)").matches;
  const config = { displayModeBar: false, displaylogo: false, responsive: true, doubleClick: "reset" };
  const PAPER_WIDTH_PX = 660;

  function recoloured(value) {
    if (typeof value === "string") return content.dark[value] ?? value;
    if (Array.isArray(value)) return value.map(recoloured);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, recoloured(inner)]));
  }

  function draw(onPaper) {
    for (const [id, made] of Object.entries(content.figures)) {
      const place = document.getElementById(id);
      const { data, layout } = dark.matches && !onPaper ? recoloured(made) : structuredClone(made);
      layout.dragmode = canZoom ? "zoom" : false;
      layout.autosize = !onPaper;
      if (onPaper) layout.width = PAPER_WIDTH_PX;
      Plotly.react(place, data, layout, config);
    }
  }

  dark.addEventListener("change", () => draw(false));
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => {
    draw(false);
    Object.keys(content.figures).forEach((id) => Plotly.Plots.resize(document.getElementById(id)));
  });
  draw(false);
})();
