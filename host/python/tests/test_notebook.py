# SPDX-License-Identifier: MIT
"""The example notebook runs, and shows what it shows in the tree."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOK = Path(__file__).parents[1] / "examples" / "collatz.ipynb"


def outputs(notebook):
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def test_notebook():
    committed = outputs(nbformat.read(NOTEBOOK, as_version=4))
    executed = outputs(nbclient.NotebookClient(nbformat.read(NOTEBOOK, as_version=4), kernel_name="python3").execute())
    for expected, seen in zip(committed[:3], executed[:3]):  # what follows depends on the device
        assert [o.get("text") or o.data for o in seen] == [o.get("text") or o.data for o in expected]
    for expected, seen in zip(committed, executed):
        assert [o.output_type for o in seen] == [o.output_type for o in expected]
    pictures = [o.data["image/svg+xml"] for cell in executed for o in cell if "image/svg+xml" in o.get("data", {})]
    assert len(pictures) == 1
    assert "5,000 live blocks" in "".join(pictures[0])
