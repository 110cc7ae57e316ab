"""A failover as one animated SVG: for a README, where no script runs.

    Recording ── failover.py ──> Failover: leaders, logs, and their times ─┐
                 keyframes.py: values over time, as CSS keyframes ─────────┴─ scene.py ──> SVG

The browser animates it: a bar that grows is one shape with keyframes, not two hundred pictures.
Readers who prefer no motion see the moment after the election.

Invariant: an SVG of ours has no script, and refers to nothing outside itself.
"""

from docs.site.failover_picture.scene import picture

__all__ = ["picture"]
