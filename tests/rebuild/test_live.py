"""A rebuild shows a live line for each running stage in a terminal, whatever its width, and plain lines without one."""

import os
import pty
import re
import subprocess
import sys
import termios
import time
from pathlib import Path
from threading import Thread

import pytest

from flows.rebuild.live import StageLines
from flows.repository.processes import start_group
from tasks.progress import FOLDER, Count, Line, progress, read_counts
from tests.support.imports import ROOT

STAGE = """
import sys, time
from tasks.progress import CALL, CHUNK, progress
with progress(sys.argv[1], 4, CHUNK) as chunks, progress(sys.argv[1], 0, CALL) as calls:
    for _ in range(4):
        calls.total += 250
        for _ in range(250):
            calls.dollars += 0.001
            calls.update()
        chunks.update()
        time.sleep(0.6)
print("kept: \\x1b[2J", file=sys.stderr)
"""
RUN = f"""
import sys
from threading import Thread
from flows.rebuild.live import StageLines
from flows.repository.processes import start_group
names = ["write", "baseline_neural_text_tab"]
with StageLines(2) as lines:
    def stage(name):
        command = [sys.executable, "-c", {STAGE!r}, name]
        process = start_group(command, lines.begin(name), piped=lines.live is not None)
        lines.end(name, failed=lines.wait(name, process) != 0)
    threads = [Thread(target=stage, args=(name,)) for name in names]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
"""
ALONE = "import tasks.progress as p\np.SHOWN_AFTER_S = 0.0\n" + STAGE


END = b"<end>"


def screen(script: str, columns: int) -> str:
    """What a terminal of that width gets from a script."""
    here, there = pty.openpty()
    termios.tcsetwinsize(there, (30, columns))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-c", script, "alone"]
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=there, stderr=there, stdin=there)
    # The last output may be lost where a process is the last to close a terminal; this one says itself when all is out.
    Thread(target=lambda: (process.wait(), os.write(there, END))).start()
    got = b""
    while not got.endswith(END):
        got += os.read(here, 65536)
    os.close(here)
    os.close(there)
    assert process.returncode == 0, got.decode()
    return got.removesuffix(END).decode()


def drawn(text: str) -> list[str]:
    """The lines of all frames, without what moves the cursor."""
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))


def run(script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script without a terminal."""
    command = [sys.executable, "-c", script, "alone"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)


def test_a_terminal_shows_one_line_for_each_running_stage() -> None:
    text = screen(RUN, 80)
    lines = drawn(text)
    assert any(re.fullmatch(r"write  \d:\d\d  500 of about 1,000 calls, 0\.50 dollars", line) for line in lines)
    assert any(line.startswith("baseline_neural_text_tab  ") for line in lines)
    assert max(map(len, lines)) <= 80
    for number, name in enumerate(sorted(["write", "baseline_neural_text_tab"])):
        ended = [line for line in lines if line.startswith(f"Stage '{name}' took ")]
        assert len(ended) == 1 and re.search(r": 1,000 calls, 1\.00 dollars \([12] of 2\)$", ended[0]), number
    assert lines.count("kept: \\x1b[2J") == 2, "what a stage prints is shown above, and moves no cursor"
    assert not any(line.startswith("Running stage") for line in lines)
    assert text.rstrip().endswith(("\x1b[?25h", "\x1b[2K", "\x1b[1A")) or "\x1b[?25h" in text[-40:]


def test_a_process_of_its_own_shows_its_line() -> None:
    lines = drawn(screen(ALONE, 80))
    assert any(re.fullmatch(r"alone  \d:\d\d  (500|750) of about 1,000 calls, 0\.\d+ dollars", line) for line in lines)


def test_a_process_of_its_own_prints_its_line_where_there_is_no_terminal() -> None:
    done = run(ALONE.replace("p.SHOWN_AFTER_S = 0.0", "p.PRINTED_EVERY_S = 0.2"))
    said = done.stderr.splitlines()
    assert any(re.fullmatch(r"alone  \d:\d\d  (500|750) of about 1,000 calls, 0\.\d+ dollars", line) for line in said)


def test_without_a_terminal_lines_are_plain() -> None:
    done = run(RUN.replace("from threading", "import flows.rebuild.live as l\nl.PLAIN_EVERY_S = 1.0\nfrom threading"))
    said = done.stdout.splitlines()
    assert said[0].startswith("Running stage '") and said[0].endswith(" (1 of 2)")
    assert any(re.fullmatch(r"write  \d:\d\d  \d+ of about 1,000 calls, 0\.\d+ dollars", line) for line in said)
    assert sum(bool(re.fullmatch(r"Stage '\w+' took \d:\d\d: 1,000 calls, 1\.00 dollars", line)) for line in said) == 2
    assert "\x1b" not in done.stdout


def test_a_stage_that_was_skipped_or_failed_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    with StageLines(2) as lines:
        for name, ends in (("one", {"unchanged": True}), ("two", {"failed": True})):
            process = start_group([sys.executable, "-c", ""], lines.begin(name))
            assert lines.wait(name, process) == 0
            lines.end(name, **ends)
    assert capsys.readouterr().out.splitlines() == [
        "Running stage 'one' (1 of 2)",
        "Stage 'one' didn't change, skipping",
        "Running stage 'two' (2 of 2)",
    ]
    assert not lines._folder.exists()


def test_a_line_says_what_is_known() -> None:
    counts: list[Count] = []
    line = Line("span", lambda: counts)
    assert str(line) == "span  0:00"
    counts += [Count("embedding", "text", 3000, 1200)]
    assert line.counts() == "embedding 1,200 of 3,000 texts"
    counts[:] = [Count("span", "chunk", 4)]
    assert line.counts() == "0 of 4 chunks"
    counts[:] = [Count("span", "chunk", 4), Count("span", "call", 250, 100), Count("span", "call", 250)]
    assert line.counts() == "100 calls", "how many chunks follow is known, and not how many calls"
    counts[:] = [Count("span", "chunk", 4, 1), Count("span", "call", 400, 300, kept=20, failed=1, dollars=0.5)]
    assert line.counts() == "300 of about 1,200 calls, 0.50 dollars, 1 failed, 20 from the store"
    counts[1].done = 320
    assert line.counts().startswith("320 of about 1,200 calls"), "as at the end of the first chunk"
    for alone in ([Count("review", "call", 40, 10)], [Count("review", "chunk", 1), Count("review", "call", 40, 10)]):
        counts[:] = alone
        assert line.counts() == "10 of 40 calls"


def test_counts_of_all_processes_of_a_stage_are_read_and_broken_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def done(folder: Path) -> list[tuple[str, int]]:
        return sorted((count.unit, count.done) for count in read_counts(folder))

    with progress("write", 6, "call") as earlier:
        earlier.update(6)  # work of this process before, which is no work of the stage
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with progress("write", 3, "call") as calls:
        calls.update(2)
        with progress("models", 2, "job"):
            (tmp_path / "2.json").write_text('[{"title": "write"')
            (tmp_path / "3.json").write_text('[{"title": "write", "unit": "call", "done": 5}]')
            for _ in range(100):
                if len(done(tmp_path)) == 3:
                    break
                time.sleep(0.05)
            assert done(tmp_path) == [("call", 2), ("call", 5), ("job", 0)]
        assert done(tmp_path) == [("call", 2), ("call", 5)]
    monkeypatch.setenv(FOLDER, str(tmp_path / "gone"))
    with progress("write", 3, "call"):
        pass
