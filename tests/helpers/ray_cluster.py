"""A Ray cluster of nodes on this machine, for as long as stdin is open.

    python ray_cluster.py NODES

Prints its address and the process of each node. A line `kill` ends a node at once, a line `head`
the head.
"""

import os
import sys

from ray.cluster_utils import Cluster

STORE = {"object_store_memory": 80 * 2**20, "num_cpus": 1}


def main() -> None:
    cluster = Cluster(True, head_node_args={**STORE, "include_dashboard": False})
    for _ in range(int(sys.argv[1]) - 1):
        cluster.add_node(**STORE)
    print(cluster.address, cluster.head_node.get_session_dir_path(), os.getpid(), flush=True)
    for line in sys.stdin:
        if line == "kill\n":
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        elif line == "head\n":
            cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
    cluster.shutdown()


if __name__ == "__main__":
    main()
