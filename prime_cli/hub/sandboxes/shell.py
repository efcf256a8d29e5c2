"""What providers have a shell inside do before a command."""

ENTER = (
    'cd -- "$1" 2>/dev/null || { why="Permission denied" code=126; '
    '[ -d "$1" ] || why="Not a directory"; '
    '[ -e "$1" ] || { why="No such file or directory" code=127; }; '
    'printf "%s: %s\\n" "$1" "$why" >&2; exit "$code"; }'
)
"""Goes into the folder `$1`, or says in a line why not: engines and shells each say it in their own
words, and engines in several lines.
"""
