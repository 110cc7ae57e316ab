"""Where arrows are, and what a picture of them shows: nothing overlaps, and time runs downwards."""

from itertools import pairwise

from engine.wire.apis import Api
from proof.storms.trace import Trace
from tests.unit.widgets.cluster import START
from tests.unit.widgets.test_wire_exchange import asked, fetched, heard, produced
from widgets.wire.anatomy import ANSWER
from widgets.wire.exchange import MessageLog
from widgets.wire.page import BROKERS, CLIENTS, WirePage, anchor, spans
from widgets.wire.panel import FEW, ROWS
from widgets.wire.scene import picture

PAIR = frozenset({"producer-1", "broker 1"})


def beats(first, count, at=0):
    return [asked(Api.HEARTBEAT, first + it, at + 10 * it, client="c1") for it in range(count)]


def page(*events, live=True, **facts):
    return WirePage(heard(*events), live, **facts)


def told(page):
    return [row.folded or row.arrow.key for row in page.rows]


def many(count=100):
    return [produced(number, 10 * number) for number in range(1, count + 1)]


def test_what_comes_all_the_time_is_counted_in_one_line():
    events = [produced(1), *beats(2, 3, 5), fetched(9, 40, given=0), produced(10, 90)]
    assert told(page(*events)) == ["1>", "1<", "1 empty fetch, 3 heartbeats", "10>", "10<"]
    every = told(page(*events, fold=False))
    assert len(every) == 12
    assert every[2:4] == ["2>", "2<"]


def test_only_one_api_or_only_what_two_say_to_each_other():
    events = [produced(1), fetched(2, 5, client="c1"), fetched(3, 9, asker=2),
              asked(Api.UPDATE_METADATA, 4, 20, asker=1)]  # fmt: skip
    assert told(page(*events, kind="Fetch")) == ["2>", "2<", "3>", "3<"]
    assert told(page(*events, between=PAIR)) == ["1>", "1<"]
    brokers = page(*events, between=frozenset({"broker 1", "broker 2"}))
    assert told(brokers) == ["3>", "3<"]  # not what broker 1 says to itself
    assert brokers.parties == ["broker 1", "broker 2"]
    assert told(page(*events, between=frozenset({"broker 2"}))) == ["3>", "3<"]
    silent = page(*events, between=frozenset({"nobody", "broker 1"}))
    assert (told(silent), silent.parties) == ([], ["nobody", "broker 1"])


def test_a_page_ends_with_the_newest_and_can_be_turned_back_and_on():
    whole = page(*many())
    size = len(whole.rows)
    assert told(whole)[-1] == "100<"
    back = WirePage(whole.messages, True, until=whole.turned(-0.5))
    assert told(back)[-1] == f"{100 - size // 4}<"
    assert len(back.rows) == size
    assert WirePage(whole.messages, True, until=back.turned(0.5)).until is None
    first = WirePage(whole.messages, True, until=whole.turned(-99))
    assert told(first)[0] == "1>" and len(first.rows) == size
    assert (
        WirePage(whole.messages, True, until=(0, 0, False)).rows == first.rows
    )  # before all: the first


def test_what_is_seen_stays_while_more_is_said():
    talk = heard(*many(50))
    last = WirePage(talk, True).rows[-1].arrow
    before = told(WirePage(talk, True, until=anchor(last)))
    talk.add(produced(number, 10 * number) for number in range(51, 90))
    assert told(WirePage(talk, True, until=anchor(last))) == before
    assert told(WirePage(talk, True)) != before


def test_rows_are_in_order_and_never_overlap():
    folded = page(*many(10), *beats(11, 3, 105), *[produced(20 + it, 200 + it) for it in range(9)])
    for rows in (folded.rows, page(*many(), opened="99>").rows):
        assert all(one.y + one.height <= other.y for one, other in pairwise(rows))
        assert all(one.arrow.at <= other.arrow.at for one, other in pairwise(rows))
        assert rows[-1].y + rows[-1].height <= folded.bottom


def test_an_opened_message_is_on_the_page():
    whole = page(*many())
    arrow = whole.find("20>")
    opened = WirePage(whole.messages, True, opened="20>", until=whole.until)
    moved = WirePage(whole.messages, True, opened="20>", until=opened.showing(arrow))
    assert {"20>", "20<"} <= set(told(moved))
    assert moved.showing(arrow) == moved.until  # and there it stays


def test_a_broker_that_waits_has_a_bar_beside_those_of_others():
    long = fetched(3, 0, 100, client="c1")
    found = list(spans(page(produced(1, 10), produced(2, 30, 5), long)))
    levels = {it.number: it.level for it in found}
    assert levels == {3: 0, 1: 1, 2: 1}
    by_number = {it.number: (it.begin, it.end) for it in found}
    assert by_number[3][0] < by_number[1][0] < by_number[1][1] < by_number[2][0]
    assert by_number[2][1] < by_number[3][1]
    assert list(spans(page(asked(Api.PRODUCE, 1)))) == []  # acks=0: it never answers


def test_many_parties_are_thinned_out_and_it_is_said():
    clients = [produced(it, it, client=f"c{it}") for it in range(1, 21)]
    brokers = [fetched(30 + it, 30, asker=it, broker=1) for it in range(2, 10)]
    crowd = page(*clients, *brokers)
    assert len(crowd.parties) == BROKERS + CLIENTS
    assert crowd.parties[:CLIENTS] == ["c17", "c18", "c19", "c20"]
    scene = picture(crowd)
    assert "not drawn: c1, c2" in scene["left out"].content
    xs = list(crowd.x.values())
    assert xs == sorted(xs) and xs[-1] < crowd.aside


# -- the picture -------------------------------------------------------------------------------


def test_a_request_is_a_whole_line_and_an_answer_a_broken_one():
    scene = picture(page(produced(1, took=3), between=PAIR))
    ask, answer = scene["arrow 1>"], scene["arrow 1<"]
    assert (
        ask.label
        == "0.000 s: producer-1 asks broker 1: Produce v9 · orders-0 · 2 records · acks -1"
    )
    assert answer.label.startswith("0.003 s: broker 1 answers producer-1: Produce v9 · orders-0")
    assert answer.label.endswith("offset 42, after 3.0 ms")
    looks = [{it.key: it.look for it in each.content} for each in (ask, answer)]
    assert [each["line"] for each in looks] == ["link", "link away"]
    assert "cross" not in looks[1]
    assert all(each.acts[0].name == "read" for each in (ask, answer))


def test_an_error_has_a_cross_and_its_name_not_its_colour_alone():
    for between in (PAIR, frozenset()):
        crowd = [fetched(2, 9, client="c1")]
        scene = picture(page(produced(1, error=6), *crowd, between=between))
        inside = {it.key: it for it in scene["arrow 1<"].content}
        assert inside["cross"].look == "down"
        assert inside["words"].content == "✗ NOT_LEADER_OR_FOLLOWER · orders-0"
        assert "refuses producer-1" in scene["arrow 1<"].label
        assert "NOT_LEADER_OR_FOLLOWER" in scene.says


def test_a_message_to_oneself_goes_round():
    scene = picture(page(asked(Api.UPDATE_METADATA, 1, asker=1)))
    line = next(it for it in scene["arrow 1>"].content if it.key == "line")
    assert "q" in line.content
    assert "broker 1 asks broker 1" in scene["arrow 1>"].label


def test_before_anybody_speaks_it_says_so():
    assert "Nobody has said anything yet" in picture(page()).svg()
    assert "record with cluster.trace(frames=True)" in picture(page(live=False)).svg()
    assert "Nothing of this kind" in picture(page(produced(1), live=False, kind="Fetch")).svg()


def test_the_strip_frames_what_is_seen():
    talk = heard(*many(200))
    now = picture(WirePage(talk, True))["frame"].where
    early = picture(WirePage(talk, True, until=(START + 300, 0, False)))["frame"].where
    assert early[0] + early[2] < now[0]
    strip = picture(WirePage(talk, True))["seek"]
    assert (strip.drag, [act.name for act in strip.acts]) == ("seek", ["back", "forward"])


def test_a_field_and_its_bytes_are_kin():
    scene = picture(page(produced(1), opened="1>"))
    lines = {it.kin: it for it in scene.all() if it.kind == "rect" and it.kin}
    bands = {it.kin: it for it in scene.all() if it.kind == "path" and it.kin}
    assert 10 < len(lines) <= ROWS
    assert lines.keys() <= bands.keys()
    assert all(lines[kin].label == bands[kin].label for kin in lines)
    assert all(it.where[0] + it.where[2] < 590 for it in lines.values())
    (acks,) = (it for it in lines.values() if it.label.startswith("acks: "))
    assert acks.label == "acks: -1 (int16, bytes 26 to 27)"


def test_on_a_narrow_page_words_are_above_their_arrow_and_bytes_below_their_fields():
    def of(opened, width):
        scene = picture(page(produced(1), produced(2, 9), opened=opened, width=width))
        inside = {it.key: it for it in scene["arrow 1>"].content}
        return scene, inside["words"].where[1], scene.by_key.get("place")

    _, words, _ = of("", 400)
    assert words < 0
    _, words, _ = of("", 1000)
    assert words > -3
    scene, _, place = of("1>", 400)
    lines = [it for it in scene.all() if it.key.startswith("n") and it.look == "small still"]
    assert 6 < len(lines) <= FEW
    assert all(it.where[1] < place.where[1] for it in lines)
    assert all(it.where[1] > place.where[1] for it in scene.all() if it.look == "byte")


def test_without_bytes_it_says_why():
    bare = picture(page(produced(1, bytes_too=False), opened="1<"))
    assert "or there were so many" in bare["why 0"].content
    talk = MessageLog()
    talk.add_moments(Trace.of(7, 5))
    arrow = next(it for it in talk.arrows if not it.routine)
    made_up = picture(WirePage(talk, False, opened=arrow.key))
    assert "never was bytes" in made_up["why 0"].content


def test_a_simulated_run_is_drawn_from_end_to_end():
    talk = MessageLog()
    talk.add_moments(Trace.of(7, 12))
    seen, now = set(), WirePage(talk, False)
    while True:
        scene = picture(now)
        seen |= {shape.key for shape in scene.shapes if shape.key.startswith("arrow ")}
        until = now.turned(-0.9)
        if until == now.until or now.end <= len(now.rows):
            break
        now = WirePage(talk, False, until=until)
    drawn = {
        f"arrow {row.arrow.key}" for row in now.every if not row.folded and not row.arrow.routine
    }
    assert seen == drawn
    assert any(it.way == ANSWER for it in talk.arrows)
