#include "opyard/core/ivalue.h"

#include <gtest/gtest.h>

namespace opyard {
namespace {

TEST(IValue, HoldsEveryPlainType) {
  EXPECT_TRUE(IValue().is_none());
  EXPECT_EQ(IValue(true).to_bool(), true);
  EXPECT_EQ(IValue(int64_t{-5}).to_int(), -5);
  EXPECT_EQ(IValue(2.5).to_double(), 2.5);
  EXPECT_EQ(IValue(std::complex<double>(1, -2)).to_complex(), std::complex<double>(1, -2));
  EXPECT_EQ(IValue("text").to_string_view(), "text");
  EXPECT_EQ(IValue(Device(Backend::kCUDA, 3)).to_device(), Device(Backend::kCUDA, 3));
  EXPECT_EQ(IValue(Device()).to_device().index, -1);
  EXPECT_EQ(IValue(ScalarType::kBFloat16).to_dtype(), ScalarType::kBFloat16);
  EXPECT_EQ(IValue(Layout::kSparse).to_layout(), Layout::kSparse);
  EXPECT_EQ(IValue(MemoryFormat::kPreserve).to_memory_format(), MemoryFormat::kPreserve);
  EXPECT_TRUE(IValue(std::optional<int64_t>()).is_none());
  EXPECT_EQ(IValue(std::optional<double>(1.5)).to_double(), 1.5);
  EXPECT_TRUE(IValue(Scalar(true)).is(Tag::kBool));
}

TEST(IValue, ListsAreContiguousAndShared) {
  const std::vector<int64_t> ints = {1, 2, 3};
  const IValue list(ints);
  const IValue copy = list;
  EXPECT_EQ(copy.to_int_list(), ArrayRef<int64_t>(ints));
  EXPECT_EQ(copy.to_int_list().data(), list.to_int_list().data());
  const auto* header = reinterpret_cast<const int64_t*>(list.raw().payload) - 2;
  EXPECT_EQ(header[0], 2);  // references
  EXPECT_EQ(header[1], 3);  // elements
}

TEST(IValue, TensorsAreCounted) {
  const Tensor tensor = make_tensor({2}, ScalarType::kFloat32);
  {
    const IValue value(tensor);
    const IValue list(std::vector<Tensor>{tensor, Tensor()});
    const IValue generic = IValue::list(std::vector<IValue>{IValue(tensor), IValue()});
    EXPECT_EQ(tensor.unsafe_impl()->use_count(), 4u);
    EXPECT_TRUE(value.to_tensor().is_same(tensor));
    EXPECT_EQ(list.to_tensor_list().size(), 2u);
    EXPECT_TRUE(generic.to_list()[0].to_tensor().is_same(tensor));
    EXPECT_TRUE(generic.to_list()[1].is_none());
  }
  EXPECT_EQ(tensor.unsafe_impl()->use_count(), 1u);
}

TEST(IValue, WrongReadsSayWhatWasGotAndWanted) {
  const auto message = [](auto read) -> std::string {
    try {
      read();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return error.message();
    }
    return "nothing raised";
  };
  EXPECT_EQ(message([] { IValue("x").to_int(); }), "got str 'x' where int is wanted");
  EXPECT_EQ(message([] { IValue(1.5).to_tensor(); }), "got float 1.5 where Tensor is wanted");
  EXPECT_EQ(message([] { IValue(std::vector<int64_t>{1}).to_tensor_list(); }),
            "got list of 1 int where a list of Tensor is wanted");
  EXPECT_EQ(message([] { IValue(int64_t{99}).to_dtype(); }), "unknown dtype number 99");
}

TEST(IValue, AnEmptyListIsAListOfAnything) {
  const IValue empty = IValue::list({});
  EXPECT_EQ(empty.to_int_list().size(), 0u);
  EXPECT_EQ(empty.to_tensor_list().size(), 0u);
}

TEST(Scalar, ConversionsRefuseLoss) {
  EXPECT_EQ(Scalar(2.0).to_int(), 2);
  EXPECT_THROW(Scalar(2.5).to_int(), Error);
  EXPECT_THROW(Scalar(1e300).to_int(), Error);
  EXPECT_THROW(Scalar(std::complex<double>(0, 1)).to_double(), Error);
  EXPECT_EQ(to_string(Scalar(0.1)), "0.1");
  EXPECT_EQ(to_string(Scalar(3.0)), "3.0");
}

}  // namespace
}  // namespace opyard
