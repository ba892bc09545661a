"""The public names of a package: functions, classes and their methods, with their modules."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from types import ModuleType


def public_names(package: ModuleType) -> list[str]:
    """Sorted; what starts with an underscore, module or name, is nobody's business."""
    modules = [package.__name__]
    modules += [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    names = []
    for module in modules:
        if any(part.startswith("_") for part in module.split(".")):
            continue
        for name, value in vars(import_module(module)).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module:
                continue
            if inspect.isfunction(value):
                names.append(f"{module}.{name}")
            elif inspect.isclass(value):
                names += [f"{module}.{name}", *_methods(f"{module}.{name}", value)]
    return sorted(names)


def _methods(where: str, owner: type) -> list[str]:
    """Those that take an argument beside the instance: a property of a sound instance is sound."""
    found = []
    for name, value in vars(owner).items():
        function = getattr(value, "__func__", value)
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        if len(inspect.signature(function).parameters) > 1:
            found.append(f"{where}.{name}")
    return found
