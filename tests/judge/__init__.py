"""An independent judge of hazard campaigns.

It reads the plan and the history of each run, from folders or from a pack, and nothing that lockbench concluded from
them: not `checked.json`, no table, no code. Every term is stated here once more, from its definition in words, and
found by trying all pairs rather than by a sweep. Where a table of lockbench and this judge disagree, one of the two
is wrong.

    records     the files of a campaign, as they lie there
    moments     who believed when, and which faults lay on whom
    writes      late writes, lost updates, what came before a fence could see it
    order       tokens of grants in proven order
    waiting     who was never served
    fence       what the resource judged against its own rule
    meanings    for each scenario: its fault, its harm, and which trials could have shown it
    counts      k of n trials in so many runs, and what a nought is worth
    lines       one count set for each system and fault
    tables      one for each row of a scenario's table
    searches    the smallest jumps
    sentences   counts and numbers that are known by the words around them
    reasons     what the reason beside a verdict tells
    claims      the counts behind each claim
    comparison  holds one number against another
    printed     reads the CSVs that lockbench printed, and holds them against all of these
    page        the same of hazards.md
    glance      and of the first table of comparison.md
    contention  the cells of that table that come from the events of a campaign of load
    networks    claimed latencies, from runs over networks
"""
