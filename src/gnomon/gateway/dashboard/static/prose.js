// Text from models as readable prose: paragraphs, code and emphasis, and nothing that can act.
// It makes nodes and sets their text; no text ever becomes markup, a link or an image.

// What cannot be seen, or turns text around: as the gateway's own `wording.UNSEEN`.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]/g;
const INLINE = /(```[^`\n]+```|``[^`\n]+``|`[^`\n]+`|\*\*[^*\n]+\*\*|(?<=^|[\s("'“‘])\*(?=[^\s*.,/])[^*\n]*[^\s*]\*(?=$|[\s).,;:!?"'”’])|!?\[[^\]\n]*\]\([^)\s]*\))/;
const LINK = /^!?\[([^\]]*)\]\(([^)]*)\)$/;

/** Text without what cannot be seen. */
export function plain(text) {
  return text.replace(UNSEEN, "");
}

/** Show `text` in `node`. */
export function prose(node, text) {
  const pieces = plain(text).split(/^```[^\n]*\n?/m);
  node.replaceChildren(
    ...pieces.flatMap((piece, at) => (at % 2 ? [element("pre", piece.trimEnd())] : paragraphs(piece))),
  );
}

function paragraphs(text) {
  return text
    .split(/\n{2,}/)
    .filter((each) => each.trim())
    .map((each) => {
      const made = document.createElement("p");
      made.append(...inlines(each.trim()));
      return made;
    });
}

/** A text with its emphasis and code, as nodes and strings. A link is its words and address. */
export function inlines(text) {
  return text.split(INLINE).map(inline);
}

function inline(piece) {
  const link = piece.match(LINK);
  if (link) return link[1] && link[1] !== link[2] ? `${link[1]} (${link[2]})` : link[2];
  const code = piece.match(/^(`{1,3})([^`]+)\1$/);
  if (code) return element("code", code[2]);
  if (/^\*\*[^*]+\*\*$/.test(piece)) return element("strong", piece.slice(2, -2));
  if (/^\*[^\s*.,/]([^*\n]*[^\s*])?\*$/.test(piece)) return element("em", piece.slice(1, -1));
  return piece;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
