"""GRPO by TRL over the rollout service: `PYTHON main.py CONFIG.json`, run by TRL's interpreter."""
