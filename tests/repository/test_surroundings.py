"""What surrounds a command: git, variables that libraries read, databases, terminals, other processes."""

import asyncio
import io
import json
import os
import sqlite3
import threading
import time
import traceback
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import closing, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import proxy_bypass

import mlflow
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from alembic.script import ScriptDirectory
from matplotlib import rc_context
from matplotlib.figure import Figure
from starlette.responses import Response, StreamingResponse

from flows.commands.exchange import extracted_texts, read_files
from flows.commands.parser import run
from flows.evaluation.cards import other_kind, read_card
from flows.lineage.origin import running_code
from flows.rebuild.server import use_server
from flows.repository import git
from flows.repository.surroundings import require_environment, require_schema
from flows.repository.workspace import be_quiet, clone
from flows.runtime.folders import write_export
from schemas.errors import SourceError, VignetteError
from tasks.llm.replies import SendFailure
from tasks.llm.requests import make_request
from tasks.reporting.figures import SETTINGS
from tasks.texts import files
from tasks.texts.files import read_rows
from tasks.transport.client import Client
from tasks.transport.probing import GREETING
from tasks.transport.shown import escaped_output, redacted
from tasks.transport.store import ResponseStore
from tasks.transport.untrusted import YamlLoader
from tests.support import repository
from tests.support.cases import each
from tests.support.hosted import hosted
from tests.support.imports import ROOT
from tests.support.scenarios import QUICK, ROLE, says


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of vignette that no git knows."""
    place = tmp_path / "vignette"
    kept = {".dvc/config": "", "pyproject.toml": "[project]\nname = 'vignette'\n", "params.yaml": "{}\n"}
    repository.write_files(place, kept)
    monkeypatch.chdir(place)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return place


def test_an_archive_without_git_says_what_to_do(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["repro"]) == 1
    assert f"repro: {archive}: no git repository, as of an archive" in capsys.readouterr().err


def test_what_git_refuses_is_said_and_not_taken_for_an_answer(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.git(archive, "init", "--quiet")
    monkeypatch.setitem(git._NEVER_ASKS, "GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    for ask in (git.require_repository, git.head_revision, lambda: git.git_text("status")):
        with pytest.raises(VignetteError, match=r"dubious ownership.*safe\.directory"):
            ask()


def test_without_git_an_evaluation_knows_no_revision_and_other_commands_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "changed" not in running_code()
    with pytest.raises(VignetteError, match="git is not installed"):
        git.require_repository()


@each(
    "name, value, said",
    [
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "SSL_CERT_FILE=/nowhere/ca.pem: no such file"),
        ("SSL_CERT_FILE", __file__, "test_surroundings.py: not a file of certificates ("),
        ("REQUESTS_CA_BUNDLE", "/nowhere", "REQUESTS_CA_BUNDLE=/nowhere: no such file"),
        ("ALL_PROXY", "socks5://u:secret-word@h:1", "ALL_PROXY=socks5://h:1: needs the package socksio"),
        ("https_proxy", "SOCKS5h://h:1", "https_proxy="),
        ("HTTPS_PROXY", "ftp://u:secret-word@h:1", "HTTPS_PROXY=ftp://h:1: expected http://HOST:PORT"),
        ("HTTPS_PROXY", "u:secret-word@h:no-port", "HTTPS_PROXY=an invalid address: expected http://HOST:PORT"),
        ("SOURCE_DATE_EPOCH", "today", "SOURCE_DATE_EPOCH=today: expected seconds since 1970"),
        ("PYTHONWARNINGS", "error", "expected not every warning as an error"),
        ("PREFECT_LOGGING_LEVEL", "loud", "PREFECT_LOGGING_LEVEL=loud: expected the name of a level"),
    ],
)
def test_a_variable_by_which_libraries_fail_is_named_at_the_start(name: str, value: str, said: str) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(VignetteError) as caught:
        patch.setenv(name, value)
        require_environment()
    assert said in str(caught.value) and "secret-word" not in str(caught.value)


def test_other_variables_are_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"SSL_CERT_DIR": "/", "HTTP_PROXY": "http://h:1", "OTEL_SDK_DISABLED": "true", "PYTHONWARNINGS": "ignore"}
    for name, value in {**given, "SOURCE_DATE_EPOCH": "315532800", "PREFECT_LOGGING_LEVEL": "debug"}.items():
        monkeypatch.setenv(name, value)
    be_quiet()
    require_environment()
    assert "OTEL_SDK_DISABLED" not in os.environ


def test_a_star_still_excludes_all_hosts_from_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")
    be_quiet()
    assert proxy_bypass("api.example.org") and proxy_bypass("127.0.0.1")


def test_the_root_of_another_project_is_not_taken_for_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".dvc").mkdir()
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.chdir(ROOT)
    assert clone() == ROOT


def test_a_dead_prefect_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    with pytest.raises(VignetteError, match=r"PREFECT_API_URL=http://127\.0\.0\.1:9/api: no server answers"):
        use_server()


def test_a_database_of_another_mlflow_is_named_before_a_rebuild(tmp_path: Path) -> None:
    script = ScriptDirectory(str(Path(mlflow.__file__).parent / "store" / "db_migrations"))
    first, newest = script.get_base(), script.get_current_head()
    require_schema(tmp_path / "none.db")
    for revision, said in (
        (newest, None),
        (first, "mlflow db upgrade sqlite"),
        ("ffffffffffff", "install the version"),
    ):
        with closing(sqlite3.connect(tmp_path / f"{revision}.db")) as database:
            database.execute("CREATE TABLE alembic_version (version_num TEXT)")
            database.execute("INSERT INTO alembic_version VALUES (?)", [revision])
            database.commit()
        if said is None:
            require_schema(tmp_path / f"{revision}.db")
        else:
            with pytest.raises(VignetteError, match=f"{revision} is not that .*{said}"):
                require_schema(tmp_path / f"{revision}.db")


def test_a_whole_request_has_a_time_limit(tmp_path: Path) -> None:
    async def dripping() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" "
            await asyncio.sleep(0.1)

    async def look() -> None:
        sending = QUICK.model_copy(update={"timeout_s": 0.5})
        async with Client(
            "judge", ROLE, ResponseStore(tmp_path / "s"), sending=sending, base_url=endpoint.base_url
        ) as one:
            await one.get("/models")

    with hosted(says("fine")) as endpoint:
        endpoint.models_reply = StreamingResponse(dripping(), media_type="application/json")
        begun = time.monotonic()
        with pytest.raises(Exception, match="timeout"):
            asyncio.run(look())
    assert time.monotonic() - begun < 5


@each(
    "text, value",
    [("1e-06", 1e-6), ("-2E3", -2000.0), ("1.5e-3", 0.0015), ("1e-06x", "1e-06x"), ("12", 12), ("1_0", 10)],
)
def test_numbers_of_yaml_are_read_as_dvc_writes_them(text: str, value: object) -> None:
    found = yaml.load(f"a: {text}", YamlLoader)["a"]
    assert found == value and type(found) is type(value)


def test_a_terminal_of_few_characters_ends_no_command() -> None:
    raw = io.BytesIO()
    terminal = io.TextIOWrapper(raw, encoding="latin-1")
    with redirect_stdout(terminal), escaped_output():
        print("50.0% (40.0\u201360.0), \u00e9")
    terminal.flush()
    assert raw.getvalue() == b"50.0% (40.0\\u201360.0), \xe9\n"


KEY = "sk-abcdef123456"


@each(
    "echoed",
    [
        KEY, " ".join(KEY), "sk-abc\n  def123456", "sk-abcdef 123456", KEY.upper(), "\u200b".join(KEY), "-".join(KEY),
        *(b64encode(f"{user}{KEY}{more}".encode()).decode() for user in ("", "a:", "ab:") for more in ("", ":")),
    ],
)  # fmt: skip
def test_a_key_is_redacted_in_base64_and_however_blanks_divide_it(echoed: str) -> None:
    assert redacted(f"the key {echoed} is wrong", ["sk-abcdef123456"]) == "the key [redacted] is wrong"
    assert redacted("no key", ["sk-abcdef123456", "none"]) == "no key"
    lines = "sk-abcdef123456\nX-Id: 1"
    assert redacted(f"illegal header {lines.encode()!r}", [lines]) == "illegal header b'[redacted]'"


@each(
    "reply",
    [{"error": {"message": f"wrong: {KEY}"}}, {KEY: 1}, Response(KEY), Response(headers={"content-encoding": KEY})],
)
def test_a_key_that_an_endpoint_echoes_is_in_no_message(tmp_path: Path, reply: Any) -> None:
    sending = QUICK.model_copy(update={"api_key_env": "A_KEY", "retries": 0})

    async def ask() -> None:
        store = ResponseStore(tmp_path / "s")
        async with Client("judge", ROLE, store, sending=sending, base_url=endpoint.base_url) as client:
            await client.send_unkept(make_request(GREETING, ROLE, "identity"))

    with pytest.MonkeyPatch.context() as patch, hosted(lambda *_: reply) as endpoint:
        patch.setenv("A_KEY", KEY)
        with pytest.raises(SendFailure, match=r"\[redacted\]") as caught:
            asyncio.run(ask())
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_dollars_in_names_are_no_formula() -> None:
    with rc_context(SETTINGS):
        figure = Figure()
        figure.text(0, 0, r"$\foo$ and $x^2$")
        figure.savefig(drawn := io.StringIO(), format="svg")
    assert r"$\foo$ and $x^2$" in drawn.getvalue()


def test_two_exports_at_once_leave_one_of_them_whole(tmp_path: Path) -> None:
    failures = list[BaseException]()

    def write(content: bytes) -> None:
        try:
            for _ in range(20):
                write_export(tmp_path / "out", {f"{name}.txt": content for name in "abcdefgh"}, "test")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(content,)) for content in (b"one", b"two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len({file.read_bytes() for file in (tmp_path / "out").glob("*.txt")}) == 1


TASK = {"data": {"name": "n", "text": "Dry cough."}, "annotations": [{"result": []}]}
REGION = {"id": "r", "type": "labels", "from_name": "symptom", "value": {"start": 0, "end": 3, "labels": ["cough"]}}
MALFORMED: list[tuple[str, Any]] = [
    ("label-studio", [{**TASK, "annotations": [5]}]),
    ("label-studio", [{**TASK, "annotations": {"a": 1}}]),
    ("label-studio", [{**TASK, "annotations": [{"result": [3]}]}]),
    (
        "label-studio",
        [{**TASK, "annotations": [{"result": [{**REGION, "value": {"labels": ["cough"], "start": "x"}}]}]}],
    ),
    ("label-studio", [{**TASK, "annotations": [{"result": [{**REGION, "value": None}]}]}]),
    ("label-studio", [3]),
    ("brat", "T1\tcough 0 " + "9" * 5000 + "\tDry\n"),
    ("brat", "T1\tcough 9 3\tDry\n"),
    ("inspect", {"eval": {"model": "m"}, "samples": [{"id": 1, "input": "x", "output": 5}]}),
    ("inspect", {"eval": {"model": "m"}, "samples": [{"id": 1, "input": "x", "output": {"choices": [5]}}]}),
    ("inspect", {"eval": {"model": "m"}, "samples": [{"id": 1, "input": "x", "output": {"choices": {"a": 1}}}]}),
    ("card", [1]),
    ("card", "{"),
]


@each("form, content", MALFORMED)
def test_a_malformed_file_is_one_line_that_names_it(tmp_path: Path, form: str, content: Any) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    names = {"brat": "n.ann", "card": "card.json"}
    (tmp_path / "n.txt").write_text("Dry cough.")
    file = tmp_path / names.get(form, "log.json")
    file.write_text(text)
    with pytest.raises(SourceError) as caught:
        if form == "inspect":
            read_rows(file)
        elif form == "card":
            other_kind(tmp_path, ["Dry cough."])
        else:
            read_files(form, tmp_path if form == "brat" else file, ["cough"])
    assert len(str(caught.value).splitlines()) == 1 and str(tmp_path) in str(caught.value)


@each("name, read", [("verdicts", read_card), ("data/train", partial(extracted_texts, "normal"))])
def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path, name: str, read: Any) -> None:
    (tmp_path / "data").mkdir(exist_ok=True)
    pq.write_table(pa.table({"text": ["x" * 10_000] * 1000}), tmp_path / f"{name}.parquet")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SourceError, match=rf"{name}\.parquet: holds more than"):
        patch.setattr(files, "LARGEST", 1_000_000)
        read(tmp_path)


def test_git_changes_no_line_end(tmp_path: Path) -> None:
    content = {".gitattributes": (ROOT / ".gitattributes").read_text(), "a.py": "x = 1\n", "b.csv": "a\r\n1\r\n"}
    repository.write_files(tmp_path / "origin", {})
    for name, text in content.items():
        (tmp_path / "origin").mkdir(exist_ok=True)
        (tmp_path / "origin" / name).write_bytes(text.encode())
    repository.git(tmp_path / "origin", "init", "--quiet")
    repository.commit(tmp_path / "origin")
    repository.git(tmp_path, "clone", "--quiet", "-c", "core.autocrlf=true", "origin", "copy")
    assert {name: (tmp_path / "copy" / name).read_bytes().decode() for name in content} == content


def test_a_column_that_is_a_formula_is_none_in_a_table_of_agreement(tmp_path: Path) -> None:
    rows = [f"d{n},{n % 3},{n % 5}" for n in range(12)]
    (tmp_path / "s.csv").write_text("\n".join(["id,quality,=1+1", *rows]))
    out = tmp_path / "out.csv"
    assert run(["agreement", str(tmp_path / "s.csv"), "--human", "quality", "--out", str(out)]) == 0
    assert ",=1+1" not in out.read_text() and "'=1+1" in out.read_text()
