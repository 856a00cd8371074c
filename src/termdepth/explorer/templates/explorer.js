"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = {
    get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("theme", value); } catch { /* private windows: not kept */ } },
  };
  const asked = stored.get();
  if (asked === "light" || asked === "dark") root.dataset.theme = asked;

  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const byId = (id) => document.getElementById(id);

  function theme() {
    const button = byId("theme");
    const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.hidden = false;
    button.setAttribute("aria-label", "Change between light and dark");
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      stored.set(root.dataset.theme);
      label();
    });
    dark.addEventListener("change", label);
    label();
  }

  function index(table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...body.rows].map((row) => ({
      row,
      keys: [...row.cells].map((cell, i) => {
        const key = cell.dataset.k ?? cell.textContent;
        return key === "" ? null : "numeric" in heads[i].dataset ? Number(key) : key;
      }),
      text: `${row.cells[0].textContent} ${row.cells[row.cells.length - 1].textContent}`.toLowerCase(),
    }));
    const order = new Intl.Collator(undefined, { numeric: true });
    let shown = rows;

    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.ariaSort === "ascending";
        for (const other of heads) other.ariaSort = "none";
        head.ariaSort = down ? "descending" : "ascending";
        const sign = down ? -1 : 1;
        const numeric = "numeric" in head.dataset;
        rows.sort((a, b) => {
          const x = a.keys[column], y = b.keys[column];
          if (x === null || y === null) return (x === null) - (y === null);  // what is not known comes last, both ways
          return sign * (numeric ? (x === y ? 0 : x < y ? -1 : 1) : order.compare(x, y));
        });
        body.append(...rows.map((r) => r.row));
        filter();
      });
    });

    const find = byId("find"), dataset = byId("dataset"), status = byId("status");
    function filter() {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = rows.filter(({ row, text }) =>
        (!dataset.value || row.dataset.dataset === dataset.value)
        && (!status.value || row.dataset.status === status.value)
        && words.every((w) => text.includes(w)));
      const keep = new Set(shown);
      for (const r of rows) r.row.hidden = !keep.has(r);
      byId("shown").textContent = shown.length === rows.length
        ? `${rows.length.toLocaleString("en")} shown`
        : `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
      byId("none").hidden = shown.length > 0;
    }
    find.addEventListener("input", filter);
    dataset.addEventListener("change", filter);
    status.addEventListener("change", filter);
    byId("reset").addEventListener("click", () => {
      find.value = dataset.value = status.value = "";
      filter();
      find.focus();
    });

    byId("csv").addEventListener("click", () => {
      const lines = [table.dataset.csv, ...shown.map(({ row }) => row.dataset.csv)];
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
      link.download = "tasks-shown.csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    });
    document.querySelector(".filters").hidden = byId("csv").hidden = false;
    filter();  // the browser may have kept what was typed before
  }

  function runs() {
    const all = [...document.querySelectorAll("details.run")];
    for (const [id, open] of [["open", true], ["close", false]]) {
      const button = byId(id);
      if (!button) continue;
      button.hidden = all.length < 2;
      button.addEventListener("click", () => { for (const run of all) run.open = open; });
    }
    const reveal = () => {
      const target = location.hash.length > 1 && byId(location.hash.slice(1));
      if (!target) return;
      for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
      target.scrollIntoView();
    };
    addEventListener("hashchange", reveal);
    reveal();
  }

  addEventListener("DOMContentLoaded", () => {
    theme();
    const table = byId("tasks");
    if (table) index(table);
    runs();
  });
})();
