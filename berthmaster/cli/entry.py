"""Where ``berthmaster`` begins: ready for Ctrl-C before anything large is imported."""

from berthmaster.cli.interrupts import end_on_interrupt


def main() -> None:
    """Run the command line and end the process with its exit code."""
    end_on_interrupt()
    from berthmaster.cli.root import run  # noqa: PLC0415 - it may be interrupted already

    run()
