"""Agent Lightning's server, without its log of calls: `python agent_lightning.py POLICY_URL`."""

import logging
import socket
import sys
import threading

import structlog
import uvicorn
from agentlightning.schemas import Model
from agentlightning.server.app import create_app
from agentlightning.server.store import _models

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
proxy = {"model_name": "policy", "train": {"temperature": 1.0}, "val": {"temperature": 1.0}}
_models["policy"] = {sys.argv[1]: Model(model="policy", endpoint=sys.argv[1], version=0)}
listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
config = uvicorn.Config(create_app({"key": "", "default_proxy": proxy}), log_level="warning")
server = uvicorn.Server(config)
threading.Thread(target=server.run, args=([listener],), daemon=True).start()
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
sys.stdin.read()
