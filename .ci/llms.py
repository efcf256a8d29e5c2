"""Write `site/llms.txt` and `site/llms-full.txt` (https://llmstxt.org) from the site's pages.

The first lists each page with its first sentence, the second has all of them but the reference of
commands, which `prime schema` tells programs.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS, SITE = ROOT / "docs", ROOT / "site"
_PAGE = re.compile(r"^ +- (\S+\.md)$", re.MULTILINE)
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_LEFT_OUT = ("commands.md",)


def main() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = _PAGE.findall(config.partition("\nnav:\n")[2])
    texts = {page: (DOCS / page).read_text(encoding="utf-8") for page in pages}
    lines = [f"- [{_title(text)}]({_url(page)}): {_first(text)}" for page, text in texts.items()]
    about = re.search(r"^site_description: (.*)$", config, re.MULTILINE)
    head = f"# prime\n\n> {about[1] if about else ''}\n"
    whole = [text for page, text in texts.items() if page not in _LEFT_OUT]
    _write("llms.txt", f"{head}\n## Pages\n\n" + "\n".join(lines))
    _write("llms-full.txt", "\n\n".join([head, *whole]))


def _write(name: str, text: str) -> None:
    (SITE / name).write_text(text.rstrip() + "\n", encoding="utf-8", newline="\n")


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")


def _url(page: str) -> str:
    path = re.sub(r"((^|/)(index|README))?\.md$", "", page)
    return f"{path}/" if path else "./"


def _first(text: str) -> str:
    """The first paragraph that is a sentence, up to its full stop."""
    for paragraph in text.split("\n\n")[1:]:
        flat = " ".join(paragraph.split())
        if flat[:1].isalpha():
            return _LINK.sub(r"\1", flat.partition(". ")[0].rstrip(".:"))
    return _title(text)


if __name__ == "__main__":
    main()
