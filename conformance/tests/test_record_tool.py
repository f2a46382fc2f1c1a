"""The workspace's tool that records cassettes from real servers, where it needs none."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "record.py"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "say which backend"),
        (["iceberg", "reference-0.1"], "iceberg has no server 'reference-0.1'"),
        (["dir"], "dir has no servers to record"),
    ],
)
def test_what_cannot_be_recorded_is_said(arguments, complaint):
    result = subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True, text=True)
    assert result.returncode == 1
    assert complaint in result.stderr
