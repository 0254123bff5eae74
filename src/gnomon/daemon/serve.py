"""The daemon: take the home, bind, wire, live, end in order."""

import asyncio
import os
import signal
import time
from collections.abc import Callable

from gnomon.daemon.acts import Acts, Running
from gnomon.daemon.core import Core
from gnomon.daemon.demo_month import DemoMonth
from gnomon.daemon.health.exhibit import exhibited
from gnomon.daemon.life import Life
from gnomon.daemon.operations import table
from gnomon.daemon.platform import Platform
from gnomon.daemon.store.create import ensure_root, is_simulated
from gnomon.daemon.wire import open_core
from gnomon.domain.errors import HomeError
from gnomon.gateway.authority import Authority, digest, is_token
from gnomon.gateway.listen import Listener, listen
from gnomon.gateway.operation import Operation
from gnomon.gateway.wiring import Wiring
from gnomon.home import Home, home_option
from gnomon.lock import HomeLock
from gnomon.trust.jail import protect_this_process

Ready = Callable[[dict[str, object]], None]


async def serve(
    home: Home, agent: str, port: int | None, platform: Platform, ready: Ready, began: float
) -> None:
    """Run until SIGTERM, SIGINT or `kernel.stop`; a simulated home is only shown. `began` is
    when the process began, on the monotonic clock; `ready` hears the address once it answers.

    Raises HomeLockedError, HomeError, ConfigError, LedgerCorruptError, UsageError (port).
    """
    protect_this_process()
    ensure_root(home)
    simulated = is_simulated(home)
    if simulated:
        platform = exhibited(home, platform)
    lock = HomeLock.acquire(home.lock, pid=os.getpid())
    try:
        async with open_core(home, agent, platform) as core:
            stopping = asyncio.Event()
            _end_on_signals(stopping)
            operations: dict[str, Operation] = {}
            authority = _authority(core)
            listener = await listen(
                Wiring(
                    operations,
                    authority,
                    core.stream,
                    platform.clock,
                    simulated=simulated,
                    dev_mode=core.fitness.config.dev_mode,
                    home_option=home_option(home.root, {}),
                ),
                core.config.gateway.port if port is None else port,
            )
            try:
                await _live(core, listener, lock, authority, operations, stopping, ready, began)
            finally:
                await listener.close()
    finally:
        lock.release()


async def _live(
    core: Core,
    listener: Listener,
    lock: HomeLock,
    authority: Authority,
    operations: dict[str, Operation],
    stopping: asyncio.Event,
    ready: Ready,
    began: float,
) -> None:
    life = None if is_simulated(core.home) else Life(core)
    next_tick_at = life.next_tick_at if life else lambda: None
    running = Running(listener.url, authority, next_tick_at, stopping.set)
    operations.update(table(core, Acts(core, running)))
    month = DemoMonth(core.home)
    if life:
        operations["demo.open"] = month.row()
        await life.begin()
    try:
        lock.tell(pid=os.getpid(), url=listener.url, agent=core.agent.agent)
        link = running.login_link(core.platform.clock.wall())
        ready(
            {
                "ready": True,
                "url": listener.url,
                "pid": os.getpid(),
                "seconds": round(time.monotonic() - began, 3),
                "login": link.url,
                "login_expires_at": link.expires_at,
                "paused_until": core.paused_until(),
            }
        )
        await stopping.wait()
    finally:
        await month.close()
        if life:
            await life.end()


def _authority(core: Core) -> Authority:
    """Browsers that were let in stay in across restarts; only hashes are kept.

    Raises HomeError when the operator's token could be guessed: an empty file, which a power
    cut or a full disk may leave, would let everybody in.
    """
    file = core.home.operator_token
    token = file.read_text(encoding="ascii", errors="replace").strip()
    if not is_token(token):
        raise HomeError(
            f"{file} holds no token.",
            next_step="Move it away; the next start makes a new one.",
            file=str(file),
        )
    return Authority(
        operator_sha256=digest(token),
        keep=core.memo.keep_browsers,
        sessions=core.memo.facts.browser_sessions,
    )


def _end_on_signals(stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stopping.set)
