// The library that draws, packed into the page: the browser unpacks it when the first picture comes near.
(() => {
  "use strict";
  const place = document.getElementById("library");
  let loading = null;

  const packed = () => Uint8Array.from(atob(place.textContent.trim()), (sign) => sign.charCodeAt(0));

  // The library alone, without what stands around it for other loaders: the browser would read it twice for that.
  const bare = (text) => text.slice(text.indexOf('"use strict";'), text.lastIndexOf("return Plotly;"));

  function run(text) {
    const script = document.createElement("script");
    script.textContent = text;
    document.head.append(script);
    return ended(script);
  }

  // By an address a script is read beside the page, which halves the time that the page stands still; where a
  // page may not have that, it runs as any other.
  const runBeside = (text) => new Promise((done) => {
    const script = document.createElement("script");
    script.src = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    script.onload = () => done(ended(script));
    script.onerror = () => done(run(text));
    document.head.append(script);
  });

  function ended(script) {
    script.remove();
    if (script.src) URL.revokeObjectURL(script.src);
    if (window.Plotly) place.remove();
    return Boolean(window.Plotly);
  }

  async function unpacked() {
    if (!window.DecompressionStream) return false;
    const stream = new Blob([packed()]).stream().pipeThrough(new DecompressionStream("gzip"));
    return runBeside(bare(await new Response(stream).text()));
  }

  window.keyheat = {
    content: JSON.parse(document.getElementById("figures").textContent),
    library: {
      there: () => Boolean(window.Plotly),
      soon: () => (loading ??= unpacked()), // whether it runs, which it does not in a browser that is too old
    },
  };
})();
