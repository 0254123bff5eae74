// The words that scripts show: from the page, which has them from the one language file.

import { plain } from "./prose.js";

const texts = JSON.parse(document.getElementById("labels").textContent);

/** Whether there is a word of that name. */
export function knows(key) {
  return Object.hasOwn(texts, key);
}

/** say("read", {files: 3}): the sentence with its values in place. */
export function say(key, values = {}) {
  return texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** counted("steps", 1): the form that agrees with the count. */
export function counted(key, n) {
  return n === 1 ? say(`${key}-one`) : say(key, { n: n.toLocaleString() });
}

/** Fill a node with text, where `words` between backticks are code. */
export function write(node, text) {
  node.replaceChildren(
    ...plain(text).split("`").map((piece, at) => {
      if (at % 2 === 0) return piece;
      const code = document.createElement("code");
      code.textContent = piece;
      return code;
    }),
  );
}
