// What models of several classes and of several quantiles show, and conformal intervals.

// ---- Coefficients of a class or of a level ----

// Each choice has a key, which the state keeps, and a text.
function coefficientChoices(model) {
  if (model.levels) {
    return model.levels.map(({ level, coefficients }) => ({
      key: String(level),
      text: `level ${level}`,
      coefficients,
    }));
  }
  if (!model.classes) return [];
  return (model.coefficients ?? []).map((one) => ({ key: one.class, text: one.class, ...one }));
}

function chosenChoice(choices) {
  return choices.find(({ key }) => key === state.coefficientsOf) ?? choices[0];
}

// The coefficients to show; fills the list of classes or levels beside them.
function chosenCoefficients(model) {
  const choices = coefficientChoices(model);
  const list = byId("coefficients-of");
  list.hidden = choices.length < 2;
  const isSingle = !model.levels && !model.classes;
  if (isSingle) return model.coefficients ?? [];
  const options = resizeChildren(list, choices.length, () => element("option"));
  choices.forEach(({ key, text }, i) => {
    setText(options[i], text);
    options[i].value = key;
  });
  const chosen = chosenChoice(choices);
  if (chosen) list.value = chosen.key;
  return chosen?.coefficients ?? [];
}

function chooseCoefficients() {
  state.coefficientsOf = byId("coefficients-of").value;
  state.coefficientLimit = COEFFICIENTS_SHOWN;
  showCoefficients();
}

function aboutCoefficients(model) {
  const chosen = chosenChoice(coefficientChoices(model));
  if (!chosen) return "";
  if (model.levels) return `Of the ${chosen.text}, before the levels of a row are sorted. `;
  const hidden = model.classes.length - 1 - model.coefficients.length;
  const others = hidden > 0 ? ` The file has ${count(hidden)} more of the classes.` : "";
  return `${chosen.key} against ${model.reference}, as log odds.${others} `;
}

// ---- Levels of several quantiles ----

function showLevels(model) {
  const scores = model.levels ? (model.progressive?.levels ?? []) : [];
  byId("part-levels").hidden = scores.length === 0;
  if (scores.length === 0) return;
  const rows = scores.map((score) => levelRow(score, model.rows));
  drawForest(rows, byId("levels"), byId("levels-axis"), 6, levelTexts);
}

function levelRow(score, rows) {
  const { level, share_below: share } = score;
  const known = isNumber(share) && rows > 0;
  const { low, high } = known ? shareInterval(share, rows) : { low: level, high: level };
  return {
    ...score,
    known,
    middle: known ? share - level : 0,
    low: low - level,
    high: high - level,
    unclear: low <= level && level <= high,
  };
}

function levelTexts(row) {
  return [
    String(row.level),
    null,
    decimal(row.share_below, 3),
    decimal(row.last_half?.share_below, 3),
    decimal(row.loss),
    decimal(row.baseline_loss),
  ];
}

// One verdict if all levels have the same, else that of each.
function levelDrifts(model) {
  const verdicts = model.levels.map(({ drift }) => driftVerdict(drift));
  if (new Set(verdicts).size === 1) return verdicts[0];
  return model.levels.map(({ level }, i) => `${level}: ${verdicts[i]}`).join("; ");
}

// ---- Which classes are taken for others ----

// Shares of a class above which its cell has a stronger tint.
const HEAT_SHARES = [0, 0.05, 0.2, 0.5];

function showConfusion(model) {
  const table = model.confusion ?? [];
  byId("part-confusion").hidden = table.length < 2;
  if (table.length < 2) return;
  const head = resizeChildren(byId("confusion-head"), table.length + 1, () => element("th"));
  ["true \\ predicted", ...model.classes].forEach((name, i) => {
    setText(head[i], name);
    head[i].title = name;
    head[i].scope = "col";
  });
  const body = byId("confusion");
  if (body.firstElementChild?.children.length !== table.length + 1) body.replaceChildren();
  const rows = resizeChildren(body, table.length, tableRow(table.length + 1));
  table.forEach((weights, i) => {
    setText(rows[i].children[0], model.classes[i]);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    weights.forEach((weight, j) => {
      const cell = rows[i].children[j + 1];
      setText(cell, Number.isInteger(weight) ? count(weight) : decimal(weight));
      cell.className = `${heatClass(weight / total)}${i === j ? " right" : ""}`;
    });
  });
}

function heatClass(share) {
  const step = HEAT_SHARES.filter((least) => share > least).length;
  return step > 0 ? `heat-${step}` : "";
}

// ---- Conformal intervals ----

function showConformal(scores) {
  byId("part-conformal").hidden = !scores;
  if (!scores) return;
  setText(
    byId("conformal-note"),
    `Of ${plural(scores.rows, "row")}, each judged before it was learned.`,
  );
  const rows = [
    ["Conformal", percentText(scores.coverage), decimal(scores.width)],
    ["Of the model", percentText(scores.model_coverage), decimal(scores.model_width)],
  ];
  fillTable(byId("conformal"), rows, 3);
}

const percentText = (share) => (isNumber(share) ? `${(100 * share).toFixed(1)}\u00a0%` : DASH);
