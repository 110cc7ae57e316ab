"""The lab's ledger: one for all sections, so that each of them can stand alone."""

from widgets import Ledger

ledger = Ledger("02_replication")
