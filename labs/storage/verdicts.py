"""The lab's ledger, one for all sections, so that each of them can be run by itself."""

from widgets import Ledger

ledger = Ledger("01_storage")
