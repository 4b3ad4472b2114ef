// Sorts the table by the column whose head is pressed; pressed again, the other way. What is not known comes last.
(() => {
  "use strict";
  const body = document.querySelector("#runs tbody");
  const heads = [...document.querySelectorAll("#runs thead th")];
  const key = (cell) => cell.dataset.sort !== undefined ? Number(cell.dataset.sort)
    : cell.classList.contains("n") ? null : cell.firstElementChild.textContent;
  const keys = new Map([...body.rows].map((row) => [row, [...row.cells].map(key)]));
  const compare = (a, b) => typeof a === "number" ? a - b : a.localeCompare(b);
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const now = head.getAttribute("aria-sort");
    const down = now === "ascending" || (now === "none" && (head.classList.contains("n") || !column)); // most comes first
    heads.forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...[...body.rows].sort((a, b) => {
      const one = keys.get(a)[column], other = keys.get(b)[column];
      if (one === null || other === null) return (one === null) - (other === null);
      return down ? compare(other, one) : compare(one, other);
    }));
  }));
})();
