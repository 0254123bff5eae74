"""Every word that a page shows, from the one language file. Pure but for reading it."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import msgspec

LANGUAGE_FILE = "labels.json"


class Labels:
    """`labels("card.history.found", n=2, source="Codex")`: a sentence, its counts agreeing.

    A missing key or value raises KeyError: a page without its word is a bug, not a blank.
    """

    def __init__(self, texts: Mapping[str, Any]) -> None:
        self._texts = dict(_flat("", texts))

    def __call__(self, key: str, **values: object) -> str:
        if key in self._texts:
            return self._texts[key].format_map(values)
        form = "one" if values["n"] in {1, "1"} else "other"
        return self._texts[f"{key}.{form}"].format_map(values)

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def under(self, prefix: str) -> dict[str, str]:
        """All words below a key, for the scripts."""
        start = f"{prefix}."
        return {
            key.removeprefix(start): text
            for key, text in self._texts.items()
            if key.startswith(start)
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


def read_labels() -> Labels:
    source = files("gnomon.gateway.dashboard").joinpath(LANGUAGE_FILE)
    return Labels(msgspec.json.decode(source.read_bytes(), type=dict[str, Any]))


def _flat(prefix: str, texts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in texts.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", value)  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield f"{prefix}{name}", str(value)
