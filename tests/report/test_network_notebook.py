"""The notebook of a reader's own network runs on a campaign over networks (test_notebook_list.py: on all)."""

from pathlib import Path

from bench.analysis.places import project_root
from bench.records.store import CampaignFolder
from bench.report.notebook import render_notebooks
from bench.report.notebook_list import NOTEBOOKS
from tests.report.test_networks import campaign
from tests.report.test_notebook import cells

CHOSEN = [one for one in NOTEBOOKS if one.name == "network"]


def test_it_runs_on_a_campaign_over_networks(tmp_path: Path) -> None:
    made = campaign(tmp_path / "store")
    folder = CampaignFolder(tmp_path / "store" / made.campaign.campaign_id)
    written = render_notebooks(tmp_path / "out", folder, project_root(), chosen=CHOSEN)
    assert [path.name for path in written] == ["network.ipynb", "network-notebook.html"]
    code = [cell for cell in cells(written[0]) if cell.cell_type == "code"]
    assert all(cell.outputs for cell in code if not cell.metadata.get("tags"))
    kinds = [kind for cell in code for output in cell.outputs for kind in output.get("data", {})]
    assert kinds.count("image/svg+xml") == 2
    assert not [output for cell in code for output in cell.outputs if output.output_type in ("stream", "error")]
