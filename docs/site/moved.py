"""Pages that had another address: each is a page of its own that leads to the new one.

labs/05_delivery.html ──> labs/06_sending.html
"""

from pathlib import Path

MOVED = {  # of the labs, since they are numbered in the order in which they are read
    "05_delivery": "06_sending",
    "06_speed": "08_speed",
    "07_operations": "09_operations",
    "08_controller": "05_controller",
}
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Moved</title>
<link rel="canonical" href="{to}">
<meta http-equiv="refresh" content="0; url={to}">
<p>This lab has another number now: <a href="{to}">{name}</a>.</p>
</html>
"""


def write(site: Path) -> None:
    for old, new in MOVED.items():
        page = PAGE.format(to=f"{new}.html", name=new)
        (site / "labs" / f"{old}.html").write_text(page, encoding="utf-8")
