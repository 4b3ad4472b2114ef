"""Text of somebody else's is refused by its length and depth, before a parser is asked."""

import tomllib

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyheat.inputs import (
    MOST_DEPTH,
    MOST_KEY_PARTS,
    MOST_TEXT_BYTES,
    MOST_TOML_DEPTH,
    NotAccepted,
    parsed_json,
    parsed_toml,
)

DEEP = 100_000
LONG_KEY = ".".join(["a"] * 50_000)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"a = {'[' * DEEP}{']' * DEEP}",
            "too deep: 100,000 brackets within each other, at most 16 are read",
        ),
        (f"a = {'{a=' * DEEP}1{'}' * DEEP}", "too deep"),
        (f'a = ["""\n"#\'"", {"[" * DEEP}""", {"[" * DEEP}]', "too deep"),
        (f"a = ['''\\''''', {'[' * DEEP}]", "too deep"),
        (f"{LONG_KEY} = 1", "a key has 50,000 parts with dots between, at most 16 are read"),
        (LONG_KEY.replace("a.", "'a' . ") + " = 1", "50,000 parts"),
        ('a = """', "not TOML"),
        ('"""\\' * DEEP, "not TOML"),
        ("a" * MOST_TEXT_BYTES, "not TOML"),
    ],
    ids=range(9),
)
def test_toml_that_is_too_deep_is_refused_before_it_is_parsed(text: str, words: str) -> None:
    with pytest.raises(NotAccepted, match=words):
        parsed_toml(text)


def test_toml_as_people_write_it_is_read() -> None:
    key = ".".join(["a"] * MOST_KEY_PARTS)
    nested = "[" * MOST_TOML_DEPTH + "]" * MOST_TOML_DEPTH
    text = f"{key} = 1.5 # {{{'[' * 99}\nb = {nested}\nc = \"{'[' * 99}{'a.' * 99}\"\nd = '''{'[' * 99}'''"
    assert parsed_toml(text) == tomllib.loads(text)


@pytest.mark.parametrize(
    "body", [b"[" * DEEP + b"]" * DEEP, b"[" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP, b'["\\\\",' * DEEP]
)
def test_json_that_is_too_deep_is_refused_before_it_is_parsed(body: bytes) -> None:
    with pytest.raises(
        NotAccepted, match="too deep: 100,000 brackets within each other, at most 64 are read"
    ):
        parsed_json(body)


def test_brackets_in_text_are_no_depth() -> None:
    content = {"a": '"' + "[" * DEEP, "b\\": "\\[" * 99, "{" * 99: ["\\", "]["]}
    assert parsed_json(orjson.dumps(content)) == content
    deepest = b"[" * MOST_DEPTH + b"]" * MOST_DEPTH
    assert parsed_json(deepest) == orjson.loads(deepest)


@given(st.text("\"'\\#[]{}=a.,\n 1", max_size=60))
def test_what_is_toml_stays_so(text: str) -> None:
    try:
        content = tomllib.loads(text)
    except ValueError:
        with pytest.raises(NotAccepted):
            parsed_toml(text)
    else:
        assert parsed_toml(text) == content
