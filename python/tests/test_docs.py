"""What the documentation shows, and that the stubs are those of the module."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import pagesieve

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_readme_is_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = Path(__file__).parents[1] / "README.md"
    found = doctest.testfile(str(readme), module_relative=False, optionflags=FLAGS)
    assert found.attempted > 10 and found.failed == 0


def test_the_package_is_described_rightly():
    assert doctest.testmod(pagesieve, optionflags=FLAGS) == (0, 4)


def test_the_stubs_are_those_of_the_module(tmp_path):
    pytest.importorskip("mypy")
    line = [sys.executable, "-m", "mypy.stubtest", "pagesieve", "--ignore-missing-stub"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
