"""How `config.toml` is edited: one key at the operator's word, all else as it is."""

from gnomon import config as configuration
from gnomon.home import Home
from gnomon.statefile import write_atomic


def change_setting(home: Home, table: str, key: str, value: bool | int | float | str) -> None:
    """Set one key for the next start. Raises ConfigError when the file cannot be followed."""
    text = home.config.read_text(encoding="utf-8")
    changed = configuration.set_value(text, table, key, value)
    if changed != text:
        configuration.parse(changed, home.config)
        write_atomic(home.config, changed.encode())
