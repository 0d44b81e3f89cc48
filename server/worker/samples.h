#pragma once

#include <memory>
#include <string>
#include <vector>

#include "opyard/core/stack.h"
#include "opyard/dispatch/schema.h"

namespace opyard::worker {

// Arguments that a kernel is called with.
enum class Filling {
  kSound,      // what the schema asks for: tensors of 4 times 4 float32 elements, ones, defaults
  kUndefined,  // the same with undefined tensors
  kWrong,      // a text where something else belongs, a number where a text does
  kMissing,    // None everywhere
};
std::string_view to_string(Filling filling) noexcept;

// Arguments for one call, and a watch on the memory of the host's tensors among them: it ends where
// a page begins that cannot be touched.
class Samples {
 public:
  // `device`: where tensors are; on the host only they are watched.
  Samples(const FunctionSchema& schema, Filling filling, Device device);
  ~Samples();
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;

  const Stack& arguments() const noexcept { return arguments_; }
  // The same on the meta device.
  Stack on_meta() const;
  // Wherever nothing but the type speaks against a value: false when a sound kernel may take it.
  bool must_be_refused() const noexcept { return must_be_refused_; }
  // What became of the arguments, apart from those that the schema lets it write to. Empty when
  // they are as they were.
  std::string damage() const;

 private:
  struct Watched;
  IValue value_for(const Argument& argument);
  IValue sound(const SchemaType& type, const Argument& argument);
  IValue element(const SchemaType& type, const Argument& argument);
  Tensor tensor(const Argument& argument);

  const Filling filling_;
  const Device device_;
  bool must_be_refused_ = false;
  std::vector<std::unique_ptr<Watched>> watched_;
  Stack arguments_;
};

}  // namespace opyard::worker
