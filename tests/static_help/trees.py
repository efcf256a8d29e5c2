"""A small tree with each kind of thing that can follow."""

from prime_cli.static_help.command_tree import Argument, Node, Option

QUIET = Option(("--quiet", "-q"), "Say less.")
RUN = Node(
    path="prime eval run",
    summary="Evaluate.",
    options=(
        Option(("--model", "-m"), "A model.", ("builtin/echo", "@models")),
        Option(("--max-tokens", "-t"), "A limit.", ()),
        Option(("--temperature", "-T"), "A number.", ()),
        Option(("--context",), "The hub.", ("local", "prime", "@contexts")),
        Option(("--junit",), "A file.", ("@files",)),
        QUIET,
    ),
    arguments=(Argument("ENVIRONMENT", "", ("starter/one", "@environments", "@projects")),),
)
TREE = Node(
    path="prime",
    summary="",
    options=(Option(("--version",), "Show the version."),),
    commands=(
        Node(
            path="prime env",
            summary="Environments: write, publish.",
            options=(),
            commands=(
                Node(
                    path="prime env install",
                    summary="Install 'em.",
                    options=(
                        Option(("--with",), "The installer.", ("uv", "pip")),
                        Option(("--path", "-p"), "A folder.", ("@folders",)),
                        QUIET,
                    ),
                    arguments=(Argument("ENVIRONMENT", "", ("@environments",), repeats=True),),
                    aliases=("add",),
                ),
                Node(
                    path="prime env inspect",
                    summary="Look.",
                    options=(),
                    arguments=(
                        Argument("OWNER/NAME", "", ("@environments",)),
                        Argument("PATH", "", ()),
                    ),
                ),
                Node(
                    path="prime env upload",
                    summary="Publish.",
                    options=(),
                    arguments=(Argument("WHEEL", "", ("@wheels",)),),
                ),
            ),
        ),
        Node(
            path="prime eval",
            summary="Evaluate models.",
            options=RUN.options,
            commands=(
                RUN,
                Node(
                    path="prime eval show",
                    summary="Show.",
                    options=(),
                    arguments=(Argument("RUN", "", ("@runs", "@folders")),),
                ),
                Node(
                    path="prime eval get",
                    summary="Get.",
                    options=(),
                    arguments=(Argument("EVALUATION", "", ("@evaluations",)),),
                ),
            ),
            arguments=RUN.arguments,
            default="prime eval run",
        ),
        Node(
            path="prime completion",
            summary="Print.",
            options=(),
            arguments=(Argument("SHELL", "", ("bash", "zsh")),),
        ),
    ),
)
