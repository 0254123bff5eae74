// The inbox: one press or one key answers an item. What was pressed is shown at once, and taken
// back, with the reason, when it did not reach the record.

import { ask, Gone, Refused } from "./ask.js";
import { replyTo } from "./chat.js";
import { draw, partOf } from "./parts.js";
import { plain } from "./prose.js";
import { say, write } from "./words.js";

const NEXT = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

let lost = () => {};

export function start(tellLost) {
  lost = tellLost;
  document.addEventListener("click", pressed);
  document.addEventListener("submit", saved);
  document.addEventListener("keydown", typed);
}

function pressed(event) {
  const item = event.target.closest("[data-item]");
  if (!item) return;
  const answer = event.target.closest("[data-answer]");
  if (answer) settle(item, answer.dataset.answer);
  if (event.target.closest("[data-reply]")) replyTo(item.dataset.item, item.dataset.title);
  if (event.target.closest("[data-edit]")) edit(item, true);
  if (event.target.closest("[data-edit-cancel]")) edit(item, false);
}

async function saved(event) {
  const form = event.target.closest("[data-edit-form]");
  if (!form) return;
  event.preventDefault();
  const item = form.closest("[data-item]");
  if (await settle(item, "inbox.edit", { text: form.elements.text.value.trim() })) edit(item, false);
}

/** Letters act on the item that has the focus; arrows go to the next one. */
function typed(event) {
  const item = event.target.closest("[data-item]");
  if (!item || event.target.matches("input, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = NEXT[event.key];
  const button = step ? null : item.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (!step && !button) return;
  event.preventDefault();
  if (button && !button.disabled && button.checkVisibility()) button.click();
  if (step) neighbour(item, step)?.focus();
}

function neighbour(item, step) {
  const all = [...document.querySelectorAll("[data-item]")];
  return all[all.indexOf(item) + step];
}

/** Returns whether it is on the record. */
async function settle(item, operation, more = {}) {
  if ("acting" in item.dataset) return false;
  const state = item.closest("[data-part]").querySelector(`[data-item="${CSS.escape(item.dataset.item)}"] [data-state]`);
  const before = state?.textContent;
  const next = neighbour(item, 1) ?? neighbour(item, -1);
  begin(item, true);
  item.querySelector("[data-problem]").hidden = true;
  if (state) state.textContent = operation === "inbox.dismiss" ? say("dismissed") : say("used");
  try {
    await ask(operation, { surface_id: item.dataset.item, ...more });
  } catch (error) {
    if (state) state.textContent = before;
    begin(item, false);
    failed(item, error);
    return false;
  }
  begin(item, false);
  if (operation === "inbox.open") {
    location.assign(`/artifact?surface=${encodeURIComponent(item.dataset.item)}`);
    return true;
  }
  if (operation !== "inbox.edit" && item.contains(document.activeElement)) next?.focus();
  await draw(partOf(item));
  return true;
}

function begin(item, acting) {
  item.classList.toggle("settling", acting);
  if (acting) item.dataset.acting = "";
  else delete item.dataset.acting;
  item.querySelectorAll("button").forEach((each) => { each.disabled = acting; });
}

function failed(item, error) {
  if (error instanceof Gone) lost(0);
  if (error.status === 401) lost(401);
  const problem = item.querySelector("[data-problem]");
  write(problem, error instanceof Refused ? error.message : say("gone"));
  problem.hidden = false;
}

/** The text as the operator would say it, in a form that is there while it is wanted. */
function edit(item, wanted) {
  const there = item.querySelector("[data-edit-form]");
  if (!wanted) {
    there?.remove();
    item.focus();
    return;
  }
  const form = there ?? document.getElementById("piece-edit").content.firstElementChild.cloneNode(true);
  if (!there) {
    form.elements.text.value = plain(item.querySelector("[data-edit]").dataset.edit);
    item.querySelector(".actions").after(form);
  }
  form.elements.text.focus();
}
