"use strict";
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const charts = [];
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const whole = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : "");
  const written = (value) => (value == null ? "–" : String(Number(value.toPrecision(9))));
  root.classList.add("js");

  // ---- plots ----------------------------------------------------------------------------------------

  const axis = (more) => ({
    stroke: () => colour("quiet"),
    grid: { stroke: () => colour("grid"), width: 1 },
    ticks: { stroke: () => colour("grid"), width: 1, size: 4 },
    font: "12px system-ui, sans-serif",
    ...more,
  });
  // As many decimals as the distance between two ticks needs, so that no two read the same.
  const decimals = (_, splits, axis, space, distance) => {
    let digits = 0;
    while (digits < 12 && Math.abs(distance * 10 ** digits - Math.round(distance * 10 ** digits)) > 1e-6) digits++;
    return splits.map((value) => (value == null ? "" : value.toFixed(digits)));
  };
  const steps = (more) => axis({ values: (_, splits) => splits.map(whole), incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 1e5, 1e6, 1e7], size: 34, ...more });

  // A dashed line where the runs part, the same in every plot over steps.
  const parting = (u) => {
    if (data.first === null || data.first < u.scales.x.min || data.first > u.scales.x.max) return;
    const ratio = devicePixelRatio || 1;
    const x = Math.round(u.valToPos(data.first, "x", true));
    u.ctx.save();
    u.ctx.strokeStyle = colour("red");
    u.ctx.lineWidth = ratio;
    u.ctx.setLineDash([4 * ratio, 4 * ratio]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    u.ctx.restore();
  };

  const draw = (place, height, options, values) => {
    const chart = new uPlot({ width: place.clientWidth || 300, height, ...options }, values, place);
    charts.push({ chart, place, height });
    new ResizeObserver(() => {
      if (root.classList.contains("printing")) return;
      if (place.clientWidth && Math.abs(place.clientWidth - chart.width) > 1) chart.setSize({ width: place.clientWidth, height });
    }).observe(place);
    return chart;
  };

  const series = (label, index) => ({
    label,
    stroke: () => colour(`run-${index % 6}`),
    width: 1.75,
    dash: index < 6 ? undefined : [6, 4],
    points: { size: 5, fill: () => colour(`run-${index % 6}`) },
    value: (_, value) => written(value),
  });
  const cursor = { sync: { key: "steps" }, drag: { x: true, y: false } };
  const lines = (place, xs, ys, y, height, all) =>
    draw(place, height, {
      cursor,
      scales: { x: { time: false, range: (u, low, high) => {
          if (all && low === xs[0] && high === xs[xs.length - 1]) [low, high] = all; // unzoomed
          return low === high ? [low - 1, high + 1] : [low, high];
        } }, y: y.scale },
      axes: [steps(), axis({ size: 66, ...y.axis })],
      series: [{ label: "step", value: (_, value) => (value == null ? "–" : whole(value)) }, ...ys.map((item, index) => series(item.label, index))],
      hooks: { draw: [parting] },
    }, [xs, ...ys.map((item) => item.values)]);

  if (data.losses) {
    const runs = data.losses.runs.map((values, index) => ({ label: `run ${index + 1}`, values }));
    lines(document.getElementById("plot-losses"), data.losses.steps, runs, { scale: {}, axis: { values: decimals } }, 300);
  }
  for (const place of document.querySelectorAll("[data-growth]")) {
    const grown = data.growth[Number(place.dataset.growth)];
    const power = (_, splits) => splits.map((value) => (value == null ? "" : value >= 0.01 && value < 1e4 ? String(value) : value.toExponential(0).replace("+", "")));
    const tens = (_, splits) => splits.map((value) => (Math.abs(Math.log10(value) % 1) < 1e-9 ? value : null));
    const y = { scale: { distr: 3 }, axis: { values: power, grid: { stroke: () => colour("grid"), width: 1, filter: tens } } };
    const [xs, ...values] = grown[place.dataset.of];
    const labels = place.dataset.of === "loss" ? ["loss, relative"] : ["largest", "median"];
    lines(place, xs, labels.map((label, index) => ({ label, values: values[index] })), y, 220, grown.range);
  }

  // ---- the strip of steps × phases ------------------------------------------------------------------

  const strip = (() => {
    const place = document.getElementById("plot-strip");
    if (!place) return null;
    const { phases, segments, coarse, first, last, marks } = data.strip;
    const readout = document.getElementById("strip-readout");
    const rows = phases.length;
    const least = Math.min(8, last - first + 1); // steps in sight when zoomed in as far as it goes
    let at = marks.length ? marks[0][0] : first;

    const kind = ([, , , differing, lone]) => (lone ? "lone" : differing ? "differs" : "equal");
    const middle = (row) => rows - 1 - row;

    const cells = (u) => {
      const { ctx, bbox } = u;
      const ratio = devicePixelRatio || 1;
      const [low, high] = [u.scales.x.min, u.scales.x.max];
      const x = (step) => u.valToPos(step, "x", true);
      const tall = bbox.height / rows;
      const apart = x(1) - x(0) > 7 * ratio; // each step is seen: leave a gap between them
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.fillStyle = colour("blue-soft");
      ctx.fillRect(x(at - 0.5), bbox.top, Math.max(ratio, x(at + 0.5) - x(at - 0.5)), bbox.height);
      for (const pass of ["equal", "differs", "lone"]) {
        ctx.fillStyle = colour(`strip-${pass}`);
        segments.forEach((of, row) => {
          const height = tall * (pass === "equal" ? 0.26 : 0.6);
          const top = bbox.top + tall * (row + 0.5) - height / 2;
          for (const segment of of) {
            if (segment[1] + 0.5 < low || segment[0] - 0.5 > high || kind(segment) !== pass) continue;
            const gap = apart ? 1.5 * ratio : 0;
            const width = apart && !coarse ? 1 : segment[1] - segment[0] + 1;
            const from = Math.max(segment[0], apart && !coarse ? Math.floor(low) : segment[0]);
            const to = Math.min(segment[1], apart && !coarse ? Math.ceil(high) : segment[1]);
            for (let step = from; step <= to; step += width) {
              const left = x(step - 0.5);
              ctx.fillRect(left, top, Math.max(ratio, x(step + width - 0.5) - left - gap), height);
            }
          }
        });
      }
      ctx.fillStyle = colour("strip-mark");
      ctx.strokeStyle = colour("strip-mark");
      ctx.lineWidth = 1.5 * ratio;
      for (const [step, row] of marks) {
        const centre = x(step);
        const top = bbox.top + tall * (row + 0.2);
        const side = 4 * ratio;
        ctx.beginPath();
        ctx.moveTo(centre - side, top - side * 1.6);
        ctx.lineTo(centre + side, top - side * 1.6);
        ctx.lineTo(centre, top - ratio);
        ctx.fill();
        const width = Math.max(3 * ratio, x(step + 0.5) - x(step - 0.5));
        ctx.strokeRect(centre - width / 2, top, width, tall * 0.6);
      }
      ctx.restore();
    };

    const chart = draw(place, rows * 32 + 44, {
      legend: { show: false },
      cursor: { points: { show: false }, y: false, drag: { x: true, y: false } },
      scales: {
        x: { time: false, range: (_, low, high) => [low, high] },
        y: { range: [-0.5, rows - 0.5] },
      },
      axes: [
        steps({ grid: { show: false } }),
        axis({ size: 86, splits: () => phases.map((_, row) => middle(row)), values: () => phases, grid: { show: false }, ticks: { show: false }, gap: 8 }),
      ],
      series: [{}, { show: true, stroke: "transparent", points: { show: false } }],
      hooks: { draw: [cells] },
    }, [[first - 0.5, last + 0.5], [null, null]]);

    const tell = () => {
      const said = phases.flatMap((phase, row) => {
        const segment = segments[row].find(([from, to]) => from <= at && at <= to);
        if (!segment) return [];
        const [from, to, records, differing, lone] = segment;
        const unequal = [];
        if (differing) unequal.push(`${differing} of ${records} differ`);
        if (lone) unequal.push(`${lone} in one run alone`);
        const over = coarse && to > from ? ` (steps ${whole(from)} to ${whole(to)})` : "";
        return [`${phase}: ${unequal.join(", ") || `${records} equal`}${over}`];
      });
      const text = `step ${whole(at)} — ${said.join(" · ") || "nothing recorded"}`;
      readout.textContent = text;
      place.setAttribute("aria-valuenow", String(at));
      place.setAttribute("aria-valuetext", text);
    };
    const view = (low, high) => {
      const width = Math.min(Math.max(high - low, least), last - first + 1);
      const from = Math.min(Math.max((low + high - width) / 2, first - 0.5), last + 0.5 - width);
      chart.setScale("x", { min: from, max: from + width });
    };
    const zoom = (by) => {
      const { min, max } = chart.scales.x;
      const centre = at >= min && at <= max ? at : (min + max) / 2;
      view(centre - (centre - min) * by, centre + (max - centre) * by);
    };
    const go = (step) => {
      at = Math.min(Math.max(Math.round(step), first), last);
      const { min, max } = chart.scales.x;
      if (at - 0.5 < min) view(at - 0.5, at - 0.5 + (max - min));
      else if (at + 0.5 > max) view(at + 0.5 - (max - min), at + 0.5);
      else chart.redraw(false);
      tell();
    };
    const all = () => view(first - 0.5, last + 0.5);
    const mark = () => {
      if (marks.length) at = marks[0][0];
      view(at - 10, at + 10);
      tell();
    };
    const buttons = { in: () => zoom(0.5), out: () => zoom(2), first: mark, all };
    for (const button of document.querySelectorAll("[data-strip]")) button.addEventListener("click", buttons[button.dataset.strip]);
    place.addEventListener("keydown", (event) => {
      const far = event.shiftKey ? Math.max(1, Math.round((chart.scales.x.max - chart.scales.x.min) / 10)) : 1;
      const keys = { ArrowLeft: () => go(at - far), ArrowRight: () => go(at + far), ArrowDown: () => go(at - far), ArrowUp: () => go(at + far), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Home: all, End: mark };
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    chart.over.addEventListener("mousemove", () => {
      if (chart.cursor.left < 0) return;
      at = Math.min(Math.max(Math.round(chart.posToVal(chart.cursor.left, "x")), first), last);
      chart.redraw(false);
      tell();
    });
    tell();
    return chart;
  })();

  // ---- light and dark, paper, copying -----------------------------------------------------------------

  const redraw = () => charts.forEach(({ chart }) => chart.redraw(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  const closed = [];
  addEventListener("beforeprint", () => {
    root.classList.add("printing");
    for (const details of document.querySelectorAll("details:not([open]):not(.aside)")) {
      details.open = true;
      closed.push(details);
    }
    charts.forEach(({ chart, height }) => chart.setSize({ width: 660, height }));
    redraw();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    closed.splice(0).forEach((details) => (details.open = false));
    charts.forEach(({ chart, place, height }) => chart.setSize({ width: place.clientWidth, height }));
    redraw();
  });

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  };
  for (const copied of document.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${copied.dataset.copy}`);
    button.addEventListener("click", async () => {
      button.textContent = (await copy(copied.querySelector("pre").textContent)) ? "Copied" : "Select and copy";
      setTimeout(() => (button.textContent = "Copy"), 1600);
    });
    copied.append(button);
  }
})();
