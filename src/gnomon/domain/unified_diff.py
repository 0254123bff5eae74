"""What a text is beside what it would be, for people. Pure, and bounded: both texts may be made
to be hard to compare.
"""

import difflib

CONTEXT = 3
COMPARED = 40_000
"""Lines that differ, of the one text times those of the other. Above it they are shown as one
block taken out and one put in, which is as true.
"""


def unified(before: str, after: str, name: str, *, is_new: bool = False) -> str:
    """A unified diff; empty where the two are equal. Lines end at line feeds alone, so that a
    carriage return is part of what is shown, and a missing last line feed is said.
    """
    if before == after and not is_new:
        return ""
    old, new = _lines(before), _lines(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    rows = [f"--- {'/dev/null' if is_new else name}", f"+++ {name}"]
    for group in _groups(old, new, head, tail):
        (_, a, _, c, _), (_, _, b, _, d) = group[0], group[-1]
        rows.append(f"@@ -{_span(a, b)} +{_span(c, d)} @@")
        for tag, first, last, start, stop in group:
            if tag == "equal":
                rows += (f" {line}" for line in old[first:last])
                continue
            rows += (f"-{line}" for line in old[first:last])
            rows += (f"+{line}" for line in new[start:stop])
    return "\n".join(rows) + "\n"


Step = tuple[str, int, int, int, int]
"""As difflib's: what, from and to in the old text, from and to in the new one."""


def _lines(text: str) -> list[str]:
    """The mark of a missing last line feed is part of the line: without it lines would seem
    equal that are not.
    """
    lines = text.split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _groups(old: list[str], new: list[str], head: int, tail: int) -> list[list[Step]]:
    """The steps from the old to the new, in hunks with some lines around them."""
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    steps: list[Step] = [("equal", 0, head, 0, head)] if head else []
    if len(inner_old) * len(inner_new) <= COMPARED:
        matcher = difflib.SequenceMatcher(None, inner_old, inner_new, autojunk=False)
        steps += [
            (tag, a + head, b + head, c + head, d + head)
            for tag, a, b, c, d in matcher.get_opcodes()
        ]
    else:
        steps.append(("replace", head, len(old) - tail, head, len(new) - tail))
    if tail:
        steps.append(("equal", len(old) - tail, len(old), len(new) - tail, len(new)))
    return _hunks(steps)


def _hunks(steps: list[Step]) -> list[list[Step]]:
    """Cut where more lines are equal than are shown around two differences."""
    hunks: list[list[Step]] = [[]]
    for at, (tag, a, b, c, d) in enumerate(steps):
        if tag != "equal":
            hunks[-1].append((tag, a, b, c, d))
            continue
        before = 0 if at == 0 else min(CONTEXT, b - a)
        after = 0 if at == len(steps) - 1 else min(CONTEXT, b - a)
        if at and at < len(steps) - 1 and before + after >= b - a:
            hunks[-1].append((tag, a, b, c, d))
            continue
        if before:
            hunks[-1].append((tag, a, a + before, c, c + before))
        if at and after:
            hunks.append([])
        if after:
            hunks[-1].append((tag, b - after, b, d - after, d))
    return [hunk for hunk in hunks if any(step[0] != "equal" for step in hunk)]


def _span(first: int, last: int) -> str:
    count = last - first
    return f"{first + (1 if count else 0)},{count}"


def counted(diff: str) -> tuple[int, int]:
    """How many lines are put in, and how many taken out."""
    lines = diff.split("\n")[2:]
    marks = [line[:1] for line in lines]
    return marks.count("+"), marks.count("-")
