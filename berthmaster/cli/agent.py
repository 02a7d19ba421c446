"""``berthmaster agent``: flags in, a running node agent out."""

import asyncio
from typing import Any

from berthmaster import __version__
from berthmaster.cli.daemon_flags import read_serving
from berthmaster.cli.failing import fail
from kubeio.certificates import CertificateError
from kubeio.daemon import ExitCode, ServingError, UsageError
from kubeio.login import KubeConfigError
from kubeio.logs import LogFormat, configure_logging
from node_agent.shell.app import run_agent
from node_agent.shell.observation_options import read_observation_options
from node_agent.shell.options import AgentOptions, read_headers


def run(**flags: Any) -> None:
    """Do it; see the command's help."""
    try:
        options = _read_options(flags)
        options.check()
        configure_logging(verbosity=options.verbosity, format_=options.log_format)
        # asyncio's own loop: at an agent's pace uvloop saves no CPU, and it takes 1.5 MiB.
        with asyncio.Runner() as runner:
            code = runner.run(run_agent(options))
    except (UsageError, KubeConfigError, CertificateError) as error:
        fail(error, ExitCode.BAD_USAGE)
    except ServingError as error:
        fail(error, ExitCode.FAILED)
    raise SystemExit(code)


def _read_options(flags: dict[str, Any]) -> AgentOptions:
    return AgentOptions(
        version=__version__,
        node_name=flags["node_name"],
        kubeconfig=flags["kubeconfig"],
        context=flags["context"],
        static_pod_path=flags["static_pod_path"],
        static_pod_url=flags["static_pod_url"],
        static_pod_url_headers=read_headers(flags["static_pod_url_header"]),
        file_check_seconds=flags["file_check_frequency"],
        http_check_seconds=flags["http_check_frequency"],
        serving=read_serving(flags, makes_certificate_apart=True),
        authorize=flags["authorization"] == "rbac",
        observation=read_observation_options(flags),
        verbosity=flags["verbosity"],
        log_format=LogFormat(flags["log_format"]),
    )
