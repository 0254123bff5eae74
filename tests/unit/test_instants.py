import pytest

from gnomon.domain.instants import Millis, iso, parse_iso


def test_an_instant_reads_back_from_its_text() -> None:
    assert iso(Millis(0)) == "1970-01-01T00:00:00.000Z"
    assert parse_iso("2026-05-24T18:00:00.123Z") == parse_iso("2026-05-24T20:00:00.123+02:00")
    assert iso(parse_iso("2026-05-24T18:00:00.007Z")) == "2026-05-24T18:00:00.007Z"


def test_an_instant_without_an_offset_is_refused_rather_than_guessed() -> None:
    with pytest.raises(ValueError, match="names no offset"):
        parse_iso("2026-05-24T18:00:00")
