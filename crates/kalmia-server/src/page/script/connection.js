// The loop that lists and follows models, and what it says of the connection.

// ---- The loop: list, follow, and try again when the connection is lost ----

function restart() {
  state.controller.abort(RESTART);
}

async function run() {
  let pause = FIRST_RETRY_MS;
  for (;;) {
    await untilVisible();
    state.controller = new AbortController();
    const { signal } = state.controller;
    const live = () => {
      pause = FIRST_RETRY_MS;
      showLive();
    };
    try {
      await connect(signal, live);
    } catch (error) {
      if (error === RESTART) continue;
      if (error.status === 401) {
        await askForToken();
        continue;
      }
      await waitToRetry(error, pause);
      pause = Math.min(2 * pause, MAX_RETRY_MS);
    } finally {
      // Ends what is still under way: the list and the stream run side by side.
      state.controller.abort(RESTART);
    }
  }
}

async function connect(signal, live) {
  await refreshList(signal);
  chooseFirstModel();
  const name = chosenName();
  const exists = () => state.models.some((model) => model.name === name);
  if (exists()) {
    return Promise.race([pollList(signal, () => !exists()), followModel(name, signal, live)]);
  }
  live();
  const isEmpty = state.models.length === 0;
  if (isEmpty) showView("view-start");
  else showMissing(name);
  return pollList(signal, () => exists() || (isEmpty && state.models.length > 0));
}

// A hidden tab holds no stream: browsers allow six connections per server.
function untilVisible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", resolve, { once: true });
  });
}

async function waitToRetry(error, pause) {
  state.controller = new AbortController();
  const { signal } = state.controller;
  showLost(error);
  try {
    for (let left = pause; left > 0; left -= 1000) {
      setText(byId("countdown"), `in ${Math.ceil(left / 1000)}\u00a0s`);
      await sleep(Math.min(left, 1000), signal);
    }
  } catch {
    /* another model was chosen: try at once */
  }
  setText(byId("countdown"), "");
}

// ---- Connection state ----

let liveAgainTimer = 0;

function showConnection(kind, text) {
  document.documentElement.dataset.connection = kind;
  setText(byId("connection"), text);
}

function showLive() {
  clearTimeout(liveAgainTimer);
  showConnection("live", state.wasLost ? "Live again" : "Live");
  if (state.wasLost)
    liveAgainTimer = setTimeout(() => showConnection("live", "Live"), LIVE_AGAIN_MS);
  state.wasLost = false;
}

function showLost(error) {
  clearTimeout(liveAgainTimer);
  state.wasLost = true;
  const reason = error instanceof HttpError ? `Server error (${error.message})` : "Connection lost";
  showConnection("lost", `${reason}, trying again`);
}

// Resolves when a token was entered; the loop then tries it.
function askForToken() {
  const wrong = token !== null;
  showConnection("token", "Waiting for a token");
  byId("models").hidden = true;
  showView("view-token");
  setText(
    byId("token-error"),
    wrong ? "The server does not accept this token. Check it and try again." : "",
  );
  const field = byId("token");
  field.value = "";
  field.focus();
  return new Promise((resolve) => {
    byId("token-form").addEventListener(
      "submit",
      (event) => {
        event.preventDefault();
        token = field.value.trim();
        stored("sessionStorage", "kalmia-token", token);
        field.value = "";
        resolve();
      },
      { once: true },
    );
  });
}
