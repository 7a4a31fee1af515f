"""The entry of a stage in dvc.lock has the bytes that DVC writes, and no other byte of the file changes."""

from pathlib import Path

import pytest
import yaml
from dvc.dvcfile import Lockfile
from dvc.repo import Repo

from flows.engine import dvc_stage, lock_file

LONG = "words that fill more than the eighty columns after which lines of the file are folded"
PARAMS = {"none": None, "text": LONG, "number": 1, "folded": {LONG.replace(" ", "_"): [True, "1", "a: b"]}}
STAGES = {
    name: {"cmd": f"echo {LONG} {name} > {name}", "params": list(PARAMS), "outs": [name]}
    for name in ("1", "first", "second")
}


def test_entries_have_the_bytes_that_dvc_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lockfile, "dump_stages", Lockfile.dump_stages)  # restored after the test
    monkeypatch.setattr(lock_file, "_dvcs_way", None)  # not to be used
    written = {}
    for who in ("dvc", "ours"):
        (tmp_path / who).mkdir()
        monkeypatch.chdir(tmp_path / who)
        Repo.init(no_scm=True).close()
        Path("dvc.yaml").write_text(yaml.safe_dump({"stages": STAGES}))
        for number, names in enumerate((["first", "1", "second"], ["1", "second"])):
            Path("params.yaml").write_text(yaml.safe_dump(PARAMS | {"number": number}))
            for name in names:
                run(who, name)
        written[who] = Path("dvc.lock").read_text()
    assert written["ours"] == written["dvc"]
    assert written["dvc"].count("number: 1") == 2 and "none:\n" in written["dvc"]


def run(who: str, name: str) -> None:
    if who == "ours":
        assert dvc_stage.main(f"dvc.yaml:{name}") == 0
        return
    with Repo() as repo:
        repo.reproduce([name], single_item=True)


ENTRY = "  b:\n    cmd: new\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ENTRY),
        ("  b:\n    cmd: old\n", ENTRY),
        ("  a:\n    cmd: x\n  b:\n    cmd: old\n  c:\n    cmd: y\n", f"  a:\n    cmd: x\n{ENTRY}  c:\n    cmd: y\n"),
        ("  a:\n    cmd: x\n  ba:\n    cmd: y\n", f"  a:\n    cmd: x\n  ba:\n    cmd: y\n{ENTRY}"),
        ("  a:\n    cmd: x\n  # by hand\n", None),
        ("  a: {cmd: x}\n", None),
        ("  a:\n    cmd: x", None),
        ("  a:\n    cmd: x\ndatasets: []\n", None),
    ],
)
def test_an_entry_is_replaced_at_its_place_or_added_last(text: str, expected: str | None) -> None:
    start = "schema: '2.0'\nstages:\n"
    changed = lock_file.with_entry(start + text, ENTRY)
    assert changed == (None if expected is None else start + expected)
    assert lock_file.with_entry(f"# by hand\n{start}", ENTRY) is None
