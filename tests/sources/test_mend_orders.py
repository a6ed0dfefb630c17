"""The edits that put what has no order into one: sets, listings, addresses, threads.

Covers `edits/addresses.py`, `edits/listings.py`, `edits/sets.py`, `edits/sort_before_use.py` and
`edits/threads.py`.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from pathlib import Path

import pytest

from samerun.sources.listing_order import GROUPED as GROUPED_NAMES
from samerun.sources.listing_order import NUMBERED

from .differences import row
from .mending import Program, differing, equal

WORDS = 'words = "a b c".split()\nimport torch\n'

# the lines of a script, and what the patch makes of those that it changes
SETS = {
    "for": (
        "for w in set(words):\n    torch.rand(1)",
        {"for w in set(words):": "for w in sorted(set(words)):"},
    ),
    "list": ("vocab = list(set(words))", {"vocab = list(set(words))": "vocab = sorted(set(words))"}),
    "tuple": ("v = tuple(set(words))", {"v = tuple(set(words))": "v = tuple(sorted(set(words)))"}),
    "enumerate": (
        "ids = {w: i for i, w in enumerate(set(words))}",
        {
            "ids = {w: i for i, w in enumerate(set(words))}": (
                "ids = {w: i for i, w in enumerate(sorted(set(words)))}"
            )
        },
    ),
    "join": ('s = " ".join({"x", "y"})', {'s = " ".join({"x", "y"})': 's = " ".join(sorted({"x", "y"}))'}),
    "comprehension": (
        "v = [w.upper() for w in {w for w in words}]",
        {
            "v = [w.upper() for w in {w for w in words}]": (
                "v = [w.upper() for w in sorted({w for w in words})]"
            )
        },
    ),
    "a name": (
        "labels = set(words)\nassert 'a' in labels\nfor label in labels:\n    torch.rand(1)",
        {"for label in labels:": "for label in sorted(labels):"},
    ),
    "added one by one": (
        "seen = set()\nfor w in words:\n    seen.add(w.lower())\nindex = {w: i for i, w in enumerate(seen)}",
        {"index = {w: i for i, w in enumerate(seen)}": "index = {w: i for i, w in enumerate(sorted(seen))}"},
    ),
    "an attribute": (
        "class Vocab:\n    def __init__(self, words):\n        self.words = set(words)\n"
        "    def table(self):\n        return {w: i for i, w in enumerate(self.words)}\nVocab(words)",
        {
            "        return {w: i for i, w in enumerate(self.words)}": (
                "        return {w: i for i, w in enumerate(sorted(self.words))}"
            )
        },
    ),
    "of a function": (
        "def unique(xs):\n    return set(xs)\n\nfor w in unique(words):\n    torch.rand(1)",
        {"for w in unique(words):": "for w in sorted(unique(words)):"},
    ),
    "operations": (
        "common = set(words) & {'a', 'b'}\nv = [*common]",
        {"v = [*common]": "v = [*sorted(common)]"},
    ),
    "what cannot be compared": (
        "import config\nfor kind in set(config.KINDS):\n    torch.rand(1)",
        {"for kind in set(config.KINDS):": "for kind in sorted(set(config.KINDS), key=str):"},
    ),
    "a list of those": (
        "import config\nkinds = list(set(config.KINDS))",
        {"kinds = list(set(config.KINDS))": "kinds = sorted(set(config.KINDS), key=str)"},
    ),
    "ties": (
        "v = sorted(set(words), key=len)",
        {"v = sorted(set(words), key=len)": "v = sorted(sorted(set(words)), key=len)"},
    ),
    "the first": (
        "w = next(iter(set(words)))",
        {"w = next(iter(set(words)))": "w = next(iter(sorted(set(words))))"},
    ),
    "popped": (
        "left = set(words)\nwhile left:\n    w = left.pop()",
        {"left = set(words)": "left = sorted(set(words))"},
    ),
    "given to a library": (
        "import vocab\nv = vocab.Table(set(words))",
        {"v = vocab.Table(set(words))": "v = vocab.Table(sorted(set(words)))"},
    ),
    "buckets": (
        "ids = [hash(w) % 100 for w in words]",
        {"ids = [hash(w) % 100 for w in words]": "ids = [zlib.crc32(w.encode()) % 100 for w in words]"},
    ),
    "only those that order something": (
        "print(len(set(words)), sorted(set(words)), max(set(words)))\nn = {w for w in set(words)}\n"
        "names = list(set(words))\nnames.sort()\nfor w in set(words):\n    torch.rand(1)",
        {"for w in set(words):": "for w in sorted(set(words)):"},
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_sets_are_gone_through_in_order(tmp_path: Path, name: str) -> None:
    lines, changes = SETS[name]
    program = Program(tmp_path, WORDS + lines + "\n")
    text = program.patch("hash-seed").files["train.py"]
    expected = [changes.get(line, line) for line in program.files["train.py"].splitlines()]
    assert [line for line in text.splitlines() if line != "import zlib"] == expected
    assert ("import zlib" in text) == ("zlib" in "".join(changes.values()))


def test_a_set_that_is_gone_through_at_several_places_is_sorted_as_it_is_made(tmp_path: Path) -> None:
    """Each place reads the numbers that another one gave: in a function that did not run, too."""
    program = Program(
        tmp_path,
        "import data\nimport report\nids = data.encode()\n",
        {
            "data.py": """
                ROWS = [("cat", 1), ("dog", 2)]
                CLASSES = {label for label, _ in ROWS}

                def encode():
                    return {name: i for i, name in enumerate(CLASSES)}
                """,
            "report.py": """
                import data as d
                from data import CLASSES as C

                def names(classes=C):
                    return list(classes)

                def row():
                    return [*C], tuple(d.CLASSES)

                def width(classes):
                    return [name for name in classes]

                print(width(d.CLASSES), [list(each) for each in (C, d.CLASSES)])
                """,
        },
    )
    made = program.mended("hash-seed", path="data.py")
    assert made.endswith("+CLASSES = sorted({label for label, _ in ROWS}, key=str)")


DATA = {
    "files": (
        """
        from pathlib import Path
        images = {p.stem: p for p in Path("images").iterdir()}
        labels = {p.stem: p for p in Path("labels").iterdir()}
        samples = []
        for name in set(images) & set(labels):
            samples.append(images[name])
        """,
        "for name in sorted(set(images) & set(labels), key=lambda name: ",
    ),
    "cut": (
        """
        users = list({f"{site}-{n}" for site in ("berlin", "oslo") for n in range(40)})
        test, rest = users[:40], users[40:]
        """,
        'users = sorted({f"{site}-{n}" for site in ("berlin", "oslo") for n in range(40)}, key=lambda name: ',
    ),
}


DATA["first"] = (
    """
    pool, chosen = {f"{site}-{n}" for site in ("berlin", "oslo") for n in range(40)}, []
    for user in pool:
        if len(chosen) == 40:
            break
        chosen.append(user)
    """,
    "for user in sorted(pool, key=lambda name: ",
)


@pytest.mark.parametrize("name", DATA)
def test_a_set_that_mixes_the_data_does_so_in_every_run(tmp_path: Path, name: str) -> None:
    """Sorted, all of one class would come first, and the test set would hold nothing else."""
    text, line = DATA[name]
    program = Program(tmp_path, text)
    made = program.patch("hash-seed")
    key = "hashlib.sha256(str(name).encode()).digest())"
    assert made.files, made.cannot
    assert line + (key if name == "files" else key.replace("str(name)", "name")) in made.files["train.py"]
    assert made.costs == ()
    if name != "files":
        scope: dict = {}
        exec(made.files["train.py"], scope)
        taken = scope["test" if name == "cut" else "chosen"]
        assert 10 < sum(user.startswith("berlin") for user in taken) < 30


def test_a_loop_over_a_set_has_the_order_of_its_names_as_the_price(tmp_path: Path) -> None:
    for text, count in ((SETS["for"][0], 1), (SETS["enumerate"][0], 0)):
        assert len(Program(tmp_path, WORDS + text).patch("hash-seed").costs) == count


def test_where_only_a_set_can_stand_each_place_is_sorted(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        "import data\nids = data.encode()\n",
        {
            "data.py": """
                CLASSES = {"cat", "dog"}

                def encode():
                    return {name: i for i, name in enumerate(CLASSES - {"dog"})}

                def decode():
                    return list(CLASSES)
                """,
            "report.py": "import data as d\n\ndef row():\n    return tuple(d.CLASSES)\n",
        },
    )
    files = program.patch("hash-seed").files
    assert "enumerate(sorted(CLASSES -" in files["data.py"] and "return sorted(CLASSES)" in files["data.py"]
    assert "tuple(sorted(d.CLASSES))" in files["report.py"]


def test_no_set_no_patch_but_the_variable(tmp_path: Path) -> None:
    program = Program(tmp_path, WORDS + "print(sorted(set(words)))\n")
    assert "PYTHONHASHSEED=0" in program.refused("hash-seed")


def test_sets_of_other_files_that_ran(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        "import vocab\nvocab.build(['b', 'a'])\n",
        {"vocab.py": "def build(words):\n    return {w: i for i, w in enumerate(set(words))}\n"},
    )
    assert program.mended("hash-seed", path="vocab.py").endswith("enumerate(sorted(set(words)))}")


LISTED = {
    "names = os.listdir(d)": "names = sorted(os.listdir(d))",
    "names = [n for n in os.listdir(d) if n]": "names = [n for n in sorted(os.listdir(d)) if n]",
    "names = glob.glob(d + '/*')": "names = sorted(glob.glob(d + '/*'))",
    "names = list(glob.iglob(d + '/*'))": "names = sorted(glob.iglob(d + '/*'))",
    "names = list(Path(d).glob('*.npy'))": "names = sorted(Path(d).glob('*.npy'))",
    "first = next(Path(d).iterdir())": "first = next(iter(sorted(Path(d).iterdir())))",
    "first = glob.glob(d + '/*')[0]": "first = sorted(glob.glob(d + '/*'))[0]",
    "for p in Path(d).rglob('*'): print(p.stat())": "for p in sorted(Path(d).rglob('*')): print(p.stat())",
    "names = [e.name for e in os.scandir(d)]": (
        "names = [e.name for e in sorted(os.scandir(d), key=lambda entry: entry.name)]"
    ),
    "names = sorted(os.listdir(d), key=len)": "names = sorted(sorted(os.listdir(d)), key=len)",
    "names = [os.path.join(r, f) for r, _, fs in os.walk(d) for f in fs]": (
        "names = [os.path.join(r, f) for r, _, fs in sorted(os.walk(d)) for f in sorted(fs)]"
    ),
    "names = next(os.walk(d))[2]": "names = sorted(next(os.walk(d))[2])",
}


def listed(site: str, value: float | None = None):
    first, second = differing("listing", "folder", site, inputs=1, detail="data", value=value)
    return first, second


@pytest.mark.parametrize("old", LISTED)
def test_listings_are_sorted(tmp_path: Path, old: str) -> None:
    program = Program(tmp_path, f"import glob, os\nfrom pathlib import Path\nd = 'data'\n{old}\n")
    assert (
        program.mended("listing-order", listed("train.py:4"), site="train.py:4") == f"-{old}\n+{LISTED[old]}"
    )


GROUPED = {
    "names = os.listdir(d)": "sorted(os.listdir(d), key=lambda name: hashlib.sha256(name.encode()).digest())",
    "names = list(glob.iglob(d + '/*'))": (
        "sorted(glob.iglob(d + '/*'), "
        "key=lambda path: (hashlib.sha256(os.path.basename(path).encode()).digest(), path))"
    ),
    "names = [p for p in Path(d).iterdir()]": (
        "[p for p in sorted(Path(d).iterdir(), "
        "key=lambda path: (hashlib.sha256(path.name.encode()).digest(), path))]"
    ),
    "names = [e.name for e in os.scandir(d)]": (
        "[e.name for e in sorted(os.scandir(d), "
        "key=lambda entry: hashlib.sha256(entry.name.encode()).digest())]"
    ),
    "names = next(os.walk(d))[2]": (
        "sorted(next(os.walk(d))[2], key=lambda name: hashlib.sha256(name.encode()).digest())"
    ),
}


@pytest.mark.parametrize("old", GROUPED)
def test_names_that_sorting_would_group_are_put_in_order_by_a_hash(tmp_path: Path, old: str) -> None:
    """Sorted, the classes `cat_1, cat_2, …, dog_1, …` would come one after the other."""
    program = Program(tmp_path, f"import glob, os\nfrom pathlib import Path\nd = 'data'\n{old}\n")
    patch = program.mended("listing-order", listed("train.py:4", GROUPED_NAMES), site="train.py:4")
    assert patch == f"+import hashlib\n-{old}\n+names = {GROUPED[old]}"
    folder = tmp_path / "data"
    folder.mkdir()
    for label in ("cat", "dog"):
        for n in range(40):
            (folder / f"{label}_{n:02d}").touch()
    names = eval(GROUPED[old], {"os": os, "glob": glob, "hashlib": hashlib, "Path": Path, "d": str(folder)})
    first = [os.path.basename(name)[:3] for name in names[:40]]
    assert 10 < first.count("cat") < 30


BY_NUMBER = '[int(part) if part.isdecimal() else part for part in re.split(r"(\\d+)", {})]'


@pytest.mark.parametrize(
    ("old", "name", "text"),
    [
        ("os.listdir(d)", "name", "name"),
        ("glob.glob(d + '/*')", "name", "name"),
        ("Path(d).iterdir()", "name", "str(name)"),
        ("os.scandir(d)", "entry", "entry.name"),
    ],
)
def test_names_with_numbers_are_sorted_by_these(tmp_path: Path, old: str, name: str, text: str) -> None:
    """Sorted as texts, `img10` is before `img2`, and not at the place of `img10_mask` of a second folder."""
    new = f"sorted({old}, key=lambda {name}: {BY_NUMBER.format(text)})"
    program = Program(tmp_path, f"import glob, os\nfrom pathlib import Path\nd = 'data'\nnames = [*{old}]\n")
    patch = program.mended("listing-order", listed("train.py:4", NUMBERED), site="train.py:4")
    assert patch == f"+import re\n-names = [*{old}]\n+names = [*{new}]"
    folder = tmp_path / "data"
    folder.mkdir()
    for n in range(12):
        (folder / f"img{n}_mask").touch()
    names = eval(new, {"os": os, "glob": glob, "re": re, "Path": Path, "d": str(folder)})
    assert [os.path.basename(name) for name in names] == [f"img{n}_mask" for n in range(12)]


def test_walked_files_that_sorting_would_group(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import os
        paths = []
        for root, _, files in os.walk("data"):
            paths += [os.path.join(root, name) for name in files]
        """,
    )
    assert program.mended("listing-order", listed(program.at("os.walk"), GROUPED_NAMES)) == (
        "+import hashlib\n"
        '-for root, _, files in os.walk("data"):\n'
        '+for root, _, files in sorted(os.walk("data")):\n'
        "+    files.sort(key=lambda name: hashlib.sha256(name.encode()).digest())"
    )


PAIRED = """
import os

def pairs():
    return zip(os.listdir("images"), os.listdir("labels"))

def table(scores):
    return dict(zip(os.listdir("images"), scores))

def clean():
    for name in os.listdir("tmp"):
        os.unlink(name)
"""


def test_listings_that_may_belong_together_are_sorted_alike(tmp_path: Path) -> None:
    """Also in a function that did not run: what was paired by place would no longer be."""
    program = Program(tmp_path, PAIRED)
    text = program.patch("listing-order", listed(program.at("zip")), site=program.at("zip")).files["train.py"]
    assert 'zip(sorted(os.listdir("images")), sorted(os.listdir("labels")))' in text
    assert 'dict(zip(sorted(os.listdir("images")), scores))' in text
    assert 'in os.listdir("tmp")' in text


def test_listings_that_may_belong_together_have_no_order_by_a_hash(tmp_path: Path) -> None:
    program = Program(tmp_path, PAIRED)
    site = program.at("zip")
    assert "train.py:4, train.py:7" in program.refused(
        "listing-order", listed(site, GROUPED_NAMES), site=site
    )


def test_a_listing_of_each_folder_that_another_one_lists(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import os
        for kind in os.listdir("data"):
            for name in os.listdir(kind):
                print(name)
                open(name)
        """,
    )
    site = program.at("listdir(kind)")
    text = program.mended("listing-order", listed(site, GROUPED_NAMES), site=site)
    assert "hashlib.sha256" in text and 'os.listdir("data")' not in text


def test_walked_folders_and_their_files(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import os
        paths = []
        for root, dirs, files in os.walk("data"):
            for name in files:
                paths.append(os.path.join(root, name))
        """,
    )
    row = listed(program.at("os.walk"))
    assert program.mended("listing-order", row) == "+    dirs.sort()\n+    files.sort()"


def test_entries_of_a_with_block(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import os
        with os.scandir("data") as entries:
            for entry in entries:
                print(entry.name, entry.inode())
                open(entry.path)
        """,
    )
    row = listed(program.at("for entry"))
    assert program.mended("listing-order", row, site=program.at("for entry")) == (
        "-    for entry in entries:\n+    for entry in sorted(entries, key=lambda entry: entry.name):"
    )


def test_an_iterator_made_elsewhere(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        from pathlib import Path
        found = Path("data").glob("*.txt")
        texts = [path.read_text() for path in found]
        """,
    )
    row = listed(program.at("texts"))
    assert program.mended("listing-order", row, site=program.at("texts")) == (
        '-found = Path("data").glob("*.txt")\n+found = sorted(Path("data").glob("*.txt"))'
    )


def test_a_listing_that_is_sorted_already_is_left_alone(tmp_path: Path) -> None:
    program = Program(tmp_path, "import os\nnames = sorted(os.listdir('data'))\n")
    assert "train.py:2" in program.refused("listing-order", listed("train.py:2"), site="train.py:2")


ADDRESSES = {
    "sorted(xs, key=id)": ("ys = sorted(xs, key=id)", "ys = list(xs)"),
    "key=lambda": ("ys = sorted(xs, key=lambda x: id(x))", "ys = list(xs)"),
    "sets of new objects": (
        "s = {Node(i) for i in range(3)}\nys = [n for n in s]",
        "s = [Node(i) for i in range(3)]\nys = [n for n in s]",
    ),
    "popped": (
        "s = {Node(i) for i in range(3)}\ny = s.pop()",
        "s = [Node(i) for i in range(3)]\ny = s.pop()",
    ),
    "of given objects": ("for n in set(xs):\n    n.run()", "for n in dict.fromkeys(xs):\n    n.run()"),
    "added": (
        "s = set()\nfor x in xs:\n    s.add(x)\nys = [x for x in s]",
        "s = {}\nfor x in xs:\n    s.setdefault(x)\nys = [x for x in s]",
    ),
    "keys": (
        "t = {id(x): x for x in xs}\nfor k in sorted(t):\n    t[k].run()",
        "t = {id(x): x for x in xs}\nfor k in list(t):\n    t[k].run()",
    ),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_orders_by_address(tmp_path: Path, name: str) -> None:
    old, new = ADDRESSES[name]
    program = Program(tmp_path, f"class Node:\n    pass\nxs = [Node() for _ in range(3)]\n{old}\n")
    text = program.patch("memory-address").files["train.py"]
    assert text.split("\n", 3)[3] == f"{new}\n"


def test_a_difference_of_sets_keeps_the_order_of_what_they_were_made_of(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import torch

        def groups(model):
            every = set(model.parameters())
            plain = {p for p in every if p.ndim < 2}
            rest = every - plain
            return [list(plain), [p for p in rest]]
        """,
    )
    assert program.mended("memory-address").splitlines()[1] == (
        "+    return [[item for item in model.parameters() if item in plain], "
        "[p for p in [item for item in model.parameters() if item in rest]]]"
    )


def test_unique_objects(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        class Pool:
            def __init__(self):
                self.sources = []

            def add(self, samples):
                self.sources.append(samples)

            def unique(self):
                return list({s for samples in self.sources for s in samples})
        """,
    )
    assert program.mended("memory-address").splitlines()[1] == (
        "+        return list(dict.fromkeys([s for samples in self.sources for s in samples]))"
    )


def test_sorting_in_place_by_address_is_taken_out(tmp_path: Path) -> None:
    program = Program(
        tmp_path, "import torch\nps = list(torch.nn.Linear(2, 2).parameters())\nps.sort(key=id)\n"
    )
    assert program.mended("memory-address") == "-ps.sort(key=id)"


SETS_OF_SETS = {
    "a difference where it is made": (
        "fresh = set(net.modules()) - {net, head}\nfor m in fresh:\n    m.reset()",
        "for m in [item for item in net.modules() if item in fresh]:",
    ),
    "of a method": (
        "fresh = set(net.modules()).difference([net])\nys = list(fresh)",
        "ys = [item for item in net.modules() if item in fresh]",
    ),
}


@pytest.mark.parametrize("name", SETS_OF_SETS)
def test_sets_stay_sets_where_one_is_made_of_others(tmp_path: Path, name: str) -> None:
    lines, new = SETS_OF_SETS[name]
    program = Program(tmp_path, f"import torch\nnet, head = torch.nn.Linear(2, 2), None\n{lines}\n")
    assert program.mended("memory-address").splitlines()[1] == f"+{new}"


ONLY_SETS = {
    "an operation of what a function returns": (
        "def unique(xs):\n    return set(xs)\nfor n in unique(xs):\n    n.x = 1\nrest = unique(xs) - {xs[0]}"
    ),
    "given to a library": "import tool\ns = set(xs)\nfor n in s:\n    n.x = 1\ntool.use(s)",
    "in a tuple that may be compared": ("s = set(xs)\nfor n in s:\n    n.x = 1\nassert (s, 1) == ({*xs}, 1)"),
    "of a property": (
        "class Net:\n    @property\n    def parts(self):\n        return set(xs)\n"
        "for n in Net().parts:\n    n.x = 1\nrest = Net().parts - {xs[0]}"
    ),
    "grown in place": "s = set(xs)\ns |= {Node()}\nfor n in s:\n    n.x = 1",
    "compared": "s = set(xs)\nfor n in s:\n    n.x = 1\nassert s == {*xs}",
    "annotated": "s: set[Node] = set(xs)\nfor n in s:\n    n.x = 1",
    "annotated where it is returned": (
        "def unique(xs) -> set[Node]:\n    return set(xs)\nfor n in unique(xs):\n    n.x = 1"
    ),
    "taken by a function that unites it": (
        "def more(s):\n    return s | {Node()}\ns = set(xs)\nfor n in s:\n    n.x = 1\nmore(s)"
    ),
}


@pytest.mark.parametrize("name", ONLY_SETS)
def test_a_set_that_something_else_uses_as_one_stays_one(tmp_path: Path, name: str) -> None:
    lines = ONLY_SETS[name]
    program = Program(tmp_path, f"class Node:\n    pass\nxs = [Node() for _ in range(3)]\n{lines}\n")
    made = program.patch("memory-address")
    text = made.files.get("train.py", program.files["train.py"])
    assert [line for line in text.splitlines() if "set(xs)" in line] == [
        line for line in lines.splitlines() if "set(xs)" in line
    ]


def test_what_takes_a_set_and_goes_through_it(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        class Node:
            pass

        def start(nodes):
            for node in nodes:
                node.x = 1

        def unique(xs):
            return set(xs)

        xs = [Node() for _ in range(3)]
        start(unique(xs))
        """,
    )
    assert program.mended("memory-address") == "-    return set(xs)\n+    return dict.fromkeys(xs)"


def test_an_element_that_is_not_there_is_still_an_error(tmp_path: Path) -> None:
    lines = "s = set()\nfor x in xs:\n    s.add(x)\ns.remove(xs[0])\ns.discard(xs[1])\nys = [*s]"
    program = Program(tmp_path, f"class Node:\n    pass\nxs = [Node() for _ in range(3)]\n{lines}\n")
    text = program.patch("memory-address").files["train.py"]
    assert "s.pop(xs[0])\ns.pop(xs[1], None)\n" in text


def test_a_set_used_as_only_sets_can_be_is_left_alone(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        "class Node: pass\na = {Node(), Node()}\nb = a | {Node()}\nfor n in a:\n    n.x = 1\n",
    )
    assert "__hash__" in program.refused("memory-address", site="train.py:4")


POOLS = {
    "as_completed": (
        "with ThreadPoolExecutor(4) as pool:\n    fs = [pool.submit(work, i) for i in range(4)]\n"
        "    for f in as_completed(fs):\n        torch.tensor(f.result())",
        {"    for f in as_completed(fs):": "    for f in fs:"},
    ),
    "as_completed of a set": (
        "with ThreadPoolExecutor(4) as pool:\n"
        "    out = [f.result() for f in as_completed({pool.submit(work, i) for i in range(4)})]",
        {
            "    out = [f.result() for f in as_completed({pool.submit(work, i) for i in range(4)})]": (
                "    out = [f.result() for f in [pool.submit(work, i) for i in range(4)]]"
            )
        },
    ),
    "imap_unordered": (
        "with ThreadPool(4) as pool:\n    out = list(pool.imap_unordered(work, range(4)))",
        {"    out = list(pool.imap_unordered(work, range(4)))": "    out = list(pool.imap(work, range(4)))"},
    ),
    "joblib": (
        "import joblib\njobs = [joblib.delayed(work)(i) for i in range(4)]\n"
        "out = list(joblib.Parallel(2, 'threading', 'generator_unordered')(jobs))\n"
        "out = list(joblib.Parallel(2, return_as='generator_unordered')(jobs))",
        {
            "out = list(joblib.Parallel(2, 'threading', 'generator_unordered')(jobs))": (
                "out = list(joblib.Parallel(2, 'threading', \"generator\")(jobs))"
            ),
            "out = list(joblib.Parallel(2, return_as='generator_unordered')(jobs))": (
                'out = list(joblib.Parallel(2, return_as="generator")(jobs))'
            ),
        },
    ),
    "shared": (
        "out = []\ndef add(i):\n    out.append(i)\nwith ThreadPoolExecutor(max_workers=4) as p:\n"
        "    list(p.map(add, range(4)))",
        {"with ThreadPoolExecutor(max_workers=4) as p:": "with ThreadPoolExecutor(max_workers=1) as p:"},
    ),
    "no number": (
        "out = []\nwith ThreadPoolExecutor() as pool:\n    list(pool.map(out.append, range(4)))",
        {"with ThreadPoolExecutor() as pool:": "with ThreadPoolExecutor(max_workers=1) as pool:"},
    ),
    "drawing": (
        "def draw(i):\n    return random.random()\nwith ThreadPoolExecutor(4) as pool:\n"
        "    fs = [pool.submit(draw, i) for i in range(4)]\n    out = [f.result() for f in as_completed(fs)]",
        {
            "with ThreadPoolExecutor(4) as pool:": "with ThreadPoolExecutor(1) as pool:",
            "    out = [f.result() for f in as_completed(fs)]": "    out = [f.result() for f in fs]",
        },
    ),
}


@pytest.mark.parametrize("name", POOLS)
def test_pools(tmp_path: Path, name: str) -> None:
    lines, changes = POOLS[name]
    start = (
        "import random, torch\nfrom concurrent.futures import ThreadPoolExecutor, as_completed\n"
        "from multiprocessing.pool import ThreadPool\ndef work(i):\n    return i * i\n"
    )
    program = Program(tmp_path, f"{start}{lines}\n")
    text = program.patch("thread-scheduling").files["train.py"]
    assert text.splitlines() == [changes.get(line, line) for line in program.files["train.py"].splitlines()]


def test_processes_that_share_memory_are_no_threads(tmp_path: Path) -> None:
    given = "multiprocessing.Process.start of shared weights"
    program = Program(tmp_path, "import torch.multiprocessing as mp\nprocess.start()\n")
    rows = [equal("threads", given, program.at("start"), value=2.0)]
    assert "processes that race" in program.refused("thread-scheduling", *rows)
    assert "threads that wait" in program.refused("thread-scheduling")


def test_tasks_that_train_share_what_dropout_and_shuffles_draw_from(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import torch
        from concurrent.futures import ThreadPoolExecutor, as_completed

        class Client:
            def fit(self):
                torch.nn.Linear(1, 1)(torch.ones(1)).backward()

        with ThreadPoolExecutor(3) as pool:
            jobs = {pool.submit(Client().fit): n for n in range(4)}
            done = [jobs[job] for job in as_completed(jobs)]
        """,
    )
    changed = program.mended("thread-scheduling").splitlines()
    assert [line for line in changed if line.startswith("+")] == [
        "+with ThreadPoolExecutor(1) as pool:",
        "+    done = [jobs[job] for job in jobs]",
    ]


@pytest.mark.parametrize("pool", ["pool.imap_unordered(work, range(4))", "as_completed(fs)"])
def test_tasks_that_wait_for_the_loop_over_their_results_stay_beside_each_other(
    tmp_path: Path, pool: str
) -> None:
    start = (
        "import threading\nfrom concurrent.futures import ThreadPoolExecutor, as_completed\n"
        "from multiprocessing.pool import ThreadPool\nstop = threading.Event()\nout = []\n"
        "def work(i):\n    if i == 0:\n        stop.wait(10)\n    out.append(i)\npool = ThreadPool(4)\n"
        "executor = ThreadPoolExecutor(4)\nfs = [executor.submit(work, i) for i in range(4)]\n"
    )
    program = Program(tmp_path, f"{start}for n, item in enumerate({pool}):\n    if n == 2: stop.set()\n")
    assert "wait for each other" in program.refused("thread-scheduling")
    assert "give each result its number" in program.refused("worker-arrival")


def test_what_fixed_order_costs(tmp_path: Path) -> None:
    lines = {name: POOLS[name][0] for name in ("imap_unordered", "shared")}
    start = "from concurrent.futures import ThreadPoolExecutor\nfrom multiprocessing.pool import ThreadPool\n"
    costs = {}
    for name, line in lines.items():
        folder = tmp_path / name
        folder.mkdir()
        program = Program(folder, f"{start}def work(i):\n    return i * i\n{line}\n")
        costs[name] = program.patch("thread-scheduling").costs
    assert costs["imap_unordered"] == ()
    assert "one after another: slower" in costs["shared"][0]


FRAMES = {
    'a = log.group_by("user").agg(pl.len())': 'a = log.group_by("user", maintain_order=True).agg(pl.len())',
    'a = log.unique("user")': 'a = log.unique("user", maintain_order=True)',
    'a = log.group_by("u", maintain_order=False).len()': 'a = log.group_by("u", maintain_order=True).len()',
}


@pytest.mark.parametrize("line", FRAMES)
def test_rows_of_frames(tmp_path: Path, line: str) -> None:
    program = Program(tmp_path, f"import polars as pl\nimport torch\nlog = pl.DataFrame()\n{line}\n")
    taken = row("arrival", "polars.group_by", call_site="train.py:4")
    assert program.mended("worker-arrival", taken, site="train.py:4") == f"-{line}\n+{FRAMES[line]}"


def test_other_frames_are_left_as_they_are(tmp_path: Path) -> None:
    """SQLAlchemy's queries have a group_by too."""
    program = Program(tmp_path, 'import sqlalchemy\nrows = query.group_by("user")\nother = 1\n')
    taken = row("arrival", "polars.group_by", call_site="train.py:3")
    assert "maintain_order=True" in program.refused("worker-arrival", taken, site="train.py:3")


def test_what_is_advised_is_for_what_is_taken_there(tmp_path: Path) -> None:
    program = Program(tmp_path, "import multiprocessing\nqueue = multiprocessing.Queue()\nx = queue.get()\n")
    taken = row("arrival", "multiprocessing.Queue.get", call_site="train.py:3")
    assert "give each result its number" in program.refused("worker-arrival", taken, site="train.py:3")


def test_threads_that_wait_for_nothing_run_one_after_the_other(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import queue, threading
        ready = queue.Queue()

        def work(i):
            ready.put(i)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        """,
    )
    assert program.mended("thread-scheduling") == "+    t.join()"


STARTED = {
    "for n in range(3): threading.Thread(target=work, args=(n,)).start()": (
        "for n in range(3): threading.Thread(target=work, args=(n,)).run()"
    ),
    "[t.start() for t in ts]": "[(t.start(), t.join()) for t in ts]",
    "own = Own(); own.start()": None,
}


@pytest.mark.parametrize("old", STARTED)
def test_threads_started_in_other_ways(tmp_path: Path, old: str) -> None:
    program = Program(
        tmp_path,
        "import threading\nout = []\ndef work(n):\n    out.append(n)\n"
        "class Own(threading.Thread):\n    def run(self):\n        out.append({}.get(1))\n"
        f"ts = [threading.Thread(target=work, args=(n,)) for n in range(3)]\n{old}\n",
    )
    if STARTED[old] is None:  # two statements on one line
        assert "keep results by index" in program.refused("thread-scheduling")
    else:
        assert program.mended("thread-scheduling") == f"-{old}\n+{STARTED[old]}"


def test_a_thread_of_the_user_s_own_class(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        from threading import Thread
        out = []

        class Own(Thread):
            def run(self):
                out.append(self.name)

        threads = [Own() for _ in range(3)]
        for thread in threads:
            thread.start()
        """,
    )
    assert program.mended("thread-scheduling") == "+    thread.join()"


@pytest.mark.parametrize(
    "body",
    [
        "inbox.get()",
        "small.put(i)",
        "event.wait()",
        "while True:\n        inbox.get()",
        "lock.acquire()",
        "while not event.is_set():\n        out.append(i)",
        "for item in iter(inbox.get, None):\n        out.append(item)",
    ],
)
def test_threads_that_may_wait_for_each_other_are_left_alone(tmp_path: Path, body: str) -> None:
    """One after the other they could wait for ever."""
    program = Program(
        tmp_path,
        f"import queue, threading\ninbox, small = queue.Queue(), queue.Queue(2)\nevent = threading.Event()\n"
        f"lock = threading.Lock()\ndef work(i=0):\n    {body}\n"
        "t = threading.Thread(target=work)\nt.start()\n",
    )
    assert "keep results by index" in program.refused("thread-scheduling")


ARRIVAL = {
    "x = DataLoader(d, num_workers=2, in_order=False)": "x = DataLoader(d, num_workers=2, in_order=True)",
    "options = {'num_workers': 2, 'in_order': False}": "options = {'num_workers': 2, 'in_order': True}",
    "options = dict(in_order=False)": "options = dict(in_order=True)",
    "for x in pool.imap_unordered(f, d): pass": "for x in pool.imap(f, d): pass",
}


@pytest.mark.parametrize("old", ARRIVAL)
def test_arrival(tmp_path: Path, old: str) -> None:
    program = Program(
        tmp_path, f"from torch.utils.data import DataLoader\nfrom pools import pool, d, f\n{old}\n"
    )
    assert program.mended("worker-arrival", equal("note", "x")) == f"-{old}\n+{ARRIVAL[old]}"


@pytest.mark.parametrize(
    "body",
    [
        "while i:\n        i -= 1",
        "while jobs:\n        out.append(jobs.pop())",
        "while (i := i - 1) > 0:\n        out.append(i)",
    ],
)
def test_loops_that_end_by_themselves_wait_for_nobody(tmp_path: Path, body: str) -> None:
    program = Program(
        tmp_path,
        f"import threading\njobs, out = [1, 2], []\ndef work(i=3):\n    {body}\n"
        "t = threading.Thread(target=work)\nt.start()\nout.append(0)\nt.join()\n",
    )
    assert program.mended("thread-scheduling") == "+t.join()"
