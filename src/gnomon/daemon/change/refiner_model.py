"""Which model the refiner runs with (page 6): a local one, or the one that is named for it.

Nothing is started here. A remote model is used only where fitness-config names it: improving
itself must not come to depend on somebody else's machine.
"""

from dataclasses import dataclass
from typing import Protocol

from gnomon.brokers.model_in_force import InForce
from gnomon.domain.errors import ConfigError
from gnomon.models.choice import EMBEDDED
from gnomon.refiner.readiness import ModelFault


class Models(Protocol):
    """What is asked of `ModelsInForce`."""

    @property
    def has_embedded(self) -> bool: ...
    def named(self, name: str) -> InForce: ...


@dataclass(frozen=True)
class RefinerModel:
    """`beside` is null where the model in force is used. `by_schema`: it calls no tools."""

    name: str
    by_schema: bool
    beside: InForce | None = None


def refiner_model(
    named: str, in_force: InForce, models: Models
) -> RefinerModel | tuple[ModelFault, str]:
    """The model, or why there is none. `named` is `refiner_model` of fitness-config."""
    if named in ("", in_force.name) and in_force.kind in ("local", "demo"):
        return RefinerModel(in_force.name, by_schema=in_force.kind == "demo")
    match named, in_force.kind:
        case "", "none":
            return "no-model", "No model is in use, so nothing can be proposed."
        case "", _ if models.has_embedded:
            return _beside(models, EMBEDDED)
        case "", _:
            words = (
                f"The model in use, {in_force.name}, is not on this machine. Name it as "
                "refiner_model in agents/main/kernel/fitness-config.json of the home if you want "
                "it to be used for this."
            )
            return "remote-model", words
        case name, "remote" if name == in_force.name:
            return RefinerModel(name, by_schema=False)
        case _:
            return _beside(models, named)


def _beside(models: Models, name: str) -> RefinerModel | tuple[ModelFault, str]:
    try:
        model = models.named(name)
    except ConfigError as error:
        return "model-config", f"refiner_model is {name!r}, which cannot be used: {error}"
    if model.kind == "demo" and not models.has_embedded:
        return "no-model", "The embedded model's weights are not here: `gnomon model fetch`."
    return RefinerModel(model.name, by_schema=model.kind == "demo", beside=model)
