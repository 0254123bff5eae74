// Text from models as readable prose: paragraphs, code and emphasis, and nothing that can act.
// It makes nodes and sets their text; no text ever becomes markup, a link or an image.

const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*)/;

/** Show `text` in `node`. */
export function prose(node, text) {
  const pieces = text.split(/^```[^\n]*\n?/m);
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
      made.append(...each.trim().split(INLINE).map(inline));
      return made;
    });
}

function inline(piece) {
  if (/^`[^`]+`$/.test(piece)) return element("code", piece.slice(1, -1));
  if (/^\*\*[^*]+\*\*$/.test(piece)) return element("strong", piece.slice(2, -2));
  return piece;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
