"""The command line's exit codes and messages, without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.demo.__main__ import main


def test_sizes_out_of_range_are_bad_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--nodes", "5", "--pods", "3", "--state-dir", str(tmp_path / "state")])

    assert code == 2
    assert capsys.readouterr().err == (
        "error: --nodes 5: 10 to 1000 are possible\n"
        "--pods 3: 50 to 80 are possible with 10 Nodes (all of them must fit: at most 8 a Node)\n"
    )
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("arguments", [["--nodes", "many"], ["--no-such-option"], ["surplus"]])
def test_bad_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)

    assert caught.value.code == 2


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])

    assert caught.value.code == 0
    assert "python -m deploy.demo --keep" in capsys.readouterr().out
