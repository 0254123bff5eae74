// A held text in the operator's own words: a form that is there while it is wanted. Meanwhile
// the card's other buttons are away, so that nobody approves the one text and means the other.

import { failed, tell } from "./actions.js";
import { ask } from "./ask.js";
import { itemNamed } from "./parts.js";
import { say } from "./words.js";

export function start() {
  document.addEventListener("click", (event) => {
    const item = event.target.closest("[data-item]");
    if (!item) return;
    if (event.target.closest("[data-reword]")) reword(item);
    if (event.target.closest("[data-reword-leave]")) leave(item);
  });
}

/** The text as it was held, not as the card shows it: there codes stand for what cannot be seen. */
async function reword(item) {
  const part = item.closest("[data-part]");
  const outcome = part.querySelector("[data-outcome]");
  const id = item.dataset.item;
  try {
    const { text } = await ask("approvals.show", { id });
    const ends = lineEnd(text);
    if (ends === null) tell(outcome, say("line-ends", { id }), true);
    else open(itemNamed(part, id), text, ends); // which may have been drawn anew meanwhile
  } catch (error) {
    failed(outcome, error);
  }
}

function open(item, text, ends) {
  const made = item?.querySelector("template[data-reword-form]");
  if (!made || item.querySelector("form[data-kept]")) return;
  const form = made.content.firstElementChild.cloneNode(true);
  const field = form.elements.text;
  field.value = text;
  field.dataset.ends = ends;
  item.querySelector(".actions").after(form);
  field.focus();
  field.setSelectionRange(0, 0);
}

function leave(item) {
  item.querySelector("form[data-kept]").remove();
  item.focus();
}

/** The one end of all lines; null where there is more than one. A field knows line feeds alone. */
function lineEnd(text) {
  const bare = text.replaceAll("\r\n", "");
  if (bare.includes("\r")) return null;
  if (!text.includes("\r\n")) return "\n";
  return bare.includes("\n") ? null : "\r\n";
}
