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

  for (const form of document.querySelectorAll(".filter")) {
    // Everything after the form, and within what holds both.
    const place = form.parentNode;
    const rows = [...place.querySelectorAll(".scroll tbody tr:not(.group)")];
    if (!rows.length) continue;
    const text = (row) => [row, row.closest("details.instance")?.querySelector("summary")]
      .map((part) => part?.textContent ?? "").concat(row.parentNode.dataset.set ?? "").join(" ").toLowerCase();
    const hide = (outer, inner) => place.querySelectorAll(outer).forEach((part) => {
      part.hidden = [...part.querySelectorAll(inner)].every((row) => row.hidden);
    });
    let texts;
    const filter = () => {
      texts ??= rows.map(text);
      const words = form.elements.words.value.toLowerCase().split(/\s+/);
      rows.forEach((row, at) => { row.hidden = !words.every((word) => texts[at].includes(word)); });
      for (const outer of ["tbody", ".scroll:has(tbody)", "details.instance"]) hide(outer, "tbody tr:not(.group)");
      form.elements.count.value = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    };
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
  }

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
