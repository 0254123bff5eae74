"""A confined child's life: prove the jail, greet the gateway, run the role's module."""

import asyncio
import contextlib
import importlib
import os
import signal
import socket
import sys
import traceback
from typing import Any, cast

from gnomon.domain.errors import GnomonError, PipeError
from gnomon.domain.json_value import Fields
from gnomon.trust.plan import Plan
from gnomon.trust.selftest import failures, self_test

FAULT_LIMIT = 8000
"""Characters of a traceback that cross."""


def live(plan: Plan, pipe: int) -> None:
    """Run to the end of the pipe or of the module. Does not return."""
    if not plan.tcp:
        # asyncio can do without; without sockets it is 5 MB and 10 ms for nothing.
        sys.modules["ssl"] = cast("Any", None)
    found = self_test(plan) if plan.self_test else {}
    broken = failures(plan, found) if found else []
    hello: dict[str, Any] = {"role": plan.role, "level": plan.level, "self_test": found}
    if broken:
        hello["failed"] = {"step": "self-test", "probe": broken[0], "reason": "it was open"}
    ends_all = plan.level == "partial" and plan.may_exec and found.get("signal") == "held"
    if ends_all:
        signal.signal(signal.SIGTERM, _on_term)
    code = asyncio.run(_live(plan.module, socket.socket(fileno=pipe), hello))
    if ends_all:
        _end_all(code)
    # No finalizers: threads of a native library must not keep a finished role alive.
    os._exit(code)


def _on_term(_number: int, _frame: object) -> None:
    _end_all(1)


def _end_all(code: int) -> None:
    """End every program that it started, then itself.

    Landlock's scope leaves it no one else to signal, which the self-test has just shown.
    """
    with contextlib.suppress(OSError):
        os.kill(-1, signal.SIGKILL)
    os._exit(code)


async def _live(module: str, pipe: socket.socket, hello: Fields) -> int:
    from gnomon.trust.ipc import Peer

    peer = await Peer.over(pipe, hello)
    reading = asyncio.create_task(peer.run())
    try:
        argument = (await peer.greeting()).get("argument")
        if "failed" in hello or not isinstance(argument, dict):
            return 1
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: _report_later(peer, context)
        )
        await importlib.import_module(module).serve(peer, argument)
        return 0
    except PipeError:
        return 0
    except Exception as error:  # noqa: BLE001 - the end of the process: the gateway hears why
        await _report(peer, error)
        return 1
    finally:
        peer.close()
        with contextlib.suppress(GnomonError):
            await reading


def _report_later(peer: Any, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if isinstance(error, Exception):
        task = asyncio.ensure_future(_report(peer, error))
        _reports.add(task)
        task.add_done_callback(_reports.discard)


_reports: set["asyncio.Future[None]"] = set()
"""Kept until they are sent: the loop itself holds tasks weakly."""


async def _report(peer: Any, error: Exception) -> None:
    """Say what failed. There is no other way out: the child has no error stream."""
    expected = isinstance(error, GnomonError)  # a full disk, say: its sentence is enough
    text = str(error) if expected else "".join(traceback.format_exception(error))[-FAULT_LIMIT:]
    with contextlib.suppress(GnomonError):
        await peer.call("fault", {"error": type(error).__name__, "trace": text}, timeout=5.0)
