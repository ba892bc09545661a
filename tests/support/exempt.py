"""Public names of lpcb that are not called with odd values, each with the reason."""

from __future__ import annotations

RESULT = "plain data that the package makes and hands out; nothing reads one that a user has made"
FIT = "takes records that only the step before it makes; a fit of sound values of every size runs all steps"
CELLS = "takes the Cells, Users or Run that `stream` and `aggregate` make; those are called with odd values"
ROUND = "called every round with what `stream` has checked; a check would cost more than the step"
INNER = "an operation on arrays in the innermost loops; callers have checked them"
SHOWN = "shows or writes what a command hands it; commands are called with odd words in test_fuzz_cli.py"
SEARCH = "takes an Algorithm, which only `algorithms` makes"
PLAN = "takes a Plan, which only `plan` makes; test_plans_of_every_size shows many"
PROTOCOL = "the names that mechanisms share; every mechanism's own methods are called"
DECLARED = "takes a function or an annotation at import time, written in the package"

_REASONS: dict[str, dict[str, str]] = {
    "lpcb.arrays": dict.fromkeys(("dot", "group_sum", "read_only"), INNER),
    "lpcb.baselines": {"Baseline": RESULT},
    "lpcb.baselines.elimination_ls": {"intervals": CELLS},
    "lpcb.baselines.input_perturbation": dict.fromkeys(
        ("drawn_statistics", "reports", "summed_statistics"), CELLS
    ),
    "lpcb.baselines.private_statistics": dict.fromkeys(
        ("drawn_statistics", "reports", "summed_statistics"), CELLS
    ),
    "lpcb.baselines.ldp_linucb": {"State": RESULT}
    | dict.fromkeys(("ellipsoid", "noise", "radius", "shift", "start"), ROUND),
    "lpcb.baselines.ldp_linucb_doubling": dict.fromkeys(("drawn_reports", "summed_reports"), CELLS),
    "lpcb.baselines.linucb": {"State": RESULT} | dict.fromkeys(("learn", "radius", "start", "upper"), ROUND),
    "lpcb.baselines.linucb_doubling": dict.fromkeys(("greedy", "upper"), CELLS),
    "lpcb.boundary": dict.fromkeys(("Range", "checked", "kind"), DECLARED)
    | {
        "check_broadcast": "takes arrays by the names that its callers give them",
        "check_fields": "takes an instance of a dataclass in its own constructor",
        "fits": "takes the shapes of two arrays",
    },
    "lpcb.cli": {"Engine": "two words; others are refused in test_fuzz_cli.py"}
    | {"Variant": "two words; others are refused in test_fuzz_cli.py"}
    | {"as_dict": "takes a Run, which only an engine makes"},
    "lpcb.compare": dict.fromkeys(("Comparison", "Competitor"), RESULT),
    "lpcb.console": dict.fromkeys(("Report", "counting", "say", "show_table", "shown", "tell"), SHOWN),
    "lpcb.engines.aggregate": dict.fromkeys(("Crowd", "fit_components", "fit_layer"), FIT),
    "lpcb.engines.run": {"Run": RESULT, "active_bins": "takes an Oracle, which only a fit makes"},
    "lpcb.files": dict.fromkeys(("check_target", "deliver", "is_stdout", "write_atomic"), SHOWN),
    "lpcb.lplr.aggregate": dict.fromkeys(("Oracle", "estimate", "parents_of"), FIT),
    "lpcb.lplr.ci": dict.fromkeys(("bins", "chi", "error_share", "interval", "mechanism"), FIT),
    "lpcb.lplr.pcr": dict.fromkeys(("Components", "pcr"), FIT),
    "lpcb.lplr.update": dict.fromkeys(("Statistics", "UpdateMechanisms", "statistics"), FIT)
    | dict.fromkeys((f"UpdateMechanisms.{name}" for name in ("loss", "release", "release_sum")), FIT),
    "lpcb.mechanisms": {"Mechanism": PROTOCOL}
    | dict.fromkeys(
        (f"Mechanism.{name}" for name in ("log_density", "loss", "release", "release_sum")), PROTOCOL
    ),
    "lpcb.mechanisms.laplace": {"Laplace.release_checked": "the part of `release` after its checks"},
    "lpcb.partition": dict.fromkeys(("Bins", "Bins.rows", "Routed", "descend"), FIT),
    "lpcb.plan": {"Plan": RESULT, "Plan.worst": PLAN},
    "lpcb.plan_search": dict.fromkeys(("Algorithm", "Need", "Played"), RESULT)
    | dict.fromkeys(("Search", "Search.at", "Search.need", "Search.reached"), SEARCH),
    "lpcb.plan_text": dict.fromkeys(("as_dict", "curves", "plot_title", "show", "title"), PLAN)
    | {"dominating": "takes the widths of a Plan"},
    "lpcb.protocol": {
        "Server.begin": "takes a View, which only a server makes",
        "View": "published by a server, which checked all it is made of",
    },
    "lpcb.state": {
        "dumps": "takes a server that exists",
        "save": "takes a server that exists",
    },
}
EXEMPT = {f"{module}.{name}": why for module, names in _REASONS.items() for name, why in names.items()}
