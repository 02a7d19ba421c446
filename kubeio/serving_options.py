"""Where a daemon serves, apart from the server, so that flags are read without loading that."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOptions:
    """Where and with which certificate to serve.

    Attributes
    ----------
    bind_address
        IP to listen on.
    port
        0 for any free one.
    certificate_file, key_file
        PEM; both or neither. Neither: self-signed, in memory. Read again on change.
    makes_certificate_apart
        Make a self-signed certificate in a process of its own, to save 8 MiB.
    """

    bind_address: str = "0.0.0.0"  # noqa: S104 - as kube-scheduler; probes come from the Node
    port: int = 10259
    certificate_file: str | None = None
    key_file: str | None = None
    makes_certificate_apart: bool = False
