"""The node agent: a process, its log, and what it serves."""

from typing import ClassVar

from tests.integration.scheduler_process import SchedulerProcess


class AgentProcess(SchedulerProcess):
    """``berthmaster agent`` with `arguments`, on a free port; killed on leaving."""

    subcommand: ClassVar[str] = "agent"
