// The chart of the progressive loss, and reading values off it.

// ---- Scales ----

function linearScale(low, high, from, to) {
  return (value) => from + ((value - low) / (high - low)) * (to - from);
}

// About `wanted` multiples of 1, 2 or 5 times a power of ten.
function niceTicks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.7);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    ticks.push(i * step);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return ticks.map((value) => ({
    value,
    text: withMinus(places > 6 ? value.toExponential(0) : value.toFixed(places)),
  }));
}

function rowTicks(first, last) {
  const factors = last / first < 30 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = 1; power <= last; power *= 10)
    ticks.push(...factors.map((factor) => factor * power));
  return ticks.filter((tick) => tick >= first && tick <= last);
}

// The first rows can have losses far above all others. They leave the picture, and a note says so.
function lossRange(course) {
  const values = course
    .flatMap((point) => [point.loss, point.baseline_loss])
    .filter(isNumber)
    .sort((a, b) => a - b);
  const low = values[0];
  const most = values[Math.floor(0.9 * (values.length - 1))];
  const top = values[values.length - 1];
  const high = most > low && top - low > 3 * (most - low) ? low + 2 * (most - low) : top;
  const spare = (high - low || Math.abs(high) || 1) * 0.12;
  return { low: low - spare, high: high + spare, cut: high < top ? high : null };
}

// ---- Chart: progressive loss over rows ----

function drawLoss() {
  const box = byId("loss-plot");
  const course = (state.model.course ?? []).filter(
    (point) => isNumber(point.loss) && isNumber(point.baseline_loss),
  );
  if (course.length === 0) {
    box.replaceChildren(element("p", "muted", "No rows learned yet."));
    return;
  }
  const chart = lossChart(course, Math.max(240, box.clientWidth));
  const picture = svg("svg", {
    role: "img",
    "aria-label": lossText(course),
    width: chart.width,
    height: chart.height,
  });
  picture.append(
    ...lossAxes(chart),
    lossClip(chart),
    ...lossLines(chart, course),
    ...lossLabels(chart, course),
  );
  const tip = element("div", "tip");
  tip.id = "loss-tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  box.replaceChildren(picture, tip);
  box.chart = chart;
  box.course = course;
  setText(
    byId("loss-note"),
    chart.cut === null ? "" : `Losses above ${decimal(chart.cut, 3)} are outside of the plot.`,
  );
  showProbe();
}

function lossChart(course, width) {
  const narrow = width < 520;
  const edge = { left: narrow ? 42 : 52, right: 14, top: 8, bottom: 40 };
  const height = narrow ? 240 : 320;
  const first = course[0].rows;
  const last = Math.max(course[course.length - 1].rows, first * 2);
  const range = lossRange(course);
  const logarithmic = linearScale(Math.log(first), Math.log(last), edge.left, width - edge.right);
  const y = linearScale(range.low, range.high, height - edge.bottom, edge.top);
  return {
    width,
    height,
    edge,
    first,
    last,
    ...range,
    x: (rows) => logarithmic(Math.log(rows)),
    y,
  };
}

function lossAxes({ width, height, edge, first, last, low, high, x, y }) {
  const parts = [];
  const floor = height - edge.bottom;
  for (const { value, text } of niceTicks(low, high, 5)) {
    parts.push(
      svg("line", {
        class: "grid",
        x1: edge.left,
        x2: width - edge.right,
        y1: y(value),
        y2: y(value),
      }),
    );
    parts.push(svg("text", { x: edge.left - 8, y: y(value) + 4, "text-anchor": "end" }, text));
  }
  for (const tick of rowTicks(first, last)) {
    parts.push(svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: floor, y2: floor + 5 }));
    parts.push(
      svg("text", { x: x(tick), y: floor + 19, "text-anchor": "middle" }, shortCount(tick)),
    );
  }
  parts.push(
    svg("line", { class: "axis", x1: edge.left, x2: width - edge.right, y1: floor, y2: floor }),
  );
  parts.push(
    svg(
      "text",
      { x: width - edge.right, y: height - 4, "text-anchor": "end" },
      "rows learned (log scale)",
    ),
  );
  return parts;
}

function lossClip({ width, height, edge }) {
  const clip = svg("clipPath", { id: "loss-clip" });
  clip.append(
    svg("rect", { x: edge.left, y: 0, width: width - edge.left, height: height - edge.bottom + 1 }),
  );
  return clip;
}

function lossLines(chart, course) {
  const path = (key) =>
    course
      .map(
        (point, i) =>
          `${i ? "L" : "M"}${chart.x(point.rows).toFixed(1)} ${chart.y(point[key]).toFixed(1)}`,
      )
      .join("");
  const line = (id, className, key) =>
    svg("path", {
      id,
      class: `series ${className}`,
      d: path(key),
      "clip-path": "url(#loss-clip)",
    });
  return [
    line("loss-constant", "of-constant", "baseline_loss"),
    line("loss-model", "of-model", "loss"),
  ];
}

// Each label stands at the end of its line, on the side that is away from the other line.
function lossLabels({ width, height, edge, y }, course) {
  const last = course[course.length - 1];
  const modelIsLower = last.loss <= last.baseline_loss;
  const label = (text, value, below, className) => {
    const at = y(value) + (below ? 20 : -10);
    const inside = Math.max(edge.top + 10, Math.min(height - edge.bottom - 6, at));
    return svg(
      "text",
      { class: `label ${className}`, x: width - edge.right, y: inside, "text-anchor": "end" },
      text,
    );
  };
  return [
    label(
      `constant predictor ${decimal(last.baseline_loss)}`,
      last.baseline_loss,
      !modelIsLower,
      "label-constant",
    ),
    label(`this model ${decimal(last.loss)}`, last.loss, modelIsLower, "label-model"),
  ];
}

function lossText(course) {
  const first = course[0];
  const last = course[course.length - 1];
  return (
    `Progressive loss from row ${count(first.rows)} to row ${count(last.rows)}. ` +
    `This model: ${decimal(first.loss)} at first, now ${decimal(last.loss)}. ` +
    `Constant predictor: ${decimal(first.baseline_loss)} at first, ` +
    `now ${decimal(last.baseline_loss)}.`
  );
}

// ---- Reading values off the loss chart ----

function showProbe() {
  const box = byId("loss-plot");
  const tip = byId("loss-tip");
  box.querySelector(".probe")?.remove();
  if (!tip) return;
  tip.hidden = state.probe === null;
  if (state.probe === null) return;
  state.probe = Math.max(0, Math.min(box.course.length - 1, state.probe));
  const point = box.course[state.probe];
  box.querySelector("svg").append(probeMarks(box.chart, point));
  tip.replaceChildren(
    element("div", "muted", `row ${count(point.rows)}`),
    tipLine("this model ", element("b", "", decimal(point.loss))),
    tipLine("constant ", element("span", "", decimal(point.baseline_loss))),
  );
  placeTip(tip, box.chart, point);
}

function tipLine(text, value) {
  const line = element("div", "", text);
  line.append(value);
  return line;
}

function probeMarks({ edge, height, x, y }, point) {
  const group = svg("g", { class: "probe" });
  const at = x(point.rows);
  const dot = (value, className) =>
    svg("circle", { class: className, cx: at, cy: y(value), r: 5, "clip-path": "url(#loss-clip)" });
  group.append(
    svg("line", { class: "axis", x1: at, x2: at, y1: edge.top, y2: height - edge.bottom }),
    dot(point.baseline_loss, "mark-constant"),
    dot(point.loss, "mark"),
  );
  return group;
}

function placeTip(tip, { width, edge, x }, point) {
  const at = x(point.rows);
  const left = at + 14 + tip.offsetWidth < width ? at + 14 : at - 14 - tip.offsetWidth;
  tip.style.transform = `translate(${Math.round(Math.max(0, left))}px, ${edge.top}px)`;
}

function probeAtPointer(event) {
  const box = byId("loss-plot");
  if (!box.course || !byId("loss-tip")) return;
  const at = event.clientX - box.getBoundingClientRect().left;
  let best = 0;
  box.course.forEach((point, i) => {
    const distance = (candidate) => Math.abs(box.chart.x(candidate.rows) - at);
    if (distance(point) < distance(box.course[best])) best = i;
  });
  state.probe = best;
  showProbe();
}

function probeByKey(event) {
  const { course } = byId("loss-plot");
  if (!course) return;
  const end = course.length - 1;
  const at = state.probe ?? end;
  const next = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    PageUp: at - 10,
    PageDown: at + 10,
    Home: 0,
    End: end,
  }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  state.probe = Math.max(0, Math.min(end, next));
  showProbe();
  const point = course[state.probe];
  setText(
    byId("loss-reading"),
    `Row ${count(point.rows)}: this model ${decimal(point.loss)}, ` +
      `constant predictor ${decimal(point.baseline_loss)}`,
  );
}

function hideProbe() {
  state.probe = null;
  showProbe();
}

function probeAtEnd() {
  if (state.probe !== null || !byId("loss-plot").course) return;
  state.probe = byId("loss-plot").course.length - 1;
  showProbe();
}
