"""Run by TRL's interpreter. Prints the fields of its GRPOConfig as JSON."""

import json
from dataclasses import fields

from trl import GRPOConfig

print(json.dumps([each.name for each in fields(GRPOConfig) if each.init]))
