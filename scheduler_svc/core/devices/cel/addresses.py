"""IP addresses and CIDRs as CEL values: bytes that begin with i or c, and the canonical text.

Source: staging/src/k8s.io/apiserver/pkg/cel/library/{ip,cidr}.go, v1.36.3, and Go's net/netip.
"""

import re
from typing import Final, NamedTuple

from scheduler_svc.core.devices.cel.text import quoted
from scheduler_svc.core.errors import InputError

IP_KIND: Final = b"\x01i"
CIDR_KIND: Final = b"\x01c"
_GROUP: Final = re.compile("[0-9a-fA-F]*")
_BITS: Final = re.compile("[0-9]|[1-9][0-9]*")
_GROUPS: Final = 8
_NO_DIGIT: Final = "IPv4 field must have at least one digit"
_NO_GROUP: Final = "each colon-separated field must have at least one digit"


class Address(NamedTuple):
    """An address of so many bits, 32 or 128, as a number."""

    bits: int
    number: int
    zone: str = ""

    @property
    def is_mapped(self) -> bool:
        """Whether it is an IPv4 address written as one of IPv6."""
        return self.bits == 128 and self.number >> 32 == 0xFFFF

    def __str__(self) -> str:
        """Give the canonical text."""
        if self.bits == 32:
            return ".".join(str(self.number >> shift & 255) for shift in (24, 16, 8, 0))
        groups = [self.number >> 16 * place & 0xFFFF for place in range(_GROUPS - 1, -1, -1)]
        start, length = _longest_gap(groups)
        texts = [f"{group:x}" for group in groups]
        if length < 2:
            return ":".join(texts)
        return ":".join(texts[:start]) + "::" + ":".join(texts[start + length :])


def _longest_gap(groups: list[int]) -> tuple[int, int]:
    found = (0, 0)
    for start in range(_GROUPS):
        end = start
        while end < _GROUPS and groups[end] == 0:
            end += 1
        if end - start > found[1]:
            found = (start, end - start)
    return found


def parsed_address(text: str) -> Address:
    """Parse as netip.ParseAddr does. Raises `InputError` for what is no address."""
    for letter in text:
        if letter == ".":
            return Address(32, _ipv4(text, text))
        if letter == ":":
            return _ipv6(text)
        if letter == "%":
            raise _fault(text, "missing IPv6 address")
    raise _fault(text, "unable to parse IP")


def _fault(text: str, message: str, at: str = "") -> InputError:
    place = f" (at {quoted(at)})" if at else ""
    return InputError(f"ParseAddr({quoted(text)}): {message}{place}")


def _ipv4(whole: str, text: str) -> int:
    fields: list[int] = []
    value, length = 0, 0
    for place, letter in enumerate(text):
        if letter in "0123456789":
            if length == 1 and value == 0:
                raise _fault(whole, "IPv4 field has octet with leading zero")
            value, length = value * 10 + int(letter), length + 1
            if value > 255:
                raise _fault(whole, "IPv4 field has value >255")
        elif letter == ".":
            if place in (0, len(text) - 1) or text[place - 1] == ".":
                raise _fault(whole, _NO_DIGIT, text[place:])
            if len(fields) == 3:
                raise _fault(whole, "IPv4 address too long")
            fields.append(value)
            value, length = 0, 0
        else:
            raise _fault(whole, "unexpected character", text[place:])
    if len(fields) < 3:
        raise _fault(whole, "IPv4 address too short")
    return int.from_bytes(bytes([*fields, value]), "big")


def _ipv6(whole: str) -> Address:
    text, has_zone, zone = whole.partition("%")
    if has_zone and not zone:
        raise _fault(whole, "zone must be a non-empty string")
    groups, gap, rest = _groups(whole, text)
    if rest:
        raise _fault(whole, "trailing garbage after address", rest)
    missing = _GROUPS - len(groups)
    if missing and gap is None:
        raise _fault(whole, "address string too short")
    if not missing and gap is not None:
        raise _fault(whole, "the :: must expand to at least one field of zeros")
    if gap is not None:
        groups[gap:gap] = [0] * missing
    number = 0
    for group in groups:
        number = number << 16 | group
    return Address(128, number, zone)


def _groups(whole: str, text: str) -> tuple[list[int], int | None, str]:
    """Give the groups, where among them :: is, and what is left of the text."""
    groups: list[int] = []
    gap: int | None = None
    if text.startswith("::"):
        gap, text = 0, text[2:]
        if not text:
            return groups, gap, text
    while len(groups) < _GROUPS:
        digits = _digits(whole, text)
        if text[len(digits) :].startswith("."):
            return [*groups, *_embedded(whole, text, len(groups), gap)], gap, ""
        groups.append(int(digits, 16))
        text = _next_group(whole, text[len(digits) :])
        if text.startswith(":"):
            if gap is not None:
                raise _fault(whole, "multiple :: in address", text)
            gap, text = len(groups), text[1:]
        if not text:
            break
    return groups, gap, text


def _next_group(whole: str, text: str) -> str:
    """Give what is after the colon after a group."""
    if text and text[0] != ":":
        raise _fault(whole, "unexpected character, want colon", text)
    if len(text) == 1:
        raise _fault(whole, "colon must be followed by more characters", text)
    return text[1:]


def _digits(whole: str, text: str) -> str:
    match = _GROUP.match(text)
    digits = match[0] if match else ""
    if len(digits) > 4:
        raise _fault(whole, "each group must have 4 or less digits", text)
    if not digits:
        raise _fault(whole, _NO_GROUP, text)
    return digits


def _embedded(whole: str, text: str, count: int, gap: int | None) -> tuple[int, int]:
    if gap is None and count != 6:
        fault = "embedded IPv4 address must replace the final 2 fields of the address"
        raise _fault(whole, fault, text)
    if count > 6:
        fault = "too many hex fields to fit an embedded IPv4 at the end of the address"
        raise _fault(whole, fault, text)
    return divmod(_ipv4(whole, text), 1 << 16)


def ip_value(text: str) -> bytes:
    """Give the CEL value of an address. Raises `InputError` for what is none."""
    try:
        address = parsed_address(text)
    except InputError as error:
        fault = f"IP Address {quoted(text)} parse error during conversion from string: {error}"
        raise InputError(fault) from error
    if address.zone:
        raise InputError(f"IP address {quoted(text)} with zone value is not allowed")
    if address.is_mapped:
        raise InputError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return IP_KIND + str(address).encode()


def cidr_value(text: str) -> bytes:
    """Give the CEL value of a CIDR. Raises `InputError` for what is none."""
    prefix = "network address parse error during conversion from string: "
    try:
        address, bits = _prefix(text)
        if address.is_mapped:
            raise InputError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    except InputError as error:
        raise InputError(prefix + str(error)) from error
    return _cidr(address, bits)


def _prefix(text: str) -> tuple[Address, int]:
    before = "network address parse error during conversion from string: netip.ParsePrefix"
    start, slash, bits = text.rpartition("/")
    if not slash:
        raise InputError(f"{before}({quoted(text)}): no '/'")
    try:
        address = parsed_address(start)
    except InputError as error:
        raise InputError(f"{before}({quoted(text)}): {error}") from error
    fault = ""
    if address.zone:
        fault = "IPv6 zones cannot be present in a prefix"
    elif not _BITS.fullmatch(bits) or len(bits) > 18:
        fault = f"bad bits after slash: {quoted(bits)}"
    elif int(bits) > address.bits:
        fault = "prefix length out of range"
    if fault:
        raise InputError(f"{before}({quoted(text)}): {fault}")
    return address, int(bits)


def _cidr(address: Address, bits: int) -> bytes:
    return CIDR_KIND + f"{address}/{bits}".encode()


def address_of(value: bytes | bytearray) -> Address:
    """Give the address that a CEL value is."""
    return parsed_address(value[2:].decode())


def network_of(value: bytes | bytearray) -> tuple[Address, int]:
    """Give address and length of the prefix that a CEL value is."""
    address, _, bits = value[2:].decode().partition("/")
    return parsed_address(address), int(bits)


def ip_of(network: bytes) -> bytes:
    """Give the address that a CIDR begins with."""
    return IP_KIND + str(network_of(network)[0]).encode()


def contains_ip(network: bytes, other: bytes | str) -> bool:
    """Whether an address is in a network. Raises `InputError` for a text that is none."""
    own, bits = network_of(network)
    try:
        address = address_of(ip_value(other) if isinstance(other, str) else other)
    except InputError as error:
        # kube-scheduler's words: it asks the network about the error.
        raise InputError("no such overload") from error
    return own.bits == address.bits and _same_start(own, address, bits)


def contains_cidr(network: bytes, other: bytes | str) -> bool:
    """Whether a network is in another. Raises `InputError` for a text that is none."""
    own, bits = network_of(network)
    address, other_bits = network_of(cidr_value(other) if isinstance(other, str) else other)
    is_within = own.bits == address.bits and bits <= other_bits
    return is_within and _same_start(own, address, bits)


def _same_start(own: Address, other: Address, bits: int) -> bool:
    return (own.number ^ other.number) >> (own.bits - bits) == 0


def masked(network: bytes) -> bytes:
    """Give a network without the bits of a host."""
    address, bits = network_of(network)
    rest = address.bits - bits
    return _cidr(address._replace(number=address.number >> rest << rest), bits)


def is_canonical(text: str) -> bool:
    """Whether a text is how its address is written. Raises `InputError` for what is none."""
    return ip_value(text)[2:].decode() == text


def _top(address: Address, bits: int) -> int:
    return address.number >> (address.bits - bits)


def is_unspecified(address: Address) -> bool:
    """Whether it is 0.0.0.0 or ::."""
    return address.number == 0


def is_loopback(address: Address) -> bool:
    """Whether it is the own host's."""
    return _top(address, 8) == 127 if address.bits == 32 else address.number == 1


def is_link_local_multicast(address: Address) -> bool:
    """Whether it is of 224.0.0.0/24, or of ff02::/16 whatever its flags."""
    if address.bits == 32:
        return _top(address, 24) == 0xE00000
    return _top(address, 16) & 0xFF0F == 0xFF02


def is_link_local_unicast(address: Address) -> bool:
    """Whether it is of 169.254.0.0/16 or fe80::/10."""
    if address.bits == 32:
        return _top(address, 16) == 0xA9FE
    return _top(address, 16) & 0xFFC0 == 0xFE80


def is_global_unicast(address: Address) -> bool:
    """Whether it is one host's and none of the others."""
    if address.bits == 32:
        is_special = address.number in (0, 2**32 - 1) or _top(address, 4) == 0xE
    else:
        is_special = address.number == 0 or _top(address, 8) == 0xFF
    return not (is_special or is_loopback(address) or is_link_local_unicast(address))
