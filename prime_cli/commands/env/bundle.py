"""`prime env bundle`."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import BUILDS
from prime_cli.commands.options import (
    CONTEXT,
    LONG_OUTPUT,
    OFFLINE,
    QUIET,
    YES,
    DryRunOpt,
    common_options,
    open_session,
)
from prime_cli.core.digests import digest_file
from prime_cli.core.errors import Conflict, UsageError
from prime_cli.core.formatting import format_bytes, pluralize
from prime_cli.envs.bundles.archive import CheckedBundle, verify_bundle
from prime_cli.envs.bundles.collect import make_bundle
from prime_cli.envs.bundles.manifest import FILES, BundleManifest, BundleMember, BundleTarget
from prime_cli.envs.bundles.plan import BundleContext, BundlePlan, BundleSpec, plan_bundle
from prime_cli.envs.bundles.platforms import parse_platform, parse_python, this_platform
from prime_cli.envs.fetch import FetchedEnvironment
from prime_cli.terminal.output import Output

_COLUMNS = ("Part", "What", "Size")


class BundledWheel(msgspec.Struct, frozen=True):
    """A file of a package; `size` in bytes, null if the index does not state it."""

    file: str
    size: int | None


class PlannedData(msgspec.Struct, frozen=True):
    """Data of a bundle, and how many files it has."""

    name: str
    kind: str
    files: int


class BundleContent(msgspec.Struct, frozen=True):
    """What `--dry-run` would bundle; `builds` are source archives to be built."""

    targets: tuple[BundleTarget, ...]
    environments: list[str]
    wheels: list[BundledWheel]
    builds: list[BundledWheel]
    data: list[PlannedData]


class WrittenBundle(msgspec.Struct, frozen=True, kw_only=True):
    """The file that was written; `size` in bytes, `wheels` counts those of packages."""

    file: str
    size: int
    sha256: str
    environments: list[str]
    targets: tuple[BundleTarget, ...]
    wheels: int


@common_options(
    YES,
    LONG_OUTPUT,
    QUIET,
    CONTEXT,
    OFFLINE,
    answer=(WrittenBundle, BundleContent, BundleManifest),
    record=(WrittenBundle, BundleContent, BundleMember),
    effects=BUILDS,
)
def bundle(
    ctx: typer.Context,
    environments: Annotated[
        list[str] | None,
        typer.Argument(metavar="OWNER/NAME[@VERSION]…", help="The environments; several."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-o", metavar="FILE", help="The file to write.")
    ] = None,
    platform: Annotated[
        list[str] | None,
        typer.Option(
            "--platform", help="A platform, such as linux-x86_64; repeatable. Default: this one."
        ),
    ] = None,
    python: Annotated[
        list[str] | None,
        typer.Option(
            "--python", metavar="VERSION", help="A Python version, such as 3.12; repeatable."
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data", metavar="PATH", help="A data file or folder to include; repeatable."
        ),
    ] = None,
    no_sources: Annotated[
        bool, typer.Option("--no-sources", help="Omit the environments' source archives.")
    ] = False,
    inside: Annotated[
        Path | None, typer.Option("--list", metavar="FILE", help="Check and show a bundle.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    dry_run: DryRunOpt = False,
) -> None:
    """Bundle environments and their packages into one file.

    A bundle contains wheels, sources and locks, and the wheels of all locked packages for each
    --platform and --python, so `prime env install FILE` needs no network. The default Python is
    that of the locks. Folders from Hugging Face's caches (`--data
    ~/.cache/huggingface/hub/datasets--ada--words`) are restored into these caches.

    \b
    Example:
      prime env bundle starter/alphabet-sort -o alphabet.bundle
      prime env bundle ada/wordle@1.2 -o w.bundle --platform linux-x86_64 \\
        --platform macos-arm64 --python 3.12 --dry-run
    \b
    See also: `prime env install`, `prime env inspect`, `prime cache list`.
    """
    session = open_session(ctx)
    if inside is not None:
        show_bundle(verify_bundle(inside, session.progress), session.output)
        return
    target = _target(environments, file, force=force or dry_run)
    spec = BundleSpec(
        tuple(environments or ()),
        tuple(map(parse_platform, platform or [this_platform()])),
        tuple(map(parse_python, python or [])),
        tuple(data or ()),
        not no_sources,
    )
    context = BundleContext(
        session.hub,
        session.config.home.value,
        session.progress,
        session.trust_policy(),
        session.config.offline,
    )
    plan = plan_bundle(spec, context)
    if dry_run:
        _show_plan(plan, session.output)
        return
    _tell(target, make_bundle(plan, context, target), session.output)


def _target(environments: list[str] | None, file: Path | None, *, force: bool) -> Path:
    if not environments:
        raise UsageError("No environment given", hint="pass one, such as `prime env bundle ada/x`")
    if file is None:
        raise UsageError("No file given", hint="add `-o NAME.bundle`")
    if file.exists() and not force:
        raise Conflict(f"{file} already exists", hint="overwrite it with `--force`")
    return file


def _show_plan(plan: BundlePlan, output: Output) -> None:
    wheels = sum(each.size or 0 for each in plan.wheels)
    rows = [
        [str(each.fetched.ref), f"verifiers {each.lock.verifiers}", _size(each.fetched)]
        for each in plan.parts
    ]
    rows += [[*_parts(each.filename), _maybe(each.size)] for each in plan.wheels]
    rows += [
        [f"{each.name} {each.version}", "to be built", _maybe(each.size)] for each in plan.sources
    ]
    rows += [
        [
            f"data/{data.name}",
            data.kind,
            format_bytes(sum(p.stat().st_size for p in files.values())),
        ]
        for data, files in plan.data
    ]
    record = BundleContent(
        targets=plan.targets,
        environments=[str(part.fetched.ref) for part in plan.parts],
        wheels=[BundledWheel(each.filename, each.size) for each in plan.wheels],
        builds=[BundledWheel(each.filename, each.size) for each in plan.sources],
        data=[PlannedData(d.name, d.kind, len(f)) for d, f in plan.data],
    )
    output.table(_COLUMNS, rows, records=[record], page=record, title="Nothing was written")
    output.say(
        f"{len(plan.wheels)} wheels of packages, {format_bytes(wheels)}, "
        f"for {', '.join(map(str, plan.targets))}"
    )


def show_bundle(bundle: CheckedBundle, output: Output) -> None:
    """Show what is in a bundle."""
    manifest = bundle.manifest
    sizes = {member.path: member.size for member in manifest.members}
    rows = [
        [each.ref, f"verifiers {each.verifiers}, {pluralize(each.packages, 'package')}",
         format_bytes(sizes[each.wheel])]
        for each in manifest.environments
    ]  # fmt: skip
    rows += [
        [*_parts(name.partition("/")[2]), format_bytes(size)]
        for name, size in sizes.items()
        if name.startswith("wheels/")
    ]
    for data in manifest.data:
        total = sum(size for name, size in sizes.items() if name.startswith(f"data/{data.name}/"))
        rows.append([f"data/{data.name}", data.kind, format_bytes(total)])
    targets = ", ".join(map(str, manifest.targets))
    output.table(
        _COLUMNS,
        rows,
        records=manifest.members,
        page=manifest,
        title=f"{bundle.path.name}: {targets}",
    )
    output.say(f"All {len(manifest.members)} members match their sha256")


def _tell(target: Path, manifest: BundleManifest, output: Output) -> None:
    wheels = sum(member.path.startswith("wheels/") for member in manifest.members)
    size, sha256 = target.stat().st_size, digest_file(target)
    named = ", ".join(each.ref for each in manifest.environments if not each.required)
    record = WrittenBundle(
        file=str(target),
        size=size,
        sha256=sha256,
        environments=[each.ref for each in manifest.environments],
        targets=manifest.targets,
        wheels=wheels,
    )
    output.done(
        f"Bundled {named} with {wheels} wheels into {target} ({format_bytes(size)})", value=record
    )
    output.say(f"sha256 {sha256}")
    if any(data.kind == FILES for data in manifest.data):
        output.say("`prime env install` unpacks its data, and prints where")
    output.hint(f"install it on the other machine with `prime env install {target}`")


def _size(fetched: FetchedEnvironment) -> str:
    return format_bytes(fetched.package.path.stat().st_size)


def _maybe(size: int | None) -> str:
    return "-" if size is None else format_bytes(size)


def _parts(wheel: str) -> tuple[str, str]:
    """Name and version of a wheel's file name, and the first of its tags: what fits a screen."""
    name, version, tags = wheel.removesuffix(".whl").split("-", 2)
    return f"{name} {version}", tags.partition(".")[0]
