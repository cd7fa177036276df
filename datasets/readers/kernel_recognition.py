"""Recognise operators that one kernel runs together, although exporters take them apart.

One exporter writes GELU as one operator, another as five; attention as one, or as a dozen with
transposed copies around it. Runtimes and compilers recognise these and run one kernel. So that one
model costs the same however it was exported, `with_kernels` recognises

- attention: a product of two computed tensors, scaled and masked, softmax, and a second product;
- normalisation: what divides a tensor by its deviation (LayerNormalization, RMSNormalization);
- activations that use their input twice: GELU in both forms, SiLU, hard-swish, mish;
- a product with weights and its bias; one of integers, and the scales that make it numbers;
- a convolution and the normalisation over a batch behind it, which is a scale and a shift;
- what turns quantised elements into numbers before an operator, and back behind it;
- views: what only changes the order or the extent in which elements are read.

Operators remain as they are, by name, and so do the tensors between them.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from boundmark.problems.computation_graph import LEFT_OUT, VIEW, ComputationGraph
from boundmark.problems.operator_types import ELEMENTWISE_OP_TYPES, FREE_OP_TYPES, usual_type

# Operators with a kernel's steps between them; the longest real one, GELU by tanh, has nine.
LONGEST = 12

# Beside free operators: they choose, repeat or permute elements, as whoever reads them can do too.
_VIEWS = frozenset({"Expand", "Slice", "Split", "Transpose"})

_PRODUCTS = frozenset({"Gemm", "MatMul"})
_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
_DEVIATIONS = frozenset({"Rsqrt", "Sqrt"})
_BENDS = frozenset({"Erf", "HardSigmoid", "Sigmoid", "Tanh"})
_MEANS = frozenset({"ReduceMean"})
_PRODUCTS_OF_INTEGERS = frozenset({"ConvInteger", "MatMulInteger"})
_QUANTISATION = frozenset({"DequantizeLinear", "QuantizeLinear"})


def with_kernels(graph: ComputationGraph) -> ComputationGraph:
    """Return the graph with the kernels and views that its operators form.

    A graph in which each operator is a kernel by itself is returned as it is.
    """
    found = _Recognition(graph).kernels()
    if all(bearer == node for node, bearer in enumerate(found)):
        return graph
    return replace(graph, kernels=found)


class _Recognition:
    """Finds the kernels of a graph, larger ones first; an operator is in one at most."""

    def __init__(self, graph: ComputationGraph) -> None:
        self.graph = graph
        self.types = tuple(map(usual_type, graph.op_types))
        self.producers = graph.producers.tolist()
        self.readers: list[list[int]] = [[] for _ in graph.tensors]
        for node, operator in enumerate(graph.operators):
            for number in dict.fromkeys(operator.reads):
                if number != LEFT_OUT:
                    self.readers[number].append(node)
        self.results = frozenset(graph.results)
        self.bearer = list(range(len(graph.operators)))
        self.taken: set[int] = set()

    def kernels(self) -> tuple[int, ...]:
        """Return, for each operator, the one that bears the cost of its kernel, or `VIEW`."""
        self._take(self._attention, {"Softmax"})
        self._take(self._normalisation, _MEANS)
        self._take(self._activation, _BENDS)
        self._take(self._rescaled, _PRODUCTS | _CONVOLUTIONS)
        self._take(self._biased, _PRODUCTS)
        self._take(self._scaled, _CONVOLUTIONS)
        for node in range(len(self.types)):
            if node not in self.taken and self._is_view(node):
                self.bearer[node] = VIEW
        self._take_quantisation()
        return tuple(self.bearer)

    def _take_quantisation(self) -> None:
        """Give quantisation to the kernel whose output it is, and its inverse to its readers'.

        Between a view and whoever reads it, it is a view itself, and so it is before several
        readers, each of which does it.
        """
        for node, op_type in enumerate(self.types):
            if node in self.taken or op_type not in _QUANTISATION:
                continue
            read, written = self.graph.operators[node].reads[0], self._only_written(node)
            if op_type == "QuantizeLinear":
                producer = self.producers[read]
                if producer >= 0 and self._is_read_once(read):
                    self.bearer[node] = self.bearer[producer]
            elif written is not None and written not in self.results:
                bearers = {self.bearer[reader] for reader in self.readers[written]}
                self.bearer[node] = bearers.pop() if len(bearers) == 1 else VIEW

    def _take(
        self, find: Callable[[int], Collection[int] | None], anchors: Collection[str]
    ) -> None:
        for node, op_type in enumerate(self.types):
            if op_type in anchors and node not in self.taken:
                members = find(node)
                if members is not None and self.taken.isdisjoint(members):
                    self.taken.update(members)
                    bearer = max(sorted(members), key=self._weight)
                    for member in members:
                        self.bearer[member] = bearer

    def _weight(self, node: int) -> tuple[int, int]:
        """Return operations and bytes: if a stage ends inside a kernel, most of it is costed."""
        graph = self.graph
        moved = graph.read_bytes[node] + graph.param_bytes[node] + graph.output_bytes[node]
        return int(graph.flops[node]), int(moved)

    # What a kernel is.

    def _attention(self, softmax: int) -> set[int] | None:
        """Return the operators from the product before a softmax to the one behind it."""
        members = {softmax}
        before = self._up(self._only_read(softmax), members)
        after = self._down(softmax, members)
        if before is None or after is None:
            return None
        members |= {before, after}
        for side in (*self._computed(before), *self._computed(after)):
            self._add_scales(side, members)
        return members

    def _up(self, tensor: int | None, members: set[int]) -> int | None:
        """Go up from a softmax, over scales and masks, to the product of two computed tensors."""
        for _ in range(LONGEST):
            node = -1 if tensor is None else self.producers[tensor]
            if node < 0 or tensor is None or not self._is_read_once(tensor):
                return None
            if self.types[node] in _PRODUCTS:
                return node if len(self._computed(node)) == 2 else None
            if self.types[node] not in ELEMENTWISE_OP_TYPES:
                return None
            members.add(node)
            tensor = self._widest(node)
        return None

    def _down(self, node: int, members: set[int]) -> int | None:
        """Go down from a softmax to the product behind it; some guard against undefined rows."""
        for _ in range(LONGEST):
            written = self._only_written(node)
            if written is None or written in self.results:
                return None
            readers = self.readers[written]
            guards = [one for one in readers if self.types[one] == "IsNaN"]
            if len(readers) == 2 and len(guards) == 1:
                (node,) = (one for one in readers if one != guards[0])
                if self.types[node] != "Where":
                    return None
                members |= {node, guards[0]}
                continue
            if len(readers) != 1:
                return None
            (node,) = readers
            if self.types[node] in _PRODUCTS:
                return node if len(self._computed(node)) == 2 else None
            if self.types[node] not in ELEMENTWISE_OP_TYPES:
                return None
            members.add(node)
        return None

    def _add_scales(self, tensor: int, members: set[int]) -> None:
        """Add what scales queries or keys by a number, also before they are transposed."""
        for _ in range(LONGEST):
            node = self.producers[tensor]
            if node < 0 or node in members or not self._is_read_once(tensor):
                return
            if self._is_scale(node):
                members.add(node)
            elif not self._is_view(node):
                return
            (tensor,) = self._computed(node)

    def _normalisation(self, mean: int) -> set[int] | None:
        """Return what divides a tensor by its deviation, with the scale and shift behind it."""
        scaled = self._joined(mean, {"Div", "Mul"}, _DEVIATIONS)
        if scaled is None:
            return None
        found, entered, left = scaled
        producer = self.producers[entered]
        if producer >= 0 and self.types[producer] == "Sub":
            # What is normalised may be centred before, by a mean of its own.
            for node in self._sources(producer):
                centred = self._joined(node, {"Sub"}) if self.types[node] in _MEANS else None
                if centred is not None and centred[2] == entered:
                    found |= centred[0]
        for op_type in ("Mul", "Add"):
            behind = self._next(left)
            if behind is not None and self._keeps_type(behind):
                found.add(behind)
                left = self.graph.operators[behind].writes[0]
                behind = self._next(left)
            if behind is not None and self.types[behind] == op_type and self._has_weights(behind):
                found.add(behind)
                left = self.graph.operators[behind].writes[0]
        return found

    def _activation(self, bend: int) -> set[int] | None:
        """Return an activation that multiplies its input by a function of it, and halves it."""
        joined = self._joined(bend, {"Mul"})
        if joined is None:
            return None
        found, _, left = joined
        node = self._next(left)
        if node is not None and self._is_scale(node) and self.types[bend] in ("Erf", "Tanh"):
            found.add(node)
        return found

    def _rescaled(self, product: int) -> set[int] | None:
        """Return a product of integers, with the scales and the bias that make it numbers."""
        if self.graph.op_types[product] not in _PRODUCTS_OF_INTEGERS:
            return None
        found, last = {product}, product
        for op_type in ("Cast", "Mul", "Add"):
            node = self._next_of(last)
            is_next = node is not None and self.types[node] == op_type
            if node is None or not is_next or (op_type == "Add" and not self._has_weights(node)):
                return found if op_type == "Add" else None
            found.add(node)
            last = node
            if op_type == "Mul":
                # The scales of both factors are multiplied first.
                scales = [one for one in self._sources(node) if self.types[one] == "Mul"]
                found.update(one for one in scales if self._next_of(one) == node)
        return found

    def _biased(self, product: int) -> set[int] | None:
        """Return a product with weights, and the bias that is added to it."""
        node = self._next_of(product)
        if node is None or self.types[node] != "Add" or len(self._computed(product)) != 1:
            return None
        return {product, node} if self._has_weights(node) else None

    def _scaled(self, convolution: int) -> set[int] | None:
        """Return a convolution and the normalisation over a batch that only it feeds."""
        node = self._next_of(convolution)
        is_one = node is not None and self.types[node] == "BatchNormalization"
        return {convolution, node} if is_one and node is not None else None

    # A tensor that a chain of operators leaves and joins again.

    def _joined(
        self, anchor: int, ends: Collection[str], inner: Collection[str] = ()
    ) -> tuple[set[int], int, int] | None:
        """Return the fewest operators around one that read one tensor twice and yield one."""
        for entered in self._above(anchor):
            inside = self._below(entered)
            if anchor not in inside:
                continue
            for left in self._after(anchor, inside):
                end = self.producers[left]
                if self.types[end] not in ends or len(self._computed(end)) < 2:
                    continue
                found = self._between(left, inside)
                types = {self.types[node] for node in found}
                twice = sum(entered in self.graph.operators[node].reads for node in found) > 1
                is_wanted = not inner or not types.isdisjoint(inner)
                if anchor in found and twice and is_wanted and self._is_closed(found, left):
                    return found, entered, left
        return None

    def _above(self, node: int) -> Iterator[int]:
        """Yield the tensors above an operator, nearest first, through elementwise steps."""
        pending, seen = list(self._computed(node)), set[int]()
        for _ in range(LONGEST):
            if not pending:
                return
            tensor = pending.pop(0)
            seen.add(tensor)
            yield tensor
            producer = self.producers[tensor]
            if producer >= 0 and self._is_step(producer):
                pending += [x for x in self._computed(producer) if x not in seen | set(pending)]

    def _below(self, tensor: int) -> set[int]:
        """Return the steps that depend on a tensor and on nothing else that is computed."""
        found: set[int] = set()
        known = {tensor}
        pending = list(self.readers[tensor])
        for _ in range(4 * LONGEST):
            if not pending:
                break
            node = pending.pop(0)
            if (
                node in found
                or not self._is_step(node)
                or not known.issuperset(self._computed(node))
            ):
                continue
            found.add(node)
            for written in self.graph.operators[node].writes:
                known.add(written)
                pending += self.readers[written]
        return found

    def _after(self, anchor: int, inside: Collection[int]) -> Iterator[int]:
        """Yield what the operators below one write, nearest first."""
        pending, seen = [anchor], set[int]()
        while pending:
            node = pending.pop(0)
            if node in seen:
                continue
            seen.add(node)
            for written in self.graph.operators[node].writes:
                yield written
                pending += [one for one in self.readers[written] if one in inside]

    def _between(self, left: int, inside: Collection[int]) -> set[int]:
        """Return the operators inside on which a tensor depends."""
        found: set[int] = set()
        pending = [left]
        while pending:
            node = self.producers[pending.pop()]
            if node in inside and node not in found:
                found.add(node)
                pending += self._computed(node)
        return found

    def _is_closed(self, found: Collection[int], left: int) -> bool:
        """Whether no other operator reads what these write, except for one tensor."""
        inner = {x for node in found for x in self.graph.operators[node].writes} - {left}
        readers = {node for number in inner for node in self.readers[number]}
        return self.results.isdisjoint(inner) and readers.issubset(found)

    # What an operator is, and what it reads.

    def _is_step(self, node: int) -> bool:
        op_type = self.types[node]
        return op_type in ELEMENTWISE_OP_TYPES or op_type in _MEANS

    def _is_view(self, node: int) -> bool:
        op_type = self.types[node]
        if len(self._computed(node)) != 1:
            return False
        if op_type == "Gather":
            # One index chooses a slice of what is computed.
            operator = self.graph.operators[node]
            data, *index = operator.reads
            is_one = all(self.graph.tensors[number].elements == 1 for number in index)
            return data not in self.graph.parameters and is_one
        return op_type in _VIEWS or op_type in FREE_OP_TYPES or self._keeps_type(node)

    def _keeps_type(self, node: int) -> bool:
        """Whether an operator casts a tensor to the type that it has."""
        operator = self.graph.operators[node]
        if operator.op_type != "Cast" or len(operator.writes) != 1:
            return False
        types = {
            self.graph.tensors[number].dtype for number in (operator.reads[0], *operator.writes)
        }
        return len(types) == 1

    def _is_scale(self, node: int) -> bool:
        """Whether an operator multiplies a computed tensor by a single number."""
        if self.types[node] not in ("Div", "Mul") or len(self._computed(node)) != 1:
            return False
        reads = self.graph.operators[node].reads
        weights = set(reads) & self.graph.parameters
        # A number that torch was given as such is no tensor.
        return len(reads) == 1 or {self.graph.tensors[one].elements for one in weights} == {1}

    def _has_weights(self, node: int) -> bool:
        """Whether an operator combines one computed tensor with parameters."""
        reads = set(self.graph.operators[node].reads)
        return len(self._computed(node)) == 1 and not reads.isdisjoint(self.graph.parameters)

    def _computed(self, node: int) -> list[int]:
        """Return the tensors that an operator reads and that are no parameters."""
        reads = dict.fromkeys(self.graph.operators[node].reads)
        return [x for x in reads if x != LEFT_OUT and x not in self.graph.parameters]

    def _sources(self, node: int) -> list[int]:
        """Return the operators that write what one reads."""
        found = [self.producers[number] for number in self._computed(node)]
        return [one for one in found if one >= 0]

    def _widest(self, node: int) -> int:
        """Return the largest of the tensors that an operator reads; masks are at most as large."""
        return max(self._computed(node), key=lambda number: self._size_and_depth(number))

    def _size_and_depth(self, number: int) -> tuple[int, bool]:
        producer = self.producers[number]
        return self.graph.tensors[number].elements, producer >= 0

    def _only_read(self, node: int) -> int | None:
        computed = self._computed(node)
        return computed[0] if len(computed) == 1 else None

    def _only_written(self, node: int) -> int | None:
        writes = self.graph.operators[node].writes
        return writes[0] if len(writes) == 1 else None

    def _is_read_once(self, number: int) -> bool:
        return number not in self.results and len(self.readers[number]) == 1

    def _next_of(self, node: int) -> int | None:
        """Return the only reader of what an operator writes."""
        written = self._only_written(node)
        return None if written is None else self._next(written)

    def _next(self, number: int) -> int | None:
        """Return the only reader of a tensor."""
        return self.readers[number][0] if self._is_read_once(number) else None
