#include "opyard/core/scalar_type.h"

#include <array>
#include <utility>

namespace opyard {
namespace {

struct Facts {
  std::string_view name;
  uint8_t bytes;
  TypeKind kind;
};

constexpr auto kFacts = [] {
  std::array<Facts, 32> facts{};
#define OPYARD_T(number, name, text, bytes, kind) facts[number] = {text, bytes, TypeKind::kind};
  OPYARD_SCALAR_TYPES(OPYARD_T)
#undef OPYARD_T
  return facts;
}();

constexpr std::pair<std::string_view, ScalarType> kOtherNames[] = {
    {"float", ScalarType::kFloat32},    {"double", ScalarType::kFloat64},
    {"half", ScalarType::kFloat16},     {"long", ScalarType::kInt64},
    {"int", ScalarType::kInt32},        {"short", ScalarType::kInt16},
    {"cfloat", ScalarType::kComplex64}, {"cdouble", ScalarType::kComplex128},
    {"boolean", ScalarType::kBool},
};

const Facts& facts_of(ScalarType type) noexcept { return kFacts[static_cast<size_t>(type) & 31]; }

}  // namespace

bool is_valid(ScalarType type) noexcept {
  return static_cast<size_t>(type) < kFacts.size() && facts_of(type).bytes != 0;
}
size_t element_size(ScalarType type) noexcept { return is_valid(type) ? facts_of(type).bytes : 0; }
TypeKind kind_of(ScalarType type) noexcept { return facts_of(type).kind; }
std::string_view to_string(ScalarType type) noexcept {
  return is_valid(type) ? facts_of(type).name : "unknown";
}

std::optional<ScalarType> try_parse_scalar_type(std::string_view text) noexcept {
  for (size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].bytes != 0 && kFacts[i].name == text) return static_cast<ScalarType>(i);
  }
  for (const auto& [name, type] : kOtherNames) {
    if (name == text) return type;
  }
  return std::nullopt;
}

}  // namespace opyard
