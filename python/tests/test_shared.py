"""A window that several filters share, on a PostgreSQL server of the tests' own."""

import glob
import os
import shutil
import socket
import subprocess
import time

import pytest

from pagesieve import Filter, StateError


def binary(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found[-1] if found else shutil.which(name)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    if not binary("initdb"):
        pytest.skip("no PostgreSQL server: install the package `postgresql`")
    folder = tmp_path_factory.mktemp("server")
    # It does not run as root.
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
    if user:
        shutil.chown(folder, "postgres")
        for parent in folder.parents:
            if parent.stat().st_uid == 0 and parent.is_relative_to("/tmp") and parent != parent.__class__("/tmp"):
                parent.chmod(0o755)
    data = folder / "data"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    init = [binary("initdb"), "--username=test", "--auth=trust", "--encoding=UTF8", "--no-sync", "-D", data]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL, cwd="/", **user)
    settings = [f"port={port}", f"unix_socket_directories={folder}", "listen_addresses=127.0.0.1", "fsync=off"]
    command = [binary("postgres"), "-D", data] + [word for setting in settings for word in ("-c", setting)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd="/", **user)
    ready = [binary("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    while subprocess.run(ready, check=False).returncode:
        assert server.poll() is None
        time.sleep(0.05)
    yield f"postgres://test@127.0.0.1:{port}/postgres#python"
    server.terminate()
    server.wait()


TEXT = " ".join(f"word{number * number % 977}" for number in range(200))


def test_filters_share_a_window(address):
    one, other = Filter(address, memory="64 MiB", window={"entries": 1000}), Filter(address, memory="64 MiB", window={"entries": 1000})
    assert one.judge(TEXT, id="a").verdict == "unique"
    assert one.judge(TEXT, id="a").verdict == "unchanged"
    again = other.judge(TEXT.upper(), id="b")
    assert (again.verdict, again.match) == ("exact", "a")
    assert other.check(TEXT + " and more", id="c").match == "a"
    decisions = list(other.judge_many([{"id": "d", "text": TEXT}, {"id": "e", "text": "other words"}]))
    assert [decision.verdict for decision in decisions] == ["exact", "unique"]
    one.close()
    # What it had is known.
    with Filter(address, memory="64 MiB", window={"entries": 1000}) as later:
        assert later.judge(TEXT, id="f").match == "a"


def test_an_address_says_what_is_wrong_with_it(address):
    with pytest.raises(ValueError, match="PGPASSWORD") as refused:
        Filter("postgres://me:secret@127.0.0.1/b")
    assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match="same options"):
        Filter(address, min_features=3, memory="64 MiB", window={"entries": 1000})
    with pytest.raises(StateError, match="does not exist"):
        Filter(address.replace("/postgres#", "/none#"))
