"""`config.toml`: what the operator may set. Anything else is one error that names its line."""

import difflib
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, NoReturn, cast, get_type_hints

import msgspec
from msgspec import Meta

from gnomon.domain.errors import ConfigError
from gnomon.domain.policy import Autonomy
from gnomon.domain.records import Mode

Value = str | int | float | bool
"""What a key may hold."""

Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. Each field's description is its comment there."""


class KernelConfig(Section, frozen=True):
    """The resident: `tick_ms` 120000 by default (seed 1, phase 1), floor 1000."""

    tick_ms: Annotated[
        int,
        Meta(
            ge=1_000,
            le=31 * 86_400_000,
            description="Milliseconds between two ticks; from a second to 31 days.",
        ),
    ] = 120_000
    mode: Annotated[
        Mode, Meta(description="off, shadow (thinks only), soft (speaks) or full (acts).")
    ] = "soft"
    salience_gate: Annotated[
        bool, Meta(description="Reflect only when something changed since the last reflection.")
    ] = False
    idle_activity_gate_minutes: Annotated[
        Count, Meta(description="Do not reflect when you were away this long; 0 always reflects.")
    ] = 30
    max_duty_cycle: Annotated[
        float, Meta(ge=0, le=1, description="The most of any hour that may be spent on inference.")
    ] = 0.10


class ModelConfig(Section, frozen=True):
    """`name` is `embedded`, `none`, or a model of the server at `url` (ends in `/v1`)."""

    name: Annotated[
        str, Meta(min_length=1, description="embedded, none, or a name that the server knows.")
    ] = "embedded"
    url: Annotated[
        str,
        Meta(
            pattern=r"^(https?://[^\s]+/v1/?)?$",
            description="Base address of an OpenAI-compatible server, ending in /v1.",
        ),
    ] = ""
    key_env: Annotated[
        str, Meta(description="The environment variable that holds the server's key.")
    ] = ""
    key_file: Annotated[str, Meta(description="Or a file of mode 0600 that holds it.")] = ""
    timeout_seconds: Annotated[
        float, Meta(gt=0, le=3_600, description="Bound of one call, in seconds.")
    ] = 120.0
    idle_seconds: Annotated[
        int, Meta(ge=1, description="The embedded model is unloaded after this many idle seconds.")
    ] = 300
    usd_per_million_in: Annotated[
        Amount, Meta(description="The server's price for a million tokens read.")
    ] = 0.0
    usd_per_million_out: Annotated[
        Amount, Meta(description="The server's price for a million tokens written.")
    ] = 0.0


class BudgetConfig(Section, frozen=True):
    """Bounds over foreground and background together, a day of UTC."""

    usd_per_day: Annotated[Amount, Meta(description="The most that a day may cost.")] = 1.00
    tokens_per_day: Annotated[Count, Meta(description="The most tokens a day, both ways.")] = (
        2_000_000
    )


class ImproveConfig(Section, frozen=True):
    """How far it may go by itself."""

    autonomy: Annotated[
        Autonomy, Meta(description="What it may do unasked: off, memory, skills or full.")
    ] = "full"


class ObserveConfig(Section, frozen=True):
    """What it reads of other agents' histories."""

    watch: Annotated[
        bool, Meta(description="Read them on as they grow. [Keep watching] sets this.")
    ] = False


class NotifyConfig(Section, frozen=True):
    """What it brings to you."""

    max_per_day: Annotated[
        int, Meta(ge=1, le=100, description="The most items a day of UTC; the rest wait.")
    ] = 5


class GatewayConfig(Section, frozen=True):
    """The dashboard and API, on loopback."""

    port: Annotated[
        int, Meta(ge=0, le=65_535, description="Port of the dashboard; 0 takes a free one.")
    ] = 4666
    allow_unjailed: Annotated[
        bool, Meta(description="Run without a jail where the system has none. Not advised.")
    ] = False


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    kernel: KernelConfig = KernelConfig()
    model: ModelConfig = ModelConfig()
    budget: BudgetConfig = BudgetConfig()
    improve: ImproveConfig = ImproveConfig()
    observe: ObserveConfig = ObserveConfig()
    notify: NotifyConfig = NotifyConfig()
    gateway: GatewayConfig = GatewayConfig()


ENVIRONMENT = (
    "GNOMON_HOME",
    "GNOMON_AGENT",
    "GNOMON_MODEL",
    "GNOMON_MODEL_URL",
    "GNOMON_MODEL_KEY",
)
"""Variables that mean something. The model's are applied by `gnomon.models.choice`."""

HEADER = """\
# Gnomon's settings. Every key stands here at its default; take the "# " away to change one.
# A running Gnomon reads this file when it starts.
"""


def load(path: Path, environ: Mapping[str, str]) -> Config:
    """Read the file; without one, the defaults.

    Raises ConfigError (`file`, `line`) at the first thing that is wrong, and for a variable
    of the environment that is nearly one of ours: a misspelt setting must not be ignored.
    """
    check_environment(environ)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except UnicodeDecodeError as error:
        _refuse(path, 1, f"it is not UTF-8 ({error.reason} at byte {error.start})")
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.",
            next_step="It must be a file that you may read; `ls -l` shows whose it is.",
            file=str(path),
            line=1,
        ) from error
    return parse(text, path)


def check_environment(environ: Mapping[str, str]) -> None:
    """Raise ConfigError for a `GNOMON_` variable that looks like a misspelt one of ours."""
    for name in sorted(environ):
        near = difflib.get_close_matches(name, ENVIRONMENT, n=1, cutoff=0.85)
        if name.startswith("GNOMON_") and name not in ENVIRONMENT and near:
            raise ConfigError(
                f"The environment sets {name}, which means nothing to Gnomon.",
                next_step=f"Did you mean {near[0]}? Unset the other.",
                file="environment",
                line=0,
            )


def parse(text: str, path: Path) -> Config:
    """Decode the file's text. Raises ConfigError; `path` is for its words alone."""
    data: dict[str, object]
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found.group(1)) if found else max(1, len(text.splitlines()))
        _refuse(path, line, f"it is not TOML: {str(error).split(' (at', maxsplit=1)[0]}")
    except RecursionError:
        _refuse(path, 1, "it nests too deeply")
    tables = get_type_hints(Config)
    values: dict[str, object] = {}
    for name, table in data.items():
        if name not in tables:
            _refuse(path, line_of(text, name), _unknown("table", f"[{name}]", name, tables))
        if not isinstance(table, dict):
            _refuse(path, line_of(text, name), f"{name} is a table; write [{name}] on its own line")
        settings = cast("dict[str, object]", table)
        values[name] = _section(text, path, name, tables[name], settings)
    return msgspec.convert(values, Config)


def _section(
    text: str, path: Path, name: str, type_: type[Section], table: Mapping[str, object]
) -> Section:
    hints = get_type_hints(type_, include_extras=True)
    for key, value in table.items():
        line = line_of(text, name, key)
        if key not in hints:
            _refuse(path, line, _unknown_key(name, key, hints))
        try:
            msgspec.convert(value, hints[key])
        except msgspec.ValidationError:
            _refuse(
                path, line, f"[{name}] {key} must be {expectation(hints[key])}, not {_shown(value)}"
            )
        if isinstance(value, float) and not math.isfinite(value):
            _refuse(path, line, f"[{name}] {key} must be a finite number")
    return msgspec.convert(table, type_)


def _unknown_key(table: str, key: str, known: Mapping[str, object]) -> str:
    for other, type_ in get_type_hints(Config).items():
        if key in get_type_hints(type_):
            return f"[{table}] has no key {key}; it belongs under [{other}]"
    return _unknown("key", f"{key} in [{table}]", key, known)


def _unknown(what: str, shown: str, name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    ending = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f"there is no {what} {shown}; {ending}"


def expectation(hint: object) -> str:
    """What a key takes, in words: `a whole number of at least 1000`."""
    from msgspec import inspect

    outer = inspect.type_info(hint)
    kind = getattr(outer, "type", outer)  # a description wraps the type
    match kind:
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType(values=values):
            return "one of " + ", ".join(f'"{value}"' for value in sorted(values, key=str))
        case inspect.IntType():
            return "a whole number" + _bounds(kind)
        case inspect.FloatType():
            return "a number" + _bounds(kind)
        case inspect.StrType(pattern=str()):
            return 'an http or https address that ends in "/v1", in quotes'
        case _:
            return "text in quotes" + (", not empty" if getattr(kind, "min_length", None) else "")


def _bounds(kind: "msgspec.inspect.IntType | msgspec.inspect.FloatType") -> str:
    low, high = kind.ge, kind.le
    if low is not None and high is not None:
        return f" from {low:.10g} to {high:.10g}"
    if low is not None:
        return f" of at least {low:g}"
    return f" above {kind.gt:g}" + (f", at most {high:g}" if high is not None else "")


def _shown(value: object) -> str:
    """A value as the file has it, bounded: it stands in an error's text."""
    text = _toml(value) if isinstance(value, str | int | float) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse(path: Path, line: int, reason: str) -> NoReturn:
    raise ConfigError(
        f"{path}, line {line}: {reason}" + ("" if reason.endswith("?") else "."),
        next_step="Mend that line, or put # before it to have the default.",
        file=str(path),
        line=line,
    )


def fields() -> Iterator[tuple[str, str, Value, str, str]]:
    """Every setting: table, key, default, description, what it takes."""
    for table, type_ in get_type_hints(Config).items():
        defaults = type_()
        for key, hint in get_type_hints(type_, include_extras=True).items():
            described = (part.description for part in hint.__metadata__ if part.description)
            yield table, key, getattr(defaults, key), next(described, ""), expectation(hint)


def default_text() -> str:
    """What `init` writes: headers active, every key commented out at its default."""
    text, current = HEADER, ""
    for table, key, default, description, _ in fields():
        if table != current:
            text, current = f"{text}\n[{table}]\n", table
        text += f"# {description}\n# {key} = {_toml(default)}\n"
    return text


def line_of(text: str, table: str, key: str | None = None) -> int:
    """The line, from 1, where a key (or a table) is set; 1 when it cannot be told."""
    header = re.compile(rf"\s*(\[\s*{re.escape(table)}\s*\]|{re.escape(table)}\s*[.=])")
    setting = re.compile(rf"\s*[\"']?{re.escape(key or '')}[\"']?\s*[.=]")
    found, within = 1, False
    for number, line in enumerate(text.splitlines(), start=1):
        if header.match(line):
            found, within = number, True
            if key is None or re.search(rf"\b{re.escape(key)}\b", line.partition("#")[0]):
                return number
        elif line.lstrip().startswith("["):
            within = False
        elif within and key is not None and setting.match(line):
            return number
    return found


def set_value(text: str, table: str, key: str, value: Value) -> str:
    """The operator's file with one key set; all else stays as it is, to the byte.

    The commented default gives way to the setting. Raises ConfigError when the file is
    written in a way that this cannot follow (a value over several lines).
    """
    before = tomllib.loads(text)
    lines = text.splitlines(keepends=True)
    changed = "".join(_with_setting(lines, table, key, f"{key} = {_toml(value)}"))
    wanted = {**before, table: {**before.get(table, {}), key: value}}
    try:
        understood = tomllib.loads(changed) == wanted
    except tomllib.TOMLDecodeError:
        understood = False
    if not understood:
        raise ConfigError(
            f"config.toml sets {table}.{key} in a way that Gnomon will not edit.",
            next_step=f"Set it by hand: {key} = {_toml(value)} under [{table}].",
            file="config.toml",
            line=line_of(text, table, key),
        )
    return changed


def _with_setting(lines: list[str], table: str, key: str, setting: str) -> list[str]:
    header = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\]")
    start = next((n for n, line in enumerate(lines) if header.match(line)), None)
    if start is None:
        gap = "" if not lines else "\n" if lines[-1].endswith("\n") else "\n\n"
        return [*lines, f"{gap}[{table}]\n{setting}\n"]
    end = next((n for n in range(start + 1, len(lines)) if lines[n].lstrip()[:1] == "["), None)
    for pattern in (rf"\s*{re.escape(key)}\s*=", rf"\s*#\s*{re.escape(key)}\s*="):
        for n in range(start + 1, len(lines) if end is None else end):
            if re.match(pattern, lines[n]):
                return [*lines[:n], setting + _ending(lines[n]), *lines[n + 1 :]]
    header_line = lines[start].rstrip("\r\n") + "\n"
    return [*lines[:start], header_line, setting + "\n", *lines[start + 1 :]]


def _ending(line: str) -> str:
    """A trailing remark and the line's end: what of an old setting stays."""
    remark = re.search(r"\s+#[^\"']*$", line) if not line.lstrip().startswith("#") else None
    return remark.group() if remark else ("\r\n" if line.endswith("\r\n") else "\n")


def _toml(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return repr(value)
