#!/usr/bin/env bash
# A Slurm of one machine behind an sshd on 127.0.0.1:2222, for trying `sky` pods without a cloud.
#
#   tests/e2e/slurm_lab.sh up FOLDER     start it, with everything that it writes in FOLDER
#   tests/e2e/slurm_lab.sh down FOLDER   end what was started, and remove the user that it made
#
# It is of two nodes, 127.0.0.1 and 127.0.0.2: SkyPilot looks up the names of nodes, and these need
# no line in /etc/hosts. Each is called so in a UTS namespace of its own.
#
# Run as root on a Debian machine that you can throw away, after
# `apt-get install slurm-wlm munge openssh-server rsync`, with uv on the PATH. PYTHON310 is a
# folder with a Python 3.10, which SkyPilot wants on machines: `uv python find 3.10` knows one.
# Every user must be able to pass through the folders above FOLDER.
set -euo pipefail

user=prime-lab
port=2222

up() {
    mkdir -p "$lab"/{spool-127.0.0.{1,2},state,munge,bin,ssh,sky-home/.slurm}
    chmod 755 "$lab"
    id "$user" >/dev/null 2>&1 || useradd --create-home --home-dir "$lab/home" \
        --shell /bin/bash --password '*' "$user"
    place_tools
    start_munge
    start_slurm
    start_sshd
    admit_sky
    SLURM_CONF="$lab/slurm.conf" timeout 60 srun --nodes=2 hostname >/dev/null
    echo "Slurm answers at $user@127.0.0.1 -p $port; run sky with HOME=$lab/sky-home"
}

# SkyPilot fetches uv and Python 3.10 from the internet for each cluster unless both are there.
place_tools() {
    cp "$(command -v uv)" "$lab/bin/uv"
    cp -r "${PYTHON310:?a folder with a Python 3.10}" "$lab/python310"
    cat >"$lab/bin/curl" <<CURL
#!/bin/sh
case "\$*" in
*astral.sh/uv*) echo 'mkdir -p "\$UV_INSTALL_DIR" && cp "$lab/bin/uv" "\$UV_INSTALL_DIR/uv"' ;;
*) exec /usr/bin/curl "\$@" ;;
esac
CURL
    chmod 755 "$lab/bin/curl" "$lab/bin/uv"
}

start_munge() {
    test -f "$lab/munge/key" || (umask 077 && head -c 1024 /dev/urandom >"$lab/munge/key")
    munged --force --num-threads=1 --key-file="$lab/munge/key" --socket="$lab/munge/socket" \
        --pid-file="$lab/munge.pid" --log-file="$lab/munge/log" --seed-file="$lab/munge/seed"
}

start_slurm() {
    local host node
    host=$(hostname -s)
    cat >"$lab/slurm.conf" <<CONF
ClusterName=lab
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$lab/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
StateSaveLocation=$lab/state
SlurmdSpoolDir=$lab/spool-%n
SlurmctldPidFile=$lab/slurmctld.pid
SlurmdPidFile=$lab/slurmd-%n.pid
SlurmctldLogFile=$lab/slurmctld.log
SlurmdLogFile=$lab/slurmd-%n.log
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=127.0.0.1 NodeHostname=$host NodeAddr=127.0.0.1 Port=26818 CPUs=2 RealMemory=4000
NodeName=127.0.0.2 NodeHostname=$host NodeAddr=127.0.0.2 Port=26819 CPUs=2 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
    slurmctld -f "$lab/slurm.conf"
    for node in 127.0.0.1 127.0.0.2; do
        unshare --uts sh -c 'hostname "$1"; exec slurmd -N "$1" -f "$2"' - $node "$lab/slurm.conf"
    done
}

# sshd takes one SetEnv line only, and starts itself anew for each connection: -f must be absolute.
start_sshd() {
    # Login shells set PATH anew from /etc/profile; this is read after it.
    { echo "PATH=$lab/bin:$lab/python310/bin:\$PATH"
        echo "export LD_LIBRARY_PATH=$lab/python310/lib"; } >"$lab/bash_env"
    test -f "$lab/ssh/host" || ssh-keygen -q -t ed25519 -N '' -f "$lab/ssh/host"
    cat >"$lab/ssh/sshd_config" <<CONF
Port $port
ListenAddress 127.0.0.1
HostKey $lab/ssh/host
PidFile $lab/sshd.pid
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
AllowUsers $user
SetEnv BASH_ENV=$lab/bash_env SLURM_CONF=$lab/slurm.conf SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt UV_SYSTEM_CERTS=1 UV_PYTHON_DOWNLOADS=never
Subsystem sftp internal-sftp
CONF
    test -d /run/sshd || install -d -m 755 /run/sshd
    "$(command -v sshd || echo /usr/sbin/sshd)" -f "$lab/ssh/sshd_config" -E "$lab/sshd.log"
}

admit_sky() {
    test -f "$lab/ssh/login" || ssh-keygen -q -t ed25519 -N '' -f "$lab/ssh/login"
    install -d -m 700 -o "$user" -g "$user" "$lab/home/.ssh"
    install -m 600 -o "$user" -g "$user" "$lab/ssh/login.pub" "$lab/home/.ssh/authorized_keys"
    cat >"$lab/sky-home/.slurm/config" <<CONF
Host lab
    HostName 127.0.0.1
    Port $port
    User $user
    IdentityFile $lab/ssh/login
CONF
}

down() {
    local name pid
    for name in sshd slurmd-127.0.0.{1,2} slurmctld munge; do
        test -f "$lab/$name.pid" && kill "$(cat "$lab/$name.pid")" || true
    done
    # SkyPilot's connections outlive its server and this sshd, and keep the user from going.
    for _ in $(seq 20); do
        id "$user" >/dev/null 2>&1 || return 0
        for pid in $(ps -o pid= -u "$user"); do
            kill "$pid" 2>/dev/null || true
        done
        sleep 1
        userdel "$user" 2>/dev/null || true
    done
    echo "The user $user is still there" >&2
    return 1
}

lab=$(realpath -m "${2:?up or down, and a folder}")
case "$1" in
up) up ;;
down) down ;;
*) echo "up or down, and a folder" >&2 && exit 2 ;;
esac
