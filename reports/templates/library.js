// The library that draws, packed into the page. It is unpacked when the first picture comes near, in pieces that
// leave the page free; or at once, when the page goes to paper before that, for then nothing can be waited for.
(() => {
  "use strict";
  const HEAD = 10; // bytes of gzip's own, before what is packed; its last four say how long that is unpacked
  const place = document.getElementById("library");
  let loading = null;

  function packed() {
    const text = atob(place.textContent.trim());
    const bytes = new Uint8Array(text.length);
    for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n);
    return bytes;
  }

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

  function now() {
    if (window.Plotly) return true;
    const bytes = packed();
    const size = new DataView(bytes.buffer).getUint32(bytes.length - 4, true);
    return run(bare(new TextDecoder().decode(inflated(bytes, HEAD, size))));
  }

  async function unpacked() {
    if (!window.DecompressionStream) return now();
    const stream = new Blob([packed()]).stream().pipeThrough(new DecompressionStream("gzip"));
    const text = await new Response(stream).text();
    return window.Plotly ? true : runBeside(bare(text));
  }

  // Deflate (RFC 1951) read in one go: what a browser does by itself, but never while a page is being printed.
  function inflated(bytes, from, size) {
    const out = new Uint8Array(size);
    let at = from, filled = 0, held = 0, count = 0;
    const take = (bits) => {
      while (count < bits) { held |= bytes[at++] << count; count += 8; }
      const value = held & ((1 << bits) - 1);
      held >>>= bits; count -= bits;
      return value;
    };
    // Codes of a length are numbers in a row: how many there are of each, and what they stand for, in order.
    const codes = (lengths) => {
      const many = new Uint16Array(16), begins = new Uint16Array(16), meanings = new Uint16Array(lengths.length);
      for (const length of lengths) many[length]++;
      many[0] = 0;
      for (let length = 1; length < 16; length++) begins[length] = begins[length - 1] + many[length - 1];
      lengths.forEach((length, meaning) => { if (length) meanings[begins[length]++] = meaning; });
      return { many, meanings };
    };
    const next = ({ many, meanings }) => {
      for (let code = 0, first = 0, place = 0, length = 1; ; length++) {
        code |= take(1);
        if (code - many[length] < first) return meanings[place + code - first];
        place += many[length];
        first = (first + many[length]) << 1;
        code <<= 1;
      }
    };
    const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
    const lengthsOf = (many, inCode) => {
      const lengths = [];
      while (lengths.length < many) {
        const said = next(inCode);
        if (said < 16) lengths.push(said);
        else {
          const times = said === 16 ? 3 + take(2) : said === 17 ? 3 + take(3) : 11 + take(7);
          const length = said === 16 ? lengths.at(-1) : 0;
          for (let n = 0; n < times; n++) lengths.push(length);
        }
      }
      return lengths;
    };
    for (let last = false; !last;) {
      last = take(1) === 1;
      if (take(2) !== 2) throw new Error("not deflate's block with codes of its own");
      const [literals, distances, few] = [257 + take(5), 1 + take(5), 4 + take(4)];
      const short = Array(19).fill(0);
      for (let n = 0; n < few; n++) short[ORDER[n]] = take(3);
      const lengths = lengthsOf(literals + distances, codes(short));
      const [signs, back] = [codes(lengths.slice(0, literals)), codes(lengths.slice(literals))];
      for (let sign = next(signs); sign !== 256; sign = next(signs)) {
        if (sign < 256) { out[filled++] = sign; continue; }
        const step = sign - 257, more = step < 8 || step === 28 ? 0 : (step - 4) >> 2;
        const length = step === 28 ? 258 : step < 8 ? step + 3 : ((4 + (step & 3)) << more) + 3 + take(more);
        const code = next(back), wide = code < 4 ? 0 : (code - 2) >> 1;
        const distance = code < 4 ? code + 1 : ((2 + (code & 1)) << wide) + 1 + take(wide);
        for (const end = filled + length; filled < end; filled++) out[filled] = out[filled - distance];
      }
    }
    return out;
  }

  window.keyheat.library = {
    there: () => Boolean(window.Plotly),
    now, // whether it runs, which it does not in a browser that is too old
    soon: () => (loading ??= unpacked()),
  };
})();
