// The contents, and what an overview of many runs has besides its charts: a table to search and sort, small scales.
"use strict";
(() => {
  function contents(nav) {
    const button = nav.querySelector("button");
    const open = (is) => button.setAttribute("aria-expanded", is);
    button.addEventListener("click", () => open(button.getAttribute("aria-expanded") !== "true"));
    nav.addEventListener("keydown", (event) => event.key === "Escape" && open(false));
    const links = new Map();
    for (const link of nav.querySelectorAll("a")) {
      link.addEventListener("click", () => open(false));
      const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
      if (target) links.set(target, link);
    }
    // The last heading above the middle of the window is where the reader is.
    const mark = () => {
      let current = links.values().next().value;
      for (const [target, link] of links) {
        link.removeAttribute("aria-current");
        if (target.getBoundingClientRect().top < innerHeight / 2) current = link;
      }
      current?.setAttribute("aria-current", "true");
      if (current?.offsetParent) current.scrollIntoView({ block: "nearest" });
    };
    mark();
    let soon = false;
    addEventListener("scroll", () => {
      if (soon) return;
      soon = true;
      setTimeout(() => {
        soon = false;
        mark();
      }, 50);
    });
  }

  function table(box, filter) {
    const body = box.tBodies[0];
    const all = [...body.rows];
    const texts = new Map(all.map((row) => [row, row.textContent.toLowerCase()]));
    const [input, output] = [filter.querySelector("input"), filter.querySelector("output")];
    const search = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of all) row.hidden = !words.every((word) => texts.get(row).includes(word));
      output.textContent = `${all.filter((row) => !row.hidden).length} of ${all.length} runs`;
      const shown = new Set(all.filter((row) => !row.hidden).map((row) => row.cells[0].dataset.sort));
      for (const scale of document.querySelectorAll(".scale")) scale.hidden = !shown.has(scale.dataset.run);
    };
    filter.hidden = false;
    input.addEventListener("input", search);
    search();
    [...box.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(box, head, column));
    });
  }

  // By numbers where all keys are numbers; empty ones are last.
  function sort(box, head, column) {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of box.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[column].dataset.sort;
    const compare = (one, other) => {
      if (key(one) === "" || key(other) === "") return (key(one) === "") - (key(other) === "");
      const order = isNaN(key(one)) || isNaN(key(other)) ? key(one).localeCompare(key(other), "en", { numeric: true }) : key(one) - key(other);
      return down ? -order : order;
    };
    box.tBodies[0].append(...[...box.tBodies[0].rows].sort(compare));
  }

  const SVG = "http://www.w3.org/2000/svg";
  function shape(kind, attributes) {
    const element = document.createElementNS(SVG, kind);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  const BAR_HEIGHT = 5;
  const HEIGHT_MAX = 130;
  // A bar for each phase of each run, all on one axis.
  function scales(script) {
    const phases = manometer.rows(JSON.parse(script.textContent));
    const ends = phases.flatMap((phase) => [phase.pressure, phase.low ?? phase.pressure, phase.high ?? phase.pressure]);
    const low = ends.reduce((one, other) => Math.min(one, other), 0);
    const high = ends.reduce((one, other) => Math.max(one, other), 0) || 1;
    const x = (value) => ((value - low) / (high - low)) * 100;
    const byRun = new Map();
    for (const phase of phases) byRun.set(phase.run, [...(byRun.get(phase.run) ?? []), phase]);
    for (const [run, ours] of byRun) {
      const box = document.querySelector(`.scale[data-run="${run}"] .bars`);
      const svg = shape("svg", { viewBox: `0 0 100 ${ours.length}`, preserveAspectRatio: "none", role: "img" });
      const text = (phase) => `${phase.phase}: ${phase.pressure.toFixed(2)}`;
      svg.style.height = `${Math.min(BAR_HEIGHT * ours.length, HEIGHT_MAX)}px`;
      svg.setAttribute("aria-label", ours.map(text).join(", "));
      svg.append(shape("line", { x1: x(0), x2: x(0), y1: 0, y2: ours.length }));
      ours.forEach((phase, row) => {
        const [from, to] = [x(0), x(phase.pressure)].sort((one, other) => one - other);
        const bar = shape("rect", { x: from, y: row + 0.1, width: Math.max(0.5, to - from), height: 0.8 });
        bar.dataset.phase = phase.phase;
        bar.classList.toggle("help", phase.pressure < 0);
        bar.data = phase;
        svg.append(bar);
        if (typeof phase.low === "number") svg.append(shape("line", { x1: x(phase.low), x2: x(phase.high), y1: row + 0.5, y2: row + 0.5 }));
      });
      box.append(svg);
    }
    const grid = script.previousElementSibling;
    grid.addEventListener("click", (event) => event.target.data && manometer.choose(event.target.dataset.phase));
    document.addEventListener("phase", (event) => highlight(grid, event.detail));
    grid.addEventListener("pointermove", (event) => manometer.hint(words(event.target.data), event.clientX, event.clientY));
    grid.addEventListener("pointerleave", () => manometer.hint(null));
  }

  function words(phase) {
    if (!phase) return null;
    const interval = typeof phase.low === "number" ? `${phase.low.toFixed(2)} to ${phase.high.toFixed(2)}` : "none";
    return [[phase.phase, phase.label], ["pressure", phase.pressure.toFixed(2)], ["95 % interval", interval]];
  }

  function highlight(grid, phase) {
    for (const bar of grid.querySelectorAll("rect")) bar.classList.toggle("chosen", bar.dataset.phase === phase);
    for (const scale of grid.querySelectorAll(".scale")) scale.classList.toggle("some", phase !== null);
  }

  addEventListener("DOMContentLoaded", () => {
    const [nav, filter, script] = [".contents", ".filter", "#scale-phases"].map((name) => document.querySelector(name));
    if (nav) contents(nav);
    if (script) scales(script);
    if (filter) table(document.getElementById("runs-table"), filter);
  });
})();
