"""What stands between a notebook and a learner who runs its cells in another order, or elsewhere.

guide.py                    an error of a cell, explained: which cell has to run before it
cells.py                    a notebook's cells, and the names that each makes and uses
came_out.py                 %came_out: what is recorded of a cell, in place of a run
cell_without_computer.py    the same in a browser tab, for a cell that needs processes
kernel_log.py               what a kernel logs, without what nobody can act on
"""
