"""SegmentView and HexView, in parts: they read a log's files and never change them.

directory ──> pieces ──> ribbon ──┐
              lookup ──> lanes ───┴──> view         segments, and a search in them
batches, fields ──> hex_page ──> hex_scene ──> hex_view   the bytes, named and explained
place: whose files they are: a broker's, a directory's, a recording's
"""
