// A table with a field above it: rows without the words typed there are hidden. A head sorts by its column, and
// pressed again the other way; what is not known comes last.
document.querySelectorAll("table.sortable").forEach((table) => {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const number = (text) => parseFloat((text.match(/[\d.]+/) || [""])[0]);
  const key = (row, column) => {
    const text = row.cells[column].textContent;
    return heads[column].classList.contains("n") ? number(text.replace(/,/g, "")) : text;
  };
  const compare = (a, b) => typeof a === "number" ? a - b : a.localeCompare(b);
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...[...body.rows].sort((one, other) => {
      const a = key(one, column), b = key(other, column);
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return down ? compare(b, a) : compare(a, b);
    }));
  }));
  const field = table.closest("details").querySelector("input");
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    [...body.rows].forEach((row) => { row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word)); });
  });
});
