"""OpenEnv's capture server, which TRL's trainers use: `python openenv_capture.py POLICY_URL`."""

import socket
import sys
import threading

import uvicorn
from openenv.core.harness.capture.server import create_app

listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
app = create_app(llm_url=sys.argv[1].removesuffix("/v1"), model="policy")
server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
threading.Thread(target=server.run, args=([listener],), daemon=True).start()
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
sys.stdin.read()
