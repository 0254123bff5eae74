"""Markdown with YAML frontmatter, taken apart. Pure.

What a model wrote is data from a stranger: the YAML is bounded in size, depth and number of
values, has no aliases, no tags and no merging, and a name that stands twice is an error. Dates
stay the text that they were.
"""

from dataclasses import dataclass
from typing import Any, cast

from gnomon.domain.errors import GnomonError
from gnomon.domain.json_value import Fields

FENCE = "---"
MAX_CHARACTERS = 16_000
MAX_DEPTH = 5
MAX_VALUES = 400


class FrontmatterError(GnomonError):
    """The text is no Markdown with usable frontmatter. Facts: `reason`."""

    code = "frontmatter"


@dataclass(frozen=True)
class Document:
    """`head` is the contract, `body` is for people and decides nothing."""

    head: Fields
    body: str


def take_apart(text: str) -> Document:
    """The frontmatter and the body. Raises FrontmatterError, which says what is wrong."""
    lines = unwrapped(text).splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise fault(f"the first line must be {FENCE}")
    ends = [number for number, line in enumerate(lines) if number and line.rstrip() == FENCE]
    if not ends:
        raise fault(f"no second {FENCE} ends the frontmatter")
    head = "\n".join(lines[1 : ends[0]])
    if len(head) > MAX_CHARACTERS:
        raise fault(f"the frontmatter is longer than {MAX_CHARACTERS} characters")
    return Document(head=_object(head), body="\n".join(lines[ends[0] + 1 :]).strip())


def unwrapped(text: str) -> str:
    """Without the code fence that models like to put around a document."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text[text.index("\n") + 1 : -3].strip()
    return text


def _object(text: str) -> Fields:
    import yaml  # not needed by who makes no artifacts

    try:
        compose = cast("Any", yaml.compose)  # pyright: ignore[reportUnknownMemberType]
        node: Any = compose(text, Loader=_loader())
        value: Any = _value(node, 0, [MAX_VALUES])
    except yaml.YAMLError as error:
        raise fault(" ".join(str(error).split())) from error
    except (ValueError, RecursionError) as error:
        raise fault(str(error)) from error
    if not isinstance(value, dict):
        raise fault("the frontmatter must be names with values")
    return cast("Fields", value)


def _loader() -> Any:
    """A loader that refuses aliases where they stand, before anything is made of them."""
    import yaml

    class Plain(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):  # pyright: ignore[reportUnknownMemberType]
                raise fault("aliases are not allowed")
            return super().compose_node(parent, index)  # pyright: ignore[reportUnknownMemberType]

    return Plain


def _value(node: Any, depth: int, left: list[int]) -> Any:
    """A composed node as JSON knows it."""
    left[0] -= 1
    if left[0] < 0:
        raise fault(f"it has more than {MAX_VALUES} values")
    if depth > MAX_DEPTH:
        raise fault(f"it nests deeper than {MAX_DEPTH}")
    match getattr(node, "id", None):
        case "scalar":
            return _scalar(node.tag, node.value)
        case "sequence":
            return [_value(each, depth + 1, left) for each in node.value]
        case "mapping":
            return _mapping(node.value, depth + 1, left)
        case _:
            return None  # nothing stands there


def _mapping(pairs: list[tuple[Any, Any]], depth: int, left: list[int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, node in pairs:
        if getattr(name, "id", None) != "scalar" or name.value == "<<":
            raise fault("a name must be plain text")
        if name.value in found:
            raise fault(f"{name.value[:64]!r} stands twice")
        found[name.value] = _value(node, depth, left)
    return found


def _scalar(tag: str, text: str) -> Any:
    match tag.rpartition(":")[2]:
        case "int" if text.lstrip("+-").isdecimal() and len(text) < 16:
            return int(text)
        case "float" if text.count(".") == 1 and text.replace(".", "").lstrip("+-").isdecimal():
            return float(text)
        case "bool":
            return text.casefold() in ("true", "yes", "on")
        case "null":
            return None
        case "str" | "int" | "float" | "timestamp" | "value":
            return text
        case _:
            raise fault(f"the tag {tag[:64]!r} is not allowed")


def fault(reason: str) -> FrontmatterError:
    """The error of a document that cannot be used."""
    return FrontmatterError(f"The document cannot be used: {reason[:500]}.", reason=reason[:500])
