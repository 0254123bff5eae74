"""The context rule: what a model sees of a run is bounded, marked, and the same each time."""

import msgspec

from gnomon.agent.context import (
    CHARACTERS_PER_TOKEN,
    HIGH,
    LOW,
    RESULT_FLOOR,
    RESULT_LIMIT,
    Context,
    as_data,
    elided_form,
    estimate,
)
from gnomon.agent.tool_specs import granted
from gnomon.domain.messages import Message, ToolCall

ASK = Message(role="user", content="Go.")


def exchange(number: int, size: int = 3_000, arguments: str = "{}") -> tuple[Message, Message]:
    call = ToolCall(id=f"c{number}", name="read", arguments=arguments)
    return (
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", content=str(number) * size, tool_call_id=call.id),
    )


def context(budget: int = 8_192, *messages: Message) -> Context:
    return Context(messages or (ASK,), specs=(), budget_tokens=budget, reply_tokens=1_024)


def test_the_estimate_is_kept_up_with_every_message():
    grown = context()
    for number in range(5):
        for message in exchange(number):
            grown.add(message)
    assert grown.tokens == sum(estimate(message) for message in grown.messages)
    grown.elide()
    assert grown.tokens == sum(estimate(message) for message in grown.messages)


def test_the_oldest_results_are_emptied_first_and_down_to_the_low_mark():
    full = context()
    number = 0
    while not full.crowded:
        number += 1
        for message in exchange(number % 10):
            full.add(message)
    assert full.tokens > HIGH * full.room
    elided = full.elide()
    assert full.tokens <= LOW * full.room
    contents = [message.content for message in full.messages if message.role == "tool"]
    assert all(content.startswith("[elided: 3000 characters") for content in contents[:elided])
    assert not any(content.startswith("[elided") for content in contents[elided:])


def test_the_newest_exchange_stays_whole_even_when_it_alone_is_too_large():
    crowded = context(2_000)
    for message in (*exchange(1, 400), *exchange(2, 9_000)):
        crowded.add(message)
    crowded.elide()
    assert [message.role for message in crowded.messages] == ["user", "assistant", "tool"]
    assert crowded.messages[-1].content == "2" * 9_000
    assert not crowded.crowded, "nothing is left to elide, so no later step tries again"


def test_one_exchange_too_large_for_its_room_is_left_as_it_is():
    crowded = context(2_000)
    for message in exchange(1, 9_000):
        crowded.add(message)
    assert crowded.elide() == 0
    assert len(crowded.messages) == 3


def test_whole_exchanges_stay_where_emptying_them_is_enough():
    crowded = context(3_000)
    for message in (*exchange(1, 5_000), *exchange(2, 1_500)):
        crowded.add(message)
    assert crowded.elide() == 1
    assert [message.role for message in crowded.messages] == ["user", *["assistant", "tool"] * 2]


def test_long_arguments_of_old_calls_are_emptied_and_stay_json():
    crowded = context(3_000)
    for message in (*exchange(1, 10, '{"content":"' + "x" * 5_000 + '"}'), *exchange(2)):
        crowded.add(message)
    crowded.elide()
    call = crowded.messages[1].tool_calls[0]
    assert msgspec.json.decode(call.arguments) == {"elided": "5014 characters"}
    assert call.name == "read"


def test_short_results_and_questions_are_never_emptied():
    crowded = context(3_100, Message(role="user", content="q" * 3_000))
    for message in (*exchange(1, 150), *exchange(2, 1_000)):
        crowded.add(message)
    assert crowded.elide() == 0
    assert crowded.messages[0].content == "q" * 3_000


def test_only_the_calls_that_are_long_lose_their_arguments():
    short = ToolCall(id="a", name="read", arguments='{"path":"a"}')
    long = ToolCall(id="b", name="write", arguments="x" * 2_000)
    smaller = elided_form(Message(role="assistant", tool_calls=(short, long)))
    assert smaller.tool_calls[0] is short
    assert smaller.tool_calls[1].arguments == '{"elided":"2000 characters"}'


def test_a_message_without_bulk_is_left_as_the_same_object():
    for message in (ASK, Message(role="tool", content="short"), Message(role="assistant")):
        assert elided_form(message) is message


def test_a_run_of_any_length_stays_within_its_room_and_elides_in_batches():
    long_run = context()
    batches = longest = 0
    for number in range(2_000):
        for message in exchange(number % 10):
            long_run.add(message)
        if long_run.crowded:
            long_run.elide()
            batches += 1
        assert long_run.tokens <= long_run.room
        longest = max(longest, len(long_run.messages))
    assert batches < 1_000, "not at each step"
    assert longest < 500, "the list does not grow with the run"
    assert long_run.tokens == sum(estimate(message) for message in long_run.messages)


def test_what_is_left_out_whole_is_counted_at_the_end_of_the_question():
    long_run = context(2_000)
    for number in range(200):
        for message in exchange(number % 10, 100):
            long_run.add(message)
        if long_run.crowded:
            long_run.elide()
    question, first = long_run.messages[0], long_run.messages[1]
    left_out = 1 + 400 - len(long_run.messages)
    assert question.content == (
        f"Go.\n[elided: {left_out} earlier messages; the run-log keeps them]"
    )
    assert first.role == "assistant", "roles still alternate, and no result lacks its call"


def test_the_question_and_what_came_before_it_are_never_left_out():
    before = tuple(Message(role=role, content=role * 40) for role in ("user", "assistant"))
    long_run = context(1_500, *before, ASK)
    for number in range(50):
        for message in exchange(number % 10, 400):
            long_run.add(message)
        if long_run.crowded:
            long_run.elide()
    assert tuple(long_run.messages[:2]) == before
    assert long_run.messages[2].content.startswith("Go.")


def test_the_room_leaves_place_for_the_tools_and_the_reply():
    bare = Context((ASK,), specs=(), budget_tokens=8_192, reply_tokens=1_024)
    with_tools = Context(
        (ASK,), specs=granted(("read", "shell")), budget_tokens=8_192, reply_tokens=1_024
    )
    assert bare.room == 8_192 - 1_024
    assert with_tools.room < bare.room
    assert Context((ASK,), specs=(), budget_tokens=100, reply_tokens=1_024).room == 0


def test_all_results_of_one_step_take_at_most_half_of_the_room():
    small = context(8_192)
    for results in (1, 2, 8):
        share = small.result_limit(results) * results / CHARACTERS_PER_TOKEN
        assert share <= small.room / 2
    assert context(1_000_000).result_limit(1) == RESULT_LIMIT
    assert context(1_024).result_limit(4) == RESULT_FLOOR


def test_a_failed_result_names_its_code():
    assert as_data("read", "no", "FILE_NOT_FOUND").startswith(
        '<tool-data from="read" error="FILE_NOT_FOUND">\n'
    )
