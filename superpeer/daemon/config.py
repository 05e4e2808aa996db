"""The configuration: every option of a super-peer with its default and a sentence, from a file or the command line.

Options that belong together are in a table of their own: `[limits]` is what peers may do, `[connections]` what
connections may cost, `[timing]` how membership keeps time. An unknown option is an error that names it, as a
misspelt limit would otherwise be no limit.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from auth import AuthError, PublicKey
from hypercup import HypercupError, Timing
from superpeer.daemon.errors import BadConfiguration
from superpeer.net import Limits as ConnectionLimits
from superpeer.net import ListenerLimits
from superpeer.net.limits import MEBIBYTE
from superpeer.node.limits import Limits

DEFAULT_PORT = 7400
MAX_CONFIG_BYTES = MEBIBYTE


class Address(NamedTuple):
    """Where a super-peer listens or is reached."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Contact(NamedTuple):
    """A member of the backbone, by address and key."""

    address: Address
    key: PublicKey

    def __str__(self) -> str:
        return f"{self.address}#{self.key}"


def option(sentence: str) -> msgspec.Meta:
    return msgspec.Meta(description=sentence)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one super-peer is told. Relative paths are relative to where it is started."""

    data: Annotated[str, option("The directory of this super-peer: its key, its certificate and its disk.")] = "."
    listen: Annotated[str, option("The address to listen on, HOST:PORT; port 0 lets the system choose.")] = (
        f"127.0.0.1:{DEFAULT_PORT}"
    )
    advertise: Annotated[
        str, option("The address under which others reach it, HOST:PORT; by default the one it listens on.")
    ] = ""
    join: Annotated[
        tuple[str, ...], option("Members to join through, HOST:PORT#KEY; one that runs is enough, for the first time.")
    ] = ()
    key_file: Annotated[str, option("Its key file; by default super-peer.key in the data directory.")] = ""
    certificate_file: Annotated[
        str, option("The certificate that `superpeer admit` made; by default certificate.txt in the data directory.")
    ] = ""
    root: Annotated[
        str, option("The root key of the network, spk-...; by default the one in root.txt in the data directory.")
    ] = ""
    backbone: Annotated[
        Literal["cube", "unstructured"], option("How super-peers are linked; the same in the whole network.")
    ] = "cube"
    admins: Annotated[tuple[str, ...], option("The public keys of those who may administer it from elsewhere.")] = ()
    admin_socket: Annotated[
        str, option("The socket for admins on this machine; by default admin.socket in the data directory.")
    ] = ""
    metrics: Annotated[str, option("Where metrics and health are served over HTTP, HOST:PORT; empty for nowhere.")] = (
        "127.0.0.1:7401"
    )
    log_format: Annotated[Literal["text", "json"], option("Logs as key=value or as JSON, a line each.")] = "text"
    log_level: Annotated[Literal["debug", "info", "warning", "error"], option("What is logged.")] = "info"
    accepts_nonconforming: Annotated[
        bool, option("Whether peers may publish what they did not advertise; subscribers may miss it.")
    ] = False
    leave_s: Annotated[
        float, msgspec.Meta(ge=0), option("How long it takes its time to leave, at most, when it is told to stop.")
    ] = 10.0
    idle_link_s: Annotated[
        float, msgspec.Meta(gt=0), option("A connection to a super-peer that is no neighbour is closed after it.")
    ] = 60.0
    max_waiting_records: Annotated[
        int, msgspec.Meta(ge=1), option("With so many records waiting for the disk, peers have to wait.")
    ] = 10_000
    session_bytes: Annotated[
        int, msgspec.Meta(ge=4 * MEBIBYTE), option("So much may be under way to another super-peer.")
    ] = 256 * MEBIBYTE
    limits: Annotated[Limits, option("What peers may do.")] = Limits()
    connections: Annotated[ConnectionLimits, option("What one connection may cost.")] = ConnectionLimits(
        max_frame_bytes=16 * MEBIBYTE
    )
    listener: Annotated[ListenerLimits, option("What all connections together may cost.")] = ListenerLimits()
    timing: Annotated[Timing, option("How membership of the backbone keeps time.")] = Timing()

    def __post_init__(self) -> None:
        parse_address(self.listen)
        for text in (self.advertise, self.metrics):
            if text:
                parse_address(text)
        if self.connections.max_frame_bytes < 2 * MEBIBYTE:
            raise BadConfiguration("super-peers take frames of 2 MiB at least; raise max_frame_bytes in [connections]")
        for contact in self.join:
            parse_contact(contact)
        for text in (*self.admins, *([self.root] if self.root else [])):
            _parse_key(text)

    @property
    def directory(self) -> Path:
        return Path(self.data)

    @property
    def key_path(self) -> Path:
        return Path(self.key_file) if self.key_file else self.directory / "super-peer.key"

    @property
    def certificate_path(self) -> Path:
        return Path(self.certificate_file) if self.certificate_file else self.directory / "certificate.txt"

    @property
    def root_path(self) -> Path:
        return self.directory / "root.txt"

    @property
    def store_path(self) -> Path:
        return self.directory / "store"

    @property
    def admin_socket_path(self) -> Path:
        return Path(self.admin_socket) if self.admin_socket else self.directory / "admin.socket"

    @property
    def contacts(self) -> list[Contact]:
        return [parse_contact(contact) for contact in self.join]

    @property
    def admin_keys(self) -> frozenset[PublicKey]:
        return frozenset(map(_parse_key, self.admins))


class Option(NamedTuple):
    """One option as a command line or a manual shows it; `name` has the table before a dot."""

    name: str
    kind: Any
    default: Any
    sentence: str


def options() -> list[Option]:
    """Every option there is, in the order of this file."""
    found = []
    for field in msgspec.structs.fields(Config):
        sentence, kind = _described(field.type)
        if kind in TABLES:
            found += _options_of(field.name, kind, field.default)
        else:
            found.append(Option(field.name, kind, field.default, sentence))
    return found


def read_config(path: Path | None = None, changes: Mapping[str, Any] | None = None) -> Config:
    """The file, if there is one, with what the command line says put over it: names as in `options`."""
    table = _read_table(path) if path is not None else {}
    for name, value in (changes or {}).items():
        group, dot, inner = name.partition(".")
        if dot:
            table.setdefault(group, {})[inner] = value
        else:
            table[name] = value
    return make_config(table)


def make_config(table: Mapping[str, Any]) -> Config:
    filled = dict(table)
    for name, kind in _tables().items():
        if isinstance(filled.get(name), dict):
            _require_known(name, kind, filled[name])
            filled[name] = _defaults_of(name) | filled[name]
    try:
        return msgspec.convert(filled, Config)
    except msgspec.ValidationError as error:
        raise BadConfiguration(f"the configuration is not understood: {_explained(error)}") from error
    except AssertionError as error:
        raise BadConfiguration("the configuration has limits on connections that contradict each other") from error
    except HypercupError as error:
        raise BadConfiguration(f"the configuration has a [timing] that cannot work: {error}") from error


def parse_address(text: str) -> Address:
    """HOST:PORT, with brackets around an IPv6 address."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 2**16):
        raise BadConfiguration(f"{text!r} is no address; write HOST:PORT, as in example.org:{DEFAULT_PORT}")
    return Address(host, int(port))


def parse_contact(text: str) -> Contact:
    """HOST:PORT#KEY."""
    address, number_sign, key = text.partition("#")
    if not number_sign:
        raise BadConfiguration(f"{text!r} names no key; write HOST:PORT#KEY, as `superpeer status` shows it")
    return Contact(parse_address(address), _parse_key(key))


TABLES = (Limits, ConnectionLimits, ListenerLimits, Timing)


def _parse_key(text: str) -> PublicKey:
    try:
        return PublicKey.parse(text)
    except AuthError as error:
        raise BadConfiguration(f"{text!r} is no key: {error}") from error


def _tables() -> dict[str, type]:
    return {
        field.name: kind for field in msgspec.structs.fields(Config) if (kind := _described(field.type)[1]) in TABLES
    }


def _defaults_of(name: str) -> dict[str, Any]:
    """The defaults of a table are those of the configuration, which may differ from those of the type."""
    field = next(field for field in msgspec.structs.fields(Config) if field.name == name)
    return {each.name: getattr(field.default, each.name) for each in fields(field.default)}


def _require_known(name: str, kind: Any, table: dict[str, Any]) -> None:
    known = {each.name for each in fields(kind)}
    for inner in table:
        if inner not in known:
            raise BadConfiguration(f"there is no option {inner!r} in [{name}]; there are {', '.join(sorted(known))}")


def _described(kind: Any) -> tuple[str, Any]:
    if get_origin(kind) is not Annotated:
        return "", kind
    inner, *metas = get_args(kind)
    return next((meta.description for meta in metas if meta.description), ""), inner


def _options_of(name: str, kind: Any, defaults: Any) -> list[Option]:
    hints, sentences = get_type_hints(kind), _sentences(kind)
    found = []
    for each in fields(kind):
        assert each.default is not MISSING, "every option has a default"
        inner = each.name
        sentence = sentences.get(inner) or f"{inner.replace('_', ' ').capitalize()}."
        found.append(Option(f"{name}.{inner}", hints[inner], getattr(defaults, inner), sentence))
    return found


def _sentences(kind: Any) -> dict[str, str]:
    """The strings under the fields of a dataclass, where its source is there to be read."""
    import inspect

    try:
        source = inspect.getsource(kind)
    except OSError:
        return {}
    return dict(re.findall(r'^    (\w+): [^\n]*\n    """(.*?)"""', source, re.MULTILINE | re.DOTALL))


def _read_table(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise BadConfiguration(f"{path} cannot be read: {error.strerror}; name another file") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise BadConfiguration(f"{path} is too large for a configuration; name another file")
    try:
        return tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadConfiguration(f"{path} is no TOML: {error}") from error


def _explained(error: msgspec.ValidationError) -> str:
    text = str(error).replace("Object contains unknown field", "there is no option")
    return text.replace("$.", "").replace("`", "'")
