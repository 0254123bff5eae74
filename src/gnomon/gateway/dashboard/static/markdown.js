// Markdown of an agent as nodes: headings, lists, quotes, tables, code, emphasis. As in prose.js no
// text becomes markup, and nothing that it holds can act: links and images are shown as words.

import { inlines, plain } from "./prose.js";

const FENCE = /^ {0,3}(```|~~~)/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const BULLET = /^(\s*)[-*+]\s+(.*)$/;
const NUMBER = /^(\s*)\d{1,9}[.)]\s+(.*)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const ROW = /^\s*\|.*\|\s*$/;
const DASHES = /^\s*\|?[\s:|-]+\|?\s*$/;
const MAX_DEPTH = 6;

/** Show a Markdown text in `node`. */
export function markdown(node, text) {
  node.replaceChildren(...blocks(plain(text).split("\n"), 0));
}

function blocks(lines, depth) {
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const [taken, node] = block(lines, at, depth);
    if (node) made.push(node);
    at += taken;
  }
  return made;
}

function block(lines, at, depth) {
  const line = lines[at];
  if (!line.trim()) return [1, null];
  const fence = line.match(FENCE);
  if (fence) return code(lines, at, fence[1]);
  const heading = line.match(HEADING);
  if (heading) return [1, element(`h${Math.min(6, heading[1].length + 1)}`, inlines(heading[2]))];
  if (RULE.test(line)) return [1, element("hr", [])];
  if (ROW.test(line) && DASHES.test(lines[at + 1] ?? "x")) return table(lines, at);
  if (depth < MAX_DEPTH && QUOTE.test(line)) return quote(lines, at, depth);
  if (depth < MAX_DEPTH && (BULLET.test(line) || NUMBER.test(line))) return list(lines, at, depth);
  return paragraph(lines, at);
}

function code(lines, at, mark) {
  const end = lines.findIndex((each, n) => n > at && each.trim().startsWith(mark));
  const stop = end < 0 ? lines.length : end;
  return [stop - at + 1, element("pre", [lines.slice(at + 1, stop).join("\n")])];
}

function quote(lines, at, depth) {
  const taken = run(lines, at, (each) => QUOTE.test(each));
  return [taken.length, element("blockquote", blocks(taken.map((each) => each.replace(QUOTE, "")), depth + 1))];
}

function list(lines, at, depth) {
  const mark = BULLET.test(lines[at]) ? BULLET : NUMBER;
  const indent = lines[at].match(mark)[1].length;
  const items = [];
  let n = at;
  for (; n < lines.length; n += 1) {
    const found = lines[n].match(mark);
    const deeper = lines[n].search(/\S/) > indent;
    if (found && found[1].length <= indent) items.push([found[2]]);
    else if (deeper) items.at(-1).push(lines[n].slice(Math.min(lines[n].search(/\S/), indent + 2)));
    else if (lines[n].trim() || !(lines[n + 1] ?? "").match(mark)) break;
  }
  const nodes = items.map(([first, ...rest]) => {
    const more = run(rest, 0, (each) => each.trim() && starts(each) === false);
    const words = [first, ...more.map((each) => each.trim())].join("\n");
    return element("li", [...inlines(words), ...blocks(rest.slice(more.length), depth + 1)]);
  });
  return [n - at, element(mark === BULLET ? "ul" : "ol", nodes)];
}

function table(lines, at) {
  const taken = run(lines, at, (each) => ROW.test(each));
  const cells = (line) => line.trim().slice(1, -1).split("|").map((each) => each.trim());
  const row = (line, tag) => element("tr", cells(line).map((each) => element(tag, inlines(each))));
  const head = element("thead", [row(taken[0], "th")]);
  const body = element("tbody", taken.slice(2).map((each) => row(each, "td")));
  const frame = element("div", [element("table", [head, body])]); // wider than a phone: it scrolls
  frame.className = "scroll";
  frame.tabIndex = 0;
  return [taken.length, frame];
}

function paragraph(lines, at) {
  const first = lines[at];
  const more = run(lines, at + 1, (each) => each.trim() && starts(each) === false);
  return [1 + more.length, element("p", inlines([first, ...more].map((each) => each.trim()).join("\n")))];
}

function starts(line) {
  return [FENCE, HEADING, BULLET, NUMBER, RULE, QUOTE, ROW].some((each) => each.test(line));
}

function run(lines, at, holds) {
  let end = at;
  while (end < lines.length && holds(lines[end])) end += 1;
  return lines.slice(at, end);
}

function element(name, children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}
