// The coefficients, as a forest plot whose rows are those of a table.

function showCoefficients() {
  const all = chosenCoefficients(state.model);
  const wanted = byId("coefficients-filter").value.trim().toLowerCase();
  const hasIntervals = all.some(({ lower }) => isNumber(lower));
  const key = hasIntervals ? "z" : "estimate";
  const sorted = all
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .sort((a, b) => Math.abs(b[key] ?? 0) - Math.abs(a[key] ?? 0));
  const shown = sorted.slice(0, state.coefficientLimit);
  const byZ = hasIntervals && document.querySelector("input[name=scale]:checked").value === "z";
  byId("scale").hidden = !hasIntervals;
  byId("coefficients-filter").hidden = all.length <= 12 && wanted === "";
  const about = aboutCoefficients(state.model);
  setText(byId("coefficients-note"), about + coefficientsNote(all, hasIntervals));
  showMoreButton(sorted.length - shown.length);
  showNoCoefficient(all, sorted, wanted);
  const rows = shown.map((row) => forestRow(row, byZ));
  drawForest(rows, byId("coefficients"), byId("forest-axis"), 7, coefficientTexts);
}

function coefficientsNote(all, hasIntervals) {
  if (!hasIntervals)
    return `${plural(all.length, "coefficient")}. This method has no intervals. Sorted by size.`;
  return (
    "Estimates with 95\u00a0% intervals, the clearest first (sorted by |z|). " +
    "Hollow: the interval contains 0."
  );
}

function showMoreButton(hiddenRows) {
  const button = byId("coefficients-more");
  button.hidden = hiddenRows <= 0;
  const some =
    hiddenRows > COEFFICIENTS_STEP
      ? `${COEFFICIENTS_STEP} more of ${count(hiddenRows)}`
      : `${hiddenRows} more`;
  setText(button, `Show ${some}`);
}

function showNoCoefficient(all, sorted, wanted) {
  const none = byId("coefficients-none");
  none.hidden = sorted.length > 0;
  setText(
    none,
    all.length ? `No coefficient has \u201c${wanted}\u201d in its name.` : "No coefficients yet.",
  );
}

// `low`, `middle` and `high` are what is drawn: the estimate, or the estimate in standard errors.
function forestRow(row, byZ) {
  const unit = byZ ? row.std_error : 1;
  const known = isNumber(row.lower) && isNumber(row.upper) && unit > 0;
  const middle = row.estimate / (unit || 1);
  return {
    ...row,
    known,
    middle,
    low: known ? row.lower / unit : middle,
    high: known ? row.upper / unit : middle,
    unclear: known && row.lower <= 0 && row.upper >= 0,
  };
}

// The widest intervals may leave the strip (with an arrow), so that the others can be told apart.
function forestRange(rows) {
  const ends = rows.flatMap(({ low, high }) => [low, high]).filter(isNumber);
  const sizes = ends.map(Math.abs).sort((a, b) => a - b);
  const limit = 3 * (sizes[Math.floor(0.8 * (sizes.length - 1))] || 1);
  const inside = ends.filter((end) => Math.abs(end) <= limit);
  const low = Math.min(0, ...inside);
  const high = Math.max(0, ...inside);
  const spare = 0.06 * (high - low || 1);
  return { low: low - spare, high: high + spare };
}

// A row of `body` for each row, with the texts that `texts` gives and a strip as second column.
function drawForest(rows, body, axis, columns, texts) {
  const nodes = resizeChildren(body, rows.length, makeForestRow(columns));
  rows.forEach((row, i) => writeForestRow(nodes[i], texts(row)));
  // Measured after the texts are written, because they decide how wide the strip is.
  const width = axis.parentElement.clientWidth || 280;
  const range = forestRange(rows);
  const x = linearScale(range.low, range.high, 12, width - 12);
  const ticks = niceTicks(range.low, range.high, width < 220 ? 2 : 4);
  axis.replaceChildren(forestAxis(ticks, x));
  rows.forEach((row, i) => {
    nodes[i].children[1].replaceChildren(forestStrip(row, ticks, x, width));
  });
}

function makeForestRow(columns) {
  return () => {
    const row = tableRow(columns)();
    row.children[1].className = "strip";
    return row;
  };
}

function writeForestRow(node, texts) {
  texts.forEach((text, i) => {
    if (text !== null) setText(node.children[i], text);
  });
}

// The strip in the second place has no text.
function coefficientTexts(row) {
  const interval = isNumber(row.lower)
    ? `${decimal(row.lower, 3)} to ${decimal(row.upper, 3)}`
    : DASH;
  return [
    row.name,
    null,
    decimal(row.estimate),
    interval,
    decimal(row.std_error, 3),
    isNumber(row.z) ? withMinus(row.z.toFixed(1)) : DASH,
    pValue(row.p),
  ];
}

function forestAxis(ticks, x) {
  const picture = svg("svg", { "aria-hidden": "true" });
  for (const { value, text } of ticks) {
    picture.append(svg("text", { x: x(value), y: "68%", "text-anchor": "middle" }, text));
  }
  return picture;
}

// Hidden from screen readers: the cells beside it say the same numbers.
function forestStrip(row, ticks, x, width) {
  const picture = svg("svg", { "aria-hidden": "true", width });
  for (const { value } of ticks) {
    const at = x(value);
    picture.append(
      svg("line", { class: value === 0 ? "axis" : "grid", x1: at, x2: at, y1: 0, y2: "100%" }),
    );
  }
  const inStrip = (value) => Math.max(4, Math.min(width - 4, x(value)));
  const mood = row.unclear ? " unclear" : "";
  if (row.known) {
    picture.append(
      svg("line", {
        class: `whisker${mood}`,
        x1: inStrip(row.low),
        x2: inStrip(row.high),
        y1: "50%",
        y2: "50%",
      }),
    );
    if (x(row.low) < 4) picture.append(forestArrow("\u25c2", 0, "start", mood));
    if (x(row.high) > width - 4) picture.append(forestArrow("\u25b8", width, "end", mood));
  }
  if (Math.abs(inStrip(row.middle) - x(row.middle)) < 1) {
    picture.append(svg("circle", { class: `mark${mood}`, cx: x(row.middle), cy: "50%", r: 4.5 }));
  }
  return picture;
}

// The interval goes on outside of the strip.
function forestArrow(text, at, anchor, mood) {
  return svg(
    "text",
    { class: `beyond${mood}`, x: at, y: "50%", dy: 4.5, "text-anchor": anchor },
    text,
  );
}
