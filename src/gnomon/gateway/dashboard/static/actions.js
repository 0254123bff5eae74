// Buttons and forms that ask for an operation. The markup says which:
//   data-do="folders.add"          the operation
//   data-arguments='{"a": 1}'      its arguments; a form's fields are added to them
//   data-then="now headline"       the parts that it makes stale
//   data-kept                      a form whose text outlives a new drawing, until it is done
//   data-exact                     a field whose text counts to the last sign

import { ask, Gone, Refused } from "./ask.js";
import { draw, whenLost } from "./parts.js";
import { counted, say, write } from "./words.js";

let lost = () => {};

export function start(tellLost) {
  lost = tellLost;
  whenLost(tellLost);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-do]");
    if (button) act(button, JSON.parse(button.dataset.arguments ?? "{}"));
    const command = event.target.closest("[data-copy]");
    if (command) copy(command);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-do]");
    if (!form) return;
    event.preventDefault();
    act(form, fieldsOf(form));
  });
}

async function act(doer, args) {
  const part = doer.closest("[data-part]");
  if (part.querySelector("[data-acting]")) return;
  const outcome = part.querySelector("[data-outcome]");
  const buttons = part.querySelectorAll("button");
  doer.dataset.acting = "";
  buttons.forEach((each) => { each.disabled = true; });
  try {
    const result = await ask(doer.dataset.do, args, { onPart: (each) => progress(outcome, each) });
    await finished(doer, outcome, result);
  } catch (error) {
    failed(outcome, error);
  } finally {
    delete doer.dataset.acting;
    buttons.forEach((each) => { each.disabled = false; });
  }
}

async function finished(doer, outcome, result) {
  const { then } = doer.dataset;
  if (doer.dataset.do === "history.import" && !imported(outcome, result)) return;
  if (doer.dataset.do === "demo.open") offer(outcome, result);
  if ("kept" in doer.dataset) doer.remove();
  if (then) {
    delete doer.dataset.acting;
    document.activeElement?.blur();
    await Promise.all(then.split(" ").map((name) => draw(name)));
  }
}

export function failed(outcome, error) {
  if (error instanceof Gone) lost(0);
  if (error.status === 401) lost(401);
  tell(outcome, error instanceof Refused ? error.message : say("gone"), true);
}

function progress(outcome, part) {
  if (!outcome || part.of === undefined) return;
  const bar = outcome.querySelector("[data-bar]");
  const { done, of, file } = part;
  tell(outcome, file ? say("reading", { done, of, file: shortName(file) }) : say("living", { done, of }));
  if (!bar) return;
  bar.hidden = false;
  bar.max = part.of;
  bar.value = part.done;
}

/** A page of another address, which the reader opens: its link works once. */
function offer(outcome, { url, ends_with_this: ours }) {
  tell(outcome, ours ? say("lived") : say("lived-before"));
  const link = outcome.querySelector("[data-link]");
  link.href = url;
  link.hidden = false;
  link.addEventListener("click", () => { setTimeout(() => { outcome.hidden = true; }); }, { once: true });
}

export function tell(outcome, text, isFault = false) {
  if (!outcome) return;
  const bar = outcome.querySelector("[data-bar]");
  if (bar) bar.hidden = true;
  outcome.hidden = false;
  outcome.classList.toggle("fault", isFault);
  write(outcome.querySelector("[data-words]"), text);
}

/** Say what an import read. Whether it read anything: else it says so as a fault. */
function imported(outcome, rows) {
  const read = rows.filter((row) => row.format !== null);
  tell(outcome, read.length ? importSummary(rows, read) : nothingRead(rows), read.length === 0);
  const after = outcome.querySelector("[data-after]");
  if (after) after.hidden = read.length === 0;
  return read.length > 0;
}

function importSummary(rows, read) {
  const sum = (count) => rows.reduce((all, row) => all + count(row), 0);
  const bad = sum((row) => row.bad_lines.length);
  const others = rows.length - read.length;
  return say(read.length === 1 ? "read-one" : "read", {
    files: read.length.toLocaleString(),
    turns: sum((row) => row.user_turns).toLocaleString(),
    new: sum((row) => row.new_observations).toLocaleString(),
    bad: bad ? say("read-bad", { bad: bad.toLocaleString() }) : "",
    others: others ? counted("read-others", others) : "",
  });
}

function nothingRead(rows) {
  if (!rows.length) return say("read-nothing");
  const [{ file, note }] = rows;
  if (rows.length === 1) return say("read-none-one", { file: shortName(file), why: note });
  return say("read-none", { files: rows.length.toLocaleString() });
}

function fieldsOf(form) {
  const args = JSON.parse(form.dataset.arguments ?? "{}");
  for (const field of form.elements) {
    if (!field.name) continue;
    if ("exact" in field.dataset) args[field.name] = field.value.replaceAll("\n", field.dataset.ends);
    else if ("flag" in field.dataset) args[field.name] = field.checked;
    else if (field.type === "checkbox" && !field.checked) continue;
    else if (!("many" in field.dataset)) args[field.name] = field.value.trim();
    else if (field.value.trim()) args[field.name] = [...(args[field.name] ?? []), field.value.trim()];
  }
  return args;
}

async function copy(command) {
  const text = command.textContent;
  await navigator.clipboard.writeText(text);
  command.textContent = say("copied");
  setTimeout(() => { command.textContent = text; }, 1200);
}

function shortName(path = "") {
  return path.split("/").pop();
}
