"""The command `gnomon`. It loads the CLI's framework only when a verb needs it: `up` becomes
the daemon's own program, which has none.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from gnomon.cli.exit_codes import DONE, FAULT, INTERRUPTED, NEEDS_OPERATOR, USAGE

if TYPE_CHECKING:
    from gnomon.cli.options import Setting

WITH_VALUE = ("--home", "--agent")


def main() -> int:
    """The entry point; the answer is the exit code."""
    arguments = sys.argv[1:]
    if names_no_home(arguments):
        sys.stderr.write("--home names no folder. Leave it away for the default one.\n")
        return USAGE
    daemon = daemon_arguments(arguments)
    if daemon is not None:
        become_daemon(daemon)
    from gnomon.cli.connection import connect
    from gnomon.cli.options import Setting
    from gnomon.cli.output import of_this_process

    return run(arguments, Setting(of_this_process(), connect, os.environ))


def names_no_home(arguments: Sequence[str]) -> bool:
    """Whether `--home` is empty, as from an unset variable: that would be the current folder."""
    return "--home=" in arguments or ("--home", "") in pairwise(arguments)


def daemon_arguments(arguments: Sequence[str]) -> list[str] | None:
    """What `gnomon.daemon.main` gets when the verb is `up`; None for other verbs and for help."""
    before: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith(WITH_VALUE):
        before.append(rest.pop(0))
        if before[-1] in WITH_VALUE and rest:
            before.append(rest.pop(0))
    if not rest or rest[0] != "up" or "--help" in rest:
        return None
    return [*before, *rest[1:]]


def become_daemon(arguments: Sequence[str]) -> None:
    """Replace this process. `-P`: a file in the current folder must not pass for a module."""
    sys.stdout.flush()
    command = [sys.executable, "-P", "-m", "gnomon.daemon.main", *arguments]
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter and module


def run(arguments: Sequence[str], setting: "Setting") -> int:
    """Run a verb. Every expected failure is a sentence and an exit code, never a traceback."""
    import typer

    from gnomon.cli.app import build
    from gnomon.domain.errors import GnomonError, NeedsOperatorError, UsageError
    from gnomon.home import carried

    options = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    as_json = "--json" in options
    output = replace(setting.output, options=carried(options, setting.environ))
    setting = replace(setting, output=output)
    try:
        code = build()(list(arguments), prog_name="gnomon", obj=setting, standalone_mode=False)
    except (typer.Exit, typer.Abort) as ended:
        return getattr(ended, "exit_code", INTERRUPTED)
    except typer.TyperException as wrong:
        said = sentence(wrong)
        if said:  # a group without a verb has shown its help, and that says it all
            error = UsageError(said, next_step=f"`{command_of(wrong)} --help` lists what there is.")
            setting.output.error(error, as_json=as_json)
        return USAGE
    except GnomonError as error:
        setting.output.error(error, as_json=as_json)
        if isinstance(error, UsageError):
            return USAGE
        return NEEDS_OPERATOR if isinstance(error, NeedsOperatorError) else FAULT
    except BrokenPipeError:
        # Whoever read us has enough. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAULT
    except KeyboardInterrupt:
        return INTERRUPTED
    return code if isinstance(code, int) else DONE


def sentence(wrong: Exception) -> str:
    """A usage error in words; empty when it has none."""
    from gnomon.cli.usage_words import plain_usage

    return plain_usage(getattr(wrong, "format_message", lambda: str(wrong))())


def command_of(wrong: Exception) -> str:
    """The verb that was used wrongly, as one types it; `gnomon` when that is not known."""
    return getattr(getattr(wrong, "ctx", None), "command_path", "gnomon")
