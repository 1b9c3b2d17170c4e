#!/usr/bin/env python3
"""Makes pages.tar.zst, the pages that `pagesieve demo` serves, from a directory of documentation pages.

    python3 src/cli/demo/make_archive.py DATA src/cli/demo/pages.tar.zst

DATA holds pages of the Debian packages named in NOTICES.md: `pgdoc/{bullseye,bookworm}/en` those of
postgresql-doc-13 and -15, `lohelp/{bullseye,bookworm}/{en-US,zh-CN}` those of libreoffice-help-en-us and
-zh-cn. The archive was made from a part of each package, 123 pages of a PostgreSQL manual and 160 of a
LibreOffice help; from whole packages the same rule takes more pages, and the size limit refuses them.
Needed are Python's standard library and the `zstd` command. The same pages and the same `zstd`
give the same bytes.

Which pages are taken is a rule: all that links reach from a manual's start page, in every version of
the manual, except those whose names match a pattern. The exceptions are tables of contents, whose links
lead nearly all to chapters not taken, and chapters that would make the archive large.
"""

import fnmatch
import io
import pathlib
import subprocess
import sys
import tarfile
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

MAX_BYTES = 8_000_000

# Directories in the archive and in DATA (the versions of one manual), the start page, the exceptions.
MANUALS = [
    (
        {"postgresql-13": "pgdoc/bullseye/en", "postgresql-15": "pgdoc/bookworm/en"},
        "tutorial.html",
        ["index*", "functions*", "datatype*"],
    ),
    (
        {
            "libreoffice-7.0/zh-CN": "lohelp/bullseye/zh-CN",
            "libreoffice-7.4/zh-CN": "lohelp/bookworm/zh-CN",
        },
        "text/swriter/guide/main.html",
        ["text/swriter/main*"],
    ),
    (
        {
            "libreoffice-7.0/en-US": "lohelp/bullseye/en-US",
            "libreoffice-7.4/en-US": "lohelp/bookworm/en-US",
        },
        "text/swriter/main0503.html",
        ["text/swriter/main0[0-2]*", "text/swriter/guide/main.html"],
    ),
]


class Links(HTMLParser):
    """The targets of a page's `a` elements, and its `base`."""

    def __init__(self, html):
        super().__init__()
        self.base, self.hrefs = "", []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        href = dict(attrs).get("href")
        if href and tag == "base":
            self.base = self.base or href
        elif href and tag == "a":
            self.hrefs.append(href)


def links(directory, page):
    """The pages of `directory` that `page` links to, as paths in it, in the order of the page."""
    root = f"http://demo.test/{directory.as_posix().strip('/')}/"
    found = Links((directory / page).read_text("utf-8"))
    base = urljoin(root + page, found.base)
    for href in found.hrefs:
        target = urlsplit(urljoin(base, href))._replace(query="", fragment="").geturl()
        if target.startswith(root) and (directory / target[len(root) :]).is_file():
            yield target[len(root) :]


def reachable(directories, start, exceptions):
    """The pages that all of `directories` have and that links reach from `start`, nearest first."""
    pages = [start]
    for page in pages:
        for directory in directories:
            for target in links(directory, page):
                excepted = any(fnmatch.fnmatch(target, pattern) for pattern in exceptions)
                everywhere = all((other / target).is_file() for other in directories)
                if everywhere and not excepted and target not in pages:
                    pages.append(target)
    return pages


def collect(data):
    """All files of the archive: path in the archive to content."""
    files = {"NOTICES.md": pathlib.Path(__file__).with_name("NOTICES.md").read_bytes()}
    for versions, start, exceptions in MANUALS:
        pages = reachable([data / source for source in versions.values()], start, exceptions)
        for name, source in versions.items():
            files.update({f"{name}/{page}": (data / source / page).read_bytes() for page in pages})
    return files


def pack(files):
    """A tar of `files` by name, with nothing in it of the machine, the user or the time."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(files[name]), 0o644
            tar.addfile(entry, io.BytesIO(files[name]))
    return packed.getvalue()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    files = collect(pathlib.Path(sys.argv[1]))
    size = sum(map(len, files.values()))
    if size > MAX_BYTES:
        sys.exit(f"the pages have {size} bytes, more than {MAX_BYTES}")
    # A window of 8 MiB spans the whole archive, so that the versions of a page share their text.
    zstd = ["zstd", "--ultra", "-22", "--long=23", "--single-thread", "--quiet", "--stdout"]
    packed = subprocess.run(zstd, input=pack(files), stdout=subprocess.PIPE, check=True).stdout
    pathlib.Path(sys.argv[2]).write_bytes(packed)
    print(f"{len(files) - 1} pages, {size} bytes, packed {len(packed)}", file=sys.stderr)


if __name__ == "__main__":
    main()
