"""How a step is named in a procedure: the tool, and for a shell the program it runs."""

import re

from gnomon.domain.plain_text import clean, cut, one_line

SHELLS = frozenset({"bash", "shell", "exec_command", "local_shell", "run_shell_command"})
CALL = 200
"""Characters kept of what a call said."""
MOST_STEPS = 40
"""Steps of one turn that are kept; a longer sequence is no procedure."""
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=\S*$")
_LEADING = re.compile(r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*)+")
_PROGRAM = re.compile(r"[A-Za-z0-9_.+-]{1,40}$")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:-]{1,30}$")
_WRAPPERS = frozenset({"sudo", "time", "env", "command", "nohup", "exec"})
_WITH_VERB = frozenset(
    [
        "git",
        "gh",
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "uv",
        "pip",
        "poetry",
        "cargo",
        "go",
        "docker",
        "kubectl",
        "make",
        "just",
        "terraform",
        "brew",
        "apt",
        "systemctl",
    ]
)
"""Programs whose first argument says what is done."""


def program(command: str) -> str | None:
    """`git commit` of `cd x && FOO=1 git commit -m y`; null when it cannot be told."""
    words = _LEADING.sub("", command[:2_000]).split()[:12]
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in _WRAPPERS):
        words = words[1:]
    if not words:
        return None
    name = words[0].rsplit("/", 1)[-1]
    if not _PROGRAM.match(name):
        return None
    if name in _WITH_VERB and len(words) > 1 and _SUBCOMMAND.match(words[1]):
        return f"{name} {words[1]}"
    return name


def step(tool: str, command: str | None) -> str:
    """The step's name: `Read`, or `Bash(git commit)`."""
    ran = program(command) if command and tool.lower() in SHELLS else None
    return cut(f"{tool}({ran})" if ran else tool, 80)


def call_words(command: str | None, given: bytes | str) -> str | None:
    """What a call said: the command of a shell, else its input as it stands; null for none."""
    if isinstance(given, bytes):
        given = given[: CALL * 8].decode("utf-8", "replace")
    return one_line(clean((command or given)[: CALL * 8]), CALL) or None


def appended(steps: tuple[str, ...], new: str) -> tuple[str, ...]:
    """The sequence with one more step; a step that repeats the last is not written again."""
    if len(steps) >= MOST_STEPS or (steps and steps[-1] == new):
        return steps
    return (*steps, new)
