"""Packages with plugins, as an installer leaves them."""

from pathlib import Path


def write_plugin(site: Path, group: str, **values: str) -> None:
    """Write the metadata of a package into `site`, with these entry points by name."""
    package = "-".join(values)
    folder = site / f"{package}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in values.items())]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
