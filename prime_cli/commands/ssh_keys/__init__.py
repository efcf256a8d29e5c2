"""`prime ssh-keys …`, also `prime ssh-key …`."""

from prime_cli.commands.lazy import group

_HERE = "prime_cli.commands.ssh_keys"

app = group(
    "Say which keys open your pods.",
    {
        "list": (f"{_HERE}.list:list_", "List the public keys that open your pods."),
        "add": (f"{_HERE}.add:add", "Let a public key open your pods."),
        "remove": (f"{_HERE}.remove:remove", "Let a key open no more pods."),
        "set-primary": (f"{_HERE}.set_primary:set_primary", "Choose the key that comes first."),
    },
    aliases={"ls": "list", "rm": "remove"},
)
