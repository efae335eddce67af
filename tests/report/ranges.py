"""The runs that a range of `bench.report.run_ranges` names."""


def expanded(told: str) -> list[str]:
    first, _, last = told.partition("..")
    if not last:
        return [told]
    stem, width = first[: -len(last)], len(last)
    return [f"{stem}{number:0{width}}" for number in range(int(first[-width:]), int(last) + 1)]
