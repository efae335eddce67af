"""A discrete-event model of the bench's locks: the hazard lab's scenarios on a virtual clock, and random schedules.

What it plays becomes a `Trial` of `bench/records/hazards.py`: the lab's own checker judges it, and the lab's own figure
draws it. See docs/simulator.md for what is modelled, and how far it agrees with recorded runs.
"""
