"""The name of a scaffold version: its activation's number and its files' hash (page 2). Pure."""


def version_of(activation: int, files: str) -> str:
    """`000042-<12 hex>`; `files` is the start of the hash of all its files."""
    return f"{activation:06d}-{files}"


def activation_of(version: str) -> int:
    """Which activation put it in force; 0, before all others, for what names no version."""
    number = version.partition("-")[0]
    return int(number) if number.isdecimal() else 0


def files_of(version: str) -> str:
    """The start of the hash of all its files: equal for equal files, whichever activation."""
    return version.rpartition("-")[2]
