#include "calling_types.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "opyard/dispatch/value_types.h"

namespace opyard {

void showValue(const IValue& value, std::ostream& out) { out << describe(value); }

namespace test {

SchemaType parse_type(const std::string& text) {
  return parse_schema("t::f(" + text + " v) -> ()").arguments[0].type;
}

IValue list_value(const SchemaType& type, const std::vector<IValue>& elements) {
  const auto collect = [&](auto read) {
    std::vector<std::decay_t<decltype(read(elements[0]))>> list;
    for (const IValue& element : elements) list.push_back(read(element));
    return list;
  };
  if (type.element_optional) return IValue::list(elements);
  switch (type.base) {
    case BaseType::kTensor:
      return IValue(collect([](const IValue& v) { return v.to_tensor(); }));
    case BaseType::kInt:
    case BaseType::kSymInt:
      return IValue(collect([](const IValue& v) { return v.to_int(); }));
    case BaseType::kFloat:
      return IValue(ArrayRef<double>(collect([](const IValue& v) { return v.to_double(); })));
    case BaseType::kBool: {
      const auto list = std::make_unique<bool[]>(elements.size());
      for (size_t i = 0; i < elements.size(); ++i) list[i] = elements[i].to_bool();
      return IValue(ArrayRef<bool>(list.get(), elements.size()));
    }
    default:
      return IValue::list(elements);
  }
}

bool same_value(const IValue& a, const IValue& b) {
  if (a.tag() != b.tag() || a.list_size() != b.list_size()) return false;
  switch (a.tag()) {
    case Tag::kNone:
      return true;
    case Tag::kDouble:
      return std::bit_cast<uint64_t>(a.to_double()) == std::bit_cast<uint64_t>(b.to_double());
    case Tag::kComplex:
      return a.to_complex() == b.to_complex();
    case Tag::kString:
      return a.to_string_view() == b.to_string_view();
    case Tag::kDict:
    case Tag::kList:
      break;
    default:
      return a.raw().aux == b.raw().aux && a.raw().payload == b.raw().payload;
  }
  const bool is_dict = a.is(Tag::kDict);
  if (!is_dict && a.list_size() == 0) return true;
  if (a.raw().aux != b.raw().aux) return false;
  const auto parts = [&](const IValue& value) {
    return is_dict ? value.to_dict().vec() : value.elements();
  };
  const std::vector<IValue> left = parts(a);
  const std::vector<IValue> right = parts(b);
  return std::equal(left.begin(), left.end(), right.begin(), same_value);
}

namespace {

const Tensor& shared_tensor() {
  static const Tensor tensor = make_tensor({2}, ScalarType::kFloat64);
  return tensor;
}
const IntrusivePtr<Generator>& shared_generator() {
  static const auto generator = IntrusivePtr<Generator>::adopt(new Generator(5));
  return generator;
}

std::vector<IValue> single_edges(BaseType base) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (base) {
    case BaseType::kTensor:
      return {IValue(shared_tensor()), IValue(Tensor())};
    case BaseType::kInt:
    case BaseType::kSymInt:
      return {IValue(0), IValue(-1), IValue(INT64_MIN), IValue(INT64_MAX)};
    case BaseType::kFloat:
      return {IValue(0.0), IValue(-0.0), IValue(1.5), IValue(kInf), IValue(std::nan(""))};
    case BaseType::kBool:
      return {IValue(true), IValue(false)};
    case BaseType::kComplex:
      return {IValue(std::complex<double>(1, -2)), IValue(std::complex<double>())};
    case BaseType::kScalar:
      return {IValue(7), IValue(0.5), IValue(true), IValue(std::complex<double>(0, 1))};
    case BaseType::kString:
      return {IValue(""), IValue("text"), IValue(std::string("\0\xff", 2)),
              IValue(std::string(1000, 'x'))};
    case BaseType::kScalarType:
      return {IValue(ScalarType::kFloat32), IValue(ScalarType::kBool)};
    case BaseType::kDevice:
      return {IValue(Device()), IValue(Device(Backend::kCUDA, 3))};
    case BaseType::kLayout:
      return {IValue(Layout::kStrided), IValue(Layout::kJagged)};
    case BaseType::kMemoryFormat:
      return {IValue(MemoryFormat::kContiguous), IValue(MemoryFormat::kChannelsLast3d)};
    case BaseType::kGenerator:
      return {IValue(shared_generator())};
    default:
      return {IValue(), IValue(3), IValue("any"), IValue(shared_tensor())};
  }
}

}  // namespace

std::vector<IValue> edge_values(const SchemaType& type) {
  SchemaType element = type;
  element.is_list = element.list_optional = false;
  std::vector<IValue> singles;
  if (type.base == BaseType::kList) {
    singles = edge_values(type.inner[0]);
  } else if (type.base == BaseType::kDict) {
    std::vector<IValue> items;
    const std::vector<IValue> values = edge_values(type.inner[1]);
    singles.push_back(IValue::dict({}));
    for (const IValue& key : edge_values(type.inner[0])) {
      if (key.is(Tag::kDouble) && !(key.to_double() > 0)) continue;  // 0 equals -0, nan nothing
      items.push_back(key);
      items.push_back(values[items.size() % values.size()]);
    }
    singles.push_back(IValue::dict(items));
  } else {
    singles = single_edges(type.base);
  }
  if (type.element_optional) singles.push_back(IValue());
  if (!type.is_list) return singles;
  std::vector<IValue> lists;
  const auto take = [&](size_t count, size_t from) {
    std::vector<IValue> elements;
    for (size_t i = 0; i < count; ++i) elements.push_back(singles[(from + i) % singles.size()]);
    lists.push_back(list_value(type, elements));
  };
  if (type.list_size >= 0) {
    take(static_cast<size_t>(type.list_size), 0);
    take(static_cast<size_t>(type.list_size), 1);
  } else {
    for (const size_t count : {size_t{0}, size_t{1}, singles.size() + 1}) take(count, 0);
  }
  if (type.list_optional) lists.push_back(IValue());
  return lists;
}

namespace {

// A value of the type, drawn by RapidCheck.
IValue draw(const SchemaType& type);

IValue draw_single(const SchemaType& type) {
  if (type.element_optional && *rc::gen::inRange(0, 4) == 0) return IValue();
  switch (type.base) {
    case BaseType::kInt:
    case BaseType::kSymInt:
      return IValue(*rc::gen::arbitrary<int64_t>());
    case BaseType::kFloat:
      return IValue(*rc::gen::arbitrary<double>());
    case BaseType::kComplex:
      return IValue(std::complex<double>(*rc::gen::arbitrary<double>(), 1));
    case BaseType::kString:
      return IValue(*rc::gen::arbitrary<std::string>());
    case BaseType::kTensor:
      return IValue(*rc::gen::arbitrary<bool>() ? make_tensor({1}, ScalarType::kInt64) : Tensor());
    case BaseType::kList:
      return draw(type.inner[0]);
    case BaseType::kDict: {
      std::vector<IValue> items;
      const int count = *rc::gen::inRange(0, 4);
      for (int i = 0; i < count; ++i) {
        IValue key = draw(type.inner[0]);
        bool known = false;
        for (size_t j = 0; j < items.size(); j += 2) {
          known |= same_value(items[j], key) || describe(items[j]) == describe(key);
        }
        if (known || (key.is(Tag::kDouble) && !(std::abs(key.to_double()) > 0))) continue;
        items.push_back(std::move(key));
        items.push_back(draw(type.inner[1]));
      }
      return IValue::dict(items);
    }
    default:
      return *rc::gen::elementOf(single_edges(type.base));
  }
}

IValue draw(const SchemaType& type) {
  if (!type.is_list) return draw_single(type);
  if (type.list_optional && *rc::gen::inRange(0, 4) == 0) return IValue();
  const int count =
      type.list_size >= 0 ? static_cast<int>(type.list_size) : *rc::gen::inRange(0, 6);
  std::vector<IValue> elements;
  for (int i = 0; i < count; ++i) elements.push_back(draw_single(type));
  return list_value(type, elements);
}

uint64_t references() {
  return shared_tensor().unsafe_impl()->use_count() + shared_generator()->use_count();
}

struct CallingTypes : ::testing::TestWithParam<size_t> {};

// Typed and boxed calls of typed and boxed kernels: the value comes back as it went in, and nobody
// keeps a reference.
TEST_P(CallingTypes, FourWaysAgree) {
  const TypeRow& row = type_rows()[GetParam()];
  const SchemaType type = parse_type(row.type);
  const uint64_t before = references();
  for (const IValue& value : edge_values(type)) {
    EXPECT_TRUE(has_type(value, type)) << row.type << " " << describe(value);
    EXPECT_EQ(row.call_all(value), "") << row.type << " " << describe(value);
  }
  EXPECT_EQ(references(), before);
}

std::string row_name(const ::testing::TestParamInfo<size_t>& info) {
  std::string name = str_cat(info.param, "_", type_rows()[info.param].type);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Rows, CallingTypes, ::testing::Range(size_t{0}, type_rows().size()),
                         row_name);

TEST(CallingProperty, AnyValueOfAnyTypeComesBackAsItWent) {
  setenv("RC_PARAMS", "seed=20261130 max_success=1500", 0);
  const uint64_t before = references();
  EXPECT_TRUE(rc::check("typed and boxed calls of typed and boxed kernels agree", [] {
    const TypeRow& row = type_rows()[*rc::gen::inRange(size_t{0}, type_rows().size())];
    const SchemaType type = parse_type(row.type);
    const IValue value = draw(type);
    RC_TAG(row.type);
    RC_ASSERT(has_type(value, type));
    RC_ASSERT(row.call_all(value) == "");
  }));
  EXPECT_EQ(references(), before);
}

}  // namespace
}  // namespace test
}  // namespace opyard
