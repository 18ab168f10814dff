// Which view is shown, the list of models, and one model in numbers.

// ---- Views ----

function showView(id) {
  for (const view of ["view-token", "view-start", "view-missing", "view-model"]) {
    byId(view).hidden = view !== id;
  }
  byId("layout").classList.toggle("single", byId("models").hidden);
  if (id !== "view-model") document.title = "kalmia";
  if (id === "view-start") showCommands();
}

function showMissing(name) {
  setText(byId("missing-title"), `No model named ${name}`);
  showView("view-missing");
}

const shellQuoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl(method, path, body, more = "") {
  const authorization = token ? ' \\\n  -H "Authorization: Bearer $TOKEN"' : "";
  return (
    `curl -X ${method} ${location.origin}${path}${authorization}${more} \\\n` +
    `  -d ${shellQuoted(JSON.stringify(body))}`
  );
}

function showCommands() {
  const declaration = { family: "bernoulli", target: "late" };
  setText(byId("start-put"), curl("PUT", "/v1/models/late", declaration));
  setText(byId("start-learn"), learnCommand("late", { hour: 9, dist: 1400, late: 1 }));
}

function learnCommand(name, row) {
  return curl("POST", `/v1/models/${encoded(name)}/learn`, [row], " \\\n  -H 'Idempotency-Key: 7'");
}

// ---- The list of models ----

function showList() {
  const filter = byId("models-filter");
  filter.hidden = state.models.length <= MODELS_WITHOUT_FILTER;
  const wanted = filter.hidden ? "" : filter.value.trim().toLowerCase();
  const models = state.models.filter((model) => model.name.toLowerCase().includes(wanted));
  byId("models").hidden = state.models.length === 0;
  byId("layout").classList.toggle("single", state.models.length === 0);
  syncListItems(byId("models-list"), models);
}

// Items keep their place and their focus as long as their model exists.
function syncListItems(list, models) {
  const old = new Map([...list.children].map((item) => [item.dataset.name, item]));
  models.forEach((model, i) => {
    const item = old.get(model.name) ?? makeListItem(model.name);
    old.delete(model.name);
    if (list.children[i] !== item) list.insertBefore(item, list.children[i] ?? null);
    updateListItem(item, model);
  });
  for (const item of old.values()) item.remove();
}

function makeListItem(name) {
  const item = element("li");
  item.dataset.name = name;
  const link = element("a");
  link.href = addressOf(name);
  link.title = name;
  const score = element("span", "score");
  link.append(
    element("span", "name", name),
    score,
    element("span", "detail"),
    element("span", "detail score"),
  );
  item.append(link);
  return item;
}

function updateListItem(item, model) {
  const link = item.firstElementChild;
  const [, score, detail, constant] = link.children;
  const gain = againstConstant(model.loss, model.baseline_loss);
  setText(score, gain ? decimal(model.loss) : "");
  setText(detail, listDetail(model));
  setText(constant, gain ? `${gain.change} ${gain.lower ? "below" : "above"}` : "");
  constant.title = gain ? `The constant predictor has ${decimal(model.baseline_loss)}` : "";
  const what = gain
    ? `, loss ${decimal(model.loss)}, constant predictor ${decimal(model.baseline_loss)}`
    : "";
  link.setAttribute("aria-label", `${model.name}, ${listDetail(model)}${what}`);
  markCurrent(link, model.name);
}

function listDetail(model) {
  const family = model.family ?? "family not known yet";
  return `${family} \u00b7 ${model.state === "empty" ? "no rows yet" : plural(model.rows, "row")}`;
}

function markCurrent(link, name) {
  if (name === chosenName()) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
}

// Arrow keys move through the list, Enter opens: a link does the rest.
function moveInList(event) {
  const links = [...byId("models-list").querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
  if (at < 0 || next === undefined) return;
  event.preventDefault();
  links[Math.max(0, Math.min(links.length - 1, next))].focus();
}

function chosenModelChanged() {
  state.model = null;
  state.probe = null;
  state.coefficientLimit = COEFFICIENTS_SHOWN;
  state.coefficientsOf = null;
  byId("coefficients-filter").value = "";
  showList();
  restart();
}

// ---- One model ----

function showModel() {
  const { model } = state;
  const ready = model.state === "ready";
  showView("view-model");
  document.title = `${model.name} \u00b7 kalmia`;
  setText(byId("model-name"), model.name);
  setText(byId("model-about"), aboutModel(model));
  byId("part-empty").hidden = ready;
  byId("part-ready").hidden = !ready;
  if (ready) showLearned(model);
  else
    setText(
      byId("empty-learn"),
      learnCommand(model.name, { hour: 9, dist: 1400, [model.target]: 1 }),
    );
  showErrors(model.errors ?? []);
}

function showLearned(model) {
  showTiles(model);
  drawLoss();
  showCoefficients();
  showLevels(model);
  showConfusion(model);
  showCalibration(model);
  showScores(model.progressive);
  showConformal(model.conformal);
  showDrift(model);
}

function aboutModel(model) {
  const positive =
    model.positive === null || model.positive === undefined ? "" : ` = ${model.positive}`;
  const parts = [model.family, `method ${model.method}`, `target ${model.target}${positive}`];
  if (model.classes) parts.push(`${count(model.classes.length)} classes`);
  if (model.levels) parts.push(`levels ${model.levels.map(({ level }) => level).join(", ")}`);
  if (isNumber(model.features)) parts.push(plural(model.features, "feature"));
  return parts.filter(Boolean).join(" \u00b7 ");
}

function showTiles(model) {
  const { loss, baseline_loss: constant } = model.progressive ?? {};
  const gain = againstConstant(loss, constant);
  const { served } = model;
  const servedNote = served ? `${plural(served.rows, "row")} labelled later` : "no late label yet";
  const left = [];
  if (model.skipped) left.push(`${count(model.skipped)} skipped`);
  if (model.imputed) left.push(`${count(model.imputed)} imputed`);
  fillTiles([
    ["Loss", decimal(loss), gain ? lossNote(gain, constant) : "before the first row"],
    ["Rows", count(model.rows), left.join(", ") || "learned"],
    ["Rows/s", rate(model.rows_per_second), "last ten seconds"],
    ["Sequence", count(model.sequence), "calls learned"],
    ["Pending labels", count(model.pending), "rows waiting"],
    ["Loss as served", decimal(served?.loss), servedNote],
  ]);
}

function lossNote({ lower, change }, constant) {
  return `${change} ${lower ? "below" : "above"} the constant predictor (${decimal(constant)})`;
}

function fillTiles(tiles) {
  const nodes = resizeChildren(byId("tiles"), tiles.length, () => {
    const tile = element("div");
    tile.append(element("dt"), element("dd"), element("dd", "note"));
    return tile;
  });
  nodes[0].className = "lead";
  tiles.forEach((texts, i) => texts.forEach((text, j) => setText(nodes[i].children[j], text)));
}

function showScores(progressive) {
  const names = {
    loss: "Loss",
    baseline_loss: "Loss of the constant predictor",
    deviance: "Deviance",
    auc: "AUC",
    accuracy: "Accuracy",
    top_2: "One of the two likeliest",
    brier: "Brier score",
    calibration_error: "Calibration error",
    rmse: "RMSE",
    mae: "MAE",
    coverage: "Coverage of 95 % intervals",
  };
  const half = progressive?.last_half ?? {};
  const scores = { ...progressive, top_2: progressive?.top?.[1] };
  const rows = Object.entries(names)
    .filter(([key]) => isNumber(scores[key]))
    .map(([key, name]) => [name, decimal(scores[key]), decimal(half[key])]);
  byId("part-scores").hidden = rows.length === 0;
  fillTable(byId("scores"), rows, 3);
}

function showDrift(model) {
  setText(byId("drift-verdict"), model.levels ? levelDrifts(model) : driftVerdict(model.drift));
  setText(byId("drift-note"), model.levels ? sentence(model.drift_note) : driftNote(model));
}

function driftVerdict(drift) {
  if (!drift) return "Not looked for";
  if (drift.followed)
    return isNumber(drift.row) ? `Followed from row ${count(drift.row)}` : "Followed";
  if (drift.seen && isNumber(drift.row)) return `Detected at row ${count(drift.row)}`;
  return "None seen";
}

function driftNote(model) {
  if (!model.drift) return "This method does not look for drift.";
  const { gain, standard_error: error } = model.drift;
  const note = model.drift_note ? `${sentence(model.drift_note)} ` : "";
  if (!isNumber(gain)) return note;
  const moved = gain > 0 ? "lowered" : "raised";
  const change = `${moved} the loss per row by ${decimal(Math.abs(gain), 2)}`;
  const precision = isNumber(error) ? ` (standard error ${decimal(error, 2)})` : "";
  return `${note}Following one would have ${change}${precision}.`;
}

function sentence(text) {
  if (!text) return "";
  const full = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(full) ? full : `${full}.`;
}

function showErrors(errors) {
  byId("errors-none").hidden = errors.length > 0;
  byId("errors-box").hidden = errors.length === 0;
  fillTable(
    byId("errors"),
    errors.map((error) => [localTime(error.time), error.code, error.message]),
    3,
  );
}

function localTime(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  const two = (number) => String(number).padStart(2, "0");
  return (
    `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ` +
    `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`
  );
}
