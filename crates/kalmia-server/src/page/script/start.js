// Light and dark, and the start.

// ---- Light and dark ----

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function shownTheme() {
  return document.documentElement.dataset.theme ?? (systemIsDark.matches ? "dark" : "light");
}

// Only a choice that differs from the system's is kept.
function setTheme(theme) {
  const system = systemIsDark.matches ? "dark" : "light";
  const own = theme && theme !== system ? theme : null;
  if (own) document.documentElement.dataset.theme = own;
  else delete document.documentElement.dataset.theme;
  stored("localStorage", "kalmia-theme", own);
  showThemeButton();
}

function showThemeButton() {
  const other = shownTheme() === "dark" ? "Light" : "Dark";
  setText(byId("theme"), other);
  byId("theme").setAttribute("aria-label", `${other} colours`);
}

// ---- Start ----

function redraw() {
  if (state.model?.state !== "ready" || byId("view-model").hidden) return;
  drawLoss();
  showCoefficients();
  showLevels(state.model);
  showCalibration(state.model);
}

function listen() {
  window.addEventListener("hashchange", chosenModelChanged);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) restart();
  });
  systemIsDark.addEventListener("change", showThemeButton);
  byId("theme").addEventListener("click", () =>
    setTheme(shownTheme() === "dark" ? "light" : "dark"),
  );
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the hash names the model
    byId("main").focus();
  });
  byId("models-list").addEventListener("keydown", moveInList);
  byId("models-filter").addEventListener("input", showList);
  listenToLossPlot(byId("loss-plot"));
  byId("coefficients-filter").addEventListener("input", showCoefficients);
  byId("scale").addEventListener("change", showCoefficients);
  byId("coefficients-of").addEventListener("change", chooseCoefficients);
  byId("coefficients-more").addEventListener("click", () => {
    state.coefficientLimit += COEFFICIENTS_STEP;
    showCoefficients();
  });
  let width = 0;
  new ResizeObserver(() => {
    if (byId("main").clientWidth === width) return;
    width = byId("main").clientWidth;
    redraw();
  }).observe(byId("main"));
}

function listenToLossPlot(plot) {
  plot.addEventListener("pointermove", probeAtPointer);
  plot.addEventListener("pointerdown", probeAtPointer);
  plot.addEventListener("pointerleave", hideProbe);
  plot.addEventListener("keydown", probeByKey);
  plot.addEventListener("focus", probeAtEnd);
  plot.addEventListener("blur", hideProbe);
}

setTheme(stored("localStorage", "kalmia-theme"));
listen();
run();
