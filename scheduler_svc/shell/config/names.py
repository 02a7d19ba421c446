"""The form of names: label keys and values, and extended resources.

Source: staging/src/k8s.io/apimachinery/pkg/api/validate/content/{kube,dns}.go and
pkg/apis/core/v1/helper/helpers.go, v1.36.3; the texts are upstream's.
"""

import re
from typing import Final

_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_NAME})?"
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_NAME}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
    f"'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
_MAX_NAME_BYTES: Final = 63
_MAX_SUBDOMAIN_BYTES: Final = 253
_QUOTA_PREFIX: Final = "requests."
_NATIVE_DOMAIN: Final = "kubernetes.io/"


def label_key_faults(key: str) -> tuple[str, ...]:
    """Return what is wrong with a label key (`example.com/name`); empty: nothing."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        rule = f"a valid label key {_NAME_RULE}"
        return (
            f"{rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    faults: list[str] = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults.extend(f"prefix part {fault}" for fault in _subdomain_faults(prefix))
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > _MAX_NAME_BYTES:
        faults.append(f"name part must be no more than {_MAX_NAME_BYTES} bytes")
    if re.fullmatch(_NAME, name) is None:
        faults.append(f"name part {_NAME_RULE}")
    return tuple(faults)


def label_value_faults(value: str) -> tuple[str, ...]:
    """Return what is wrong with a label value; empty: nothing."""
    faults: list[str] = []
    if len(value.encode()) > _MAX_NAME_BYTES:
        faults.append(f"must be no more than {_MAX_NAME_BYTES} bytes")
    if re.fullmatch(_VALUE, value) is None:
        faults.append(_VALUE_RULE)
    return tuple(faults)


def extended_resource_faults(name: str) -> tuple[str, ...]:
    """Return why `name` is no extended resource (`example.com/gpu`); empty: it is one."""
    faults = label_key_faults(name)
    if faults:
        return faults
    is_native = "/" not in name or _NATIVE_DOMAIN in name
    if is_native or name.startswith(_QUOTA_PREFIX) or label_key_faults(_QUOTA_PREFIX + name):
        return ("is an invalid extended resource name",)
    return ()


def _subdomain_faults(text: str) -> tuple[str, ...]:
    faults: list[str] = []
    if len(text.encode()) > _MAX_SUBDOMAIN_BYTES:
        faults.append(f"must be no more than {_MAX_SUBDOMAIN_BYTES} bytes")
    if re.fullmatch(_SUBDOMAIN, text) is None:
        faults.append(_SUBDOMAIN_RULE)
    return tuple(faults)
