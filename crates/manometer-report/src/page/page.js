// Draws every chart of the page from the data beside it, again when the colours or the width change.
"use strict";
(() => {
  // Errors go where a reader, and a test, can find them.
  function problem(what) {
    const line = document.createElement("p");
    line.textContent = String((what && what.stack) || what);
    document.getElementById("problems")?.append(line);
  }
  addEventListener("error", (event) => problem(event.error || event.message));
  addEventListener("unhandledrejection", (event) => problem(event.reason));

  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Text, lines and series in colours with enough contrast on the page's ground. The series' colours
  // are those of Okabe and Ito, darkened or lightened. More phases and runs than these take the colours of a scale.
  function theme(width, labels) {
    const palette = JSON.parse(document.getElementById("colours").textContent)[dark.matches ? "dark" : "light"];
    const { ground, ink, soft, line, series } = palette;
    const ordinal = labels.length > series.length + 1 ? palette.shades : [ink, ...series];
    const narrow = width < 560;
    // As many labels beside each other as their longest leaves room for, at some seven pixels a character.
    const longest = Math.max(0, ...labels.map((label) => String(label).length));
    const columns = narrow ? 1 : Math.min(3, Math.max(1, Math.floor((width - 60) / (longest * 7 + 40))));
    const labelLimit = narrow ? width - 90 : columns === 3 ? Math.min(320, Math.floor(width / 3) - 40) : Math.floor(width / columns) - 60;
    return {
      background: ground,
      font: getComputedStyle(document.body).fontFamily,
      padding: { left: 2, right: 10, top: 4, bottom: 4 },
      view: { stroke: null },
      axis: {
        labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line,
        labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", titlePadding: 8, titleLimit: width - 40,
      },
      axisY: { minExtent: 44, maxExtent: 44, domain: false, ticks: false },
      header: { labelColor: ink, labelFontSize: 13, labelFontWeight: 600, labelLimit: width - 60 },
      legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, labelLimit, columns, rowPadding: 2, symbolOpacity: 1, symbolSize: 70, symbolStrokeWidth: 2.5 },
      range: { category: series, ordinal },
      mark: { color: series[0] },
      rule: { color: ink },
      tick: { color: ink },
      text: { color: ink },
      style: { halo: { color: ground, stroke: ground, strokeWidth: 3, strokeJoin: "round" } },
    };
  }

  // The panels of a grid in a row: as many as there is room for.
  const PANEL_WIDTH = 340;
  function panelsInRow(spec, width) {
    return Math.max(1, Math.min(spec.columns ?? 1, Math.floor(width / PANEL_WIDTH)));
  }

  // A facet cannot take its width from its container, so it is set here: what the axes leave.
  const AXIS_WIDTH = 60;
  function fitted(spec, width, columns) {
    if (!spec.spec) return spec;
    const panels = spec.columns ? { ...spec, columns } : spec;
    return { ...panels, spec: { ...spec.spec, width: Math.max(120, Math.floor(width / columns)) } };
  }

  // The field of an ordered scale of colours.
  function orderedField(part) {
    if (!part || typeof part !== "object") return undefined;
    if (part.color?.type === "ordinal") return part.color.field;
    return Object.values(part).map(orderedField).find((field) => field !== undefined);
  }

  // The bars of the first screen are lower where they are many, so that what is beside or below them stays in view.
  const HIGH_BARS = { wide: 5, narrow: 3 };
  const LOWER = 0.6;
  function lowered(part, key) {
    if (typeof part === "number" && (["step", "yOffset"].includes(key) || (key === "dy" && part < 0))) return part * LOWER;
    if (typeof part === "number" && key === "fontSize") return 11;
    if (typeof part === "number" && (key === "height" || key === "size")) return part * LOWER;
    if (Array.isArray(part)) return part.map((one) => lowered(one));
    if (!part || typeof part !== "object") return part;
    return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, lowered(value, name)]));
  }
  function ofHeight(chart) {
    const high = innerWidth < 720 ? HIGH_BARS.narrow : HIGH_BARS.wide;
    return chart.figure.closest(".glance") && chart.rows.length > high ? lowered(chart.spec) : chart.spec;
  }

  async function embed(chart, width, around) {
    chart.view?.finalize();
    const spec = { ...fitted(ofHeight(chart), width - around, panelsInRow(chart.spec, width)), datasets: { [chart.spec.data.name]: chart.rows } };
    const options = { actions: false, ast: true, config: theme(width, chart.labels), renderer: "svg", patch: (vega) => manometer.patch(vega, chart) };
    // The values at a moment have a box of their own.
    if (chart.rows.some((row) => row.row === "line")) options.tooltip = false;
    chart.view = (await vegaEmbed(chart.picture, spec, options)).view;
    return chart.plot.querySelector("svg").viewBox.baseVal.width - width;
  }

  async function draw(chart) {
    const width = chart.plot.clientWidth;
    try {
      // A last label may overflow the edge, which is known only after drawing; drawn narrower, another may.
      let around = AXIS_WIDTH;
      for (let over = Infinity, turns = 0; over > 0 && turns < 4; turns += 1) {
        over = await embed(chart, width, around);
        if (!chart.spec.spec) break;
        around += Math.max(0, Math.ceil(over));
      }
      manometer.drawn(chart);
      chart.figure.dataset.scheme = dark.matches ? "dark" : "light";
      chart.figure.dataset.drawn = width;
    } catch (error) {
      const text = document.createElement("p");
      text.className = "failed";
      text.textContent = "This chart could not be drawn. Its data can be saved below.";
      chart.plot.replaceChildren(text);
      problem(error);
    }
  }

  // One drawing at a time: a request during a drawing takes effect after it.
  let requested = false;
  let drawing = false;
  async function drawAll(charts) {
    requested = true;
    if (drawing) return;
    drawing = true;
    while (requested) {
      requested = false;
      for (const chart of charts) await draw(chart);
    }
    drawing = false;
    document.documentElement.dataset.drawn = charts.length;
  }

  function save(name, type, text) {
    const link = document.createElement("a");
    link.download = name;
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function csv(rows) {
    const names = Object.keys(rows[0] ?? {});
    const cell = (value) => {
      const text = value === null || value === undefined ? "" : String(value);
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [names, ...rows.map((row) => names.map((name) => row[name]))].map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
  }

  async function saveChart(chart, what) {
    if (what === "csv") save(`${chart.name}.csv`, "text/csv", csv(chart.rows));
    else if (chart.view) save(`${chart.name}.svg`, "image/svg+xml", await chart.view.toSVG());
  }

  function chartOf(figure, specs) {
    const data = manometer.rows(JSON.parse(figure.querySelector("script").textContent));
    const spec = specs[figure.dataset.chart];
    const field = orderedField(spec) ?? "phase";
    const picture = document.createElement("div");
    figure.querySelector(".plot").append(picture);
    const chart = {
      figure,
      plot: figure.querySelector(".plot"),
      picture,
      name: figure.querySelector(".save").dataset.name,
      spec,
      rows: data,
      labels: [...new Set(data.map((row) => row[field]).filter((value) => value !== null && value !== undefined))],
    };
    manometer.add(chart);
    return chart;
  }

  addEventListener("DOMContentLoaded", () => {
    const specs = JSON.parse(document.getElementById("specs").textContent);
    const charts = Array.from(document.querySelectorAll("figure[data-chart]"), (figure) => chartOf(figure, specs));
    for (const chart of charts) {
      for (const button of chart.figure.querySelectorAll("[data-save]")) {
        button.addEventListener("click", () => saveChart(chart, button.dataset.save));
      }
    }
    drawAll(charts);
    dark.addEventListener("change", () => drawAll(charts));
    let width = innerWidth;
    let pause;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      clearTimeout(pause);
      pause = setTimeout(() => drawAll(charts), 150);
    });
  });
})();
