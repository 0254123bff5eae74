"""The adapter of a jailed host: one start for many callers, ended when idle, never hung."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gnomon.domain.errors import ModelTimeoutError, ModelUnavailableError, NoModelError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import ModelReply
from gnomon.models.hosted import HostedModel, HostPlan
from gnomon.testing import openai_behaviours as stub_can
from gnomon.testing.clock import FakeClock
from gnomon.testing.model_hosts import MemoryChild, MemoryHosts
from gnomon.testing.models import says
from gnomon.testing.openai_stub import OpenAIStub
from gnomon.trust.ipc import Peer
from tests.model_kit import ask, hosted

Answer = Callable[[Fields], Json]


async def plan() -> HostPlan:
    return HostPlan(module="none", argument={})


def hosts_that(answer: Callable[[Fields], ModelReply]) -> MemoryHosts:
    """Hosts whose `complete` is a plain function."""

    async def serve(peer: Peer, argument: Fields) -> None:
        async def one(op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
            return msgspec.to_builtins(answer(args))

        peer.serve(one)
        await peer.closed()

    return MemoryHosts(serve)


async def hang(peer: Peer, argument: Fields) -> None:
    async def never(op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        await asyncio.Event().wait()
        return {}

    peer.serve(never)
    await peer.closed()


def adapter(hosts: MemoryHosts, clock: FakeClock, **options: Any) -> HostedModel:
    return HostedModel(plan=plan, start=hosts.start, clock=clock, idle_seconds=300.0, **options)


async def test_nothing_is_started_before_the_first_call() -> None:
    hosts = hosts_that(lambda args: says("hi"))
    model = adapter(hosts, FakeClock())
    assert not model.loaded
    assert hosts.started == []
    await model.complete(ask())
    assert model.loaded
    await hosts.stop_all()


async def test_many_first_calls_make_one_start() -> None:
    hosts = hosts_that(lambda args: says("hi"))
    model = adapter(hosts, FakeClock())
    await asyncio.gather(*(model.complete(ask()) for _ in range(8)))
    assert len(hosts.started) == 1
    await hosts.stop_all()


async def test_an_idle_host_is_ended_and_the_next_call_starts_another() -> None:
    clock = FakeClock()
    hosts = hosts_that(lambda args: says("hi"))
    model = adapter(hosts, clock)
    await model.complete(ask())
    clock.advance(299)
    await model.end_if_idle(clock.boottime())
    assert model.loaded
    clock.advance(1)
    await model.end_if_idle(clock.boottime())
    assert not model.loaded
    assert hosts.started[0].stopped
    await model.complete(ask())
    assert len(hosts.started) == 2
    await hosts.stop_all()


async def test_a_host_in_mid_call_is_not_idle() -> None:
    clock = FakeClock()
    hosts = MemoryHosts(hang)
    model = adapter(hosts, clock)
    call = asyncio.create_task(model.complete(ask(timeout=60)))
    while not hosts.started:
        await asyncio.sleep(0)
    clock.advance(1_000)
    await model.end_if_idle(clock.boottime())
    assert model.loaded
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await hosts.stop_all()


async def test_a_host_that_died_in_mid_call_is_an_error_and_the_next_call_starts_anew() -> None:
    async def dies(peer: Peer, argument: Fields) -> None:
        async def one(op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
            peer.close()
            await asyncio.Event().wait()
            return {}

        peer.serve(one)
        await peer.closed()

    hosts = MemoryHosts(dies)
    model = adapter(hosts, FakeClock())
    for count in (1, 2):
        with pytest.raises(ModelUnavailableError, match="ended in mid-call"):
            await model.complete(ask())
        assert not model.loaded
        assert len(hosts.started) == count


async def test_a_host_that_died_while_idle_is_replaced_without_an_error() -> None:
    hosts = hosts_that(lambda args: says("hi"))
    model = adapter(hosts, FakeClock())
    await model.complete(ask())
    hosts.started[0].kill()
    async with asyncio.timeout(5):
        while model.loaded:
            await asyncio.sleep(0)
    assert (await model.complete(ask())).content == "hi"
    await hosts.stop_all()


async def test_a_hung_host_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnomon.models.hosted.HUNG_SECONDS", 0.1)
    hosts = MemoryHosts(hang)
    model = adapter(hosts, FakeClock())
    with pytest.raises(ModelTimeoutError, match="was ended"):
        await model.complete(ask(timeout=0.1))
    assert hosts.started[0].stopped
    assert not model.loaded


async def test_a_start_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnomon.models.hosted.START_SECONDS", 0.1)

    async def never(plan: HostPlan) -> MemoryChild:
        await asyncio.Event().wait()
        raise AssertionError

    model = HostedModel(plan=plan, start=never, clock=FakeClock(), idle_seconds=1.0)
    with pytest.raises(ModelUnavailableError, match="did not start"):
        await model.complete(ask())


async def test_a_plan_without_weights_starts_nothing() -> None:
    async def no_weights() -> HostPlan:
        raise NoModelError("The weights are not here.")

    hosts = MemoryHosts(hang)
    model = HostedModel(plan=no_weights, start=hosts.start, clock=FakeClock(), idle_seconds=1.0)
    with pytest.raises(NoModelError):
        await model.complete(ask())
    assert hosts.started == []


async def test_a_key_goes_with_each_call_and_is_asked_for_anew() -> None:
    keys = iter(["first", "second"])
    seen: list[Json] = []

    def answer(args: Fields) -> ModelReply:
        seen.append(args.get("key"))
        return says("hi")

    hosts = hosts_that(answer)
    model = adapter(hosts, FakeClock(), key=lambda: next(keys))
    await model.complete(ask())
    await model.complete(ask())
    assert seen == ["first", "second"]
    await hosts.stop_all()


async def test_closing_ends_what_runs() -> None:
    hosts = MemoryHosts(hang)
    model = adapter(hosts, FakeClock())
    call = asyncio.create_task(model.complete(ask(timeout=60)))
    while not model.loaded:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    await model.close()
    with pytest.raises(ModelUnavailableError):
        await call


async def test_a_cancelled_call_leaves_the_host_fit_for_the_next() -> None:
    async with (
        OpenAIStub([stub_can.drip(0.01)], then=stub_can.say("next")) as stub,
        hosted(stub) as (model, hosts),
    ):
        heard = asyncio.Event()
        call = asyncio.create_task(model.complete(ask(timeout=60), lambda text: heard.set()))
        await heard.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert (await model.complete(ask())).content == "next"
        assert len(hosts.started) == 1


async def test_a_server_that_cannot_be_reached_has_its_name_resolved_anew() -> None:
    async with OpenAIStub() as stub, hosted(stub) as (model, hosts):
        await stub.__aexit__(None, None, None)
        for _ in range(2):
            with pytest.raises(ModelUnavailableError):
                await model.complete(ask())
        assert len(hosts.plans) == 2
        await stub.__aenter__()
