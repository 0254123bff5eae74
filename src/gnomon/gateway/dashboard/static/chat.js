// Chat: a question, its answer as it is written, and where each quote stands.

import { ask, Refused } from "./ask.js";
import { onDay, when } from "./dress.js";
import { draw, partNamed } from "./parts.js";
import { plain, prose } from "./prose.js";
import { counted, knows, say, write } from "./words.js";

const chat = document.getElementById("chat");
const messages = partNamed("messages");
let session = chat?.dataset.session || null;
let calling = null;
let answered = null; // {surface, title} that the next message answers
let lost = () => {};

export function start(tellLost) {
  if (!chat) return;
  lost = tellLost;
  const composer = chat.querySelector("[data-composer]");
  const text = composer.elements.text;
  composer.addEventListener("submit", (event) => {
    event.preventDefault();
    send(text);
  });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send(text);
  });
  text.addEventListener("input", () => grow(text));
  chat.addEventListener("click", (event) => clicked(event, text));
  chat.querySelector("[data-stop]").addEventListener("click", () => calling?.abort());
  chat.querySelector("[data-not-replying]").addEventListener("click", () => replyTo(null));
  toEnd();
}

/** The next message answers this surface; null: it answers none. */
export function replyTo(surface, title = "") {
  if (!chat) return;
  answered = surface === null ? null : { surface, title };
  chat.querySelector("[data-replying]").hidden = surface === null;
  chat.querySelector("[data-replying-to]").textContent = plain(title);
  if (surface === null) return;
  const { text } = chat.querySelector("[data-composer]").elements;
  text.focus();
  text.scrollIntoView({ block: "center" });
}

async function clicked(event, text) {
  const example = event.target.closest("[data-try]");
  const earlier = event.target.closest("[data-open-chat]");
  if (example) {
    text.value = example.textContent;
    text.focus();
  }
  if (earlier) await open(earlier.dataset.openChat);
  if (event.target.closest("[data-new-chat]")) await open(null);
  if (earlier) text.focus();
}

async function open(id) {
  calling?.abort();
  session = id;
  chat.querySelector("[data-menu]").open = false;
  history.replaceState(null, "", id ? `/?session=${id}` : "/");
  await draw("messages", id ? `session=${id}` : "");
  drawHeld();
  toEnd();
}

async function send(box) {
  const text = box.value.trim();
  if (!text || calling) return;
  box.value = "";
  grow(box);
  messages.querySelector("[data-empty]")?.remove();
  messages.append(userMessage(text));
  const reply = new Reply();
  messages.append(reply.node);
  toEnd();
  calling = new AbortController();
  busy(true);
  const answering = answered;
  replyTo(null);
  try {
    const args = { text, ...(session && { session }), ...(answering && { reply_to: answering.surface }) };
    const answer = await ask("chat.turn", args, { onPart: (part) => reply.take(part), signal: calling.signal });
    reply.finish(answer);
    session = answer.session;
    if (args.reply_to) draw("inbox");
    drawHeld();
    history.replaceState(null, "", `/?session=${session}`);
  } catch (error) {
    reply.fail(error);
    if (answering) replyTo(answering.surface, answering.title);
    if (error.status === 401) lost(401);
  } finally {
    calling = null;
    busy(false);
    toEnd();
  }
}

/** What the conversation's turns held for the reader's word, under the last reply. */
function drawHeld() {
  draw("chat-held", session ? `session=${session}` : "");
}

/** An answer on the page, from its first word to its sources. */
class Reply {
  constructor() {
    this.node = piece("assistant");
    this.text = "";
    this.at("progress").textContent = say("thinking");
  }

  at(name) {
    return this.node.querySelector(`[data-${name}]`);
  }

  take(part) {
    const stay = atEnd();
    if (part.text !== undefined) {
      this.text += part.text;
      prose(this.at("text"), this.text);
      this.at("progress").hidden = true;
    }
    if (part.event && !part.event.complete) this.step(part.event);
    if (stay) toEnd();
  }

  step({ step, facts = {} }) {
    const name = facts.name ?? facts.tool;
    let words = step === "tool" && name ? say("step-tool-named", { name }) : say(`step-${step}`);
    if (facts.demo) words = say("demo-adds");
    this.at("progress").textContent = plain(`${words}…`);
    this.at("progress").hidden = false;
  }

  finish(answer) {
    this.at("progress").remove();
    const own = besidesQuotes(answer);
    prose(this.at("text"), own);
    this.showSources(answer.sources, own === "");
    if (answer.model_says) {
      this.at("model-says").hidden = false;
      this.at("model-says-title").textContent = say("demo-says");
      prose(this.at("model-text"), answer.model_says);
    }
    this.at("meta").hidden = false;
    this.at("meta").textContent = plain(facts(answer).join(" · "));
  }

  fail(error) {
    const progress = this.at("progress");
    progress.hidden = false;
    progress.classList.add("fault");
    if (error.name === "AbortError") progress.textContent = say("stopped");
    else write(progress, error instanceof Refused ? error.message : say("gone"));
  }

  /** Where nothing else is said, the quotes are the answer, and the best stands open. */
  showSources(sources, areTheAnswer) {
    if (!sources.length) return;
    this.at("sources").hidden = false;
    const n = sources.length;
    this.at("sources-title").textContent = areTheAnswer ? counted("found", n) : counted("sources", n);
    const nodes = sources.map(sourceNode);
    nodes[0].open = areTheAnswer;
    this.at("sources").append(...nodes);
  }
}

/** What a reply says besides quoting its sources, which stand below it with all they have. */
function besidesQuotes({ reply, sources }) {
  const quotes = (paragraph) => sources.some((source) => paragraph.trimEnd().endsWith(placeOf(source)));
  return reply.split("\n\n").filter((paragraph) => !quotes(paragraph)).join("\n\n").trim();
}

function placeOf(source) {
  return (source.path ?? source.session) + (source.line === null ? "" : `:${source.line}`);
}

function sourceNode(source) {
  const node = piece("source");
  const set = (name, text) => { node.querySelector(`[data-${name}]`).textContent = plain(text); };
  set("date", dated(source));
  set("agent", knows(`source-${source.source}`) ? say(`source-${source.source}`) : source.source);
  set("short", source.quote.length > 120 ? `${source.quote.slice(0, 119)}…` : source.quote);
  set("quote", source.quote);
  set("place", placeOf(source));
  return node;
}

/** A quote's day; where only its session's is known, that is said, and none is invented. */
function dated({ at, session_at }) {
  if (at) return onDay(new Date(at));
  return session_at ? say("session-of", { day: onDay(new Date(session_at)) }) : say("undated");
}

function facts(answer) {
  const uses = Object.values(answer.tools).reduce((all, n) => all + n, 0);
  const tokens = (answer.tokens_in ?? 0) + (answer.tokens_out ?? 0);
  return [
    answer.stop_reason === "done" ? "" : endedEarly(answer.stop_reason),
    answer.steps ? counted("steps", answer.steps) : "",
    uses ? counted("tools", uses) : "",
    say("seconds", { n: answer.seconds.toFixed(1) }),
    tokens ? say("tokens", { n: tokens.toLocaleString() }) : "",
    answer.model ?? "",
    when(new Date()),
  ].filter(Boolean);
}

function endedEarly(reason) {
  return knows(`stop-${reason}`) ? say(`stop-${reason}`) : say("stop-other", { reason });
}

function userMessage(text) {
  const node = piece("user");
  node.querySelector("[data-text]").textContent = plain(text);
  return node;
}

function piece(name) {
  return document.getElementById(`piece-${name}`).content.firstElementChild.cloneNode(true);
}

function busy(isBusy) {
  chat.querySelector("[data-send]").hidden = isBusy;
  chat.querySelector("[data-stop]").hidden = !isBusy;
}

function grow(box) {
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, 240)}px`;
}

function atEnd() {
  return messages.scrollHeight - messages.scrollTop - messages.clientHeight < 60;
}

function toEnd() {
  messages.scrollTop = messages.scrollHeight;
}
