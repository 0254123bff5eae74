"""Jobs in words."""

from gnomon.cli.render_jobs import done_lines, job_lines
from gnomon.domain.views_change import JobDone, JobView


def a_job(**changed: object) -> JobView:
    told = {"name": "judge", "summary": "Decides", "due": False, "why_not": "Nothing is tested."}
    return JobView(**(told | {"last_at": None} | changed))  # type: ignore[arg-type]


def test_each_job_says_whether_it_is_due_and_why_not():
    lines = [
        line.text
        for line in job_lines(
            [a_job(), a_job(name="fitness", due=True, why_not=None, last_at="2026-05-24T18:01:00Z")]
        )
    ]
    assert lines[0].split() == ["job", "what", "it", "does", "last", "due"]
    assert "Nothing is tested." in lines[1]
    assert "never" in lines[1]
    assert "now" in lines[2]
    assert "18:01" in lines[2]


def test_one_that_is_not_due_may_say_no_more():
    assert job_lines([a_job(why_not=None)])[1].text.split()[-1] == "no"


def test_what_was_done_comes_before_why_no_more_was():
    done = JobDone(name="judge", ran=True, done=("kept", "told"), why_not="nothing else")
    assert [line.text for line in done_lines(done)] == ["kept", "told", "nothing else"]
    nothing = JobDone(name="digest", ran=True, done=(), why_not=None)
    assert "nothing to do" in done_lines(nothing)[0].text
