"""Data sets from OpenML, which a server on this machine stands in for."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from refusals import refuses
from shopca_rs.experiments import sources
from shopca_rs.experiments.sources import Missing, fingerprint, load
from sklearn.datasets import _openml
from small_data_set import in_folder, small

TABLE = """@RELATION small
@ATTRIBUTE colour {red, green, blue}
@ATTRIBUTE size NUMERIC
@ATTRIBUTE class {c, a, b}
@DATA
red, 1.5, c
green, ?, a
blue, 3, b
?, 4, c
red, 5, a
green, 6, b
"""

SPARSE = """@RELATION small
@ATTRIBUTE word1 NUMERIC
@ATTRIBUTE word2 NUMERIC
@ATTRIBUTE class {x, y}
@DATA
{0 2, 2 x}
{1 3, 2 y}
{2 y}
"""

DRINKS = """@RELATION small
@ATTRIBUTE mcv NUMERIC
@ATTRIBUTE drinks NUMERIC
@DATA
1, 20
2, 0.5
3, 3
4, 0.5
"""


class OpenML:
    """A server that answers like OpenML's, for the ARFF files it is given, and counts what it is asked."""

    def __init__(self):
        self.sets, self.asked, self.broken = {}, 0, None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def hold(self, name, arff, *, targets=("class",), status="active", form="ARFF"):
        self.sets[name] = (str(len(self.sets) + 1), arff.encode(), targets, status, form)

    def answer(self, path):
        """The status and the body for a path."""
        parts = path.strip("/").split("/")
        if "list" in parts:
            name, version = parts[parts.index("data_name") + 1], parts[-1]
            found = self.sets.get(name) if version == "1" else None
            return (412, {"error": {"code": "372"}}) if found is None else (200, self.listing(found))
        number, arff, targets, status, form = next(
            held for held in self.sets.values() if held[0] == parts[-1]
        )
        if "download" in parts:
            return 200, arff
        columns = [line.split()[1:3] for line in arff.decode().splitlines() if line.startswith("@ATTRIBUTE")]
        if "features" in parts:
            return 200, {
                "data_features": {"feature": [column(*entry, targets) for entry in enumerate(columns)]}
            }
        if "qualities" in parts:
            return 200, {"data_qualities": {"quality": []}}
        description = {
            "id": number,
            "name": "small",
            "version": "1",
            "description": "",
            "format": form,
            "status": status,
            "file_id": number,
            "url": f"{self.address}/data/v1/download/{number}",
            "md5_checksum": hashlib.md5(arff).hexdigest(),
        }
        return 200, {"data_set_description": description}

    @staticmethod
    def listing(found):
        return {"data": {"dataset": [{"did": int(found[0]), "version": 1, "status": found[3]}]}}

    def handler(self):
        openml = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                openml.asked += 1
                if openml.broken is not None:
                    return openml.broken(self)
                status, body = openml.answer(self.path)
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        return Handler


def column(index, attribute, targets):
    name, kind = attribute
    return {
        "index": str(index),
        "name": name,
        "data_type": "nominal" if kind.startswith("{") else kind.lower(),
        "is_target": str(name in targets).lower(),
        "is_ignore": "false",
        "is_row_identifier": "false",
        "number_of_missing_values": "0",
    }


@pytest.fixture
def openml(tmp_path, monkeypatch):
    played = OpenML()
    monkeypatch.setattr(sources, "_unreachable", None)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "scikit_learn_data"))
    for name, value in list(vars(_openml).items()):
        if isinstance(value, str) and value.startswith("https://"):
            host = value.split("/")[2]
            monkeypatch.setattr(_openml, name, value.replace(f"https://{host}", played.address))
    thread = threading.Thread(target=played.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield played
    played.server.shutdown()
    played.server.server_close()
    thread.join()


def hang_up(request):
    request.connection.close()


def fall_silent(request):
    # Until the one who asked has gone; the short patience of this process is not for the server in it.
    request.connection.settimeout(30)
    with contextlib.suppress(OSError):
        request.connection.recv(1)


def not_found(request):
    request.send_error(404)


def test_openml_categories_and_classes_are_coded_in_sorted_order_and_missing_values_stay(openml):
    openml.hold("small", TABLE)
    loaded = load(small())
    expected = [[2, 1.5], [1, np.nan], [0, 3], [np.nan, 4], [2, 5], [1, 6]]
    np.testing.assert_array_equal(loaded.X, expected)
    assert loaded.y.tolist() == [2, 0, 1, 2, 0, 1]
    assert (loaded.source, loaded.notes, loaded.matches_paper) == ("OpenML small, version 1", (), True)


def test_openml_is_asked_only_for_what_the_folder_lacks(openml, tmp_path):
    openml.hold("small", TABLE)
    assert load(small(), in_folder(tmp_path)).source == "small.npz in the given folder"
    assert openml.asked == 0
    assert load(small(), tmp_path / "empty").source == "OpenML small, version 1"


def test_openml_sparse_data_become_dense(openml):
    openml.hold("small", SPARSE, form="Sparse_ARFF")
    loaded = load(small(n=3, classes=2))
    np.testing.assert_array_equal(loaded.X, [[2, 0], [0, 3], [0, 0]])
    assert loaded.y.tolist() == [0, 1, 1]
    assert loaded.matches_paper


def test_an_openml_target_of_numbers_becomes_classes_in_the_order_of_the_numbers(openml):
    openml.hold("small", DRINKS, targets=["drinks"])
    assert load(small(n=4, d=1)).y.tolist() == [2, 0, 1, 0]


def test_openml_data_of_another_size_carry_a_note(openml):
    openml.hold("small", TABLE)
    loaded = load(small(n=7))
    assert loaded.notes == ("6 × 2 with 3 classes; the paper has 7 × 2 with 3 classes.",)
    assert not loaded.matches_paper


def test_openml_data_are_sampled_where_the_paper_took_a_sample(openml):
    openml.hold("small", TABLE)
    loaded = load(small(n=3, sampled=True))
    assert sorted(loaded.y) == [0, 1, 2]
    assert loaded.matches_paper


def test_a_withdrawn_openml_version_carries_a_note(openml):
    openml.hold("small", TABLE, status="deactivated")
    assert load(small()).notes == ("OpenML lists this version as deactivated.",)


@pytest.mark.parametrize("targets", [[], ["colour", "class"]], ids=["none", "two"])
def test_openml_data_without_one_target_are_missing_with_the_reason(openml, targets):
    openml.hold("small", TABLE, targets=targets)
    refuses(Missing, ["OpenML small, version 1, must have one target column, got"], load, small())


def test_an_unknown_openml_data_set_is_missing_and_the_others_are_still_asked_for(openml):
    openml.hold("small", TABLE)
    refuses(Missing, ["No folder", "OpenML small, version 2", "not found"], load, small(version=2))
    refuses(Missing, ["OpenML tiny, version 1", "not found"], load, small(name="tiny"))
    assert len(load(small()).X) == 6


def test_a_refusal_of_the_openml_server_is_missing_and_the_others_are_still_asked_for(openml):
    openml.hold("small", TABLE)
    openml.broken = not_found
    refuses(Missing, ["OpenML small, version 1", "the server answered 404"], load, small())
    openml.broken = None
    assert len(load(small()).X) == 6


def test_an_openml_file_that_is_not_what_its_description_says_is_missing_with_the_reason(openml):
    openml.hold("small", TABLE.replace("red, 5, a\n", "red, 5, a, 7, 8\n"))
    refuses(Missing, ["OpenML small, version 1, could not be loaded"], load, small())


def test_without_pandas_openml_data_are_missing_and_the_reason_says_what_to_install(openml, monkeypatch):
    openml.hold("small", TABLE)
    monkeypatch.setitem(sys.modules, "pandas", None)
    refuses(Missing, ["needs pandas", "pip install pandas"], load, small())


def test_once_openml_hangs_up_it_is_not_asked_again_but_what_was_kept_still_loads(openml, monkeypatch):
    openml.hold("small", TABLE)
    openml.hold("other", TABLE)
    first = load(small())
    openml.broken = hang_up
    refuses(Missing, ["OpenML could not be reached: "], load, small(name="other"))
    openml.broken, asked = None, openml.asked
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail(f"waits for {seconds} s"))
    refuses(Missing, ["OpenML could not be reached: "], load, small(name="other"))
    assert fingerprint(load(small())) == fingerprint(first)
    assert openml.asked == asked


def test_a_silent_openml_is_given_up_in_time(openml, monkeypatch):
    monkeypatch.setattr(sources, "PATIENCE", 0.1)
    openml.broken = fall_silent
    refuses(Missing, ["OpenML could not be reached: ", "timed out"], load, small())
    asked = openml.asked
    refuses(Missing, ["OpenML could not be reached: ", "timed out"], load, small())
    assert openml.asked == asked


def test_an_openml_at_a_closed_port_is_out_of_reach(openml):
    openml.server.socket.close()
    refuses(Missing, ["OpenML could not be reached: ", "refused"], load, small())


def test_loading_leaves_the_settings_of_sockets_and_of_urllib_as_they_were(openml, monkeypatch):
    own = urllib.request.build_opener()
    monkeypatch.setattr(urllib.request, "_opener", own)
    monkeypatch.setattr(sources, "_unreachable", "it is known")
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(77)
    try:
        refuses(Missing, ["it is known"], load, small())
        assert socket.getdefaulttimeout() == 77
        assert urllib.request._opener is own
    finally:
        socket.setdefaulttimeout(before)
    assert openml.asked == 0
