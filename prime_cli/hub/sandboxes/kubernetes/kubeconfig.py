"""How to log in to a cluster: kubectl's configuration, or that of the pod that we are in."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from kubernetes_asyncio import config
from kubernetes_asyncio.client import Configuration

from prime_cli.core.errors import UsageError
from prime_cli.hub.sandboxes.kubernetes.settings import KubernetesSettings

_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


async def load_kubeconfig(settings: KubernetesSettings) -> tuple[Configuration, str]:
    """The configuration with credentials, and the namespace. Raises UsageError."""
    configuration = Configuration()
    # Each command is a connection that lasts.
    configuration.connection_pool_maxsize = 0
    try:
        named = await _load(settings, configuration)
    except (config.ConfigException, ssl.SSLError, OSError, KeyError, yaml.YAMLError) as error:
        raise UsageError(
            f"kubectl's configuration cannot be used: {error}",
            hint="`kubectl config get-contexts` lists what is there",
        ) from error
    return configuration, settings.namespace or named


async def _load(settings: KubernetesSettings, configuration: Configuration) -> str:
    """Fill `configuration`; the namespace that it names."""
    if settings.kubeconfig is None:
        # It has no types.
        load: Any = config.load_incluster_config
        load(client_configuration=configuration)
        return (await asyncio.to_thread(_NAMESPACE_FILE.read_text, "utf-8")).strip()
    loader = await config.load_kube_config(
        config_file=settings.kubeconfig,
        context=settings.context,
        client_configuration=configuration,
        persist_config=False,
    )
    context = loader.current_context or {}
    return str(context.get("context", {}).get("namespace", "default"))
