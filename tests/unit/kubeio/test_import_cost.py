"""What a Pod with a ServiceAccount must not pay for."""

import subprocess
import sys


def test_serving_does_not_import_what_only_a_certificate_needs() -> None:
    code = "import kubeio.serving, sys; print('cryptography' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"


def test_nothing_but_a_kubeconfig_imports_kubernetes_asyncio() -> None:
    modules = "client, credentials, lease, reflector, serving, access, writes"
    code = f"from kubeio import {modules}; import sys; print('kubernetes_asyncio' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"
