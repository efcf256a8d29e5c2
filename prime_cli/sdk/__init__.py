"""What the commands do, for programs: `from prime_cli import Hub`.

Nothing here prints, asks or ends the process: what is found comes back as a frozen record, what
fails is raised as an error of `prime_cli.core.errors`, and progress is told to whoever wants it.
"""
