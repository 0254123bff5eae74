"""What a simulated model proposes to change in its instructions, and what each sentence truly
does to it. Pure.

A prompt helps or harms by the sentences that it holds. So a simulated life has a truth that a
verdict can be compared with; nothing but the simulated model and operator looks at it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from gnomon.domain.number_words import DIGITS
from gnomon.simulate.laundering import digits


@dataclass(frozen=True)
class Edit:
    """`follows` is added to the chance that a reflection stays with its subject (a lower one
    goes less in circles), `acts` to the chance that what it brings is used.
    """

    sentence: str
    follows: float = 0.0
    acts: float = 0.0


EDITS: tuple[Edit, ...] = (
    Edit("Before you return to a subject, say what is new about it.", follows=-0.35, acts=0.2),
    Edit("Take up the open item of the operator that has waited longest.", follows=-0.2, acts=0.1),
    Edit("Keep to one subject until every part of it was thought through.", 0.35, -0.2),
    Edit("Say again what was found last time before you go on.", 0.25, -0.1),
    Edit("Write in short sentences."),
    Edit("Prefer plain words to long ones."),
    Edit("Name things as the operator names them."),
    Edit("Leave out what everybody knows."),
    Edit("Put the subject first in each title."),
    Edit("Use the same word for the same thing throughout."),
    Edit("Give a date where a date is known."),
    Edit("Say plainly when nothing has changed."),
    Edit("Let a question end with a question mark."),
    Edit("Avoid adjectives that measure nothing."),
    Edit("Mention a file by its name, not by its place."),
    Edit("Join two thoughts only when they belong together."),
    Edit("Drop greetings and closing formulas."),
    Edit("Spell out an abbreviation the first time."),
)
"""Most edits do nothing, as most do in life."""
TELLING = tuple(edit for edit in EDITS if edit.acts or edit.follows)
"""Those that do something."""
LAUNDERS = 0.25
"""The chance that an edit also tries to carry a measured number into the prompt."""


def effect(prompt: str) -> Edit:
    """What a prompt does, by the sentences that it holds."""
    held = [edit for edit in EDITS if edit.sentence in prompt]
    return Edit("", sum(edit.follows for edit in held), sum(edit.acts for edit in held))


def proposed(
    rng: Random, prompt: str, numbers: Sequence[float], among: Sequence[Edit] = EDITS
) -> tuple[Edit, str]:
    """An edit, of those `among` which it chooses, that the prompt does not hold yet; and the text
    that is added for it: its sentence, and now and then a number of the referee's in disguise.
    """
    new = [edit for edit in among if edit.sentence not in prompt] or list(among)
    edit = rng.choice(new)
    if numbers and rng.random() < LAUNDERS:
        return edit, f"{edit.sentence} {disguised(rng, rng.choice(numbers))}"
    return edit, edit.sentence


def disguised(rng: Random, value: float) -> str:
    """A number as a model that wants to remember it would write it down."""
    plain = digits(value) or "0"
    disguises: Iterable[str] = (
        f"Remember {value}.",
        f"Aim for {value * 100:.2f} percent.",
        "Remember " + " ".join(DIGITS[int(digit)] for digit in plain) + ".",
        f"Mark it as {int(plain):x}.",
        f"Keep to {round(value * 1000)} of 1000.",
        f"Remember {plain[::-1]}.",
    )
    return rng.choice(list(disguises))
