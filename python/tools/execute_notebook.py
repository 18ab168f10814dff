"""Executes a notebook and stores it with its outputs: ``python execute_notebook.py NOTEBOOK``."""

from __future__ import annotations

import sys
from pathlib import Path

import nbclient
import nbformat

#: What changes from run to run and says nothing to a reader.
VOLATILE = ("execution", "kernelspec_version")


def execute(path: Path) -> nbformat.NotebookNode:
    """The notebook with fresh outputs."""
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    for cell in notebook.cells:
        for name in VOLATILE:
            cell.metadata.pop(name, None)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def main() -> None:
    for name in sys.argv[1:]:
        nbformat.write(execute(Path(name)), name)


if __name__ == "__main__":
    main()
