// The call path allocates nothing: this program counts what it allocates.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "opyard/dispatch/dispatcher.h"

namespace {
thread_local int64_t allocations = 0;

void* counted(size_t size, size_t alignment) {
  ++allocations;
  size = (size + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, size ? size : alignment)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace opyard {
namespace {

constinit const OpHandle<Tensor(const Tensor&, const Tensor&)> plain(
    "hot::plain(Tensor a, Tensor b) -> Tensor");
constinit const OpHandle<Tensor(const Tensor&, const Tensor&)> hop(
    "hot::hop(Tensor a, Tensor b) -> Tensor");
constinit const OpHandle<Tensor(const Tensor&, const Tensor&)> nested(
    "hot::nested(Tensor a, Tensor b) -> Tensor");
constinit const OpHandle<Tensor(const Tensor&, const Tensor&)> boxed(
    "hot::boxed(Tensor a, Tensor b) -> Tensor");

Tensor first(const Tensor& a, const Tensor&) { return a; }
Tensor go_below(Keys keys, const Tensor& a, const Tensor& b) {
  return invoke<Tensor, const Tensor&, const Tensor&>(keys.with(keys.set - kAutogradKeys), a, b);
}
Tensor call_plain(const Tensor& a, const Tensor& b) { return plain(a, b); }
void first_boxed(const Kernel&, Keys, const IValue* in, uint32_t, IValue* out, uint32_t) {
  out[0] = in[0];
}

class HotPathTest : public testing::Test {
 protected:
  HotPathTest() {
    static const OpHandleBase* const handles[] = {&plain, &hop, &nested, &boxed};
    std::vector<Library> blocks;
    blocks.emplace_back(BlockKind::kDef, "hot", "");
    for (const OpHandleBase* handle : handles) blocks.back().def(handle->schema);
    blocks.emplace_back(BlockKind::kImpl, "hot", "CPU");
    blocks.back().impl("plain", OPYARD_FN(first)).impl("hop", OPYARD_FN(first));
    blocks.back().impl("nested", OPYARD_FN(call_plain)).impl("boxed", BoxedKernel{&first_boxed});
    blocks.emplace_back(BlockKind::kImpl, "hot", "Autograd");
    blocks.back().impl("hop", OPYARD_FN(go_below));
    operators_ = Dispatcher::global().register_libraries(blocks);
    Dispatcher::global().bind_handles(ArrayRef<const OpHandleBase*>(handles, std::size(handles)));
  }

  template <typename Call>
  int64_t allocated_by(Call call) {
    call();  // a thread's first call gets its epoch slot
    const int64_t before = allocations;
    for (int i = 0; i < 100; ++i) call();
    return allocations - before;
  }

  Registration operators_;
  Tensor a_ = make_tensor({2}, ScalarType::kFloat32);
  Tensor b_ = make_tensor({2}, ScalarType::kFloat32);
};

TEST_F(HotPathTest, CallsAllocateNothing) {
  EXPECT_GT(allocated_by([] { delete new int; }), 0) << "nothing is counted here";
  EXPECT_EQ(allocated_by([&] { plain(a_, b_); }), 0);
  EXPECT_EQ(allocated_by([&] { hop(a_, b_); }), 0);
  EXPECT_EQ(allocated_by([&] { nested(a_, b_); }), 0);
  EXPECT_EQ(allocated_by([&] { boxed(a_, b_); }), 0);
  EXPECT_EQ(allocated_by([&] { plain.redispatch(KeySet(DispatchKey::CPU), a_, b_); }), 0);
  const IValue in[] = {IValue(a_), IValue(b_)};
  for (const char* name : {"hot::plain", "hot::hop", "hot::nested", "hot::boxed"}) {
    const OperatorHandle op = Dispatcher::global().get(name);
    IValue out;
    EXPECT_EQ(allocated_by([&] { Dispatcher::global().call_boxed(op, in, 2, &out, 1); }), 0)
        << name;
  }
  EXPECT_EQ(allocated_by([] { Dispatcher::global().find("hot::plain"); }), 0);
}

}  // namespace
}  // namespace opyard
