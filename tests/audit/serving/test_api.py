"""The resources of API v1 against what the store holds, and against what the commands say."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pyarrow as pa
import pytest

from audit.serving.service import Limits
from query.contracts import Request
from query.engine import answer
from query.filters import FILTERS
from tests.audit.serving.conftest import Served, serving
from tests.audit.serving.trail import DEMO, OTHER, TEXT, events, full_store, policy

ARROW = "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for this file; nothing here changes its store."""
    store = full_store(tmp_path_factory.mktemp("api") / "store")
    with serving(store) as running:
        yield running
    store.con.close()


@pytest.fixture(scope="module")
def full(api: Served) -> Iterator[httpx.Client]:
    """Who may see and export everything."""
    with api.client() as client:
        yield client


@pytest.fixture(scope="module")
def demo(api: Served) -> Iterator[httpx.Client]:
    """Who may see one sandbox of two."""
    with api.client(api.make_token("demo", DEMO, export=True)) as client:
        yield client


def got(client: httpx.Client, path: str, /, **params: Any) -> Any:
    """The answer's JSON; the request must be well."""
    answered = client.get(path, params=params or None)
    assert answered.status_code == 200, answered.text[:300]
    return answered.json()


def refused(client: httpx.Client, path: str, status: int, /, **params: Any) -> dict[str, Any]:
    """The error of a request that must be refused."""
    answered = client.get(path, params=params or None)
    assert answered.status_code == status, answered.text[:300]
    error: dict[str, Any] = answered.json()["error"]
    assert error["status"] == status
    return error


def seqs(page: Any) -> list[int]:
    """The seqs of a page."""
    return [row["seq"] for row in page["events"]]


def test_events_are_what_the_engine_gives(api: Served, full: httpx.Client) -> None:
    """Newest first, every key as the export writes it."""
    page = got(full, "/v1/events", decision="deny", sandbox=DEMO, limit=1000)
    asked = Request({"decision": ("deny",), "sandbox": (DEMO,)})
    expected = answer(api.store.paths, asked).rows
    assert seqs(page) == [row["seq"] for row in reversed(expected)]
    assert list(page["events"][0]) == list(expected[-1])
    assert page["events"][0]["ts"].endswith("Z")
    assert (page["more"], page["next"], page["upto"]) == (False, None, 63)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_follow_each_other_without_a_hole(full: httpx.Client, order: str) -> None:
    """The next link, from page to page, gives every match once."""
    found, path = [], f"/v1/events?limit=7&order={order}&decision=allow&decision=deny&seq=3:50"
    while path:
        page = got(full, path)
        found += seqs(page)
        path = page["next"]
    expected = [row["seq"] for row in events() if 3 <= row["seq"] <= 50]
    assert found == (expected if order == "asc" else expected[::-1])


def test_cursors_bound_a_question_from_both_sides(full: httpx.Client) -> None:
    """Neither end is included; an impossible stretch is empty."""
    assert seqs(got(full, "/v1/events", after=10, before=15)) == [14, 13, 12, 11]
    assert seqs(got(full, "/v1/events", after=10, before=11)) == []
    assert seqs(got(full, "/v1/events", after=10, before=15, seq="!12:13")) == [14, 11]


def test_columns_are_as_asked(full: httpx.Client) -> None:
    """In the order named, by filters' names too."""
    page = got(full, "/v1/events", columns="seq,rule,event_id", limit=1, after=59)
    assert list(page["events"][0]) == ["seq", "event_id"]
    page = got(full, "/v1/events", columns="rule,seq", limit=1, before=61)
    assert list(page["events"][0]) == ["policy_rule", "seq"]


@pytest.mark.parametrize("filter_", FILTERS, ids=lambda one: one.flag)
def test_every_filter_is_a_parameter(full: httpx.Client, filter_: Any) -> None:
    """The ones that a command has."""
    value = {"seq": "1:5", "rule-index": "0", "pid": "400", "dst": ":443"}.get(filter_.flag)
    value = value or (filter_.values[0] if filter_.values else "x")
    assert "events" in got(full, "/v1/events", **{filter_.flag: value, "limit": "1"})
    assert "events" in got(full, "/v1/events", **{filter_.flag: f"!{value}", "limit": "1"})


def test_streams_hold_everything_in_seq_order(full: httpx.Client) -> None:
    """NDJSON, CSV and Arrow tell the same events."""
    expected = [row["seq"] for row in events() if row["decision"] == "deny"]
    params = {"decision": "deny"}
    lines = full.get("/v1/events", params=params, headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line)["seq"] for line in lines.text.splitlines()] == expected
    table = full.get("/v1/events", params=params, headers={"Accept": "text/csv;q=0.9, */*;q=0.1"})
    assert [int(row["seq"]) for row in csv.DictReader(io.StringIO(table.text))] == expected
    stream = full.get("/v1/events", params=params, headers={"Accept": ARROW})
    assert stream.headers["content-type"] == ARROW
    found = pa.ipc.open_stream(stream.content).read_all()
    assert found.column("seq").to_pylist() == expected
    assert found.column("ts").type == pa.timestamp("us", "UTC")
    few = full.get("/v1/events?limit=3&after=9", headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line)["seq"] for line in few.text.splitlines()] == [10, 11, 12]


def test_whole_results_need_a_token_that_may_export(api: Served) -> None:
    """A page of JSON is reading; the rest is taking away."""
    with api.client(api.make_token("reader")) as reader:
        assert got(reader, "/v1/events", limit=1)["events"]
        for media in ("application/x-ndjson", "text/csv", ARROW):
            answered = reader.get("/v1/events", headers={"Accept": media})
            assert (answered.status_code, answered.json()["error"]["code"]) == (403, "E_SCOPE")


def test_a_damaged_file_cuts_a_stream_off_after_all_that_can_be_read(tmp_path: Any) -> None:
    """Nobody takes such a document for whole; JSON names the file."""
    store = full_store(tmp_path / "store")
    path = next(store.paths.events.rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-200] + b"x" * 100)
    with serving(store) as running, running.client() as client:
        page = got(client, "/v1/events", limit=100)
        assert [file["path"] for file in page["damaged"]] == [
            f"events/{path.relative_to(store.paths.events)}"
        ]
        with pytest.raises(httpx.RemoteProtocolError):
            client.get("/v1/events", headers={"Accept": "application/x-ndjson"})
        lines: list[str] = []
        accept = {"Accept": "application/x-ndjson"}
        with (
            client.stream("GET", "/v1/events", headers=accept) as answered,
            pytest.raises(httpx.RemoteProtocolError),
        ):
            lines.extend(answered.iter_lines())
        assert len(lines) == len(events()) - page["damaged"][0]["rows"]
    store.con.close()


def test_an_event_is_explained_by_its_policys_lines(full: httpx.Client) -> None:
    """The rule's line as it was then, why, what would change it, and the page of `explain`."""
    told = got(full, "/v1/events/55")
    found = told["explanation"]
    assert found["rule"] == "network.egress.deny-all"
    lines, marked = found["yaml"]["lines"], found["yaml"]["marked"]
    assert "deny-all" in lines[marked[0] - found["yaml"]["first_line"]]
    assert lines == TEXT.split("\n")[found["yaml"]["first_line"] - 1 :][: len(lines)]
    assert found["why"] == "deny-all refuses every destination; no other network rule exists"
    assert found["flip"]["words"]
    assert any(line.startswith("why") for line in found["text"])
    assert [row["seq"] for row in told["reports"]] == [63]
    same = got(full, f"/v1/events/{told['event']['event_id']}")
    assert same["event"] == told["event"]


def test_neighbours_stand_around_an_event(full: httpx.Client) -> None:
    """In seq order, of the same run if asked."""
    assert seqs(got(full, "/v1/events/20/neighbours", count=2)) == [18, 19, 20, 21, 22]
    near = got(full, "/v1/events/20/neighbours", count=2, same_run=True)
    assert {row["correlation_id"] for row in near["events"]} == {"7f3a91c2"}
    assert seqs(near) == [17, 19, 20, 22, 23]


def test_counts_add_up(full: httpx.Client) -> None:
    """By two columns and over time; what two sources told counts once."""
    found = got(full, "/v1/counts", by=["decision", "sandbox"], bucket="1s")
    assert found["axes"] == ["decision", "sandbox", "time"]
    for name in ("allow", "deny", "other"):
        assert sum(group[name] for group in found["groups"]) == found["total"][name]
    deny = [row for row in events() if row["decision"] == "deny" and row["seq"] != 63]
    assert (found["total"]["deny"], found["reports"]) == (len(deny), 1)
    auto = got(full, "/v1/counts", bucket="auto", since="2026-07-28T00:00Z", until="2026-07-29")
    assert auto["bucket"]["size_us"] == 15 * 60_000_000
    assert [auto["buckets"][n]["end"] for n in range(3)] == [
        auto["buckets"][n + 1]["start"] for n in range(3)
    ]
    keys = {group["key"][0] for group in auto["groups"]}
    assert keys <= {bucket["start"] for bucket in auto["buckets"]}


def test_top_values_are_the_most_frequent(full: httpx.Client) -> None:
    """Of what is refused, by several columns at once; nothing without a value."""
    top = got(full, "/v1/top", decision="deny", by=["dst_host", "rule", "path"], n=2)["top"]
    assert top["dst_host"][0]["value"] == "140.82.113.4"
    assert top["dst_host"][0]["deny"] == sum(1 for r in events() if r.get("dst_host"))
    assert [one["value"] for one in top["policy_rule"]] == [
        "network.egress.deny-all", "filesystem.allow[0]",
    ]  # fmt: skip
    assert len(top["path"]) == 2


def test_stats_tell_timeouts_latency_and_masking(full: httpx.Client) -> None:
    """A tool's rate of time-outs, quantiles in µs, secrets by kind."""
    found = got(full, "/v1/stats")
    (bash,) = found["tools"]
    assert (bash["key"], bash["timeout_rate"], bash["p95_us"]) == (["bash"], 1.0, 90_000)
    assert found["latency"][0]["p50_us"] > 0
    assert [one["key"] for one in found["redactions"]] == [["aws-key"]]
    assert found["secrets"] == 1


def test_runs_and_their_stories(full: httpx.Client) -> None:
    """The newest first; one as steps; a word that means none is 404, with those there are."""
    listed = got(full, "/v1/runs")["runs"]
    assert [run["correlation_id"] for run in listed] == ["7f3a91c2", "b41d7788"]
    told = got(full, "/v1/runs/b41d")
    assert told["run"]["sandbox"] == OTHER
    assert sum(step.get("times", 0) for step in told["steps"]) == 21
    assert "7f3a91c2" in refused(full, "/v1/runs/zz", 404)["hint"]
    names = [one["sandbox"] for one in got(full, "/v1/sandboxes")["sandboxes"]]
    assert sorted(names) == [DEMO, OTHER]


def test_gaps_and_status(full: httpx.Client) -> None:
    """Open and closed gaps, narrowed by time and source; sources by what is wrong with them."""
    gaps = got(full, "/v1/gaps")["gaps"]
    assert [(gap["source"], "until" in gap) for gap in gaps] == [
        ("openclaw", True), ("other-log", False),
    ]  # fmt: skip
    assert [gap["id"] for gap in got(full, "/v1/gaps", source="!openclaw")["gaps"]] == [2]
    assert got(full, "/v1/gaps", until="2026-01-01")["gaps"] == []
    status = got(full, "/v1/status")
    assert {one["name"]: one["state"] for one in status["sources"]} == {
        "openclaw": "healthy", "other-log": "unavailable", "unified-log": "healthy",
    }  # fmt: skip
    assert status["archive"]["events"] == 35
    assert status["collector"] == {"state": "never"}


def test_policies_tell_what_each_line_was_worth(full: httpx.Client) -> None:
    """Hits beside each line of the text, and the rules that never decided."""
    listed = got(full, "/v1/policies")["policies"]
    assert {one["name"] for one in listed} == {"agent-readonly", "other-policy"}
    one = got(full, f"/v1/policies/{policy().digest[:12]}")
    mine = [row for row in events() if row.get("policy") == "agent-readonly"]
    hits = {rule["rule"]: rule["hits"] for rule in [*one["rules"], *one["defaults"]]}
    by_allow = sum(row["policy_rule"] == "filesystem.allow[0]" for row in mine)
    assert hits["filesystem.allow[0]"] == by_allow
    assert hits["network.egress.deny-all"] == len(mine) - by_allow
    assert set(one["never_hit"]) == {
        rule["rule"] for rule in one["rules"] if not rule["hits"]
    } == set(hits) - {"filesystem.allow[0]", "network.egress.deny-all"} - {
        rule["rule"] for rule in one["defaults"]
    }  # fmt: skip
    for rule in one["rules"]:
        assert policy().lines[rule["rule"]] == tuple(rule["lines"])
    assert "\n".join(one["text_lines"]) + "\n" == TEXT
    fewer = got(full, f"/v1/policies/{policy().digest}", decision="deny")
    assert {rule["hits"] for rule in fewer["rules"] if rule["kind"] == "deny"} >= {
        hits["network.egress.deny-all"]
    }
    assert refused(full, "/v1/policies/ffff", 404)["code"] == "E_NOT_FOUND"


def test_a_filter_line_is_read_as_a_command_reads_it(full: httpx.Client) -> None:
    """Words, flags and quotes; what it gives finds what it says."""
    line = f'deny {DEMO} --not-path "/a b" since:2026-07-28 -r last --clock=arrival'
    found = got(full, "/v1/parse", q=line)
    assert sorted(found["params"]) == [
        ["decision", "deny"], ["path", "!/a b"], ["run", "last"], ["sandbox", DEMO],
    ]  # fmt: skip
    assert found["window"] == {"since": "2026-07-28", "clock": "arrival"}
    assert found["described"].startswith("deny · agent-demo · ")
    error = refused(full, "/v1/parse", 400, q="dney")
    assert error["hint"] == "KEY:VALUE, deny, allow or the name of a sandbox"
    assert refused(full, "/v1/parse", 400, q='path:"x')["code"] == "E_USAGE"
    assert "--decsion" in refused(full, "/v1/parse", 400, q="--decsion deny")["message"]
    assert refused(full, "/v1/parse", 400, q="--help")["code"] == "E_USAGE"


def test_completion_offers_what_the_store_holds(full: httpx.Client) -> None:
    """As in a shell."""
    assert got(full, "/v1/complete", filter="sandbox", prefix="agent-o")["values"] == [OTHER]
    assert got(full, "/v1/complete", filter="decision", prefix="d")["values"] == ["deny"]
    assert got(full, "/v1/complete", filter="run", prefix="")["values"][:2] == ["last", "last~1"]
    names = [one["name"] for one in got(full, "/v1/filters")["filters"]]
    assert names == [one.flag for one in FILTERS]


def test_errors_say_what_to_do(full: httpx.Client) -> None:
    """One shape; a parameter that is none is no filter that silently does nothing."""
    assert "did you mean decision?" in refused(full, "/v1/events", 400, decsion="deny")["message"]
    assert "did you mean deny?" in refused(full, "/v1/events", 400, decision="dney")["message"]
    assert "since is given twice" in refused(full, "/v1/events?since=1h&since=2h", 400)["message"]
    assert "limit" in refused(full, "/v1/events", 400, limit=10_001)["message"]
    assert "did you mean path?" in refused(full, "/v1/counts", 400, by="pth")["message"]
    assert refused(full, "/v1/events/x", 400)["code"] == "E_USAGE"
    assert refused(full, "/v1/events/64", 404)["code"] == "E_NOT_FOUND"
    assert refused(full, "/v1/events/aaaaa-1", 404)["code"] == "E_NOT_FOUND"
    answered = full.get("/v1/events", headers={"Accept": "text/html"})
    assert (answered.status_code, answered.json()["error"]["code"]) == (406, "E_NOT_ACCEPTABLE")


def test_a_scope_is_a_world_of_its_own(full: httpx.Client, demo: httpx.Client) -> None:
    """Nowhere in any answer stands anything of the other sandbox."""
    other = [row["seq"] for row in events() if row["sandbox"] == OTHER]
    paths = [
        "/v1/events?limit=1000", f"/v1/events?sandbox={OTHER}", "/v1/counts?by=sandbox&bucket=auto",
        "/v1/top", "/v1/stats", "/v1/runs", "/v1/runs/last~1", "/v1/runs/b41d7788", "/v1/sandboxes",
        "/v1/gaps", "/v1/status", "/v1/policies", f"/v1/policies/{policy('other-policy').digest}",
        "/v1/complete?filter=sandbox", "/v1/complete?filter=run", "/v1/complete?filter=source",
        "/v1/complete?filter=policy", f"/v1/parse?q={OTHER}", f"/v1/events/{other[0]}",
        "/v1/events/1/neighbours?count=500", "/v1/events?run=b41d7788", "/v1/runs/zz",
        f"/v1/runs/last?sandbox={OTHER}",
    ]  # fmt: skip
    hidden = ("b41d7788", "other-log", "other-policy", policy("other-policy").digest, "aws-key")
    for path in paths:
        seen = demo.get(path)
        assert seen.status_code in (200, 400, 404), (path, seen.text)
        text = seen.text.replace(f'"{OTHER}', "") if OTHER in path else seen.text
        assert not [word for word in (OTHER, *hidden) if word in text and word not in path], path
    everything = got(demo, "/v1/events", limit=1000)
    assert seqs(everything) == [row["seq"] for row in events()[::-1] if row["sandbox"] == DEMO]
    assert "searched" not in everything
    assert got(demo, "/v1/counts")["total"]["deny"] < got(full, "/v1/counts")["total"]["deny"]
    hidden_, none = (demo.get(f"/v1/events/{seq}").json()["error"] for seq in (other[0], 99))
    assert hidden_["message"].replace(str(other[0]), "N") == none["message"].replace("99", "N")
    lines = demo.get("/v1/events", headers={"Accept": "application/x-ndjson"}).text.splitlines()
    assert {json.loads(line)["sandbox"] for line in lines} == {DEMO}


def test_a_digest_that_a_record_claims_shows_no_other_sandboxs_policy(tmp_path: Any) -> None:
    """The agent may write any digest into its log; the text stays with whom it was applied to."""
    store = full_store(tmp_path / "store")
    claimed = {**events()[54], "seq": 64, "policy_digest": policy("other-policy").digest}
    store.append([claimed])
    with serving(store) as running:
        with running.client(running.make_token("demo", DEMO)) as client:
            found = got(client, "/v1/events/64")["explanation"]
        with running.client() as client:
            whole = got(client, "/v1/events/64")["explanation"]
    assert (found["yaml"], found["why"]) == (None, None)
    assert whole["yaml"] is not None
    store.con.close()


def test_a_secret_in_a_question_is_searched_by_its_name(tmp_path: Any) -> None:
    """The store never holds it; the answer says what was searched, without the secret."""
    store = full_store(tmp_path / "store")
    secret = "AKIA" + "Q3EGRNVMT5KJ7WXZ"
    with serving(store, Limits(query_s=60.0)) as running, running.client() as client:
        page = got(client, "/v1/events", grep=secret)
    assert page["events"] == []
    assert secret not in json.dumps(page)
    assert "fingerprint" in page["notes"][0]
    store.con.close()


def test_the_openapi_tells_every_route_with_an_example(full: httpx.Client) -> None:
    """Every parameter is described, every answer has a shape, every route its errors."""
    spec = full.get("/openapi.json").json()
    for path, methods in spec["paths"].items():
        for method, route in methods.items():
            place = f"{method} {path}"
            assert route.get("summary"), place
            for parameter in route.get("parameters", []):
                assert parameter.get("description"), (place, parameter["name"])
            good = next(code for code in route["responses"] if code.startswith("2"))
            content = route["responses"][good].get("content")
            assert content or good == "204", place
            for media in (content or {}).values():
                schema = media.get("schema", {})
                assert "$ref" in schema or schema.get("type"), place
            assert {"400", "401", "404", "503"} <= set(route["responses"]), place
    assert {"HTTPBearer", "APIKeyCookie"} <= set(spec["components"]["securitySchemes"])
