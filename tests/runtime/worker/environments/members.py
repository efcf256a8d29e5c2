"""Two environments as one, both with functions that are named like fields of a row."""

import named
import verifiers as vf


def load_environment(names=()):
    members = [named.load_environment(names), named.load_environment(names)]
    return vf.EnvGroup(envs=members, env_names=["first", "second"])
