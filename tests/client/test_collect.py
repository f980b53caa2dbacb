"""The messages of one run become its output, and no more of it is kept than keep_bytes says."""

from petri_kernel.collect import Collector, Progress


def message(msg_type, **content):
    return {"header": {"msg_type": msg_type}, "content": content}


def rich(msg_type, text, display_id=None, **data):
    transient = {"display_id": display_id} if display_id else {}
    return message(msg_type, data={"text/plain": text, **data}, metadata={}, transient=transient)


def collected(messages, **options):
    collector = Collector(**options)
    told = [collector.take(each) for each in messages]
    return collector, told


def test_streams_and_results_are_kept_and_told_in_order():
    collector, told = collected(
        [
            message("status", execution_state="busy"),
            message("stream", name="stdout", text="a"),
            message("stream", name="stderr", text="b"),
            message("stream", name="stdout", text="c"),
            rich("display_data", "<chart>", **{"image/png": "iVBO"}),
            rich("execute_result", "42"),
        ]
    )
    assert (collector.busy, collector.idle) == (True, False)
    collector.take(message("status", execution_state="idle"))
    assert collector.idle
    output = collector.output()
    assert (output.stdout, output.stderr, output.result) == ("ac", "b", "42")
    assert [display.data for display in output.displays] == [{"text/plain": "<chart>", "image/png": "iVBO"}]
    assert [progress.kind for progress in told if progress] == ["stdout", "stderr", "stdout", "display", "result"]
    assert told[1] == Progress("stdout", "a")


def test_an_update_takes_the_place_of_its_display():
    collector, told = collected(
        [
            rich("display_data", "0 %", "bar"),
            rich("display_data", "other"),
            rich("update_display_data", "100 %", "bar"),
            rich("update_display_data", "lost", "unknown"),
        ]
    )
    assert [display.data["text/plain"] for display in collector.output().displays] == ["100 %", "other"]
    assert [(progress.kind, progress.display_id) for progress in told][2] == ("update", "bar")


def test_output_over_keep_bytes_is_counted_and_still_told():
    collector, told = collected(
        [
            message("stream", name="stdout", text="x" * 80),
            rich("display_data", "y" * 50),
            message("stream", name="stderr", text="z" * 80),
        ],
        keep_bytes=100,
    )
    output = collector.output()
    assert (output.stdout, output.stderr, output.displays) == ("x" * 80, "z" * 20, [])
    assert output.left_out_bytes == 60 + 50 + len("{}")
    assert [len(progress.text) for progress in told] == [80, 50, 80]


def test_endless_updates_of_a_display_need_room_for_one():
    updates = [rich("update_display_data", "y" * 50, "bar") for _ in range(1000)]
    collector, _ = collected([rich("display_data", "", "bar"), *updates], keep_bytes=200)
    assert collector.output().left_out_bytes == 0


def test_messages_that_are_no_output_are_passed_over():
    _, told = collected(
        [
            message("stream", name="other", text="x"),
            message("clear_output", wait=True),
            message("comm_msg", data={}),
            message("execute_input", code="1"),
            message("something_new"),
        ]
    )
    assert told == [None] * 5


def test_malformed_rich_output_is_taken_as_an_empty_one():
    collector, told = collected(
        [
            message("display_data", data=["x"], metadata=3, transient="x"),
            message("display_data"),
            rich("display_data", 3),
        ]
    )
    assert [display.data for display in collector.output().displays] == [{}, {}, {"text/plain": 3}]
    assert [progress.text for progress in told] == ["", "", "3"]
