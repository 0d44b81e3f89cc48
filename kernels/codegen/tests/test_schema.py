import pytest

import schema

ADD = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
TEXTS = [
    ADD,
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
    "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    "copy(Tensor src, bool non_blocking, Tensor(a!) out) -> ()",
]


@pytest.mark.parametrize("text", TEXTS)
def test_reads_back(text):
    assert schema.parse_schema(text).text() == text


@pytest.mark.parametrize("text, wanted", [
    (TEXTS[0], "Tensor(const Tensor&, const Tensor&, const Scalar&)"),
    (TEXTS[1], "Tensor(const Tensor&, std::optional<IntList>, bool, std::optional<ScalarType>)"),
    (TEXTS[2], "Tensor(TensorList, int64_t)"),
    (TEXTS[3], "Tensor&(Tensor&, const Tensor&, bool)"),
    (TEXTS[5], "void(const Tensor&, bool, Tensor&)"),
    ("f(Tensor? a, Scalar? b, Generator? c, float x, Device? d) -> Scalar",
     "Scalar(const std::optional<Tensor>&, const std::optional<Scalar>&, const IntrusivePtr<Generator>&, double, "
     "std::optional<Device>)"),
])
def test_cpp_signature(text, wanted):
    assert schema.parse_schema(text).cpp_signature() == wanted


def test_variants_follow_from_the_functional_form():
    functional = schema.parse_schema(ADD)
    assert schema.inplace_variant(functional, "add_.Tensor").text() == (
        "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)")
    assert schema.out_variant(functional, "add.out").text() == (
        "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)")
    assert schema.kernel_schema(functional).text(with_namespace=True) == (
        "kernel::add.Tensor(Tensor self, Tensor other, Scalar alpha, Tensor(a!) out) -> ()")


def test_out_form_without_keywords_gets_a_star():
    assert schema.out_variant(schema.parse_schema("neg(Tensor self) -> Tensor"), "neg.out").text() == (
        "neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")


def test_identifiers_have_no_two_underscores_in_a_row():
    for text in ("add_.Tensor(Tensor(a!) self) -> Tensor(a!)", "fill_.Scalar(Tensor(a!) self) -> Tensor(a!)"):
        assert "__" not in schema.parse_schema(text).identifier


@pytest.mark.parametrize("text", ["", "f", "f()", "f(Tensor) -> Tensor", "f(Tensor self -> Tensor", "f.a.b(Tensor x) -> Tensor",
                                  "f(Tensor x) ->"])
def test_refuses_what_is_no_schema(text):
    with pytest.raises(schema.SchemaError):
        schema.parse_schema(text)


def test_refuses_types_without_a_cpp_type():
    with pytest.raises(schema.SchemaError, match="Dimname"):
        schema.parse_schema("f(Dimname x) -> Tensor").cpp_signature()


def test_refuses_an_inplace_form_without_a_tensor_in_front():
    with pytest.raises(schema.SchemaError, match="in-place"):
        schema.inplace_variant(schema.parse_schema("f(int x) -> Tensor"), "f_")
