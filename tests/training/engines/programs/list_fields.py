"""Run by TRL's interpreter. Prints the fields of its GRPOConfig, then of its SFTConfig, as JSON."""

import json
from dataclasses import fields

from trl import GRPOConfig, SFTConfig

for kind in (GRPOConfig, SFTConfig):
    print(json.dumps([each.name for each in fields(kind) if each.init]))
