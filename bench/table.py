"""Tables that read well in a terminal and in Markdown alike."""

from collections.abc import Sequence

from bench.rounds import Ratios


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        parts = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        return f"| {' | '.join(parts)} |"

    rule = [widths[0] * "-", *((width - 1) * "-" + ":" for width in widths[1:])]
    return "\n".join(line(cells) for cells in (head, rule, *rows))


def ratio_table(ratios: Ratios) -> str:
    """A row for each load, a column for each peer; a gap where a peer has no such load."""
    by_length = sorted(ratios.values(), key=len, reverse=True)
    peers = list(dict.fromkeys(peer for by_peer in by_length for peer in by_peer))
    rows = [
        [name, *(number(by_peer[peer]) if peer in by_peer else "" for peer in peers)]
        for name, by_peer in ratios.items()
    ]
    return table(["", *peers], rows)


def number(value: float) -> str:
    """Two significant digits: 0.031, 0.94, 1.3, 27."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:#.2g}"
