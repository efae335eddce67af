"""What a live session would have been as a plan: the form's settings, with the clients and the time that there were."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.campaign.load_plans import refuse_one_folder_for_two, stem_of
from bench.records.schema import LIVE, RunPlan
from bench.records.workload import Workload, parameters

_NOT_SAID = ("warmup_s", "measure_s")  # in a label: of no session alike


def live_plans(
    campaign_id: str, begin: Mapping[str, Any], clients: Mapping[str, int], processes: int, window_s: float
) -> tuple[RunPlan, ...]:
    """A run for each system that has clients in `clients`. `begin` as `Forwarder.begin` says it."""
    names: Sequence[str] = [name for name in begin["systems"] if clients.get(name)]
    workloads = [_workload(begin, name, clients[name], processes, window_s) for name in names]
    refuse_one_folder_for_two(map(stem_of, names, workloads))
    return tuple(
        RunPlan(
            campaign_id=campaign_id,
            run_id=f"{stem_of(name, workload)}-01",
            position=position,
            system=name,
            workload=workload,
            repetition=1,
            seed=begin["seed"],
        )
        for position, (name, workload) in enumerate(zip(names, workloads, strict=True))
    )


def _workload(begin: Mapping[str, Any], name: str, clients: int, processes: int, window_s: float) -> Workload:
    """The form has a value for every parameter: of those that mean nothing for this workload, a record has none."""
    does = begin["does"]
    own = {one.field: does[one.field] for one in parameters() if one.field in does and does["name"] in one.of}
    asked = Workload.model_validate(
        {
            **own,
            "clients": clients,
            "processes": processes,
            "wait": begin["waits"][name],
            "measure_s": window_s,
            "network": begin["network"],
        }
    )
    keys = {"keys": asked.shared_keys}
    label = _label(asked, does["wait"])
    return Workload.model_validate({**asked.model_dump(), **keys, "label": label})


def _label(asked: Workload, wait: str) -> str:
    """Never that of a planned run, and the same for systems side by side: live contended, 8 clients, hold 2 ms."""
    parts = [f"{LIVE} {asked.name}"]
    for one in parameters():
        field = Workload.model_fields[one.field]
        value = wait if one.field == "wait" else getattr(asked, one.field)
        usual = "auto" if one.field == "wait" else field.default
        if one.field not in ("name", *_NOT_SAID) and value and (field.is_required() or value != usual):
            parts.append(one.text(value))
    return ", ".join(parts)
