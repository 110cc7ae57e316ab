"""Files of settings: what is written for Java, and read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.properties import parse_properties, properties_text

# A value is stripped at its ends, by Java only at its beginning.
VALUES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\r\\=:#!")
).map(str.strip)


@given(VALUES)
def test_what_is_written_with_escapes_is_read_as_it_was(value):
    assert parse_properties(properties_text({"a": value}, escapes=True), escapes=True) == {
        "a": value
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"a=1\n2\t3", "1\n2\t3"),
        (r"a=\u00e4\ud83d\ude00", "ä😀"),
        ("a=one, \\\n    two, \\\n    three", "one, two, three"),
        ("a=ends with two\\\\\nb=1", "ends with two\\"),
        (r"a=C:\\kafka", r"C:\kafka"),
        (r"a=\=\:\#", "=:#"),
        ("# a=0\n! a=1\n a = 2 \n\n", "2"),
    ],
)
def test_escapes_and_lines_that_go_on(text, value):
    assert parse_properties(text, escapes=True)["a"] == value


def test_for_librdkafka_a_backslash_is_a_character_like_others():
    text = properties_text({"a": r"C:\n"}, escapes=False)
    assert text == "a=C:\\n\n"
    assert parse_properties(text, escapes=False) == {"a": r"C:\n"}
