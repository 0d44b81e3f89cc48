# Generated from kernels/ops by kernels/codegen; changes here are lost. For type checkers: the operators themselves are
# found in the daemon's Registry.
from typing import Optional, Sequence, Union, overload

from .dtypes import DTypeLike
from .ops import BoundOperator, Namespace
from .tensor import Number, Operand, Tensor


class OpLocalScalarDense(BoundOperator):
    def __call__(_op, self: Operand) -> Number: ...


class OpSoftmax(BoundOperator):
    @overload
    def __call__(_op, self: Operand, dim: int, half_to_float: bool) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, dim: int, half_to_float: bool, *, out: Tensor) -> Tensor: ...


class OpToCopy(BoundOperator):
    def __call__(_op, self: Operand, *, dtype: Optional[DTypeLike] = ..., layout: Optional[str] = ..., device: Optional[str] = ..., pin_memory: Optional[bool] = ..., non_blocking: bool = ..., memory_format: Optional[str] = ...) -> Tensor: ...


class OpAdd(BoundOperator):
    @overload
    def __call__(_op, self: Operand, other: Operand, *, alpha: Number = ...) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Operand, *, alpha: Number = ..., out: Tensor) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Number, alpha: Number = ...) -> Tensor: ...


class OpAddInplace(BoundOperator):
    @overload
    def __call__(_op, self: Tensor, other: Operand, *, alpha: Number = ...) -> Tensor: ...
    @overload
    def __call__(_op, self: Tensor, other: Number, alpha: Number = ...) -> Tensor: ...


class OpAddmm(BoundOperator):
    @overload
    def __call__(_op, self: Operand, mat1: Operand, mat2: Operand, *, beta: Number = ..., alpha: Number = ...) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, mat1: Operand, mat2: Operand, *, beta: Number = ..., alpha: Number = ..., out: Tensor) -> Tensor: ...


class OpAmax(BoundOperator):
    @overload
    def __call__(_op, self: Operand, dim: Union[int, Sequence[int]] = ..., keepdim: bool = ...) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, dim: Union[int, Sequence[int]] = ..., keepdim: bool = ..., *, out: Tensor) -> Tensor: ...


class OpArange(BoundOperator):
    @overload
    def __call__(_op, end: Number, *, dtype: Optional[DTypeLike] = ..., layout: Optional[str] = ..., device: Optional[str] = ..., pin_memory: Optional[bool] = ...) -> Tensor: ...
    @overload
    def __call__(_op, start: Number, end: Number, *, dtype: Optional[DTypeLike] = ..., layout: Optional[str] = ..., device: Optional[str] = ..., pin_memory: Optional[bool] = ...) -> Tensor: ...
    @overload
    def __call__(_op, start: Number, end: Number, step: Number = ..., *, dtype: Optional[DTypeLike] = ..., layout: Optional[str] = ..., device: Optional[str] = ..., pin_memory: Optional[bool] = ...) -> Tensor: ...
    @overload
    def __call__(_op, start: Number, end: Number, step: Number = ..., *, out: Tensor) -> Tensor: ...


class OpArgmax(BoundOperator):
    @overload
    def __call__(_op, self: Operand, dim: Optional[int] = ..., keepdim: bool = ...) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, dim: Optional[int] = ..., keepdim: bool = ..., *, out: Tensor) -> Tensor: ...


class OpCat(BoundOperator):
    @overload
    def __call__(_op, tensors: Sequence[Operand], dim: int = ...) -> Tensor: ...
    @overload
    def __call__(_op, tensors: Sequence[Operand], dim: int = ..., *, out: Tensor) -> Tensor: ...


class OpClone(BoundOperator):
    def __call__(_op, self: Operand, *, memory_format: Optional[str] = ...) -> Tensor: ...


class OpCopyInplace(BoundOperator):
    def __call__(_op, self: Tensor, src: Operand, non_blocking: bool = ...) -> Tensor: ...


class OpDiv(BoundOperator):
    @overload
    def __call__(_op, self: Operand, other: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Operand, *, out: Tensor) -> Tensor: ...


class OpDivInplace(BoundOperator):
    def __call__(_op, self: Tensor, other: Operand) -> Tensor: ...


class OpEmpty(BoundOperator):
    def __call__(_op, size: Sequence[int], *, dtype: Optional[DTypeLike] = ..., layout: Optional[str] = ..., device: Optional[str] = ..., pin_memory: Optional[bool] = ..., memory_format: Optional[str] = ...) -> Tensor: ...


class OpEq(BoundOperator):
    @overload
    def __call__(_op, self: Operand, other: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Operand, *, out: Tensor) -> Tensor: ...


class OpEqInplace(BoundOperator):
    def __call__(_op, self: Tensor, other: Operand) -> Tensor: ...


class OpExp(BoundOperator):
    @overload
    def __call__(_op, self: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, *, out: Tensor) -> Tensor: ...


class OpExpInplace(BoundOperator):
    def __call__(_op, self: Tensor) -> Tensor: ...


class OpExpand(BoundOperator):
    def __call__(_op, self: Operand, size: Sequence[int], *, implicit: bool = ...) -> Tensor: ...


class OpFillInplace(BoundOperator):
    def __call__(_op, self: Tensor, value: Number) -> Tensor: ...


class OpFull(BoundOperator):
    def __call__(_op, size: Sequence[int], fill_value: Number, *, dtype: Optional[DTypeLike] = ..., layout: Optional[str] = ..., device: Optional[str] = ..., pin_memory: Optional[bool] = ...) -> Tensor: ...


class OpGe(BoundOperator):
    @overload
    def __call__(_op, self: Operand, other: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Operand, *, out: Tensor) -> Tensor: ...


class OpGeInplace(BoundOperator):
    def __call__(_op, self: Tensor, other: Operand) -> Tensor: ...


class OpGt(BoundOperator):
    @overload
    def __call__(_op, self: Operand, other: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Operand, *, out: Tensor) -> Tensor: ...


class OpGtInplace(BoundOperator):
    def __call__(_op, self: Tensor, other: Operand) -> Tensor: ...


class OpIndexSelect(BoundOperator):
    @overload
    def __call__(_op, self: Operand, dim: int, index: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, dim: int, index: Operand, *, out: Tensor) -> Tensor: ...


class OpLe(BoundOperator):
    @overload
    def __call__(_op, self: Operand, other: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Operand, *, out: Tensor) -> Tensor: ...


class OpLeInplace(BoundOperator):
    def __call__(_op, self: Tensor, other: Operand) -> Tensor: ...


class OpLog(BoundOperator):
    @overload
    def __call__(_op, self: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, *, out: Tensor) -> Tensor: ...


class OpLogInplace(BoundOperator):
    def __call__(_op, self: Tensor) -> Tensor: ...


class OpLt(BoundOperator):
    @overload
    def __call__(_op, self: Operand, other: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Operand, *, out: Tensor) -> Tensor: ...


class OpLtInplace(BoundOperator):
    def __call__(_op, self: Tensor, other: Operand) -> Tensor: ...


class OpMean(BoundOperator):
    @overload
    def __call__(_op, self: Operand, dim: Optional[Union[int, Sequence[int]]], keepdim: bool = ..., *, dtype: Optional[DTypeLike] = ...) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, dim: Optional[Union[int, Sequence[int]]], keepdim: bool = ..., *, dtype: Optional[DTypeLike] = ..., out: Tensor) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, *, dtype: Optional[DTypeLike] = ...) -> Tensor: ...


class OpMm(BoundOperator):
    @overload
    def __call__(_op, self: Operand, mat2: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, mat2: Operand, *, out: Tensor) -> Tensor: ...


class OpMul(BoundOperator):
    @overload
    def __call__(_op, self: Operand, other: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Operand, *, out: Tensor) -> Tensor: ...


class OpMulInplace(BoundOperator):
    def __call__(_op, self: Tensor, other: Operand) -> Tensor: ...


class OpNe(BoundOperator):
    @overload
    def __call__(_op, self: Operand, other: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Operand, *, out: Tensor) -> Tensor: ...


class OpNeInplace(BoundOperator):
    def __call__(_op, self: Tensor, other: Operand) -> Tensor: ...


class OpNeg(BoundOperator):
    @overload
    def __call__(_op, self: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, *, out: Tensor) -> Tensor: ...


class OpNegInplace(BoundOperator):
    def __call__(_op, self: Tensor) -> Tensor: ...


class OpNormalInplace(BoundOperator):
    def __call__(_op, self: Tensor, mean: float = ..., std: float = ..., *, generator: None = ...) -> Tensor: ...


class OpOnes(BoundOperator):
    def __call__(_op, size: Sequence[int], *, dtype: Optional[DTypeLike] = ..., layout: Optional[str] = ..., device: Optional[str] = ..., pin_memory: Optional[bool] = ...) -> Tensor: ...


class OpPermute(BoundOperator):
    def __call__(_op, self: Operand, dims: Sequence[int]) -> Tensor: ...


class OpRand(BoundOperator):
    def __call__(_op, size: Sequence[int], *, dtype: Optional[DTypeLike] = ..., layout: Optional[str] = ..., device: Optional[str] = ..., pin_memory: Optional[bool] = ...) -> Tensor: ...


class OpRandn(BoundOperator):
    def __call__(_op, size: Sequence[int], *, dtype: Optional[DTypeLike] = ..., layout: Optional[str] = ..., device: Optional[str] = ..., pin_memory: Optional[bool] = ...) -> Tensor: ...


class OpRelu(BoundOperator):
    @overload
    def __call__(_op, self: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, *, out: Tensor) -> Tensor: ...


class OpReluInplace(BoundOperator):
    def __call__(_op, self: Tensor) -> Tensor: ...


class OpSelect(BoundOperator):
    def __call__(_op, self: Operand, dim: int, index: int) -> Tensor: ...


class OpSigmoid(BoundOperator):
    @overload
    def __call__(_op, self: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, *, out: Tensor) -> Tensor: ...


class OpSigmoidInplace(BoundOperator):
    def __call__(_op, self: Tensor) -> Tensor: ...


class OpSlice(BoundOperator):
    def __call__(_op, self: Operand, dim: int = ..., start: Optional[int] = ..., end: Optional[int] = ..., step: int = ...) -> Tensor: ...


class OpSqrt(BoundOperator):
    @overload
    def __call__(_op, self: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, *, out: Tensor) -> Tensor: ...


class OpSqrtInplace(BoundOperator):
    def __call__(_op, self: Tensor) -> Tensor: ...


class OpSqueeze(BoundOperator):
    @overload
    def __call__(_op, self: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, dim: int) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, dim: Sequence[int]) -> Tensor: ...


class OpSub(BoundOperator):
    @overload
    def __call__(_op, self: Operand, other: Operand, *, alpha: Number = ...) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Operand, *, alpha: Number = ..., out: Tensor) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, other: Number, alpha: Number = ...) -> Tensor: ...


class OpSubInplace(BoundOperator):
    @overload
    def __call__(_op, self: Tensor, other: Operand, *, alpha: Number = ...) -> Tensor: ...
    @overload
    def __call__(_op, self: Tensor, other: Number, alpha: Number = ...) -> Tensor: ...


class OpSum(BoundOperator):
    @overload
    def __call__(_op, self: Operand, dim: Optional[Union[int, Sequence[int]]], keepdim: bool = ..., *, dtype: Optional[DTypeLike] = ...) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, dim: Optional[Union[int, Sequence[int]]], keepdim: bool = ..., *, dtype: Optional[DTypeLike] = ..., out: Tensor) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, *, dtype: Optional[DTypeLike] = ...) -> Tensor: ...


class OpT(BoundOperator):
    def __call__(_op, self: Operand) -> Tensor: ...


class OpTanh(BoundOperator):
    @overload
    def __call__(_op, self: Operand) -> Tensor: ...
    @overload
    def __call__(_op, self: Operand, *, out: Tensor) -> Tensor: ...


class OpTanhInplace(BoundOperator):
    def __call__(_op, self: Tensor) -> Tensor: ...


class OpUniformInplace(BoundOperator):
    def __call__(_op, self: Tensor, from_: float = ..., to: float = ..., *, generator: None = ...) -> Tensor: ...


class OpUnsqueeze(BoundOperator):
    def __call__(_op, self: Operand, dim: int) -> Tensor: ...


class OpView(BoundOperator):
    def __call__(_op, self: Operand, size: Sequence[int]) -> Tensor: ...


class OpWhere(BoundOperator):
    @overload
    def __call__(_op, condition: Operand, self: Operand, other: Operand) -> Tensor: ...
    @overload
    def __call__(_op, condition: Operand, self: Operand, other: Operand, *, out: Tensor) -> Tensor: ...


class OpZeroInplace(BoundOperator):
    def __call__(_op, self: Tensor) -> Tensor: ...


class OpZeros(BoundOperator):
    def __call__(_op, size: Sequence[int], *, dtype: Optional[DTypeLike] = ..., layout: Optional[str] = ..., device: Optional[str] = ..., pin_memory: Optional[bool] = ...) -> Tensor: ...


class Aten(Namespace):
    _local_scalar_dense: OpLocalScalarDense
    _softmax: OpSoftmax
    _to_copy: OpToCopy
    add: OpAdd
    add_: OpAddInplace
    addmm: OpAddmm
    amax: OpAmax
    arange: OpArange
    argmax: OpArgmax
    cat: OpCat
    clone: OpClone
    copy_: OpCopyInplace
    div: OpDiv
    div_: OpDivInplace
    empty: OpEmpty
    eq: OpEq
    eq_: OpEqInplace
    exp: OpExp
    exp_: OpExpInplace
    expand: OpExpand
    fill_: OpFillInplace
    full: OpFull
    ge: OpGe
    ge_: OpGeInplace
    gt: OpGt
    gt_: OpGtInplace
    index_select: OpIndexSelect
    le: OpLe
    le_: OpLeInplace
    log: OpLog
    log_: OpLogInplace
    lt: OpLt
    lt_: OpLtInplace
    mean: OpMean
    mm: OpMm
    mul: OpMul
    mul_: OpMulInplace
    ne: OpNe
    ne_: OpNeInplace
    neg: OpNeg
    neg_: OpNegInplace
    normal_: OpNormalInplace
    ones: OpOnes
    permute: OpPermute
    rand: OpRand
    randn: OpRandn
    relu: OpRelu
    relu_: OpReluInplace
    select: OpSelect
    sigmoid: OpSigmoid
    sigmoid_: OpSigmoidInplace
    slice: OpSlice
    sqrt: OpSqrt
    sqrt_: OpSqrtInplace
    squeeze: OpSqueeze
    sub: OpSub
    sub_: OpSubInplace
    sum: OpSum
    t: OpT
    tanh: OpTanh
    tanh_: OpTanhInplace
    uniform_: OpUniformInplace
    unsqueeze: OpUnsqueeze
    view: OpView
    where: OpWhere
    zero_: OpZeroInplace
    zeros: OpZeros
