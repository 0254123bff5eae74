"""Shared by the tests of models: requests, a hosted model before a stub, a broker's world."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from gnomon.brokers.model import ModelBroker
from gnomon.brokers.model_budget import Limits
from gnomon.brokers.model_gate import BrokerState, Surroundings
from gnomon.brokers.model_in_force import FREE, InForce, Prices
from gnomon.clock import SystemClock
from gnomon.config import ModelConfig
from gnomon.domain.errors import GnomonError
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import Message, ModelReply, ModelRequest
from gnomon.domain.ports import Model
from gnomon.domain.records import Spend
from gnomon.models.choice import parse_address
from gnomon.models.hosted import HostedModel
from gnomon.models.openai_host import OpenAIHost, Settings
from gnomon.models.plans import served_plan
from gnomon.testing.clock import FakeClock
from gnomon.testing.model_hosts import MemoryHosts
from gnomon.testing.models import ScriptedModel
from gnomon.testing.openai_stub import OpenAIStub
from gnomon.trust.ipc import Peer

SCHEMA: Fields = {
    "type": "object",
    "properties": {"focus": {"type": "string", "maxLength": 40}},
    "required": ["focus"],
    "additionalProperties": False,
}


def ask(
    text: str = "Hello?",
    *,
    schema: Fields | None = None,
    timeout: float = 5.0,
    max_tokens: int = 64,
) -> ModelRequest:
    """A small request."""
    return ModelRequest(
        messages=(Message(role="user", content=text),),
        purpose="chat",
        schema=schema,
        timeout_seconds=timeout,
        max_tokens=max_tokens,
    )


def openai_host(stub: OpenAIStub, *, host: str = "127.0.0.1", **settings: Any) -> OpenAIHost:
    """The host's code in this process, before a stub; back-off in milliseconds."""
    return OpenAIHost(
        Settings(
            model="stub-model",
            port=stub.port,
            tls=stub.tls is not None,
            path="/v1",
            addresses=("127.0.0.1",),
            host=host,
            **settings,
        ),
        SystemClock(),
        delay=0.005,
    )


async def complete(
    host: OpenAIHost, request: ModelRequest, *, key: str | None = None
) -> tuple[ModelReply, list[str]]:
    """The reply, and the text as it was streamed."""
    parts: list[str] = []
    reply = await host.complete(request, key, parts.append)
    return reply, parts


@asynccontextmanager
async def hosted(
    stub: OpenAIStub, *, key: str | None = None, idle_seconds: float = 60.0
) -> AsyncGenerator[tuple[HostedModel, MemoryHosts]]:
    """A hosted model before a stub, its child on a pipe in memory."""
    hosts = MemoryHosts(_serve_fast)
    model = HostedModel(
        plan=partial(served_plan, "stub-model", parse_address(stub.url), ModelConfig()),
        start=hosts.start,
        clock=SystemClock(),
        idle_seconds=idle_seconds,
        key=lambda: key,
        keep_after_failure=False,
    )
    try:
        yield model, hosts
    finally:
        await model.close()
        await hosts.stop_all()


async def _serve_fast(peer: Peer, argument: Fields) -> None:
    """The child's entry with a back-off of milliseconds."""
    settings = msgspec.convert(argument, Settings)
    peer.serve(OpenAIHost(settings, SystemClock(), delay=0.005).answer)
    await peer.closed()


@dataclass
class World:
    """A broker and everything that it asks, each to be set by a test."""

    model: Any
    clock: FakeClock = field(default_factory=FakeClock)
    limits: Limits = field(
        default_factory=lambda: Limits(
            usd_per_day=1.0, tokens_per_day=1_000_000, max_duty_cycle=0.10
        )
    )
    prices: Prices = FREE
    slots: int = 1
    paused: str | None = None
    present: bool = True
    spends: list[Spend] = field(default_factory=list[Spend])
    said: list[GnomonError] = field(default_factory=list[GnomonError])

    def broker(self, state: BrokerState | None = None) -> ModelBroker:
        return ModelBroker(
            clock=self.clock,
            limits=self.limits,
            in_force=self.in_force(self.model),
            record=self.spends.append,
            permit=lambda role, op: None,
            around=Surroundings(
                paused=lambda: self.paused,
                operator_present=lambda: self.present,
                say=self.said.append,
            ),
            state=state,
        )

    def in_force(self, model: Model, name: str = "scripted") -> InForce:
        return InForce(name=name, kind="local", model=model, prices=self.prices, slots=self.slots)

    def takes(self, seconds: float, answer: ModelReply | BaseException) -> ScriptedModel:
        """A model whose every call takes so long on this world's clock."""

        def entry(_request: ModelRequest) -> ModelReply | BaseException:
            self.clock.advance(seconds)
            return answer

        return ScriptedModel(then=entry)
