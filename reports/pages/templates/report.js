"use strict";
(() => {
  const number = (text) => {
    const found = text.replace(/,/g, "").match(/^[<≥]?\s*(-?\d+(\.\d+)?)/);
    return found ? parseFloat(found[1]) : text === "optimal" ? 0 : NaN;
  };
  const shown = (cell) => {
    const own = cell.cloneNode(true);
    own.querySelectorAll("small, i").forEach((part) => part.remove());
    return own.textContent.trim();
  };
  const compare = (a, b) => {
    if (a.empty || b.empty) return a.empty - b.empty;
    if (!isNaN(a.number) && !isNaN(b.number)) return a.sign * (a.number - b.number);
    return a.sign * a.text.localeCompare(b.text, "en", { numeric: true });
  };
  const sort = (table, column, head) => {
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    table.querySelectorAll("thead th").forEach((th) => th.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    for (const body of table.tBodies) {
      [...body.rows].filter((row) => !row.classList.contains("group")).map((row) => {
        const text = shown(row.cells[column]);
        return { row, text, sign, number: number(text), empty: text === "" || text === "–" };
      }).sort(compare).forEach((one) => body.append(one.row));
    }
  };
  for (const table of document.querySelectorAll(".scroll table")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, column, head));
      head.append(button);
    });
  }

  const rows = [...document.querySelectorAll(".scroll tbody tr:not(.group)")].map((row) => {
    const heads = [...row.closest("table").tHead.rows[0].cells].map((head) => head.textContent);
    const facts = { dataset: [row.parentNode.dataset.set || ""], method: [], status: [] };
    heads.forEach((head, at) => {
      const name = head.endsWith(" by") ? "method" : head;
      if (name === "method" || name === "status") facts[name].push(shown(row.cells[at]));
    });
    for (const name in facts) facts[name] = facts[name].filter(Boolean);
    return { row, facts };
  });
  const form = document.getElementById("filter");
  for (const select of form.querySelectorAll("select")) {
    const values = new Set(rows.flatMap((one) => one.facts[select.name]));
    const order = (a, b) => a.localeCompare(b, "en", { numeric: true });
    for (const value of [...values].sort(order)) select.add(new Option(value, value));
    select.parentNode.hidden = values.size < 2;
  }
  const filter = () => {
    const wanted = [...new FormData(form)].filter(([, value]) => value);
    for (const { row, facts } of rows) {
      row.hidden = wanted.some(([name, value]) => facts[name].length && !facts[name].includes(value));
    }
    for (const body of document.querySelectorAll(".scroll tbody")) {
      body.hidden = [...body.rows].every((row) => row.hidden || row.classList.contains("group"));
    }
    for (const detail of document.querySelectorAll("details.instance")) {
      const dataset = form.elements.dataset.value;
      detail.hidden = (dataset && detail.dataset.set !== dataset)
        || [...detail.querySelectorAll("tbody tr")].every((row) => row.hidden);
    }
  };
  form.addEventListener("change", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.hidden = false;

  const unfold = () => {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    for (let part = place; part; part = part.parentElement) {
      if (part instanceof HTMLDetailsElement) part.open = true;
    }
    place.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details.more, details.table").forEach((part) => { part.open = true; });
  });
  unfold();
})();
