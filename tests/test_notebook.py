"""The notebook of the examples runs from top to bottom, and is kept with what it showed."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples" / "notebook" / "wine.ipynb"
MAX_BYTES = 60_000


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_it_is_kept_with_its_outputs() -> None:
    cells = code_cells(nbformat.read(NOTEBOOK, as_version=4))
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert all(cell.outputs for cell in cells)
    assert "error" not in {output.output_type for cell in cells for output in cell.outputs}
    assert NOTEBOOK.stat().st_size < MAX_BYTES


@pytest.mark.slow
def test_it_runs_and_shows_the_kinds_of_things_that_it_shows(tmp_path: Path) -> None:
    kept = nbformat.read(NOTEBOOK, as_version=4)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for before, now in zip(code_cells(kept), code_cells(notebook), strict=True):
        assert last_output(now) == last_output(before), now.source
    assert (tmp_path / "runs" / "wine" / "report.html").is_file()


def last_output(cell: Any) -> tuple[str, set[str]]:
    return cell.outputs[-1].output_type, set(cell.outputs[-1].get("data", ()))
