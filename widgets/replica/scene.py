"""A partition as a picture: its logs, leader, ISR and high watermark over time.

    ┌──────────────────────────────────────────────┐
    │ epoch 0       ▲ │ epoch 1 ★                  │  bands, marks
    │ ━━━━━━━━━━━━━━━━━━━━━━━━━━━━ broker 3 · ...  │  lines, labels
    │ ● ● ● ● ● ● ● ● ● ● ● ● ● ●                  │  the ISR, acknowledgements
    │ the meaning of the signs; the failover's cost│
    │ ━━━━━━━━━━━━━━━▲▒▒▒▒▒★━━━━━━━○────           │  the timeline
    └──────────────────────────────────────────────┘

A moment under the pointer, or reached by keyboard, shows all its values as text, and a click goes
there. A pure function: the same view makes the same picture, with a kernel or without.
"""

from dataclasses import replace
from itertools import groupby

from widgets import failover_cost, timeline
from widgets.replica.layout import (
    BOTTOM,
    CAPTION,
    GAP,
    MARGIN,
    MARKS,
    MOST_REPLICAS,
    STEPS,
    TOP,
    Column,
    ReplicaViewState,
)
from widgets.replica.partition_history import Cut, Sample
from widgets.replica.strips import acknowledged, in_sync, told
from widgets.replica.trails import labels, named, trails, word
from widgets.scene import (
    ABOUT,
    UP_TO,
    Act,
    Scene,
    SceneShape,
    circle,
    group,
    line,
    path,
    rect,
    text,
    width_of,
)
from widgets.text_column import TextColumn, lines_of

LINE = 17
FEW = 3  # replicas; with more of them a moment has more values, so moments are longer
LEGEND = (
    ("lead", "leader"),
    ("sync", "in sync"),
    ("lag", "out of sync"),
    ("gone", "no answer"),
    ("high", "high watermark"),
)
STABLE = ("lso", "last stable offset: read_committed reads up to it")
RISE = "it rose: acks=all is answered below it"


def picture(view: ReplicaViewState) -> Scene:
    below, floor = _below(view)
    left, right, width = view.left, view.right, view.width
    shapes = [
        *_bands(view),
        *_outages(view),
        *_grid(view),
        *trails(view),
        *in_sync(view),
        *acknowledged(view),
        *_columns(view),
        *_marks(view),
        *_cuts(view),
        *_head(view),
        *labels(view),
        *below,
        line("floor", 0, floor, width, floor, look="rule"),
        *_window(view, floor),
        *timeline.drawn(view, left, floor, right - left),
    ]
    if not any(sample.state.replicas for _, sample in view.stairs):
        hint = f"There is no {view.past.partition} yet."
        shapes.append(text("nothing", (left + right) / 2, 170, hint, ABOUT, look="soft"))
    title = f"The replicas of {view.past.partition} over time; now {about(view)}"
    return Scene(width, floor + timeline.HEIGHT, shapes, title=title, says=view.says)


def about(view: ReplicaViewState) -> str:
    """The header's few words."""
    sample = view.now
    if not sample.state.replicas:
        return f"{view.past.partition} · not there yet"
    leader = sample.state.leader
    leads = f"broker {leader} leads" if sample.stands(leader) == "lead" else "nobody leads"
    isr = " ".join(map(str, sorted(sample.state.isr)))
    return f"{view.past.partition} · epoch {sample.state.leader_epoch} · {leads} · ISR {isr}"


# -- behind the lines ---------------------------------------------------------------------------


def _bands(view: ReplicaViewState) -> list[SceneShape]:
    """Every other epoch has a darker background."""
    shapes = []
    for epoch in view.epochs:
        left, right = view.scale.place(epoch.began), view.scale.place(epoch.ended)
        if epoch.number < 0:
            continue
        inside = []
        if epoch.number % 2:
            inside.append(rect("paper", 0, 0, right - left, view.floor - 12, look="lens"))
        elif left > view.left:
            inside.append(line("edge", 0, 0, 0, view.floor - 12, look="rule"))
        whose = f"broker {epoch.leader} leads" if epoch.leader >= 0 else "nobody leads"
        for words in (
            f"epoch {epoch.number} · {whose}",
            f"epoch {epoch.number}",
            str(epoch.number),
        ):
            if width_of(words, 11) <= right - left - 8:
                inside.append(text("words", 6, CAPTION - 4, words, look="soft"))
                break
        label = f"epoch {epoch.number}: {whose} from {view.clock(epoch.began)} s on"
        shapes.append(group(f"epoch {epoch.number} {epoch.leader}", left, 4, inside, label=label))
    return shapes


def _outages(view: ReplicaViewState) -> list[SceneShape]:
    """The times without a leader, or with one that was down."""
    shapes = []
    for outage in view.story.outages:
        ended = min(outage.ended or view.at, view.at)
        if view.scale.start <= ended and outage.began < ended:
            left, right = view.scale.place(outage.began), view.scale.place(ended)
            where = left, MARKS + 12, right - left, view.floor - MARKS - 22
            shapes.append(rect(f"outage {outage.began}", *where, look="outage far still"))
    return shapes


def _grid(view: ReplicaViewState) -> list[SceneShape]:
    shapes, left, right = [], view.left, view.x  # behind no label
    for offset in view.offsets.ticks:
        y, words = view.offsets.y(offset), f"{offset:,}"
        shapes.append(line(f"level {offset}", left, y, right, y, look="rule"))
        shapes.append(text(f"offset {offset}", left - GAP, y + 4, words, UP_TO, look="soft"))
    shapes.append(text("offsets", left - GAP, TOP - 14, "offset", UP_TO, look="tiny"))
    scale, start = view.scale, view.run_source.start
    each = width_of(f"{(scale.end - start) / 1000:.0f} s", 11) + 24
    most = min(8, scale.width / each)  # ticks
    step = next((it for it in STEPS if scale.span / 1000 / it <= most), STEPS[-1]) * 1000
    first = -(-(scale.start - start) // step) * step
    shapes += _folds(view)
    last = float("-inf")
    for passed in range(first, scale.end - start + 1, step):
        x, words = scale.place(start + passed), f"{passed / 1000:g} s"
        if scale.folds and x - last < each:  # compressed time has many ticks in little room
            continue
        last = x
        shapes.append(line(f"tick {passed}", x, BOTTOM, x, BOTTOM + 4, look="tick"))
        shapes.append(text(f"time {passed}", x, BOTTOM + 17, words, ABOUT, look="tiny"))
    return shapes


def _folds(view: ReplicaViewState) -> list[SceneShape]:
    """Compressed time that has passed, as on the timeline."""
    shapes, scale = [], view.scale
    for fold in scale.folds:
        left, right = scale.place(fold.began), min(scale.place(fold.ended), view.x)
        if left < right:
            where = left, TOP - 8, right - left, BOTTOM - TOP + 8
            shapes.append(rect(f"quiet {fold.began}", *where, look="quiet-time still"))
    return shapes


# -- before them --------------------------------------------------------------------------------


def values(view: ReplicaViewState, sample: Sample) -> str:
    """All values of a moment."""
    state = sample.state
    if not state.replicas:
        return "there is no such partition"
    logs = [
        f"broker {broker} {word(view, sample, broker)}, LEO {replica.log_end:,}"
        for broker, replica in sorted(state.replicas.items())
    ]
    committed = "unknown" if sample.committed is None else f"{sample.committed:,}"
    committed += "" if sample.stable is None else f", LSO {sample.stable:,}"
    isr = " ".join(map(str, sorted(state.isr))) or "nobody"
    return f"epoch {state.leader_epoch}, HW {committed}, ISR {isr}; {'; '.join(logs)}"


def _columns(view: ReplicaViewState) -> list[SceneShape]:
    """The moments for the pointer; those without a change are joined."""
    together, columns = 1 if len(view.brokers) <= FEW else 2, view.columns
    chunks = [columns[at : at + together] for at in range(0, len(columns), together)]
    return [
        _column(view, sample, [column for chunk in run for column in chunk])
        for sample, run in groupby(chunks, key=lambda chunk: view.past.at(chunk[-1].end))
    ]


def _column(view: ReplicaViewState, sample: Sample, columns: list[Column]) -> SceneShape:
    first, last = columns[0], columns[-1]
    at = max(min(sample.at, first.end), first.start)
    more = told(view, first.start, last.end)
    label = f"{view.clock(at)} s: {values(view, sample)}{more}"
    acts = (Act("goto", at),) if "goto" in view.acts else ()
    where = first.x, MARKS + 12, last.x + last.width - first.x, view.floor - MARKS - 22
    return rect(f"moment {round(first.x)}", *where, look="column", label=label, acts=acts)


def _marks(view: ReplicaViewState) -> list[SceneShape]:
    """Faults and elections: a sign above, a thin line down through the offsets."""
    lines = [it for it in view.lines if view.inside(it.at)]
    shapes = []
    for mark in timeline.marks(lines, view.scale):
        sort, at = mark.line.sort, mark.line.at
        more = f", and {mark.also} more" if mark.also else ""
        inside = [
            rect("back", -7, -11, 14, 20, look="clear"),
            line("stem", 0, 8, 0, BOTTOM - MARKS, look="rule still"),
            text("glyph", 0, 4.5, sort.glyph, ABOUT, look=f"mark {sort.look}"),
        ]
        label = f"{view.clock(at)} s: {mark.line.words}{more}"
        acts = (Act("goto", at, "go there"),) if "goto" in view.acts else ()
        key = f"event {mark.line.kind} {at}"
        shapes.append(group(key, mark.x, MARKS, inside, label=label, acts=acts))
    return shapes


def _head(view: ReplicaViewState) -> list[SceneShape]:
    """A line at the moment that is shown, with a gap where the times stand."""
    x, parts = view.x, ((MARKS + 8, BOTTOM + 4), (BOTTOM + 22, view.floor - 8))
    return [line(f"head line {start}", x, start, x, end, look="tick still") for start, end in parts]


def _cuts(view: ReplicaViewState) -> list[SceneShape]:
    """The truncations of logs to the leader's."""
    seen = [it for it in view.past.cuts if view.inside(it.at)]
    return [_cut(view, cut) for cut in seen if cut.broker in view.brokers]


def _cut(view: ReplicaViewState, cut: Cut) -> SceneShape:
    count = cut.was - cut.end
    records = "1 record" if count == 1 else f"{count:,} records"
    label = (
        f"{view.clock(cut.at)} s: broker {cut.broker} cut its log back from {cut.was:,} to "
        f"{cut.end:,}: {records} that its leader does not have"
    )
    x, y = view.scale.place(cut.at), view.offset_y(cut.end, cut.broker)
    top = view.offset_y(cut.was, cut.broker) - y  # from where to where it was cut back
    inside = [
        line("lost", 0, min(top, 0), 0, 0, look="lost still"),
        circle("back", 0, 0, 9, look="paper"),
        text("glyph", 0, 4.5, "✂", ABOUT, look="mark bad"),
    ]
    return group(f"cut {cut.broker} {cut.at}", x, y, inside, label=label)


# -- below --------------------------------------------------------------------------------------


def _below(view: ReplicaViewState) -> tuple[list[SceneShape], float]:
    """The texts, and where they end."""
    legend, y = _legend(view)
    lines, y = _lines(view, y) if not view.wide else ([], y)
    words, y = _words(view, y)
    return [*legend, *lines, *words], y


def _legend(view: ReplicaViewState) -> tuple[list[SceneShape], float]:
    signs = [
        (stands, path(f"sign {stands}", "M0 0h24", look=f"trail {stands} still"), 31, words)
        for stands, words in (*LEGEND, *[STABLE] * view.past.transactional)
    ]
    rise = path("sign rise", "M0 0l3 3l5 -6", look="check rise still")
    start = view.left if view.wide else 2 * MARGIN
    x, y = start, view.floor + 6
    shapes: list[SceneShape] = []
    for key, sign, indent, words in [*signs, ("rise", rise, 15, RISE)]:
        end = x + indent + width_of(words, 11)
        if end > view.width - MARGIN and x > start:
            x, y = start, y + LINE
            end = x + indent + width_of(words, 11)
        shapes.append(replace(sign, where=(x, y)))
        shapes.append(text(f"sign {key} words", x + indent, y + 4, words, look="soft"))
        x = end + 18
    return [group("legend", 0, 0, shapes, label="what the signs mean")], y + 22


def _lines(view: ReplicaViewState, y: float) -> tuple[list[SceneShape], float]:
    """What each line is at the head, where there is no room for that at its end."""
    shapes: list[SceneShape] = []
    for label in named(view):
        inside = [
            path("sign", "M0 0h24", look=f"trail {label.stands}"),
            text("words", 31, 4, label.words, look=f"small name {label.stands}"),
        ]
        shapes.append(group(f"line of {label.key}", 2 * MARGIN, y + 4, inside, look="still"))
        y += LINE
    return shapes, y + (10 if shapes else 0)


def _words(view: ReplicaViewState, y: float) -> tuple[list[SceneShape], float]:
    found = []
    outage = failover_cost.latest(view.story.outages, view.at)
    if outage is not None:
        found.append(failover_cost.sentence(outage, view.run_source.at, view.at))
    left_out = len(view.past.brokers) - MOST_REPLICAS
    if left_out > 0:
        found.append(f"{MOST_REPLICAS} replicas are drawn, {left_out} more are not.")
    x = view.left if view.wide else 2 * MARGIN
    column = TextColumn(x, y + 4, view.width - x - 2 * MARGIN, LINE)
    column.put("words", [part for words in found for part in lines_of(words, column.room)])
    return column.shapes, column.y - 4


def _window(view: ReplicaViewState, y: float) -> list[SceneShape]:
    """A frame around the window on the timeline, if it is not all of it."""
    run_source, scale = view.run_source, view.scale
    whole = run_source.axis(scale.x, scale.width)
    if (whole.start, whole.end) == (scale.start, scale.end):
        return []
    left, right = whole.place(scale.start), whole.place(scale.end)
    return [rect("window", left, y + 6, right - left, 32, 4, look="lens still")]
