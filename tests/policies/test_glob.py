"""The path glob and the name glob: their meaning, and that Python and SQL agree on it."""

import re

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.glob import MAX_PATTERN_CHARS, Glob, compile_glob, name_glob, rule_glob

# Few letters, so that patterns and paths meet; and the characters that break naive translations.
_LETTERS = "ab.-]![\\n\n^é\U0010ff80 日("
_PATTERN_ATOMS = st.sampled_from(
    [*"ab/.-]!^$+(|{ \n", "*", "**", "?", "[", "[ab]", "[!a]", "[a-c]", "[]x]", "[+-9]", "\\[",
     "\\*", "\\", "/**/", "**/", "/", "é", "\U0010ff80", "日", "[é-ü]", "[REDACTED:", "]"]
)  # fmt: skip
PATTERNS = st.lists(_PATTERN_ATOMS, min_size=1, max_size=7).map("".join)
PATHS = st.lists(
    st.sampled_from([*_LETTERS, *"//c0$+|{", "/a", "/b", "[REDACTED:"]), max_size=9
).map("".join)  # fmt: skip


@pytest.fixture(scope="module")
def database():
    """One DuckDB for the module."""
    with duckdb.connect() as connection:
        yield connection


def in_sql(database, glob: Glob, text: str) -> bool:
    """What DuckDB says to one text."""
    expression, values = glob.sql("t")
    query = f"SELECT {expression} FROM (SELECT ?::VARCHAR AS t)"  # noqa: S608
    return database.execute(query, [*values, text]).fetchone()[0]


# A second opinion, written from the words of the guide: components as lists, one letter at a time.
def brute(pattern: str, path: str) -> bool:
    """The meaning of a path pattern, without regular expressions."""
    bare = pattern.rstrip("/")
    if bare in ("", "/**"):
        return path.startswith("/")
    parts = bare.split("/")
    if not any(part == "**" or wild(part) for part in parts):
        parts.append("**")
    return components_match(parts, path.split("/"))


def components_match(parts: list[str], names: list[str]) -> bool:
    """Lists of components against each other."""
    if not parts:
        return not names
    if parts[0] == "**":
        return any(components_match(parts[1:], names[n:]) for n in range(len(names) + 1))
    return (
        bool(names) and one_component(parts[0], names[0]) and components_match(parts[1:], names[1:])
    )


def one_component(part: str, name: str) -> bool:
    """One component; of stars only it is not empty."""
    if part and set(part) == {"*"} and not name:
        return False
    return letters_match(tokens(part), name)


def tokens(part: str) -> list[tuple[str, str]]:
    """A component's letters, wildcards and classes."""
    out, at = [], 0
    while at < len(part):
        if part[at] == "\\" and part[at + 1 : at + 2] and part[at + 1] in "[]*?\\":
            out.append(("letter", part[at + 1]))
            at += 2
            continue
        if part[at] == "[" and not part.startswith("[REDACTED:", at):
            body = at + 2 if part[at + 1 : at + 2] == "!" else at + 1
            end = part.find("]", body + 1)
            if end > 0:
                out.append(("not" if body == at + 2 else "class", part[body:end]))
                at = end + 1
                continue
        out.append(({"*": "run", "?": "one"}.get(part[at], "letter"), part[at]))
        at += 1
    return out


def wild(part: str) -> bool:
    """Whether a component holds a wildcard."""
    return any(kind != "letter" for kind, _ in tokens(part))


def letters_match(wanted: list[tuple[str, str]], name: str) -> bool:
    """Letters and wildcards against a name."""
    if not wanted:
        return not name
    kind, text = wanted[0]
    if kind == "run":
        return any(letters_match(wanted[1:], name[n:]) for n in range(len(name) + 1))
    if not name:
        return False
    fits = {"one": True, "letter": name[0] == text, "class": member(text, name[0]),
            "not": not member(text, name[0])}[kind]  # fmt: skip
    return fits and letters_match(wanted[1:], name[1:])


def member(body: str, letter: str) -> bool:
    """Whether a class holds a letter."""
    at = 0
    while at < len(body):
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            if body[at] <= letter <= body[at + 2]:
                return letter != "/"
            at += 3
            continue
        if body[at] == letter:
            return True
        at += 1
    return False


@settings(max_examples=400, deadline=None)
@given(pattern=PATTERNS, path=PATHS)
def test_python_sql_and_the_second_opinion_agree(database, pattern, path):
    """The three ways to ask give one answer, for any pattern and any path."""
    glob = compile_glob(pattern)
    expected = brute(pattern, path)
    assert glob.matches(path) == expected
    assert in_sql(database, glob, path) == expected


@settings(max_examples=200, deadline=None)
@given(pattern=PATTERNS, name=PATHS)
def test_a_name_glob_means_the_same_in_sql(database, pattern, name):
    """The name and the rule form agree between Python and DuckDB."""
    for glob in (name_glob(pattern), rule_glob(pattern)):
        assert glob.matches(name) == in_sql(database, glob, name)


@settings(max_examples=100, deadline=None)
@given(pattern=PATTERNS, path=PATHS)
def test_below_covers_the_matches_and_all_under_them(database, pattern, path):
    """With `below`, a path is covered if it or one of the folders above it matches."""
    folders = path.split("/")
    above = ["/".join(folders[:n]) for n in range(1, len(folders) + 1)]
    glob = compile_glob(pattern, below=True)
    assert glob.matches(path) == any(brute(pattern, folder) for folder in above)
    assert in_sql(database, glob, path) == glob.matches(path)


YES = [
    ("/workspace", "/workspace"), ("/workspace", "/workspace/a/b"), ("/workspace/", "/workspace/a"),
    ("/", "/etc/passwd"), ("/workspace/**", "/workspace"), ("**/.ssh/**", "/Users/agent/.ssh"),
    ("**/.ssh/**", "/Users/agent/.ssh/id_ed25519"), ("**/.ssh", "/Users/agent/.ssh"),
    ("**/.ssh", ".ssh"), ("/a/*/c", "/a/.b/c"), ("/a/**/c", "/a/c"), ("/a/**/c", "/a/x/y/c"),
    ("*.py", "x.py"), ("/a/[!b]c", "/a/xc"), ("/a/[0-9]", "/a/7"), ("/a/[x", "/a/[x/y"),
    ("/a/\\[id\\]", "/a/[id]/page"), ("/a/a*", "/a/a"), ("**", ""), ("**", "relative/x"),
    ("/w/[REDACTED:jwt:3fa94c1d22b0].json", "/w/[REDACTED:jwt:3fa94c1d22b0].json"),
    ("/w/[REDACTED:*]*", "/w/[REDACTED:jwt:3fa94c1d22b0].lock"), ("/a/?", "/a/\n"),
    ("/a/*", "/a/x\ny"),
    ("/a/{b,c}", "/a/{b,c}"),
]  # fmt: skip
NO = [
    ("/workspace", "/workspace2"), ("/a/*", "/a"), ("/a/*", "/a/b/c"), ("/a/*", "/a/"),
    ("**/.ssh", "/Users/agent/.ssh/id"), ("**/.ssh", "/Users/agent/x.ssh"), ("/a/?", "/a//"),
    ("/a[+-9]b", "/a/b"), ("/a[!x]b", "/a/b"), ("*.py", "d/x.py"), ("/a/{b,c}", "/a/b"),
    ("/**", ""),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "path"), YES)
def test_covers(database, pattern, path):
    """The examples of the guide that match."""
    assert compile_glob(pattern).matches(path)
    assert in_sql(database, compile_glob(pattern), path)


@pytest.mark.parametrize(("pattern", "path"), NO)
def test_covers_not(database, pattern, path):
    """The examples of the guide that do not match."""
    assert not compile_glob(pattern).matches(path)
    assert not in_sql(database, compile_glob(pattern), path)


@pytest.mark.parametrize(
    ("pattern", "name", "covered"),
    [
        ("filesystem.deny[1]", "filesystem.deny[1]", True),
        ("filesystem.deny.1", "filesystem.deny[1]", True),
        ("filesystem.deny[1]", "filesystem.deny1", False),
        ("filesystem.*[1]", "filesystem.allow[1]", True),
        ("filesystem.deny[*", "filesystem.deny[12]", True),
        ("network.*", "network.egress.deny-all", True),
        ("*default-deny", "process.default-deny", True),
    ],
)
def test_a_rule_is_named_as_it_is_shown(pattern, name, covered):
    """An index at the end of a rule is an index, not a class."""
    assert rule_glob(pattern).matches(name) is covered


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("", 1),
        ("/a/[z-a]", 5),
        ("/abc/x[!9-0]", 9),
        ("a" * (MAX_PATTERN_CHARS + 1), MAX_PATTERN_CHARS + 1),
    ],
)
def test_a_bad_pattern_says_where(pattern, position):
    """The error names the position of the fault, counted from 1."""
    with pytest.raises(ValueError, match=rf"at position {position}\Z"):
        compile_glob(pattern)


def test_the_pattern_is_never_part_of_the_sql():
    """Only placeholders stand in the expression, whatever the pattern holds."""
    for pattern in ("/x'; DROP TABLE events; --", "**/x'y*", "*'*"):
        expression, values = compile_glob(pattern).sql("path")
        assert "'" not in expression
        assert expression.count("?") == len(values)


def test_common_patterns_need_no_regular_expression():
    """Subtrees and names anywhere are compared as text, which is far cheaper over an archive."""
    for pattern in (
        "/workspace",
        "/workspace/**",
        "**/.ssh",
        "**/.ssh/**",
        "**/Cookies/**",
    ):
        assert not re.search("regexp", compile_glob(pattern).sql("path")[0])


def test_null_is_neither_covered_nor_not(database):
    """A row without a path is null in SQL, so that WHERE leaves it out either way."""
    for pattern in ("/a", "**", "/a/*b"):
        expression, values = compile_glob(pattern).sql("t")
        query = f"SELECT {expression} FROM (SELECT NULL::VARCHAR AS t)"  # noqa: S608
        assert database.execute(query, values).fetchone()[0] is None


def test_many_stars_do_not_explode():
    """A hostile pattern costs no more than a friendly one times its length."""
    for pattern in ("/" + "a*" * 30 + "b", "**/a*" * 30 + "/b", "/**/a" * 30 + "/**/b"):
        assert not compile_glob(pattern).matches("/a" * 300)
        assert not compile_glob(pattern).matches("/" + "a" * 3000)
    assert not name_glob("a*" * 30 + "b").matches("a" * 3000)
