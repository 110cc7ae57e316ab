"""SegmentView and HexView, in parts: a log's files, looked at and never touched.

directory ──> pieces ──> ribbon ──┐
              lookup ──> lanes ───┴──> view         segments, and a search in them
batches, fields ──> hex_page ──> hex_scene ──> hex_view   the bytes, named and explained
place: whose files they are: a broker's, a directory's, a recording's
"""
