"""The environment variables that an environment's own processes see: an allow-list, without keys.

Where programs are, where caches and proxies are, and what keeps libraries quiet.
"""

from collections.abc import Mapping

PROXIES = frozenset("HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy".split())
"""Addresses of proxies, which may hold a password."""

_PASSED_ON = PROXIES | frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP TERM NO_PROXY no_proxy "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NIX_SSL_CERT_FILE "
    "XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME LD_LIBRARY_PATH DYLD_LIBRARY_PATH "
    "HF_HOME HF_HUB_CACHE HF_DATASETS_CACHE HF_HUB_OFFLINE HF_DATASETS_OFFLINE HF_ENDPOINT "
    "NLTK_DATA CUDA_VISIBLE_DEVICES OMP_NUM_THREADS UV_CACHE_DIR UV_OFFLINE "
    # Windows cannot start a process, or find a home folder, without these.
    "SYSTEMROOT SYSTEMDRIVE COMSPEC PATHEXT APPDATA LOCALAPPDATA USERPROFILE".split()
)
_PASSED_ON_PREFIXES = ("LC_",)

# No progress bars in logs, no uploads of traces, no telemetry.
_QUIET = {
    "TQDM_DISABLE": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PRIME_TRACES_OPT_OUT": "1",
}


def process_variables(
    base: Mapping[str, str], own: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Those of `base` that are allowed, what keeps libraries quiet, then all of `own`."""
    passed = {
        name: value
        for name, value in base.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
    }
    return {**passed, **_QUIET, **(own or {})}
