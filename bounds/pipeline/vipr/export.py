"""Writes a certificate of kind `mip-tree/1` as a VIPR file."""

import shutil
import tempfile
from typing import Any, TextIO

from boundmark.bounds import checker
from boundmark.bounds.checker.pipeline.instance import Instance
from boundmark.bounds.checker.pipeline.windows import root
from boundmark.bounds.exporter import Exporter
from boundmark.bounds.pipeline.vipr.derivation import Derivation
from boundmark.bounds.pipeline.vipr.model import Model
from boundmark.bounds.pipeline.vipr.tree import derive_tree
from boundmark.problems.errors import InvalidInputError

KIND = "mip-tree/1"

HEADER = """\
% The minimum of z over all partitions of a graph into {k} pipeline stages that cost at most
% {threshold} each is at least {bound}, so every partition costs {bound} or more.
% Instance, by the SHA-256 of its JSON: {sha256}
% Columns: y_v_b, node v is in stage b or earlier; c_u_b, the tensor of node u enters or leaves
% stage b; o_b, overflow of stage b; z, cost of the bottleneck stage.
% The share rows and the bounds of y hold below the threshold by the certificate's flows.
VER 1.0
"""


def write_vipr(instance: dict[str, Any], certificate: dict[str, Any], file: TextIO) -> int:
    """Write what a certificate proves of an instance; return the number of derived constraints.

    Parameters
    ----------
    instance, certificate
        In their stored form.

    Raises
    ------
    Rejected
        If the checker does not accept the certificate.
    InvalidInputError
        If the certificate is of another kind, or needs no tree.
    """
    checker.check_certificate(instance, certificate)
    if certificate["kind"] != KIND:
        raise InvalidInputError(f"kind is {certificate['kind']!r}; expected {KIND!r}.")
    graph = checker.check_instance(instance)
    payload, bound = certificate["payload"], int(certificate["bound"])
    threshold = int(payload["threshold"])
    model = _model(graph, threshold, payload["flows"])
    file.write(
        HEADER.format(
            k=graph.k, threshold=threshold, bound=bound, sha256=checker.instance_sha256(instance)
        )
    )
    _write_model(model, file)
    file.write(f"RTP range {bound} inf\nSOL 0\n")
    # The number of lines comes before them.
    with tempfile.TemporaryFile("w+") as lines:
        out = Derivation(lines, model.constraints)
        derive_tree(model, payload["nodes"], bound, out)
        lines.seek(0)
        file.write(f"DER {out.lines}\n")
        shutil.copyfileobj(lines, file)
    return out.lines


def _model(graph: Instance, threshold: int, flows: Any) -> Model:
    start = root(graph, threshold, flows)
    if start is None:
        raise InvalidInputError(
            "flows of the payload refute the threshold alone; expected a bound that needs the tree."
        )
    return Model(graph, start.shares, [u for u, _ in start.order], *start.windows)


def _write_model(model: Model, file: TextIO) -> None:
    names = list(model.names())
    file.write(f"VAR {len(names)}\n")
    file.writelines(f"{name}\n" for name in names)
    file.write(f"INT {len(names)}\n")
    file.writelines(f"{column}\n" for column in range(len(names)))
    file.write(f"OBJ min\n1 {model.z} 1\n")
    file.write(f"CON {model.constraints} {model.bounds}\n")
    for column, (low, high) in enumerate(model.box):
        file.write(f"low_{names[column]} G {low} 1 {column} 1\n")
        file.write(f"high_{names[column]} L {high} 1 {column} 1\n")
    file.write(f"low_z G 0 1 {model.z} 1\n")
    for name, (terms, right) in model.rows():
        written = "".join(f" {column} {amount}" for column, amount in terms)
        file.write(f"{name} G {right} {len(terms)}{written}\n")


def _write(instance: dict[str, Any], certificate: dict[str, Any], file: TextIO) -> str:
    return f"{write_vipr(instance, certificate, file):,} derived constraints"


EXPORTER = Exporter("pipeline", KIND, "VIPR 1.0", _write)
