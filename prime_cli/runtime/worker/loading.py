"""Import an environment's module and call its `load_environment`; failures say what to do."""

import importlib
import importlib.metadata
import inspect
from collections.abc import Callable, Collection, Iterable
from types import ModuleType
from typing import Any

from .failures import BadArguments, StageFailed
from .guards import Handlers
from .spec import Spec


def installed_version(name: str) -> str | None:
    """The version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None


def top_level_modules(name: str) -> set[str]:
    """What the installed distribution `name` can be imported as; nothing where it is not known."""
    try:
        files = importlib.metadata.files(name) or ()
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return set()
    return {file.parts[0].removesuffix(".py") for file in files if file.suffix == ".py"}


def import_module(name: str) -> ModuleType:
    """The environment's module; whatever it raises is the import's failure, SystemExit too."""
    with Handlers():
        try:
            return importlib.import_module(name)
        except BaseException as error:
            raise StageFailed("import", error) from error


def load_v0(spec: Spec, module: Any) -> Any:
    """The environment that `load_environment(**args)` makes, with `extra` set on it."""
    load = getattr(module, "load_environment", None)
    if load is None:
        error = AttributeError(f"module {module.__name__!r} has no load_environment")
        raise StageFailed("import", error)
    check_arguments(load, spec.args)
    with Handlers():
        try:
            environment = _call(load, spec)
            _set_extra(environment, spec.extra)
        except BaseException as error:
            raise StageFailed("load", error) from error
    return environment


def check_arguments(load: Callable[..., Any], given: Collection[str]) -> None:
    """Raise StageFailed("arguments") for keywords that are missing or unknown."""
    try:
        parameters = inspect.signature(load).parameters.values()
    except (TypeError, ValueError):
        return
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    missing = [p.name for p in named if p.default is p.empty and p.name not in given]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    unknown = [] if takes_any else sorted(set(given) - {p.name for p in named})
    if missing:
        problem = f"load_environment needs {_list(missing)}"
    elif unknown:
        problem = f"load_environment does not take {_list(unknown)}"
    else:
        return
    others = [f"{p.name}={p.default!r}" for p in named if p.default is not p.empty]
    required = [p.name for p in named if p.default is p.empty]
    known = ", ".join(required + others) or "nothing"
    raise StageFailed("arguments", BadArguments(f"{problem} (it takes: {known})"))


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _call(load: Callable[..., Any], spec: Spec) -> Any:
    """By way of verifiers' own loader, which knows typed configs; its wrapper errors undone."""
    import verifiers

    loader = getattr(verifiers, "load_environment", None)
    if loader is None or "env_id" in spec.args:
        environment = load(**spec.args)
    else:
        try:
            environment = loader(spec.module, **spec.args)
        except (RuntimeError, ValueError) as error:
            if error.__cause__ is not None:
                raise error.__cause__ from None
            raise
    if getattr(environment, "env_id", None) == spec.module:
        environment.env_id = spec.env_id
    return environment


def _set_extra(environment: Any, extra: dict[str, Any]) -> None:
    if not extra:
        return
    if hasattr(environment, "set_kwargs"):
        environment.set_kwargs(**extra)
        return
    for name, value in extra.items():
        setattr(environment, name, value)
