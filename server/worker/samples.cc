#include "samples.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "opyard/base/check.h"

namespace opyard::worker {
namespace {

constexpr int64_t kSide = 4;
constexpr size_t kElements = kSide * kSide;
constexpr size_t kBytes = kElements * sizeof(float);

std::array<float, kElements> pattern() {
  std::array<float, kElements> values{};
  for (size_t i = 0; i < kElements; ++i) values[i] = 0.25f * static_cast<float>(i) - 1;
  return values;
}

bool is_text(BaseType base) { return base == BaseType::kString || base == BaseType::kDimname; }

}  // namespace

std::string_view to_string(Filling filling) noexcept {
  switch (filling) {
    case Filling::kSound:
      return "sound arguments";
    case Filling::kUndefined:
      return "undefined tensors";
    case Filling::kWrong:
      return "values of the wrong type";
    case Filling::kMissing:
      return "nothing but None";
  }
  return "arguments";
}

// One tensor of the host's and its memory: the end of a page, with pages around it that nobody may
// touch. The memory stays, so that a kernel which lets go of what it was lent is found out.
struct Samples::Watched {
  std::string argument;
  bool may_be_written = false;
  bool freed = false;
  char* pages = nullptr;
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  Tensor tensor;

  explicit Watched(const Argument& of)
      : argument(of.name), may_be_written(of.alias && of.alias->is_write) {
    void* place = mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OPYARD_CHECK(place != MAP_FAILED, kResourceExhausted, "there is no memory for samples");
    pages = static_cast<char*>(place);
    OPYARD_CHECK(mprotect(pages + page, page, PROT_READ | PROT_WRITE) == 0, kResourceExhausted,
                 "there is no memory for samples");
    const auto values = pattern();
    std::memcpy(data(), values.data(), kBytes);
    Storage storage = wrap_memory(
        data(), kBytes, Device(Backend::kCPU),
        [](void* watched) { static_cast<Watched*>(watched)->freed = true; }, this);
    const std::array<int64_t, 2> sizes{kSide, kSide};
    const std::array<int64_t, 2> strides{kSide, 1};
    tensor = tensor_on(std::move(storage), ScalarType::kFloat32, {sizes.data(), 2},
                       {strides.data(), 2}, 0);
  }
  ~Watched() { munmap(pages, 3 * page); }
  char* data() const { return pages + 2 * page - kBytes; }
  // Besides our own handle there is the argument's.
  bool is_let_go() const { return freed || tensor.unsafe_impl()->use_count() < 2; }
  bool is_changed() const {
    const auto values = pattern();
    return std::memcmp(data(), values.data(), kBytes) != 0;
  }
};

Samples::Samples(const FunctionSchema& schema, Filling filling, Device device)
    : filling_(filling), device_(device) {
  for (const Argument& argument : schema.arguments) arguments_.push_back(value_for(argument));
}

Samples::~Samples() {
  const bool lost = std::any_of(watched_.begin(), watched_.end(),
                                [](const auto& watched) { return watched->is_let_go(); });
  if (lost) {  // what our handles count is not there any more
    for (IValue& value : arguments_) static_cast<void>(value.detach());
  }
  arguments_.clear();
  for (std::unique_ptr<Watched>& watched : watched_) {
    if (lost) static_cast<void>(IValue(std::move(watched->tensor)).detach());
    watched->tensor = Tensor();
    if (lost || !watched->freed) static_cast<void>(watched.release());  // somebody still has it
  }
}

IValue Samples::value_for(const Argument& argument) {
  switch (filling_) {
    case Filling::kMissing:
      must_be_refused_ |= !argument.type.is_optional() && argument.type.base != BaseType::kAny &&
                          argument.type.base != BaseType::kGenerator &&
                          argument.type.base != BaseType::kTensor;
      return {};
    case Filling::kWrong:
      must_be_refused_ |= argument.type.base != BaseType::kAny;
      return is_text(argument.type.base) ? IValue(7) : IValue("a text");
    default:
      if (argument.default_value) return *argument.default_value;
      return sound(argument.type, argument);
  }
}

IValue Samples::sound(const SchemaType& type, const Argument& argument) {
  if (type.is_optional()) return {};
  if (!type.is_list) return element(type, argument);
  const auto count = static_cast<size_t>(std::clamp<int64_t>(type.list_size, 1, 8));
  if (type.element_optional) return IValue::list(std::vector<IValue>(count));
  switch (type.base) {
    case BaseType::kTensor: {
      std::vector<Tensor> tensors;
      for (size_t i = 0; i < count; ++i) tensors.push_back(tensor(argument));
      return {tensors};
    }
    case BaseType::kInt:
    case BaseType::kSymInt:
      return {std::vector<int64_t>(count, 1)};
    case BaseType::kFloat:
    case BaseType::kSymFloat:
      return {ArrayRef<double>(std::vector<double>(count, 1.0))};
    case BaseType::kBool:
    case BaseType::kSymBool:
      return {ArrayRef<bool>(std::array<bool, 8>{}.data(), count)};
    default: {
      std::vector<IValue> values;
      for (size_t i = 0; i < count; ++i) values.push_back(element(type, argument));
      return IValue::list(values);
    }
  }
}

IValue Samples::element(const SchemaType& type, const Argument& argument) {
  switch (type.base) {
    case BaseType::kTensor:
      return filling_ == Filling::kUndefined ? IValue(Tensor()) : IValue(tensor(argument));
    case BaseType::kInt:
    case BaseType::kSymInt:
      return {1};
    case BaseType::kFloat:
    case BaseType::kSymFloat:
    case BaseType::kScalar:
      return {1.0};
    case BaseType::kBool:
    case BaseType::kSymBool:
      return {false};
    case BaseType::kComplex:
      return {std::complex<double>(1, 0)};
    case BaseType::kString:
    case BaseType::kDimname:
      return {"sum"};
    case BaseType::kScalarType:
      return {ScalarType::kFloat32};
    case BaseType::kLayout:
      return {Layout::kStrided};
    case BaseType::kMemoryFormat:
      return {MemoryFormat::kContiguous};
    case BaseType::kDevice:
      return {device_};
    default:
      return {};
  }
}

Tensor Samples::tensor(const Argument& argument) {
  if (filling_ == Filling::kUndefined) return {};
  if (!device_.is_cpu()) {
    const std::array<int64_t, 2> sizes{kSide, kSide};
    return make_tensor({sizes.data(), 2}, ScalarType::kFloat32, device_);
  }
  watched_.push_back(std::make_unique<Watched>(argument));
  return watched_.back()->tensor;
}

Stack Samples::on_meta() const {
  const auto meta = [](const Tensor& tensor) {
    return tensor.defined() ? make_tensor(tensor.sizes(), tensor.dtype(), Backend::kMeta)
                            : Tensor();
  };
  Stack stack = arguments_;
  for (IValue& value : stack) {
    if (value.is(Tag::kTensor)) value = IValue(meta(value.to_tensor()));
    if (value.is(Tag::kDevice)) value = IValue(Device(Backend::kMeta));
    if (!value.is_list_of(Tag::kTensor)) continue;
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : value.to_tensor_list()) tensors.push_back(meta(tensor));
    value = IValue(tensors);
  }
  return stack;
}

std::string Samples::damage() const {
  for (const auto& watched : watched_) {
    if (watched->is_let_go()) {
      return str_cat("it let go of its argument '", watched->argument,
                     "', which it was only lent (a result is owned: retain it)");
    }
    if (!watched->may_be_written && watched->is_changed()) {
      return str_cat("it wrote to its argument '", watched->argument,
                     "', which the schema does not allow");
    }
  }
  return {};
}

}  // namespace opyard::worker
