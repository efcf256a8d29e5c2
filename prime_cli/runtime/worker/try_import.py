"""Run by an environment's interpreter (3.10 or later): does its module import, and as what?

One argument: JSON {"module": import name or null, "names": [[module, name], ...], "v1": true,
"withheld": [], "left_out": [], "moved": [{"module": ..., "code": ...}], "load": name of the
environment or null, "load_seconds": 30}, `v1` being whether its source may have a Taskset,
`withheld` and `left_out` names of variables, `moved` code that packages with a later API refuse.
With "load" the environment is loaded as well. The last line on the first stdout is JSON too;
whatever the module prints goes to stderr.
"""

import importlib
import importlib.util
import json
import os
import sys
import threading
import traceback
from typing import Any

LIBRARY = "verifiers"


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    request = json.loads(sys.argv[1])
    result: dict[str, Any] = {"stage": "import", "python": "%d.%d.%d" % sys.version_info[:3]}
    asked: list[str] = []
    result["asked"] = asked
    prepare(request, asked)
    try:
        check(request, result)
    except BaseException as error:  # SystemExit too: a module may exit at import
        result["error"] = describe(error, request["module"])
    answer(answers, result)
    passed = result.get("generation") and not (result["missing"] or result.get("moved"))
    if request.get("load") and passed:
        # A load that takes longer is not waited for: it may be a download.
        limit = threading.Timer(request["load_seconds"], os._exit, (0,))
        limit.daemon = True
        limit.start()
        result["load"] = load(request, result)
        # Ending now would cut the answer.
        limit.cancel()
        answer(answers, result)
    # Threads started by the module must not delay the exit.
    os._exit(0)


def answer(answers: Any, result: dict[str, Any]) -> None:
    answers.write("\n" + json.dumps(result) + "\n")
    answers.flush()


def load(request: dict[str, Any], result: dict[str, Any]) -> "dict[str, Any] | None":
    """What `try_load` found, with the worker's own package as the worker has it."""
    folder = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    spec = importlib.util.spec_from_file_location(
        "_prime_worker",
        os.path.join(folder, "__init__.py"),  # noqa: PTH118
        submodule_search_locations=[folder],
    )
    assert spec is not None and spec.loader is not None  # noqa: PT018, S101 - the file is ours
    sys.modules["_prime_worker"] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    try_load = importlib.import_module("_prime_worker.try_load").try_load
    module = sys.modules[request["module"]]
    found: "dict[str, Any] | None" = try_load(module, result["generation"], request["load"])
    return found


def prepare(request: dict[str, Any], asked: list[str]) -> None:
    """Add withheld variables that the module requests to `asked`; refuse what it asks a person.

    Breakpoints are passed over: where they stop is for a run to decide.
    """
    withheld_variables = own_module("withheld_variables")
    own_module("no_input").refuse_input(skip_breakpoints=True)

    def on_ask(name: str, by: "str | None") -> None:  # noqa: ARG001
        asked.append(name)

    modules = [request["module"].partition(".")[0]]
    withheld_variables.watch(request["withheld"], request["left_out"], modules, on_ask)


def own_module(name: str) -> Any:
    """A module from this folder, which an environment cannot see."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[0]


def check(request: dict[str, Any], result: dict[str, Any]) -> None:
    module = importlib.import_module(request["module"])
    result["stage"] = "library"
    result["verifiers"] = library_version()
    result["stage"] = "symbol"
    result["generation"] = generation_of(module)
    result["exposes"] = hasattr(module, "load_environment") or (
        request["v1"] and may_be_taskset(module)
    )
    result["stage"] = "names"
    result["missing"] = [pair for pair in request["names"] if not exists(*pair)]
    result["moved"] = next(filter(None, map(moved, request.get("moved", ()))), None)
    result["stage"] = "done"


def moved(trial: dict[str, str]) -> str | None:
    """What a package refuses of the API that the code uses; None if nothing, or it is absent."""
    from importlib.metadata import version

    try:
        exec(trial["code"], {})  # noqa: S102 - from the table of the parent
    except ModuleNotFoundError:
        return None
    except Exception as error:
        last = trial["code"].strip().splitlines()[-1]
        name = trial["module"].replace("_", "-")
        what = "`%s` raises %s" % (last.partition("(")[0], type(error).__name__)
        return "%s %s has another API: %s" % (name, version(name), what)
    return None


def may_be_taskset(module: Any) -> bool:
    """Whether a release of verifiers could see a Taskset where this one sees none."""
    try:
        importlib.import_module(LIBRARY + ".v1")
    except (ImportError, AttributeError):
        return True
    exported = [getattr(module, name, None) for name in getattr(module, "__all__", ())]
    bases = [base for value in exported if isinstance(value, type) for base in value.__mro__]
    # Those of v1 that it builds on: a Harness is a Harness in every release.
    return any(base.__name__.endswith("Taskset") for base in bases)


def library_version() -> str:
    from importlib.metadata import version

    importlib.import_module(LIBRARY)
    return version(LIBRARY)


def generation_of(module: Any) -> str | None:
    library = importlib.import_module(LIBRARY)
    if callable(getattr(module, "load_environment", None)) and hasattr(library, "load_environment"):
        return "v0"
    try:
        base = importlib.import_module(LIBRARY + ".v1").Taskset
    except (ImportError, AttributeError):
        return None
    exported = [getattr(module, name, None) for name in getattr(module, "__all__", ())]
    tasksets = [
        value
        for value in exported
        if isinstance(value, type) and issubclass(value, base) and value is not base
    ]
    return "v1" if len(tasksets) == 1 else None


def exists(module: str, name: str) -> bool:
    try:
        found = importlib.import_module(module)
        if not name or hasattr(found, name):
            return True
        importlib.import_module(module + "." + name)
    except ModuleNotFoundError as error:
        # A module of the library is absent, or only one that an extra would install.
        return not (error.name or "").startswith(LIBRARY)
    except ImportError:
        return True
    return True


def describe(error: BaseException, module: str) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)
    files = [frame.filename.replace(os.sep, "/") for frame in frames]
    if isinstance(error, SyntaxError) and error.filename:  # uncompilable code has no frame
        files.append(error.filename.replace(os.sep, "/"))
    installed = [name for name in files if "/site-packages/" in name]
    inside_library = any("/%s/" % LIBRARY in name for name in files)
    return {
        "type": type(error).__name__,
        "message": str(error),
        "absent": error.name
        if isinstance(error, ImportError)
        else own_module("blame").lacking(error),
        "library": inside_library or own_module("blame").is_about_library(error),
        "own": bool(installed) and "/site-packages/%s" % module in installed[-1],
        "traceback": "".join(traceback.format_exception(type(error), error, error.__traceback__)),
    }


if __name__ == "__main__":
    main()
