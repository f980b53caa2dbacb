"""Which notebooks there are: small originals beside this file, and real ones from archives of packages."""

import dataclasses
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ORIGINALS = HERE / "originals"
CORPUS = HERE / "corpus.json"


@dataclasses.dataclass(frozen=True)
class Notebook:
    """A notebook by its name in the list of differences, and its files: {path in its folder: path in the archive}."""

    name: str
    path: pathlib.Path
    files: dict


def originals():
    return [Notebook(f"originals/{path.name}", path, {}) for path in sorted(ORIGINALS.glob("*.ipynb"))]


def packages():
    """The rows of corpus.json: package, version, repository, sha256, notebooks."""
    return json.loads(CORPUS.read_text(encoding="utf-8"))


def folder_of(package, build):
    """Where a package's notebooks are, once they are fetched."""
    return build / "notebooks" / f"{package['package']}-{package['version']}"


def real_ones(package, build):
    """A package's notebooks, by the paths that they have where they are fetched."""
    folder = folder_of(package, build)
    for path, files in package["notebooks"].items():
        yield Notebook(f"{package['package']}/{path}", folder / path, {name: folder / at for name, at in files.items()})
