// Requests to the service, and streams of events.

class HttpError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// Storage can be forbidden by the browser's settings; the page then works without it.
function stored(storage, key, value) {
  try {
    const place = window[storage];
    if (value === undefined) return place.getItem(key);
    if (value === null) place.removeItem(key);
    else place.setItem(key, value);
  } catch {
    /* nothing is kept */
  }
  return value ?? null;
}

let token = stored("sessionStorage", "kalmia-token");

async function request(path, signal) {
  // A header cannot carry other characters: fetch would fail as if the server were gone.
  if (token && !/^[\x20-\x7e]+$/.test(token)) throw new HttpError(401, "no such token");
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch(path, { headers, signal, cache: "no-store" });
  if (response.ok) return response;
  let message = `the server answered ${response.status}`;
  try {
    message = (await response.json()).error.message;
  } catch {
    /* no JSON: a proxy may have answered */
  }
  throw new HttpError(response.status, message);
}

async function refreshList(signal) {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_LIMIT_MS)]);
  const response = await request("/v1/models", limit);
  state.models = (await response.json()).models;
  showList();
}

// Keeps the list up to date until it has changed so that something else must be shown.
async function pollList(signal, isOutdated) {
  do {
    await sleep(LIST_PAUSE_MS, signal);
    await refreshList(signal);
  } while (!isOutdated());
  throw RESTART;
}

// Server-sent events by fetch: EventSource cannot send the token as a header.
async function followModel(name, signal, opened) {
  const response = await request(`/v1/models/${encoded(name)}/events`, signal);
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the stream ended");
    const blocks = (text + value).replaceAll("\r\n", "\n").split("\n\n");
    text = blocks.pop();
    blocks
      .map(parseEvent)
      .filter((event) => event?.type === "model")
      .forEach(receive);
  }
}

// A block without data is a comment: the server's heartbeat.
function parseEvent(block) {
  let type = "message";
  const data = [];
  for (const line of block.split("\n")) {
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (field === "event") type = value;
    if (field === "data") data.push(value);
  }
  return data.length ? { type, data: data.join("\n") } : null;
}

function receive(event) {
  const model = JSON.parse(event.data);
  if (model.name !== chosenName()) return;
  state.model = model;
  showModel();
}
