"""A Ray cluster of nodes on this machine, for as long as stdin is open.

    python ray_cluster.py NODES

Prints its address, its folder and this process. A line `kill` ends a node and all that runs on it
at once, a line `head` the head.
"""

import contextlib
import os
import sys

import psutil
from ray.cluster_utils import Cluster

STORE = {"object_store_memory": 80 * 2**20, "num_cpus": 1}


def main() -> None:
    cluster = Cluster(True, head_node_args={**STORE, "include_dashboard": False})
    for _ in range(int(sys.argv[1]) - 1):
        cluster.add_node(**STORE)
    print(cluster.address, cluster.head_node.get_session_dir_path(), os.getpid(), flush=True)
    for line in sys.stdin:
        if line == "kill\n":
            kill(cluster)
        elif line == "head\n":
            cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
    cluster.shutdown()


def kill(cluster: Cluster) -> None:
    """End a node as a machine ends that has no power: its workers do nothing more."""
    node = next(iter(cluster.worker_nodes))
    (raylet,) = node.all_processes["raylet"]
    for process in psutil.Process(raylet.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    cluster.remove_node(node, allow_graceful=False)


if __name__ == "__main__":
    main()
