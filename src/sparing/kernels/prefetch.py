"""Ask for memory before it is needed: the wait for it is longer than all arithmetic of a round."""

from llvmlite import ir
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic


def _prefetch(typing_context, array, index):
    """Start fetching entry ``index``, counted through a contiguous array, and go on without waiting for it."""

    def generate(context, builder, signature, arguments):
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        entry = builder.bitcast(builder.gep(struct.data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [entry.type, number, number, number])
        instruction = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(instruction, [entry, number(0), number(3), number(1)])  # to read, into all caches, as data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _nothing(array, index):
    """Without compilation there is nothing to fetch ahead."""


prefetch = _nothing if config.DISABLE_JIT else intrinsic(_prefetch)
