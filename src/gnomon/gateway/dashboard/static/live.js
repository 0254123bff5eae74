// The event stream: says which parts are stale, and whether Gnomon is there at all.
// A tab that nobody looks at listens to nothing, so that it costs nothing and takes none of
// the browser's few connections; it catches up when it is looked at again.

import { drawAll, stale } from "./parts.js";
import { say, write } from "./words.js";

const KINDS = ["status", "chat", "history", "event", "journal", "inbox", "fitness", "changes", "approvals"];
const RETRY_MS = [1000, 2000, 4000];

const banner = document.getElementById("banner");
let life = document.body.dataset.life;
let place = document.body.dataset.place;
let source = null;
let tries = 0;
let retry = null;

export function start() {
  connect();
  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : connect()));
}

/** Something did not get through: 0 for no answer, else the status. */
export function lost(status) {
  show(status === 401 ? "signed-out" : "gone");
}

function connect() {
  if (document.hidden || source) return;
  clearTimeout(retry);
  source = new EventSource(`/events?after=${place}`);
  source.addEventListener("hello", (event) => greeted(event, false));
  source.addEventListener("gap", (event) => greeted(event, true));
  for (const kind of KINDS) {
    source.addEventListener(kind, (event) => {
      place = event.lastEventId;
      stale(kind);
    });
  }
  source.addEventListener("error", again);
}

function greeted(event, missed) {
  const news = JSON.parse(event.data);
  const cameBack = !banner.hidden || news.life !== life;
  life = news.life;
  place = event.lastEventId;
  tries = 0;
  banner.hidden = true;
  if (missed || cameBack) drawAll();
}

/** The stream ended. Whether Gnomon is gone or only the session, an ordinary request tells. */
async function again() {
  rest();
  if (document.hidden) return;
  try {
    const response = await fetch("/api", { signal: AbortSignal.timeout(4000) });
    if (response.status === 401) show("signed-out");
    else if (!response.ok) show("gone");
  } catch {
    show("gone");
  }
  if (source || document.hidden) return;
  retry = setTimeout(connect, RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]);
  tries += 1;
}

function rest() {
  clearTimeout(retry);
  source?.close();
  source = null;
}

function show(key) {
  write(banner, say(key));
  banner.hidden = false;
}
