"""A partition as a picture: how its replicas grew, agreed, fell behind, and who led them.

    ┌──────────────────────────────────────────────┐
    │ epoch 0       ▲ │ epoch 1 ★                  │  bands, marks
    │ ━━━━━━━━━━━━━━━━━━━━━━━━━━━━ broker 3 · ...  │  lines, labels
    │ ● ● ● ● ● ● ● ● ● ● ● ● ● ●                  │  the ISR, acknowledgements
    │ what the signs mean; what a failover cost    │
    │ ━━━━━━━━━━━━━━━▲▒▒▒▒▒★━━━━━━━○────           │  the timeline
    └──────────────────────────────────────────────┘

Whoever points at a moment, or comes to it by keyboard, is told all its values in words, and may
go there. A pure function: the same scenery makes the same picture, with a kernel or without.
"""

from itertools import groupby

from widgets import cost, timeline
from widgets.replica.past import Cut, Sample
from widgets.replica.plan import (
    BOTTOM,
    CAPTION,
    LEFT,
    MARKS,
    MOST_REPLICAS,
    RIGHT,
    STEPS,
    TOP,
    WIDTH,
    Column,
    Scenery,
)
from widgets.replica.strips import acknowledged, in_sync, told
from widgets.replica.trails import labels, trails, word
from widgets.scene import (
    ABOUT,
    UP_TO,
    Act,
    Scene,
    Shape,
    circle,
    fit,
    group,
    line,
    path,
    rect,
    text,
    width_of,
    wrap,
)

LINE = 17
FEW = 3  # replicas; of more there is more to tell in a moment, and so moments are longer
LEGEND = (
    ("lead", "leader"),
    ("sync", "in sync"),
    ("lag", "out of sync"),
    ("gone", "no answer"),
    ("high", "high watermark"),
)
RISE = "it rose: acks=all is answered below it"


def picture(scenery: Scenery) -> Scene:
    words = _words(scenery)
    floor = scenery.floor + 24 + LINE * len(words)
    says = scenery.lines[-1].words if scenery.live and scenery.lines else ""
    shapes = [
        *_bands(scenery),
        *_outages(scenery),
        *_grid(scenery),
        *trails(scenery),
        *in_sync(scenery),
        *acknowledged(scenery),
        *_columns(scenery),
        *_marks(scenery),
        *_cuts(scenery),
        line("head line", scenery.x, MARKS + 8, scenery.x, scenery.floor - 8, look="tick still"),
        *labels(scenery),
        *_legend(scenery),
        *words,
        line("floor", 0, floor, WIDTH, floor, look="rule"),
        *_window(scenery, floor),
        *timeline.drawn(scenery, LEFT, floor, RIGHT - LEFT),
    ]
    if not any(sample.state.replicas for _, sample in scenery.stairs):
        hint = f"There is no {scenery.past.partition} yet."
        shapes.append(text("nothing", (LEFT + RIGHT) / 2, 170, hint, ABOUT, look="soft"))
    title = f"The replicas of {scenery.past.partition} over time; now {about(scenery)}"
    return Scene(WIDTH, floor + timeline.HEIGHT, shapes, title=title, says=says)


def about(scenery: Scenery) -> str:
    """The header's few words."""
    sample = scenery.now
    if not sample.state.replicas:
        return f"{scenery.past.partition} · not there yet"
    leader = sample.state.leader
    leads = f"broker {leader} leads" if sample.stands(leader) == "lead" else "nobody leads"
    isr = " ".join(map(str, sorted(sample.state.isr)))
    return f"{scenery.past.partition} · epoch {sample.state.leader_epoch} · {leads} · ISR {isr}"


# -- behind the lines ---------------------------------------------------------------------------


def _bands(scenery: Scenery) -> list[Shape]:
    """Every other epoch lies on paper of another tone."""
    shapes = []
    for reign in scenery.reigns:
        left, right = scenery.scale.place(reign.began), scenery.scale.place(reign.ended)
        if reign.epoch < 0:
            continue
        inside = []
        if reign.epoch % 2:
            inside.append(rect("paper", 0, 0, right - left, scenery.floor - 12, look="lens"))
        elif left > LEFT:
            inside.append(line("edge", 0, 0, 0, scenery.floor - 12, look="rule"))
        whose = f"broker {reign.leader} leads" if reign.leader >= 0 else "nobody leads"
        for words in (f"epoch {reign.epoch} · {whose}", f"epoch {reign.epoch}", str(reign.epoch)):
            if width_of(words, 11) <= right - left - 8:
                inside.append(text("words", 6, CAPTION - 4, words, look="soft"))
                break
        label = f"epoch {reign.epoch}: {whose} from {scenery.clock(reign.began)} s on"
        shapes.append(group(f"epoch {reign.epoch} {reign.leader}", left, 4, inside, label=label))
    return shapes


def _outages(scenery: Scenery) -> list[Shape]:
    """Nobody led, or whoever did was not there."""
    shapes = []
    for outage in scenery.story.outages:
        ended = min(outage.ended or scenery.at, scenery.at)
        if scenery.scale.start <= ended and outage.began < ended:
            left, right = scenery.scale.place(outage.began), scenery.scale.place(ended)
            where = left, MARKS + 12, right - left, scenery.floor - MARKS - 22
            shapes.append(rect(f"outage {outage.began}", *where, look="outage far still"))
    return shapes


def _grid(scenery: Scenery) -> list[Shape]:
    shapes = []
    for offset in scenery.offsets.ticks:
        y = scenery.offsets.y(offset)
        shapes.append(line(f"level {offset}", LEFT, y, RIGHT, y, look="rule"))
        shapes.append(text(f"offset {offset}", LEFT - 12, y + 4, f"{offset:,}", UP_TO, look="soft"))
    shapes.append(text("offsets", LEFT - 12, TOP - 14, "offset", UP_TO, look="tiny"))
    scale, start = scenery.scale, scenery.reel.start
    step = next((it for it in STEPS if scale.span / 1000 / it <= 8), STEPS[-1]) * 1000
    first = -(-(scale.start - start) // step) * step
    for passed in range(first, scale.start - start + scale.span + 1, step):
        x, words = scale.place(start + passed), f"{passed / 1000:g} s"
        shapes.append(line(f"tick {passed}", x, BOTTOM, x, BOTTOM + 4, look="tick"))
        shapes.append(text(f"time {passed}", x, BOTTOM + 17, words, ABOUT, look="tiny"))
    return shapes


# -- before them --------------------------------------------------------------------------------


def values(scenery: Scenery, sample: Sample) -> str:
    """All that is known of a moment."""
    state = sample.state
    if not state.replicas:
        return "there is no such partition"
    logs = [
        f"broker {broker} {word(scenery, sample, broker)}, LEO {replica.log_end:,}"
        for broker, replica in sorted(state.replicas.items())
    ]
    committed = "unknown" if sample.committed is None else f"{sample.committed:,}"
    isr = " ".join(map(str, sorted(state.isr))) or "nobody"
    return f"epoch {state.leader_epoch}, HW {committed}, ISR {isr}; {'; '.join(logs)}"


def _columns(scenery: Scenery) -> list[Shape]:
    """Moments to be pointed at; neighbours in which nothing changed are one."""
    together, columns = 1 if len(scenery.brokers) <= FEW else 2, scenery.columns
    chunks = [columns[at : at + together] for at in range(0, len(columns), together)]
    return [
        _column(scenery, sample, [column for chunk in run for column in chunk])
        for sample, run in groupby(chunks, key=lambda chunk: scenery.past.at(chunk[-1].end))
    ]


def _column(scenery: Scenery, sample: Sample, columns: list[Column]) -> Shape:
    first, last = columns[0], columns[-1]
    at = max(min(sample.at, first.end), first.start)
    more = told(scenery, first.start, last.end)
    label = f"{scenery.clock(at)} s: {values(scenery, sample)}{more}"
    acts = (Act("goto", at),) if "goto" in scenery.acts else ()
    where = first.x, MARKS + 12, last.x + last.width - first.x, scenery.floor - MARKS - 22
    return rect(f"moment {round(first.x)}", *where, look="column", label=label, acts=acts)


def _marks(scenery: Scenery) -> list[Shape]:
    """Faults and elections: a sign above, a thin line down through the offsets."""
    lines = [it for it in scenery.lines if scenery.inside(it.at)]
    shapes = []
    for mark in timeline.marks(lines, scenery.scale):
        sort, at = mark.line.sort, mark.line.at
        more = f", and {mark.also} more" if mark.also else ""
        inside = [
            rect("back", -7, -11, 14, 20, look="clear"),
            line("stem", 0, 8, 0, BOTTOM - MARKS, look="rule still"),
            text("glyph", 0, 4.5, sort.glyph, ABOUT, look=f"mark {sort.look}"),
        ]
        label = f"{scenery.clock(at)} s: {mark.line.words}{more}"
        acts = (Act("goto", at, "go there"),) if "goto" in scenery.acts else ()
        key = f"event {mark.line.kind} {at}"
        shapes.append(group(key, mark.x, MARKS, inside, label=label, acts=acts))
    return shapes


def _cuts(scenery: Scenery) -> list[Shape]:
    """Where a log was cut back to what its leader has."""
    seen = [it for it in scenery.past.cuts if scenery.inside(it.at)]
    return [_cut(scenery, cut) for cut in seen if cut.broker in scenery.brokers]


def _cut(scenery: Scenery, cut: Cut) -> Shape:
    count = cut.was - cut.end
    records = "1 record" if count == 1 else f"{count:,} records"
    label = (
        f"{scenery.clock(cut.at)} s: broker {cut.broker} cut its log back from {cut.was:,} to "
        f"{cut.end:,}: {records} that its leader does not have"
    )
    x, y = scenery.scale.place(cut.at), scenery.offset_y(cut.end, cut.broker)
    inside = [
        circle("back", 0, 0, 9, look="paper"),
        text("glyph", 0, 4.5, "✂", ABOUT, look="mark bad"),
    ]
    return group(f"cut {cut.broker} {cut.at}", x, y, inside, label=label)


# -- below --------------------------------------------------------------------------------------


def _legend(scenery: Scenery) -> list[Shape]:
    y, x = scenery.floor + 6, float(LEFT)
    shapes: list[Shape] = []
    for stands, words in LEGEND:
        shapes.append(path(f"sign {stands}", "M0 0h24", x, y, look=f"trail {stands} still"))
        shapes.append(text(f"sign {stands} words", x + 31, y + 4, words, look="soft"))
        x += 31 + width_of(words, 11) + 18
    shapes.append(path("sign rise", "M0 0l3 3l5 -6", x, y, look="check rise still"))
    shapes.append(text("sign rise words", x + 15, y + 4, RISE, look="soft"))
    return [group("legend", 0, 0, shapes, label="what the signs mean")]


def _words(scenery: Scenery) -> list[Shape]:
    found = []
    outage = cost.latest(scenery.story.outages, scenery.at)
    if outage is not None:
        found.append(cost.sentence(outage, scenery.reel.at, scenery.at))
    left_out = len(scenery.past.brokers) - MOST_REPLICAS
    if left_out > 0:
        found.append(f"{MOST_REPLICAS} replicas are drawn, {left_out} more are not.")
    parts = [part for words in found for part in wrap(words, RIGHT - LEFT + 180, 12)]
    top = scenery.floor + 28
    return [
        text(f"words {number}", LEFT, top + LINE * number, fit(part, WIDTH - LEFT - 20))
        for number, part in enumerate(parts)
    ]


def _window(scenery: Scenery, y: float) -> list[Shape]:
    """Which stretch of the timeline is seen above, if it is not all of it."""
    reel, scale = scenery.reel, scenery.scale
    whole = timeline.axis(reel.start, reel.end, reel.live, LEFT, RIGHT - LEFT)
    if (whole.start, whole.span) == (scale.start, scale.span):
        return []
    left, right = whole.place(scale.start), whole.place(scale.start + scale.span)
    return [rect("window", left, y + 6, right - left, 32, 4, look="lens still")]
