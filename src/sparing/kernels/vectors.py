"""Butterflies on whole vector registers, written straight into LLVM's language.

The compiler does not vectorise a butterfly by itself: at small strides partners share a register, at large ones it
cannot rule out that they overlap. So this file says which registers to load, add, subtract and store; LLVM turns that
into the instructions of whatever machine it runs on. Registers are 32 bytes: 8 numbers of float32, 4 of float64.
"""

import numpy as np
from llvmlite import ir
from numba import config
from numba.core import types
from numba.extending import intrinsic

BYTES = 32
REGISTERS = 8  # taken together, for three levels at a time; sixteen would not fit into the sets of most caches


def _pairs(count):
    """Partners at every level of a transform of ``count`` things."""
    for distance in (1 << level for level in range(count.bit_length() - 1)):
        yield from ((low, low + distance) for low in range(count) if not low & distance)


def _within_register(builder, vector):
    """All levels of a transform inside one register: swap partners, then add with the sign of the upper one turned."""
    kind = vector.type
    exact = ("contract",)  # a product by one or minus one is exact, so it may be fused with the sum
    for distance in (1 << level for level in range(kind.count.bit_length() - 1)):
        order = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [lane ^ distance for lane in range(kind.count)])
        signs = ir.Constant(kind, [-1.0 if lane & distance else 1.0 for lane in range(kind.count)])
        swapped = builder.shuffle_vector(vector, ir.Constant(kind, ir.Undefined), order)
        vector = builder.fadd(builder.fmul(vector, signs, flags=exact), swapped, flags=exact)
    return vector


def _registers(*, count, inside):
    """A function (x, start, stride, scale) that transforms ``count`` registers ``stride`` numbers apart, in place.

    With ``inside`` each register is first multiplied by ``scale`` and transformed in itself.
    """

    def typed(typing_context, x, start, stride, scale):
        def generate(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            number = context.get_data_type(signature.args[0].dtype)
            size = context.get_abi_sizeof(number)
            kind = ir.VectorType(number, BYTES // size)
            places = [builder.add(arguments[1], builder.mul(arguments[2], arguments[2].type(i))) for i in range(count)]
            pointers = [builder.bitcast(builder.gep(array.data, [place]), kind.as_pointer()) for place in places]
            vectors = [builder.load(pointer, align=size) for pointer in pointers]
            if inside:
                lane = builder.insert_element(ir.Constant(kind, ir.Undefined), arguments[3], ir.IntType(32)(0))
                zeros = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
                factor = builder.shuffle_vector(lane, ir.Constant(kind, ir.Undefined), zeros)
                vectors = [_within_register(builder, builder.fmul(vector, factor)) for vector in vectors]
            for low, high in _pairs(count):
                a, b = vectors[low], vectors[high]
                vectors[low], vectors[high] = builder.fadd(a, b), builder.fsub(a, b)
            for vector, pointer in zip(vectors, pointers, strict=True):
                builder.store(vector, pointer, align=size)
            return context.get_dummy_value()

        return types.void(x, types.intp, types.intp, x.dtype), generate

    def plain(x, start, stride, scale):
        lanes = BYTES // x.itemsize
        block = np.array([x[start + i * stride : start + i * stride + lanes] for i in range(count)])
        if inside:
            block *= scale
            for low, high in _pairs(lanes):
                block[:, low], block[:, high] = block[:, low] + block[:, high], block[:, low] - block[:, high]
        for low, high in _pairs(count):
            block[low], block[high] = block[low] + block[high], block[low] - block[high]
        for i in range(count):
            x[start + i * stride : start + i * stride + lanes] = block[i]

    return plain if config.DISABLE_JIT else intrinsic(typed)


first_levels = _registers(count=REGISTERS, inside=True)
one_level = _registers(count=2, inside=False)
two_levels = _registers(count=4, inside=False)
three_levels = _registers(count=8, inside=False)
