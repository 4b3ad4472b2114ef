// What charts show, unpacked (see reports/packing.py): columns, joined to the steps that can be seen, and saved.
window.keyheat = (() => {
  "use strict";
  const content = JSON.parse(document.getElementById("figures").textContent);
  const WIDTHS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
  const unpacked = new Map();

  function column(sheet, name) {
    const found = sheet.columns.find(([each]) => each === name);
    if (!found) return [];
    if (!unpacked.has(found[1])) unpacked.set(found[1], unpack(content.columns[found[1]]));
    return unpacked.get(found[1]);
  }

  function unpack(packed) {
    if (Array.isArray(packed)) return packed;
    const bytes = Uint8Array.from(atob(packed.packed), (sign) => sign.charCodeAt(0));
    const values = new Float64Array(packed.rows);
    let at = 0, row = 0, sum = 0;
    const next = () => {
      let value = 0, scale = 1, byte;
      do {
        byte = bytes[at++];
        value += (byte & 127) * scale;
        scale *= 128;
      } while (byte > 127);
      return value;
    };
    while (at < bytes.length) {
      const step = next();
      if (step) {
        sum += step % 2 ? -(step + 1) / 2 : step / 2;
        values[row++] = sum * packed.unit;
      } else {
        for (let left = next() + 1; left > 0; left--) values[row++] = sum * packed.unit;
      }
    }
    if (packed.words) return Array.from(values, (place) => packed.words[place]);
    for (const [first, count] of packed.gaps) values.fill(NaN, first, first + count);
    return values;
  }

  // The first of several columns that is known, row by row: a partition, before it those that it came of.
  function overlaid(sheet, names) {
    if (names.length === 1) return column(sheet, names[0]);
    const key = `${sheet.name}/${names.join("/")}`;
    if (!unpacked.has(key)) {
      const all = names.map((name) => column(sheet, name));
      unpacked.set(key, Float64Array.from({ length: sheet.rows }, (_, row) => {
        for (const one of all) if (known(one[row])) return one[row];
        return NaN;
      }));
    }
    return unpacked.get(key);
  }

  const known = (value) => value !== null && value === value;

  // Rows [first, past) of a sheet within a range, and how many of them are joined to one.
  function steps(sheet, range, most) {
    const [from, to] = range ?? [sheet.start_s, sheet.end_s];
    const seen = Math.max(1, (to - from) / sheet.step_s);
    const width = WIDTHS_S.find((each) => each % sheet.step_s === 0 && (seen * sheet.step_s) / each <= most);
    const each = width ? width / sheet.step_s : Math.ceil(seen / most);
    const first = Math.max(0, Math.floor((from - sheet.start_s) / sheet.step_s / each) * each);
    const past = Math.min(sheet.rows, Math.ceil((to - sheet.start_s) / sheet.step_s));
    return { first, past: Math.max(first, past), each };
  }

  function joined(values, { first, past, each }) {
    const found = [];
    for (let row = first; row < past; row += each) {
      let sum = 0, count = 0;
      for (let place = row; place < Math.min(row + each, past); place++) {
        if (known(values[place])) {
          sum += values[place];
          count++;
        }
      }
      found.push(count ? Number((sum / count).toPrecision(4)) : null);
    }
    return found;
  }

  // What happened within a range, of which a column has the rates.
  function counted(sheet, name, range) {
    const values = column(sheet, name);
    const [from, to] = range ?? [sheet.start_s, sheet.end_s];
    let sum = 0;
    const first = Math.max(0, Math.floor((from - sheet.start_s) / sheet.step_s));
    for (let row = first; row < sheet.rows; row++) {
      const begin = sheet.start_s + row * sheet.step_s;
      if (begin >= to) break;
      const end = Math.min(begin + sheet.step_s, sheet.end_s);
      if (known(values[row])) sum += values[row] * Math.max(0, Math.min(end, to) - Math.max(begin, from));
    }
    return sum;
  }

  const utc = (second) => new Date(Math.round(second * 1000)).toISOString();

  // A moment in words: of a run over midnight with its date, as the sentences of the page have it.
  const days = (content.whole ?? []).map((second) => utc(second).slice(0, 10));
  const clock = (second) => utc(second).slice(days[0] === days[1] ? 11 : 0, 19).replace("T", " ");

  function csv(sheet, range) {
    const names = sheet.columns.map(([name]) => name);
    const columns = names.map((name) => column(sheet, name));
    const moments = new Set(sheet.moments ?? []);
    const lines = [(sheet.step_s ? ["from_utc", ...names] : names).map(quoted).join(",")];
    const rows = sheet.rows ?? columns[0]?.length ?? 0;
    const whole = { first: 0, past: rows };
    const { first, past } = sheet.step_s && range ? steps(sheet, range, Infinity) : whole;
    for (let row = first; row < past; row++) {
      const cells = columns.map((values, place) => {
        const value = values[row];
        if (!known(value)) return "";
        if (moments.has(names[place])) return utc(value);
        return typeof value === "number" ? String(Number(value.toPrecision(12))) : quoted(value);
      });
      if (range && moments.size && !overlaps(sheet, row, range)) continue;
      lines.push((sheet.step_s ? [utc(sheet.start_s + row * sheet.step_s), ...cells] : cells).join(","));
    }
    return lines.join("\r\n") + "\r\n";
  }

  const overlaps = (sheet, row, [from, to]) =>
    column(sheet, "from_utc")[row] < to && column(sheet, "to_utc")[row] > from;

  const isFormula = (text) => /^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text);
  const quoted = (word) => {
    const text = isFormula(word) ? `'${word}` : word; // a spreadsheet would run it
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  return { content, column, overlaid, steps, joined, counted, csv, utc, clock };
})();
