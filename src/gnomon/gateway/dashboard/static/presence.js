// A keystroke in the open dashboard tells Gnomon that its operator is near: at most twice a
// minute, and never anything about which key.

import { ask } from "./ask.js";

const QUIET_MS = 30_000;
let last = -QUIET_MS;

export function start() {
  document.addEventListener("keydown", touch);
}

async function touch(event) {
  if (!event.isTrusted || performance.now() - last < QUIET_MS) return;
  last = performance.now();
  try {
    await ask("presence.touch");
  } catch {
    // The banner of the event stream already says when Gnomon is gone.
  }
}
