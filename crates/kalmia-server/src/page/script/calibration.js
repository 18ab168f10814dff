// The chart of the calibration.

function showCalibration(model) {
  const groups = model.calibration ?? [];
  byId("part-calibration").hidden = groups.length === 0;
  setText(
    byId("calibration-note"),
    model.classes
      ? "Probability of the likeliest class against the share of rows in which it was right"
      : "Predicted probability against observed share",
  );
  byId("pair").classList.toggle("one", groups.length === 0);
  if (groups.length === 0) return;
  drawCalibration(groups);
  const texts = groups.map(({ predicted, observed, rows }) => [
    decimal(predicted, 3),
    decimal(observed, 3),
    count(rows),
  ]);
  fillTable(byId("calibration"), texts, 3);
}

// Wilson's interval of an observed share: it stays within 0 and 1 for few rows too.
function shareInterval(share, rows) {
  const z2 = (Z_95 * Z_95) / rows;
  const middle = (share + z2 / 2) / (1 + z2);
  const half = (Z_95 / (1 + z2)) * Math.sqrt((share * (1 - share)) / rows + z2 / (4 * rows));
  return { low: middle - half, high: middle + half };
}

// Rare labels need a closer look: the square ends at the largest point.
function calibrationLimit(groups) {
  const most = Math.max(...groups.flatMap(({ predicted, observed }) => [predicted, observed]));
  return [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((limit) => most <= limit) ?? 1;
}

function drawCalibration(groups) {
  const box = byId("calibration-plot");
  const size = Math.max(220, Math.min(380, box.clientWidth));
  const limit = calibrationLimit(groups);
  const x = linearScale(0, limit, 48, size - 14);
  const y = linearScale(0, limit, size - 44, 14);
  const picture = svg("svg", {
    role: "img",
    "aria-label": calibrationText(groups),
    width: size,
    height: size,
  });
  picture.append(...calibrationAxes(limit, size, x, y));
  const most = Math.max(...groups.map(({ rows }) => rows));
  for (const group of groups) picture.append(...calibrationPoint(group, limit, most, x, y));
  box.replaceChildren(picture);
}

function calibrationAxes(limit, size, x, y) {
  const parts = [];
  for (const { value, text } of niceTicks(0, limit, 4)) {
    parts.push(svg("line", { class: "grid", x1: x(0), x2: x(limit), y1: y(value), y2: y(value) }));
    parts.push(svg("line", { class: "grid", x1: x(value), x2: x(value), y1: y(0), y2: y(limit) }));
    parts.push(svg("text", { x: x(0) - 8, y: y(value) + 4, "text-anchor": "end" }, text));
    parts.push(svg("text", { x: x(value), y: y(0) + 18, "text-anchor": "middle" }, text));
  }
  const middle = (y(0) + y(limit)) / 2;
  parts.push(
    svg("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(limit), y2: y(limit) }),
    svg("text", { x: x(limit), y: size - 6, "text-anchor": "end" }, "predicted"),
    svg(
      "text",
      { x: 11, y: middle, "text-anchor": "middle", transform: `rotate(-90 11 ${middle})` },
      "observed",
    ),
  );
  return parts;
}

// A larger point stands for more rows.
function calibrationPoint({ predicted, observed, rows }, limit, most, x, y) {
  const { low, high } = shareInterval(observed, rows);
  const mark = svg("circle", {
    class: "mark calibration-mark",
    cx: x(predicted),
    cy: y(observed),
    r: 3 + 5 * Math.sqrt(rows / most),
  });
  const shares = `predicted ${decimal(predicted, 3)}, observed ${decimal(observed, 3)}`;
  mark.append(svg("title", {}, `${shares}, ${plural(rows, "row")}`));
  const ends = {
    x1: x(predicted),
    x2: x(predicted),
    y1: y(Math.max(0, low)),
    y2: y(Math.min(limit, high)),
  };
  return [svg("line", { class: "whisker thin", ...ends }), mark];
}

function calibrationText(groups) {
  const points = groups.map(
    ({ predicted, observed }) => `${decimal(predicted, 2)} and ${decimal(observed, 2)}`,
  );
  return `Predicted probability and observed share, by group: ${points.join("; ")}.`;
}
