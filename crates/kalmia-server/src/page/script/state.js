"use strict";

// What the page knows, small helpers, and numbers as text.

// ---- Constants ----

const LIST_PAUSE_MS = 3000;
const REQUEST_LIMIT_MS = 10000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10000;
const LIVE_AGAIN_MS = 6000;
const COEFFICIENTS_SHOWN = 20;
const COEFFICIENTS_STEP = 200;
const MODELS_WITHOUT_FILTER = 8;
const Z_95 = 1.96;

// ---- State: what was last received, and what the user chose ----

const state = {
  models: [],
  model: null,
  probe: null, // index into the loss course that hover or keys point at
  coefficientLimit: COEFFICIENTS_SHOWN,
  coefficientsOf: null, // the class or level whose coefficients are shown
  wasLost: false,
  controller: new AbortController(),
};

// The reason of an abort that only starts the loop again, for instance for another model.
const RESTART = Symbol("restart");

// ---- Small helpers ----

const byId = (id) => document.getElementById(id);
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function svg(tag, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// Leaves equal text alone, so that a selection in it survives an update.
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Gives the parent exactly `count` children, and keeps those that are there.
function resizeChildren(parent, count, make) {
  while (parent.children.length > count) parent.lastElementChild.remove();
  while (parent.children.length < count) parent.append(make());
  return [...parent.children];
}

function tableRow(columns) {
  return () => {
    const row = element("tr");
    const first = element("th");
    first.scope = "row";
    row.append(first);
    for (let i = 1; i < columns; i++) row.append(element("td"));
    return row;
  };
}

function fillTable(body, rows, columns) {
  const nodes = resizeChildren(body, rows.length, tableRow(columns));
  rows.forEach((texts, i) => texts.forEach((text, j) => setText(nodes[i].children[j], text)));
}

function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}

// ---- Numbers as text ----

const DASH = "\u2013";
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

// Thin spaces group digits: a comma or a point means different things to different readers.
const count = (value) => (isNumber(value) ? grouped.format(value).replaceAll(",", "\u202f") : DASH);
const withMinus = (text) => text.replace(/-/g, "\u2212");

function decimal(value, significant = 4) {
  if (!isNumber(value)) return DASH;
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e6 || size < 1e-4) return withMinus(value.toExponential(significant - 2));
  if (size >= 1e4) return withMinus(count(value));
  const before = Math.floor(Math.log10(size)) + 1;
  return withMinus(value.toFixed(Math.max(0, significant - before)));
}

const percent = (share) =>
  `${withMinus((100 * share).toFixed(Math.abs(share) < 0.1 ? 1 : 0))}\u00a0%`;
const shareText = (share) => (share < 10 ? percent(share) : "over 1000\u00a0%");

function rate(value) {
  if (!isNumber(value)) return DASH;
  return value >= 100 ? count(value) : value.toFixed(1);
}

function pValue(p) {
  if (!isNumber(p)) return DASH;
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

function shortCount(value) {
  if (value >= 1e9) return `${value / 1e9}\u00a0G`;
  if (value >= 1e6) return `${value / 1e6}\u00a0M`;
  return value >= 1e4 ? `${value / 1e3}\u00a0k` : count(value);
}

// A share only makes sense for positive losses; the log-likelihood of a density may be negative.
function againstConstant(loss, constant) {
  if (!isNumber(loss) || !isNumber(constant)) return null;
  const lower = loss <= constant;
  const change =
    loss > 0 && constant > 0
      ? shareText(Math.abs(1 - loss / constant))
      : decimal(Math.abs(constant - loss), 3);
  return { lower, change };
}

// ---- The address: the chosen model is `#/NAME` ----

function chosenName() {
  const match = /^#\/(.+)$/.exec(location.hash);
  try {
    return match ? decodeURIComponent(match[1]) : null;
  } catch {
    return match[1];
  }
}

// encodeURIComponent leaves characters that mean something to a shell.
const encoded = (name) =>
  encodeURIComponent(name).replace(
    /[!'()*~]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
const addressOf = (name) => `#/${encoded(name)}`;

// Without a choice the first model is shown.
function chooseFirstModel() {
  if (chosenName() !== null || state.models.length === 0) return;
  history.replaceState(null, "", addressOf(state.models[0].name));
  showList();
}
