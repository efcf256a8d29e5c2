"""Where the files of ssh are."""


class SSHConfigHelper:
    ssh_cluster_path = "~/.sky/generated/ssh/{}"
