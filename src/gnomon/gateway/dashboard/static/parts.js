// Parts of a page: drawn by the gateway, put in place here, drawn anew when they are stale.

import { say, write } from "./words.js";
import { dress } from "./dress.js";

const SLOW_MS = 4000; // then say so: nothing may seem to load for ever
const CALM_MS = 400; // a burst of events draws a part once

// The one door for markup: what the gateway drew and escaped. The page's policy
// (trusted-types) lets no other script make markup of text.
const policy = window.trustedTypes?.createPolicy("gnomon-parts", { createHTML: (html) => html });

const under_way = new Map(); // part name -> AbortController
const resting = new Map(); // part name -> timer
let lost = () => {};

/** Whom to tell that the gateway did not answer, or answered 401. */
export function whenLost(tell) {
  lost = tell;
}

export function partNamed(name) {
  return document.querySelector(`[data-part="${name}"]`);
}

/** Draw a part anew, with its own query or another. `yielding`: not over what is in use when it
 *  arrives, which may have begun since it was asked for. */
export async function draw(name, query, { yielding = false } = {}) {
  const node = partNamed(name);
  if (!node) return;
  if (query !== undefined) node.dataset.query = query;
  under_way.get(name)?.abort();
  const calling = new AbortController();
  under_way.set(name, calling);
  node.setAttribute("aria-busy", "true");
  const slow = setTimeout(() => saySlow(node), SLOW_MS);
  try {
    const response = await fetch(`/part/${name}?${node.dataset.query ?? ""}`, {
      headers: { Accept: "application/json" },
      signal: calling.signal,
    });
    if (!response.ok) lost(response.status);
    else {
      const html = await response.text();
      if (!yielding || !inUse(node)) place(node, html);
    }
  } catch (error) {
    if (error.name !== "AbortError") {
      sayGone(node, name);
      lost(0);
    }
  } finally {
    clearTimeout(slow);
    if (under_way.get(name) === calling) {
      under_way.delete(name);
      node.removeAttribute("aria-busy");
    }
  }
}

/** Draw what an event of this kind made stale, soon and once. */
export function stale(kind) {
  for (const node of document.querySelectorAll("[data-stale-on]")) {
    const name = node.dataset.part;
    if (!node.dataset.staleOn.split(" ").includes(kind) || resting.has(name)) continue;
    resting.set(name, setTimeout(() => {
      resting.delete(name);
      drawUnused(node);
    }, CALM_MS));
  }
}

/** Draw everything: after a restart, or when events were missed. */
export function drawAll() {
  for (const node of document.querySelectorAll("[data-part]")) {
    const asked = "onPress" in node.dataset || node.dataset.part === "messages";
    if (!asked) drawUnused(node);
  }
}

async function drawUnused(node) {
  if (!inUse(node)) await draw(node.dataset.part, undefined, { yielding: true });
}

/** The name of the part that a node stands in. */
export function partOf(node) {
  return node.closest("[data-part]").dataset.part;
}

export function start() {
  for (const node of document.querySelectorAll("[data-every]")) repeat(node);
  for (const node of document.querySelectorAll("[data-late]")) draw(node.dataset.part);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-draw]");
    if (button) draw(button.dataset.draw);
  });
}

/** Draw a part again and again while the page is looked at, and at once when it is again. */
function repeat(node) {
  const due = Number(node.dataset.every) * 1000;
  let drawn = performance.now();
  let timer = null;
  const look = async () => {
    clearTimeout(timer);
    if (document.hidden) return;
    if (performance.now() - drawn >= due) {
      drawn = performance.now();
      await drawUnused(node);
    }
    timer = setTimeout(look, Math.max(0, due - (performance.now() - drawn)));
  };
  document.addEventListener("visibilitychange", look);
  look();
}

function place(node, html) {
  const held = document.activeElement?.closest("[data-item]");
  const focused = held && node.contains(held) ? held.dataset.item : null;
  const kept = [...node.querySelectorAll("form[data-kept]")].map((form) => [form, form.closest("[data-item]").dataset.item]);
  const open = [...node.querySelectorAll("details")].map((each) => each.open);
  const made = new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html");
  node.replaceChildren(...made.body.childNodes);
  node.querySelectorAll("details").forEach((each, at) => { each.open = open[at] ?? false; });
  for (const [form, item] of kept) itemNamed(node, item)?.querySelector(".actions").after(form);
  delete node.dataset.late;
  dress(node);
  if (focused) itemNamed(node, focused)?.focus();
}

/** What a part says of one thing. */
export function itemNamed(part, name) {
  return part.querySelector(`[data-item="${CSS.escape(name)}"]`);
}

/** A form that is being filled in, or an act under way, is not drawn over. */
function inUse(node) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  return Boolean(focused?.matches("input, textarea")) || node.querySelector("[data-acting]") !== null;
}

function saySlow(node) {
  const waiting = node.querySelector(".waiting");
  if (waiting) waiting.textContent = say("slow");
}

function sayGone(node, name) {
  const waiting = node.querySelector(".waiting");
  if (!waiting) return;
  write(waiting, say("gone"));
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = say("again");
  again.dataset.draw = name;
  waiting.append(" ", again);
}
