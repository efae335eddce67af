"""What became of the jobs of a live session: as its clients were answered, and as their table says."""

from bench.campaign.live.looks import SupervisorOf
from bench.campaign.live.received import NotKept, Received
from bench.load.runner import ask_records, jobs_of
from bench.records.schema import JobsDone
from bench.records.workload import JOBS, Behaviour
from bench.systems.registry import system


def jobs_done_in(received: Received, supervisor_of: SupervisorOf) -> JobsDone | None:
    """Asked once all has been received; None of a workload without jobs. The table is gone then, whatever is kept.

    Raises NotKept, and NoRecords where the table is silent.
    """
    begin = received.begin
    if begin["workload"] not in JOBS:
        return None
    found = ask_records(begin["seed"], supervisor_of(system(begin["records"])))
    answered = received.jobs()
    if answered is None:
        raise NotKept("a load process was lost, and with it what its jobs were answered")
    return jobs_of(Behaviour.model_validate(begin["does"]), answered, found)
