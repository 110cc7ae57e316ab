"""A view on a recording as a film: data that a page can play without Python.

    view on a Recording ── walk.py: from moment to moment ──> film.py: each picture, as steps from
                                                              the one before (delta.py)
                                                                   │  one file for each view
    the widgets' own stage.js <── player.js plays the widget <─────┘

`make site` makes the films; the pages, the player and the rest of the site are in docs/site/.

Invariant: a film has no act that needs Python.
"""
