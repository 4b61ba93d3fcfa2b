// What a reader does with the charts: look along time and zoom into it, switch series, highlight a phase.
"use strict";
const manometer = (() => {
  const DIM = 0.15;
  // Less than this is a click and no brush, in pixels.
  const BRUSH_MIN = 6;
  // No window of time is shorter, in seconds.
  const WINDOW_MIN = 5;

  // The columns of a chart's data as the rows that Vega-Lite reads.
  function rows(data) {
    const columns = Object.entries(data.columns).map(([name, column]) => [
      name,
      column.values ?? column.runs.flatMap(([value, times]) => new Array(times).fill(value)),
    ]);
    return Array.from({ length: data.rows }, (_, row) => Object.fromEntries(columns.map(([name, values]) => [name, values[row]])));
  }

  // The charts of one run share a window of time, a moment under the pointer, and a highlighted phase.
  const runs = new Map();
  function runOf(element) {
    const part = element.closest("article") ?? document.body;
    if (!runs.has(part)) runs.set(part, { part, charts: [], whole: [0, 0], window: null, moment: null, phase: null, phases: phasesOf(part) });
    return runs.get(part);
  }

  function phasesOf(part) {
    const spans = (row) => row.dataset.spans.split(" ").filter(Boolean).map((span) => span.split("-").map(Number));
    return new Map(Array.from(part.querySelectorAll("tr[data-phase]"), (row) => [row.dataset.phase, spans(row)]));
  }

  const phaseAt = (run, time) => [...run.phases].find(([, spans]) => spans.some(([begin, end]) => time >= begin && time <= end))?.[0] ?? null;

  // Every chart that is drawn anew passes here once, before its first drawing.
  function add(chart) {
    chart.run = runOf(chart.figure);
    chart.hidden = [];
    chart.series = seriesFields(chart.spec);
    chart.isOverTime = JSON.stringify(chart.spec).includes('"temporal"');
    chart.run.charts.push(chart);
    if (chart.isOverTime) addTime(chart);
  }

  // The fields whose values are series in a legend.
  function seriesFields(part) {
    if (!part || typeof part !== "object") return [];
    const own = ["nominal", "ordinal"].includes(part.color?.type) && part.color.field ? [part.color.field] : [];
    return [...new Set([...own, ...Object.values(part).flatMap(seriesFields)])];
  }

  // A Vega specification with the signals by which a drawn chart follows its reader.
  function patch(spec, chart) {
    const { run } = chart;
    const signals = [
      { name: "chosen_phase", value: run.phase },
      { name: "hidden_series", value: chart.hidden },
      { name: "time_window", value: chart.isOverTime ? milliseconds(run) : null },
    ];
    const isHidden = chart.series.map((field) => `indexof(hidden_series, datum[${JSON.stringify(field)}]) >= 0`).join(" || ");
    const isOther = "isValid(chosen_phase) && isValid(datum.phase) && datum.phase !== chosen_phase && indexof(datum.phase, chosen_phase + ' ·') !== 0";
    patchGroup(spec, { isHidden, isOther, isOverTime: chart.isOverTime });
    return { ...spec, signals: [...(spec.signals ?? []), ...signals] };
  }

  function patchGroup(group, tests) {
    for (const scale of group.scales ?? []) {
      if (["utc", "time"].includes(scale.type)) scale.domainRaw = { signal: "time_window" };
    }
    for (const legend of group.legends ?? []) patchLegend(legend);
    for (const mark of group.marks ?? []) {
      if (mark.type === "group") patchGroup(mark, tests);
      else patchMark(mark, tests);
    }
  }

  const asRules = (channel) => (Array.isArray(channel) ? channel : [channel ?? { value: 1 }]);
  const both = (test, rule) => (rule.test ? `(${test}) && (${rule.test})` : test);
  function dimmed(test, rule) {
    if ("value" in rule) return { test: both(test, rule), value: rule.value * DIM };
    return { test: both(test, rule), signal: `${DIM} * (${rule.signal ?? 1})` };
  }

  function patchMark(mark, { isHidden, isOther, isOverTime }) {
    mark.encode = { ...mark.encode, update: { ...mark.encode?.update } };
    const { update } = mark.encode;
    const rules = asRules(update.opacity);
    update.opacity = [...(isHidden ? [{ test: isHidden, value: 0 }] : []), ...rules.map((rule) => dimmed(isOther, rule)), ...rules];
    if (!isOverTime) return;
    if (mark.type !== "text") mark.clip = true;
    // A text at the begin of a phase stays while a part of the phase is in the window.
    else if (update.x?.scale && update.x.field) {
      const begin = `datum[${JSON.stringify(update.x.field)}]`;
      const outside = `isValid(time_window) && (${begin} >= time_window[1] || (isValid(datum.end) ? datum.end : ${begin}) <= time_window[0])`;
      update.x = { signal: `max(0, scale('${update.x.scale}', ${begin}))` };
      update.opacity = [{ test: outside, value: 0 }, ...update.opacity];
    }
  }

  function patchLegend(legend) {
    if (legend.type === "gradient") return;
    const encode = { ...legend.encode };
    for (const part of ["symbols", "labels"]) {
      const update = { ...encode[part]?.update };
      update.opacity = [{ test: "indexof(hidden_series, datum.value) >= 0", value: 0.3 }, ...asRules(update.opacity)];
      encode[part] = { ...encode[part], interactive: true, update: { ...update, cursor: { value: "pointer" } } };
    }
    legend.encode = encode;
  }

  // A chart was drawn.
  function drawn(chart) {
    chart.view.addEventListener("click", (event, item) => clicked(chart, item));
    for (const label of chart.plot.querySelectorAll(".role-legend-label text")) {
      if (label.__data__?.datum?.value === undefined || chart.series.length === 0) continue;
      pressable(label, () => toggleSeries(chart, label.__data__.datum.value), `Show ${label.textContent}`);
      label.setAttribute("aria-pressed", !chart.hidden.includes(label.__data__.datum.value));
    }
    if (chart.name.startsWith("pressure-scale")) {
      for (const bar of chart.plot.querySelectorAll(".mark-rect.role-mark path")) {
        const phase = bar.__data__?.datum?.phase;
        if (phase) pressable(bar, () => choose(chart.run, phase), `Highlight ${phase}`);
      }
    }
    chart.strips = chart.isOverTime ? stripsOf(chart) : null;
    overlay(chart);
  }

  // Mouse clicks reach these through Vega; keys do not.
  function pressable(element, action, label) {
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", label);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      action();
    });
  }

  function clicked(chart, item) {
    if (item?.mark?.role?.startsWith("legend") && item.datum?.value !== undefined) return toggleSeries(chart, item.datum.value);
    if (chart.isOverTime) return; // The pointer's own listeners know the moment.
    const phase = item?.datum?.phase?.split(" · ")[0];
    // An overview has no table of phases: any may be chosen.
    const known = chart.run.phases;
    if (phase && (known.size === 0 || known.has(phase))) choose(chart.run, phase);
  }

  async function toggleSeries(chart, series) {
    const { hidden } = chart;
    chart.hidden = hidden.includes(series) ? hidden.filter((other) => other !== series) : [...hidden, series];
    await chart.view.signal("hidden_series", chart.hidden).runAsync();
    for (const label of chart.plot.querySelectorAll(".role-legend-label text[role=button]")) {
      label.setAttribute("aria-pressed", !chart.hidden.includes(label.__data__.datum.value));
    }
    chart.figure.dataset.hidden = chart.hidden.join(" ");
  }

  // Highlights `phase` in all charts of its run and in its table; the same once more ends that.
  async function choose(run, phase) {
    run.phase = phase === run.phase ? null : phase;
    for (const row of run.part.querySelectorAll("tr[data-phase]")) {
      const is = row.dataset.phase === run.phase;
      row.classList.toggle("chosen", is);
      row.querySelector(".pick")?.setAttribute("aria-pressed", is);
    }
    state();
    document.dispatchEvent(new CustomEvent("phase", { detail: run.phase }));
    await follow(run.charts, (chart) => chart.view.signal("chosen_phase", run.phase));
  }

  // Charts that are drawn take the change over; later drawings begin with it.
  async function follow(charts, change) {
    for (const chart of charts) {
      if (!chart.view) continue;
      await change(chart).runAsync();
      overlay(chart);
    }
  }

  const milliseconds = (run) => (run.window ?? run.whole).map((second) => second * 1000);

  async function show(run, window) {
    const [first, last] = run.whole;
    if (window) {
      const length = Math.min(last - first, Math.max(WINDOW_MIN, window[1] - window[0]));
      const begin = Math.min(Math.max(first, window[0]), last - length);
      run.window = length >= last - first ? null : [begin, begin + length];
    } else run.window = null;
    state();
    const times = run.charts.filter((chart) => chart.isOverTime);
    for (const chart of times) chart.figure.dataset.window = run.window ? run.window.map((second) => second.toFixed(1)).join("-") : "";
    await follow(times, (chart) => chart.view.signal("time_window", milliseconds(run)));
  }

  const clock = (seconds) => {
    const whole = Math.floor(seconds);
    const two = (number) => String(number).padStart(2, "0");
    return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  };

  // What is not as the page began, with a button that ends it.
  let bar;
  function state() {
    if (!bar) {
      bar = document.createElement("div");
      bar.className = "state";
      bar.setAttribute("role", "status");
      document.body.append(bar);
    }
    const words = [];
    for (const run of runs.values()) {
      if (run.window) words.push(`Showing ${clock(run.window[0])} to ${clock(run.window[1])}`);
      if (run.phase) words.push(`${run.phase} highlighted`);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Show everything (Esc)";
    button.addEventListener("click", reset);
    bar.replaceChildren(words.join(" · "), " ", ...(words.length ? [button] : []));
    bar.hidden = words.length === 0;
  }

  function reset() {
    for (const run of runs.values()) {
      if (run.window) show(run, null);
      if (run.phase) choose(run, run.phase);
    }
  }

  // The lines of each strip: by name, in the order of time.
  function stripsOf(chart) {
    const strips = new Map();
    for (const row of chart.rows) {
      if (row.row !== "line") continue;
      if (!strips.has(row.strip)) strips.set(row.strip, new Map());
      const lines = strips.get(row.strip);
      if (!lines.has(row.series)) lines.set(row.series, []);
      lines.get(row.series).push(row);
    }
    return strips;
  }

  // The panels of a chart over time, in pixels from the corner of its plot.
  function panels(chart) {
    const plot = chart.plot.getBoundingClientRect();
    const cells = chart.plot.querySelectorAll(".cell > g > path.background");
    const backgrounds = cells.length ? [...cells] : [...chart.plot.querySelectorAll(".role-frame > g > path.background")].slice(0, 1);
    return backgrounds.map((background) => {
      const { left, top, width, height } = background.getBoundingClientRect();
      return { left: left - plot.left, top: top - plot.top, width, height, strip: background.__data__?.datum?.strip };
    });
  }

  function place(run, panel, time) {
    const [first, last] = run.window ?? run.whole;
    return panel.left + ((time - first) / (last - first)) * panel.width;
  }

  function timeAt(run, panel, x) {
    const [first, last] = run.window ?? run.whole;
    return first + Math.min(1, Math.max(0, (x - panel.left) / panel.width)) * (last - first);
  }

  // The highlighted phase, the brush and the moment under the pointer, above the picture.
  function overlay(chart) {
    if (!chart.isOverTime || !chart.over) return;
    const { run } = chart;
    const boxes = [];
    const box = (className, panel, from, to) => {
      const left = Math.max(panel.left, place(run, panel, from));
      const right = Math.min(panel.left + panel.width, place(run, panel, to));
      if (right < left) return;
      const element = document.createElement("div");
      element.className = className;
      Object.assign(element.style, { left: `${left}px`, width: `${right - left}px`, top: `${panel.top}px`, height: `${panel.height}px` });
      boxes.push(element);
    };
    for (const panel of panels(chart)) {
      for (const [begin, end] of run.phases.get(run.phase) ?? []) box("band", panel, begin, end);
      if (run.brush) box("brush", panel, ...run.brush);
      if (run.moment !== null) box("rule", panel, run.moment, run.moment);
    }
    chart.over.replaceChildren(...boxes);
  }

  let asked = new Set();
  function overlaySoon(run) {
    if (asked.size === 0) {
      setTimeout(() => {
        const now = asked;
        asked = new Set();
        for (const one of now) for (const chart of one.charts) overlay(chart);
      });
    }
    asked.add(run);
  }

  function addTime(chart) {
    const { plot, run } = chart;
    const moments = chart.rows.flatMap((row) => [row.t_s, row.end_s]).filter((moment) => typeof moment === "number");
    run.whole[1] = moments.reduce((last, moment) => Math.max(last, moment), run.whole[1]);
    plot.classList.add("time");
    plot.setAttribute("tabindex", "0");
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-description", "Arrow keys move along time, plus and minus zoom, Shift with an arrow key moves the window, Enter highlights the phase, Escape shows everything.");
    chart.over = document.createElement("div");
    chart.over.className = "over";
    plot.append(chart.over);
    const panelAt = (event) => {
      const { left, top } = plot.getBoundingClientRect();
      const [x, y] = [event.clientX - left, event.clientY - top];
      const panel = panels(chart).find((one) => x >= one.left && x <= one.left + one.width && y >= one.top && y <= one.top + one.height);
      return panel && { panel, x, time: timeAt(run, panel, x) };
    };
    let start = null;
    plot.addEventListener("pointerdown", (event) => {
      start = event.button === 0 ? panelAt(event) : null;
    });
    plot.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch" || run.brush) moveTo(chart, panelAt(event), event.clientX, event.clientY);
    });
    // A brush may leave the chart.
    addEventListener("pointermove", (event) => {
      if (!start) return;
      const x = event.clientX - plot.getBoundingClientRect().left;
      if (run.brush || Math.abs(x - start.x) >= BRUSH_MIN) run.brush = [start.time, timeAt(run, start.panel, x)].sort((one, other) => one - other);
      overlaySoon(run);
    });
    addEventListener("pointerup", () => {
      if (!start) return;
      if (run.brush) show(run, run.brush);
      else choosePhaseAt(run, start.time);
      start = run.brush = null;
      overlaySoon(run);
    });
    addEventListener("pointercancel", () => {
      if (start) start = run.brush = null;
      overlaySoon(run);
    });
    plot.addEventListener("pointerleave", () => moveTo(chart, null));
    plot.addEventListener("blur", () => moveTo(chart, null));
    plot.addEventListener("dblclick", () => show(run, null));
    plot.addEventListener("keydown", (event) => pressed(chart, event));
  }

  function choosePhaseAt(run, time) {
    const phase = phaseAt(run, time);
    if (phase !== null) choose(run, phase);
  }

  const STEPS = 50;
  function pressed(chart, event) {
    if (event.target !== chart.plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const { run } = chart;
    const [first, last] = run.window ?? run.whole;
    const length = last - first;
    const middle = Math.min(last, Math.max(first, run.moment ?? (first + last) / 2));
    const zoomed = (factor) => show(run, [middle - (middle - first) * factor, middle + (last - middle) * factor]);
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (direction && event.shiftKey) show(run, [first + (direction * length) / 5, last + (direction * length) / 5]);
    else if (direction) {
      const panel = panels(chart)[0];
      const time = Math.min(last, Math.max(first, middle + (direction * length) / STEPS));
      const { left, top } = chart.plot.getBoundingClientRect();
      moveTo(chart, { panel, time }, left + place(run, panel, time), top + panel.top + panel.height / 2);
    } else if (event.key === "+" || event.key === "=") zoomed(0.5);
    else if (event.key === "-") zoomed(2);
    else if (event.key === "Enter") choosePhaseAt(run, middle);
    else return;
    event.preventDefault();
  }

  // The moment under the pointer, in all charts over time of the run; the values at it beside the pointer.
  function moveTo(chart, at, clientX, clientY) {
    const { run } = chart;
    run.moment = at?.time ?? null;
    overlaySoon(run);
    hint(at ? words(chart, at) : null, clientX, clientY);
  }

  const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  function words(chart, { panel, time }) {
    const lines = chart.strips.get(panel.strip);
    if (!lines) return null;
    const phase = phaseAt(chart.run, time);
    const head = [[clock(time), phase ?? "between phases"]];
    const shown = [...lines].filter(([series]) => !chart.hidden.includes(series));
    return [...head, ...shown.map(([series, rows]) => [series, value(nearest(rows, time))])];
  }

  function value(row) {
    if (!row || row.mean === null) return "not measured";
    const range = typeof row.low === "number" && row.low !== row.high ? ` (${digits.format(row.low)} to ${digits.format(row.high)})` : "";
    return digits.format(row.mean) + range;
  }

  // The row nearest to `time` of rows in its order.
  function nearest(rows, time) {
    let [low, high] = [0, rows.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle].t_s < time) low = middle + 1;
      else high = middle;
    }
    const before = rows[low - 1];
    return before && time - before.t_s < rows[low].t_s - time ? before : rows[low];
  }

  let box;
  function hint(pairs, clientX, clientY) {
    if (!box) {
      box = document.createElement("div");
      box.className = "hint";
      box.setAttribute("role", "status");
      document.body.append(box);
    }
    box.hidden = !pairs;
    if (!pairs) return;
    const cell = (text, kind) => Object.assign(document.createElement(kind), { textContent: text });
    box.replaceChildren(...pairs.flatMap(([name, text]) => [cell(name, "span"), cell(text, "b")]));
    const { offsetWidth, offsetHeight } = box;
    const left = clientX + 16 + offsetWidth > innerWidth ? clientX - 16 - offsetWidth : clientX + 16;
    box.style.left = `${Math.max(4, left)}px`;
    box.style.top = `${Math.max(4, Math.min(clientY + 12, innerHeight - offsetHeight - 4))}px`;
  }

  addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("tr[data-phase] .pick")) {
      const row = button.closest("tr");
      button.addEventListener("click", () => choose(runOf(row), row.dataset.phase));
    }
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") reset();
  });

  return { add, choose: (phase) => choose(runOf(document.body), phase), drawn, hint, patch, rows };
})();
