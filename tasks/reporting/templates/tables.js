"use strict";
// Tables that are sorted by their headers and filtered by words; shared by all pages.
function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

(function () {
  for (const input of document.querySelectorAll("input.filter")) {
    const rows = (input.closest("details") || input.closest("section")).querySelectorAll("tbody tr");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase();
      for (const row of rows) row.hidden = ![...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase().includes(words);
    });
  }

  function sortBy(table, column, header) {
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => { const cell = row.cells[column]; return cell.dataset.sort ?? cell.textContent; };
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const [m, n] = [x, y].map((text) => Number(text.replaceAll(",", "").replace("−", "-")));
      const order = Number.isNaN(m) || Number.isNaN(n) ? x.localeCompare(y) : m - n;
      return down ? -order : order;
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
  }
  // All rows as a CSV file: a place has its value, interval and n in one field. What a spreadsheet takes for a formula
  // begins with an apostrophe, as in the tables that commands write.
  function csv(table) {
    const quoted = (cell) => '"' + [...cell.childNodes].map((part) => part.textContent.trim()).filter(Boolean).join("; ").replace(/^(?=[=@]|[+-](?!\d[^|(!]*$))/, "'").replaceAll('"', '""') + '"';
    return [...table.rows].map((row) => [...row.cells].map(quoted).join(",")).join("\n");
  }
  for (const table of document.querySelectorAll("details table.sortable")) {
    const button = element("button", "CSV", "csv");
    button.type = "button";
    button.addEventListener("click", () => {
      const link = element("a");
      link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
      link.download = "rows.csv";
      link.click();
      URL.revokeObjectURL(link.href);
    });
    table.closest(".scroll").before(button);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = element("button", header.textContent || "row");
      button.type = "button";
      button.addEventListener("click", () => sortBy(table, column, header));
      header.replaceChildren(button);
    });
  }
})();
