"""Whether a cluster applies a NetworkPolicy: tried by a container of ours, before any other runs.

No object says so, and what the image of a sandbox prints would be its owner's word. So each pod has
an init container with an image that the hub's admin chooses. It shares the pod's network, and ends
well once the pod reaches the cluster's own API no more: at a private address, which no level
reaches. Its exit code is the node's word. The sandbox's own container starts only then, as a policy
begins to hold a moment after the start of a pod.
"""

from typing import Any

from prime_cli.hub.sandboxes.kubernetes.objects import PROBE

OPEN, UNTRIED = 1, 3
"""Its exit codes where the API is still reached, and where the image has no `nc` that connects."""

_TRIES = 20

_SCRIPT = f"""\
[ -n "$KUBERNETES_SERVICE_HOST" ] && command -v nc >/dev/null || exit {UNTRIED}
port=$((10000 + $$ % 20000))
nc -l -p $port >/dev/null &
flags="" tries=0
while [ -z "$flags" ]; do
  [ $tries -lt {_TRIES} ] || exit {UNTRIED}
  tries=$((tries + 1))
  sleep 0.2
  for each in "-z -w 1" "-w 1"; do
    ! nc $each 127.0.0.1 $port </dev/null 2>/dev/null || {{ flags=$each; break; }}
  done
done
closed=0 tries=0
while [ $tries -lt {_TRIES} ]; do
  sleep 1 & pause=$!
  if nc $flags "$KUBERNETES_SERVICE_HOST" "$KUBERNETES_SERVICE_PORT" </dev/null; then
    closed=0
  else
    closed=$((closed + 1))
  fi
  wait $pause
  [ $closed -lt 3 ] || exit 0
  tries=$((tries + 1))
done
exit {OPEN}
"""
"""Its first connections, to itself, show that `nc` makes one, and how: builds of busybox differ. It
listens below the ports that a kernel gives to whoever asks for any, and may take a while to, with
its twentieth of a CPU.

Each try takes a second, also one that is refused at once, as a new node may do until it knows where
the API is; three in a row have to fail. A pod cannot tell a filter from an API that nobody reaches
for that long, and no cluster starts pods without its API.
"""


def probe_container(image: str, security: dict[str, Any]) -> dict[str, Any]:
    """The init container; its limits, which some clusters want, are within those of any sandbox."""
    return {
        "name": PROBE,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", _SCRIPT],
        "resources": {
            "limits": {"memory": "32M", "cpu": "50m", "ephemeral-storage": "16M"},
        },
        "securityContext": security,
    }
