"""The functions of Kubernetes' CEL environment that the interpreter does not have as they are.

Each is declared with its types, for the type checker, and with what to call, which takes a
value of Kubernetes' own types as bytes. Those with nothing to call are the interpreter's own,
and declared because its type checker knows less of them than cel-go's.

Source: staging/src/k8s.io/apiserver/pkg/cel/environment/base.go and library/*.go, v1.36.3;
cel-go's common/stdlib and ext, v0.26.0.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from scheduler_svc.core.devices.cel import (
    addresses,
    formats,
    quantities,
    regex,
    urls,
    values,
    versions,
)
from scheduler_svc.core.errors import InputError


class Function(NamedTuple):
    """A function: called as name(…), or, with a `target`, as value.name(…).

    Types are CEL's, such as list(string); A stands for any, and names of ours for theirs. A
    name with an @ is called by what the expression has been replaced with (`cel.syntax`).
    """

    name: str
    target: str
    arguments: tuple[str, ...]
    result: str
    called: Callable[..., Any] | None


def _function(signature: str, called: Callable[..., Any] | None = None) -> Function:
    """Read a signature: `target::name(a, b) -> result`, or `name(a) -> result`."""
    call, _, result = signature.partition(" -> ")
    start = call.rindex("::") if "::" in call else 0
    place = call.index("(", start)
    before, arguments = call[:place], call[place + 1 :]
    target, _, name = before.rpartition("::")
    given = arguments.removesuffix(")")
    return Function(name, target, tuple(given.split(", ")) if given else (), result, called)


def _is_valid(parse: Callable[..., object]) -> Callable[..., bool]:
    def is_valid(*arguments: Any) -> bool:
        try:
            parse(*arguments)
        except InputError:
            return False
        return True

    return is_valid


def _of_quantity(ask: Callable[[quantities.Quantity], Any]) -> Callable[[bytes], Any]:
    return lambda value: ask(quantities.decoded(value))


def _as_integer(quantity: quantities.Quantity) -> int:
    if quantity.integer is None:
        raise InputError("cannot convert value to integer")
    return quantity.integer


def _added(sign: int) -> Callable[[bytes, Any], bytes]:
    def added(left: bytes, right: Any) -> bytes:
        other = quantities.Quantity(right, 0) if isinstance(right, int) else None
        other = other or quantities.decoded(right)
        other = other._replace(value=sign * other.value)
        return quantities.encoded(quantities.added(quantities.decoded(left), other))

    return added


def _of_version(place: int) -> Callable[[bytes], int]:
    def number(value: bytes) -> int:
        found = versions.version(bytes(value))[0][place]
        # Go's conversion to an integer with a sign.
        return found if found < 2**63 else found - 2**64

    return number


def _of_address(ask: Callable[[addresses.Address], Any]) -> Callable[[bytes], Any]:
    return lambda value: ask(addresses.address_of(value))


def _of_url(ask: Callable[[urls.Url], Any]) -> Callable[[bytes], Any]:
    return lambda value: ask(urls.parsed(bytes(value)))


def _named_format(name: str) -> Callable[[], bytes]:
    return lambda: formats.KIND + name.encode()


def _comparisons(kind: str) -> tuple[Function, ...]:
    own = f"{kind}::"
    return (
        _function(f"{own}compareTo({kind}) -> int", values.compare),
        _function(f"{own}isGreaterThan({kind}) -> bool", lambda a, b: values.compare(a, b) > 0),
        _function(f"{own}isLessThan({kind}) -> bool", lambda a, b: values.compare(a, b) < 0),
    )


def _of_kinds(
    kinds: tuple[str, ...], signature: str, called: Callable[..., Any] | None
) -> tuple[Function, ...]:
    return tuple(_function(signature.replace("A", kind), called) for kind in kinds)


_SUMMABLE: Final = ("int", "uint", "double", "duration")
_COMPARABLE: Final = (*_SUMMABLE, "bool", "timestamp", "string", "bytes")
_QUANTITIES: Final = (
    _function("quantity(string) -> quantity", quantities.quantity_value),
    _function("isQuantity(string) -> bool", _is_valid(quantities.quantity_value)),
    _function("sign(quantity) -> int", _of_quantity(lambda q: (q.value > 0) - (q.value < 0))),
    _function("quantity::isInteger() -> bool", _of_quantity(lambda q: q.integer is not None)),
    _function("quantity::asInteger() -> int", _of_quantity(_as_integer)),
    _function("quantity::asApproximateFloat() -> double", _of_quantity(lambda q: q.approximately)),
    _function("quantity::add(quantity) -> quantity", _added(1)),
    _function("quantity::add(int) -> quantity", _added(1)),
    _function("quantity::sub(quantity) -> quantity", _added(-1)),
    _function("quantity::sub(int) -> quantity", _added(-1)),
    *_comparisons("quantity"),
)
_VERSIONS: Final = (
    _function("semver(string) -> version", versions.version_value),
    _function("semver(string, bool) -> version", versions.version_value),
    _function("isSemver(string) -> bool", _is_valid(versions.version_value)),
    _function("isSemver(string, bool) -> bool", _is_valid(versions.version_value)),
    _function("version::major() -> int", _of_version(0)),
    _function("version::minor() -> int", _of_version(1)),
    _function("version::patch() -> int", _of_version(2)),
    *_comparisons("version"),
)
_ADDRESSES: Final = (
    _function("ip(string) -> ip", addresses.ip_value),
    _function("isIP(string) -> bool", _is_valid(addresses.ip_value)),
    _function("ip.isCanonical(string) -> bool", addresses.is_canonical),
    _function("ip::family() -> int", _of_address(lambda ip: 4 if ip.bits == 32 else 6)),
    _function("ip::isUnspecified() -> bool", _of_address(addresses.is_unspecified)),
    _function("ip::isLoopback() -> bool", _of_address(addresses.is_loopback)),
    _function("ip::isLinkLocalMulticast() -> bool", _of_address(addresses.is_link_local_multicast)),
    _function("ip::isLinkLocalUnicast() -> bool", _of_address(addresses.is_link_local_unicast)),
    _function("ip::isGlobalUnicast() -> bool", _of_address(addresses.is_global_unicast)),
    _function("cidr(string) -> cidr", addresses.cidr_value),
    _function("isCIDR(string) -> bool", _is_valid(addresses.cidr_value)),
    _function("cidr::containsIP(string) -> bool", addresses.contains_ip),
    _function("cidr::containsIP(ip) -> bool", addresses.contains_ip),
    _function("cidr::containsCIDR(string) -> bool", addresses.contains_cidr),
    _function("cidr::containsCIDR(cidr) -> bool", addresses.contains_cidr),
    _function("cidr::ip() -> ip", addresses.ip_of),
    _function("cidr::prefixLength() -> int", lambda cidr: addresses.network_of(cidr)[1]),
    _function("cidr::masked() -> cidr", addresses.masked),
)
_URLS: Final = (
    _function("url(string) -> url", urls.url_value),
    _function("isURL(string) -> bool", _is_valid(urls.check_request_uri)),
    _function("url::getScheme() -> string", _of_url(urls.scheme_of)),
    _function("url::getHost() -> string", _of_url(urls.host_of)),
    _function("url::getHostname() -> string", _of_url(urls.hostname_of)),
    _function("url::getPort() -> string", _of_url(urls.port_of)),
    _function("url::getEscapedPath() -> string", _of_url(urls.escaped_path)),
    _function("url::getQuery() -> map(string, list(string))", _of_url(urls.query_of)),
)
_FORMATS: Final = (
    *(_function(f"format.{name}() -> format", _named_format(name)) for name in formats.FORMATS),
    _function("format.named(string) -> optional(format)"),
    _function("format::validate(string) -> optional(list(string))"),
    _function("@named(string) -> list(format)", formats.named),
    _function(
        "@validate(format, string) -> list(list(string))",
        lambda value, text: [found] if (found := formats.faults(value, text)) else [],
    ),
)
_LISTS: Final = (
    *_of_kinds(_COMPARABLE, "list(A)::isSorted() -> bool", values.is_sorted),
    *_of_kinds(_SUMMABLE, "list(A)::sum() -> A", values.total),
    *_of_kinds(_COMPARABLE, "list(A)::min() -> A", values.extreme("min", 1)),
    *_of_kinds(_COMPARABLE, "list(A)::max() -> A", values.extreme("max", -1)),
    _function("list(A)::indexOf(A) -> int"),
    _function("list(A)::lastIndexOf(A) -> int"),
    _function("@indexOf(list(A)) -> int", values.index_of),
    _function("@lastIndexOf(list(A)) -> int", values.last_index_of),
    _function("@range(int) -> list(int)", values.up_to),
    _function("@mapInsert(list(A)) -> map(A, A)", values.inserted),
)
_STRINGS: Final = (
    _function("string::find(string) -> string", regex.find),
    _function("string::findAll(string) -> list(string)", regex.find_all),
    _function("string::findAll(string, int) -> list(string)", regex.find_all),
    _function("string::charAt(int) -> string"),
    _function("string::format(list(dyn)) -> string"),
    _function("strings.quote(string) -> string"),
    _function("string::indexOf(string) -> int"),
    _function("string::indexOf(string, int) -> int"),
    _function("string::lastIndexOf(string) -> int"),
    _function("string::lastIndexOf(string, int) -> int"),
    _function("list(string)::join() -> string"),
    _function("list(string)::join(string) -> string"),
    _function("string::lowerAscii() -> string"),
    _function("string::upperAscii() -> string"),
    _function("string::replace(string, string) -> string"),
    _function("string::replace(string, string, int) -> string"),
    _function("string::split(string) -> list(string)"),
    _function("string::split(string, int) -> list(string)"),
    _function("string::substring(int) -> string"),
    _function("string::substring(int, int) -> string"),
    _function("string::trim() -> string"),
    *_of_kinds((*_COMPARABLE, "ip", "cidr"), "string(A) -> string", None),
    _function("@string(bytes) -> string", values.as_string),
)
# Numbers are compared with those of other types, too.
_NUMBERS: Final = ("int", "uint", "double")
_ORDER: Final = tuple(
    _function(f"_{sign}_({left}, {right}) -> bool")
    for sign in ("<", "<=", ">", ">=")
    for left in _COMPARABLE
    for right in (_NUMBERS if left in _NUMBERS else (left,))
)
_OPERATORS: Final = (
    _function("@equals(list(A)) -> bool", values.equals),
    _function("@differs(list(A)) -> bool", values.differs),
    _function("@among(list(A)) -> bool", values.is_among),
    _function("@inConstants(bytes) -> bool", values.is_constant),
    _function("dyn::includes(dyn) -> bool"),
    _function("@includes(list(A)) -> bool", values.includes),
    _function("@noNumber(bool) -> int", values.no_number),
    _function("@nothing(bytes, string) -> bool", values.no_overload),
    _function("@size(bytes) -> int", values.size),
)

FUNCTIONS: Final[tuple[Function, ...]] = (
    *_QUANTITIES,
    *_VERSIONS,
    *_ADDRESSES,
    *_URLS,
    *_FORMATS,
    *_LISTS,
    *_STRINGS,
    *_ORDER,
    *_OPERATORS,
)
