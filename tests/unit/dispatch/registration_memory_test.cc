// Registration when memory runs out at any place: a change is made or not made, a removal is made
// up for. This program replaces operator new, so that it can refuse.

#include <atomic>
#include <cstdlib>
#include <new>

#include "registration_support.h"

namespace {

// How many more allocations of this thread succeed; negative: all.
thread_local long allowed = -1;

bool refuses() noexcept {
  if (allowed < 0) return false;
  if (allowed == 0) return true;
  --allowed;
  return false;
}

}  // namespace

// Not inlined: compilers would compare malloc and free with new and delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* memory = refuses() ? nullptr : std::malloc(size);
  if (!memory) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto at = static_cast<std::size_t>(alignment);
  void* memory = refuses() ? nullptr : std::aligned_alloc(at, (size + at - 1) / at * at);
  if (!memory) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace opyard {
namespace {

using namespace testing;
using enum DispatchKey;

constexpr int64_t kOne = 1, kTwo = 2;

// The next `count` allocations of this thread succeed, the others do not.
class Memory {
 public:
  explicit Memory(long count) { allowed = count; }
  ~Memory() { allowed = -1; }
};

struct MemoryTest : RegistrationFixture {
  // A definition, kernels, an alias and a fallback, all in one.
  static std::vector<Library> whole(const int64_t& number) {
    std::vector<Library> all = library(BlockKind::kDef, "t", "", [&](Library& m) {
      m.def("f(Tensor x) -> int", Tags{"core"}).def("g(Tensor x) -> int", answers(number));
      m.impl("f", CPU, answers(number)).impl("f", CompositeExplicitAutograd, answers(number));
    });
    all.emplace_back(BlockKind::kImpl, "_", "CUDA").fallback(answers(number));
    return all;
  }
  std::string state() {
    std::string text = dispatcher.dump_state("t::f") + dispatcher.dump_state("t::g");
    if (const auto op = dispatcher.find_op("t::f")) text += dispatcher.dump_computed_table(*op);
    for (const std::string& name : dispatcher.list()) text += name + "\n";
    return text + std::to_string(dispatcher.generation());
  }
  // Tries with memory for 0, 1, 2, … allocations until it succeeds; each failure leaves no trace.
  // Returns how many there were.
  int until_it_succeeds(const std::function<void()>& action) {
    for (int count = 0;; ++count) {
      const std::string before = state();
      try {
        const Memory memory(count);
        action();
        return count;
      } catch (const std::bad_alloc&) {
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.message();
      }
      EXPECT_EQ(state(), before) << count;
      dispatcher.check_invariants();
      if (::testing::Test::HasFailure()) return count;
    }
  }
};

TEST_F(MemoryTest, AChangeIsMadeOrNotMade) {
  const std::vector<Library> old_blocks = whole(kOne);
  const std::vector<Library> new_blocks = whole(kTwo);
  Registration registration;
  EXPECT_GT(until_it_succeeds([&] { registration = dispatcher.register_libraries(old_blocks); }),
            50);
  EXPECT_EQ(call("t::f"), kOne);
  EXPECT_GT(until_it_succeeds([&] { dispatcher.replace(registration, new_blocks); }), 50);
  EXPECT_EQ(call("t::f"), kTwo);
  registration.reset();
  EXPECT_FALSE(dispatcher.find_op("t::f"));
  dispatcher.synchronize();
}

// The log holds what is said without allocating.
std::atomic<int> errors_logged{0};

TEST_F(MemoryTest, ARemovalIsMadeUpFor) {
  int told = 0;
  auto listening = dispatcher.add_listener({{}, [&](OperatorHandle) { ++told; }});
  int failures = 0;
  for (int count = 0;; ++count) {
    Registration registration = dispatcher.register_libraries(whole(kOne));
    const OperatorHandle op = dispatcher.get("t::f");
    const uint64_t generation = dispatcher.generation();
    told = 0;
    errors_logged = 0;
    set_log_sink(
        [](LogLevel level, std::string_view) { errors_logged += level == LogLevel::kError; });
    {
      const Memory memory(count);
      registration.reset();
    }
    set_log_sink(nullptr);
    if (dispatcher.generation() != generation) {
      EXPECT_FALSE(dispatcher.find_op("t::f"));
      dispatcher.synchronize();
      EXPECT_EQ(told, 2) << count;
      break;
    }
    ++failures;
    EXPECT_EQ(errors_logged, 1);
    EXPECT_EQ(told, 0);
    // Nobody may believe that the code can go.
    {
      const Memory memory(0);
      EXPECT_THROW(dispatcher.synchronize(), std::exception);
    }
    if (count % 2 == 0) {
      dispatcher.synchronize();
    } else {
      auto another = block(BlockKind::kFragment, "u", "", [](Library& m) { m.def("h() -> int"); });
    }
    EXPECT_EQ(told, count % 2 == 0 ? 2 : 3) << count;
    EXPECT_FALSE(dispatcher.find_op("t::f"));
    dispatcher.check_invariants();
    Stack stack = {IValue(make_tensor({1}, ScalarType::kFloat32))};
    EXPECT_TRUE(contains(error_of([&] { dispatcher.call_boxed(op, stack); }, Code::kNotFound),
                         "no longer"));
  }
  EXPECT_GT(failures, 5);
}

}  // namespace
}  // namespace opyard
