"""Who may ask, and from where: the decisions, without a server."""

import itertools

import pytest

from gnomon.domain.instants import DAY, MINUTE, Millis
from gnomon.gateway import authority as authority_module
from gnomon.gateway.authority import (
    LINK_LIFE,
    MAX_FAILURES,
    MAX_LINKS,
    MAX_SESSIONS,
    SESSION_LIFE,
    Authority,
    Origins,
    Proof,
    Session,
    digest,
    fault_of_origin,
    host_is_ours,
    new_token,
)

NOW = Millis(1_780_000_000_000)
TOKEN = "the-operators"
PORT = 8750


def later(milliseconds: int) -> Millis:
    return Millis(NOW + milliseconds)


def an_authority(kept: list[Session] | None = None) -> Authority:
    kept = [] if kept is None else kept

    def keep(sessions):
        kept[:] = sessions

    return Authority(
        operator_sha256=digest(TOKEN),
        keep=keep,
        client_of=lambda sha256: "client" if sha256 == digest("a-client") else None,
        sessions=tuple(kept),
    )


def opened(authority: Authority, now: Millis = NOW) -> str:
    cookie = authority.use_link(authority.open_link(now)[0], now)
    assert cookie is not None
    return cookie


def test_a_new_token_is_long_and_never_twice_the_same():
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert all(len(each) >= 43 for each in tokens)


@pytest.mark.parametrize(
    ("proof", "scope"),
    [
        (Proof(), None),
        (Proof(bearer=TOKEN), "operator"),
        (Proof(bearer="a-client"), "client"),
        (Proof(bearer="the-operator"), None),
        (Proof(bearer=""), None),
        (Proof(bearer="\ud800"), None),
        (Proof(cookie="made-up"), None),
        (Proof(cookie=TOKEN), None),
        (Proof(bearer=digest(TOKEN)), None),
    ],
)
def test_a_proof_opens_what_it_proves_and_nothing_else(proof: Proof, scope: str | None):
    assert an_authority().scope(proof, NOW) == scope


def test_a_wrong_bearer_is_not_saved_by_a_good_cookie():
    authority = an_authority()
    cookie = opened(authority)
    assert authority.scope(Proof(bearer="wrong", cookie=cookie), NOW) is None


def test_a_login_link_works_once():
    authority = an_authority()
    secret, until = authority.open_link(NOW)
    assert until == NOW + LINK_LIFE
    cookie = authority.use_link(secret, NOW)
    assert cookie is not None
    assert authority.scope(Proof(cookie=cookie), NOW) == "operator"
    assert authority.use_link(secret, NOW) is None


def test_a_login_link_is_void_after_its_ten_minutes():
    authority = an_authority()
    secret, _ = authority.open_link(NOW)
    assert authority.use_link(secret, later(LINK_LIFE)) is None
    assert authority.use_link(secret, NOW) is None, "a late try spends it too"


def test_the_oldest_of_too_many_links_gives_way():
    authority = an_authority()
    first, *_, last = [authority.open_link(NOW)[0] for _ in range(MAX_LINKS + 1)]
    assert authority.use_link(first, NOW) is None
    assert authority.use_link(last, NOW) is not None


def test_the_login_link_is_an_address_with_its_end():
    link = an_authority().login_link("http://127.0.0.1:1", NOW)
    assert link.url.startswith("http://127.0.0.1:1/login?t=")
    assert link.expires_at == "2026-05-28T20:36:40.000Z"


def test_what_is_kept_of_a_session_opens_nothing():
    kept: list[Session] = []
    authority = an_authority(kept)
    cookie = opened(authority)
    assert [each.sha256 for each in kept] == [digest(cookie)]
    assert cookie not in repr(kept)
    assert authority.scope(Proof(cookie=kept[0].sha256), NOW) is None


def test_a_session_outlives_a_restart_and_ends_when_unused():
    kept: list[Session] = []
    cookie = opened(an_authority(kept))
    restarted = an_authority(kept)
    assert restarted.scope(Proof(cookie=cookie), later(SESSION_LIFE)) == "operator"
    assert restarted.scope(Proof(cookie=cookie), later(SESSION_LIFE + 1)) is None


def test_a_session_in_use_is_renewed_once_a_day():
    kept: list[Session] = []
    authority = an_authority(kept)
    cookie = opened(authority)
    assert not authority.renew(cookie, later(DAY - 1))
    assert authority.renew(cookie, later(DAY))
    assert not authority.renew(cookie, later(DAY + 1))
    assert kept[0].seen_at == later(DAY)
    assert authority.scope(Proof(cookie=cookie), later(DAY + SESSION_LIFE)) == "operator"
    assert not authority.renew("made-up", later(3 * DAY))


def test_sessions_are_bounded():
    kept: list[Session] = []
    authority = an_authority(kept)
    cookies = [opened(authority) for _ in range(MAX_SESSIONS + 1)]
    assert len(kept) == MAX_SESSIONS
    assert authority.scope(Proof(cookie=cookies[0]), NOW) is None
    assert authority.scope(Proof(cookie=cookies[-1]), NOW) == "operator"


def test_guessing_is_bounded_for_a_minute_and_never_locks_the_operator_out():
    authority = an_authority()
    for _ in range(MAX_FAILURES + 5):
        authority.failed(NOW)
    assert not authority.may_try(later(MINUTE - 1))
    assert authority.scope(Proof(bearer=TOKEN), NOW) == "operator"
    assert authority.may_try(later(MINUTE))
    assert authority.may_try(later(-5 * MINUTE)), "a clock that went back forgives"


def test_two_homes_on_one_host_use_different_cookies():
    other = Authority(operator_sha256=digest("another"), keep=lambda _: None)
    assert other.cookie_name != an_authority().cookie_name
    assert other.scope(Proof(bearer="a-client"), NOW) is None


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8750", "localhost:8750", "[::1]:8750", "LOCALHOST:8750"],
)
def test_our_own_names_are_ours(host: str):
    assert host_is_ours(host, PORT)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:8751",
        "127.0.0.1:87500",
        "evil.example:8750",
        "evil.example",
        "localhost.evil.example:8750",
        "127.0.0.1.nip.io:8750",
        "localhost.:8750",
        "0.0.0.0:8750",
        "127.1:8750",
        "2130706433:8750",
        "[::ffff:127.0.0.1]:8750",
        "user@127.0.0.1:8750",
        "127.0.0.1:8750, evil.example",
        " 127.0.0.1:8750",
    ],
)
def test_a_name_that_was_rebound_is_not(host: str | None):
    assert not host_is_ours(host, PORT)


OURS = "http://127.0.0.1:8750"
FOREIGN = (
    "null",
    "",
    "http://evil.example",
    "https://127.0.0.1:8750",
    "http://127.0.0.1:3000",
    "http://127.0.0.1",
    "http://localhost.evil.example:8750",
    "http://127.0.0.1:8750/",
    "file://",
    "chrome-extension://abc",
)


@pytest.mark.parametrize(
    ("origin", "acts", "by_bearer", "site"),
    list(
        itertools.product(
            FOREIGN, (True, False), (True, False), (None, "same-origin", "same-site", "cross-site")
        )
    ),
)
def test_a_foreign_origin_is_refused_whatever_else_it_brings(origin, acts, by_bearer, site):
    asked = Origins(host=None, origin=origin, fetch_site=site, acts=acts, navigates=False)
    assert fault_of_origin(asked, PORT, by_bearer=by_bearer) == "foreign-origin"


@pytest.mark.parametrize(
    ("origin", "site", "acts", "navigates", "by_bearer", "fault"),
    [
        (OURS, "same-origin", True, False, False, None),
        (OURS, None, True, False, False, None),
        (None, "same-origin", True, False, False, None),
        (None, None, True, False, False, "no-origin"),
        (None, "none", True, False, False, "no-origin"),
        (None, "same-site", True, False, False, "foreign-site"),
        (None, "cross-site", True, False, False, "foreign-site"),
        (None, "cross-site", False, False, False, "foreign-site"),
        (None, "same-site", False, False, False, "foreign-site"),
        (OURS, "cross-site", True, False, False, "foreign-site"),
        (None, "cross-site", False, True, False, None),
        (None, "none", False, True, False, None),
        (None, None, False, False, False, None),
        (None, None, True, False, True, None),
        (OURS, None, True, False, True, None),
    ],
)
def test_acting_needs_the_browsers_word_that_the_page_is_ours(
    origin, site, acts, navigates, by_bearer, fault
):
    asked = Origins(host=None, origin=origin, fetch_site=site, acts=acts, navigates=navigates)
    assert fault_of_origin(asked, PORT, by_bearer=by_bearer) == fault


def test_comparing_digests_goes_through_the_constant_time_function():
    assert authority_module.same(digest("a"), digest("a"))
    assert not authority_module.same(digest("a"), digest("b"))
