"""A failover as one picture that moves by itself: for a README, where no script runs.

    Recording ── tale.py ──> Tale: who led, who had what, and when ─┐
                motion.py: values over time, as CSS keyframes ──────┴─ scene.py ──> SVG, looping

The browser moves it: a bar that grows is one shape with keyframes, not two hundred pictures. Who
prefers no motion sees the moment after the election, standing still.

Invariant: an SVG of ours has no script, and refers to nothing outside itself.
"""

from widgets.poster.scene import poster

__all__ = ["poster"]
