"""The scaffold that came with Gnomon: data files, read when asked for."""

from importlib.resources import files

NAMES = (
    "README.md",
    "inner-loop-prompt.md",
    "executive-prompt.md",
    "antipattern-flags.json",
)


def packaged_defaults() -> dict[str, str]:
    """Each default by name, its text as packaged, byte for byte."""
    folder = files("gnomon.data").joinpath("scaffold")
    return {name: folder.joinpath(name).read_bytes().decode() for name in NAMES}
