// The example device, mapped and brought to life by hand, as the host does it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <thread>

#include "opyard/base/fingerprint.h"
#include "opyard/dispatch/dispatcher.h"
#include "opyard/ops.h"
#include "opyard/plugin/backend_claims.h"
#include "opyard/plugin/device_runtime.h"
#include "opyard/plugin/host_table.h"
#include "opyard/plugin/records.h"
#include "opyard/runtime/yard.h"

namespace opyard::plugin {
namespace {

using Values = std::vector<float>;

opyard_str as_str(std::string_view text) {
  return {text.data(), static_cast<uint32_t>(text.size()), 0};
}

size_t count_threads() {
  const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

// A toy from init to fini.
class Toy {
 public:
  explicit Toy(const std::string& name) : claim_(name), host_(name, leases_) {
    const std::string path = std::string(EXAMPLE_DIR "/libopyard_plugin_") + name + ".so";
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    OPYARD_CHECK(library_, kNotFound, dlerror());
    const auto entry =
        reinterpret_cast<opyard_plugin_entry_fn>(dlsym(library_, "opyard_plugin_entry"));
    const opyard_host_handshake hand{sizeof(hand), 0, OPYARD_ABI_OLDEST, OPYARD_ABI_VERSION,
                                     as_str(OPYARD_BUILD_FINGERPRINT)};
    opyard_plugin_handshake answer{};
    answer.struct_size = sizeof(answer);
    OPYARD_CHECK(entry(&hand, &answer) == 0, kInternal, "it refuses");
    table_ = *answer.table;
    OPYARD_CHECK(table_.init(&host_.table(), &instance_, status_.get()) == 0, kInternal, "init");
    device_ = static_cast<const opyard_device_ext*>(
        table_.get_extension(instance_, as_str("opyard.device"), 1));
    runtime_ =
        std::make_unique<DeviceRuntime>(device_, instance_, claim_.backend(), leases_, name, 1);
    const auto* kernels = static_cast<const opyard_kernels_ext*>(
        table_.get_extension(instance_, as_str("opyard.kernels"), 1));
    const opyard_block* first = nullptr;
    uint64_t count = 0;
    kernels->blocks(instance_, &first, &count, status_.get());
    const Records records(first, count);
    std::vector<opyard_block> blocks(records.blocks().begin(), records.blocks().end());
    const std::vector<Library> more = runtime_->libraries(records.blocks(), true);
    for (const Library& library : more) blocks.push_back(library.block());
    registration_ = Dispatcher::global().register_blocks(blocks, Origin{name, 1});
    runtime_->publish();
  }
  ~Toy() { end(); }

  void quiesce() {
    runtime_->withdraw();
    registration_.reset();
    Dispatcher::global().synchronize();
    EXPECT_EQ(table_.quiesce(instance_, UINT64_MAX, status_.get()), 0);
    runtime_->settle();
  }
  void end() {
    if (!runtime_) return;
    if (registration_) quiesce();
    EXPECT_EQ(leases_.total(), 0u);
    runtime_.reset();
    table_.fini(instance_);
    dlclose(library_);
  }

  Device device(int16_t index = -1) const { return {claim_.backend(), index}; }
  DeviceRuntime& runtime() { return *runtime_; }
  Leases& leases() { return leases_; }
  const opyard_device_ext& table() const { return *device_; }
  opyard_status* status() { return status_.get(); }

 private:
  BackendClaim claim_;
  Leases leases_;
  HostTable host_;
  StatusRoom status_;
  void* library_ = nullptr;
  opyard_plugin_table table_{};
  void* instance_ = nullptr;
  const opyard_device_ext* device_ = nullptr;
  std::unique_ptr<DeviceRuntime> runtime_;
  Registration registration_;
};

class ToyDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    static runtime::Yard yard;
    static const bool loaded = (yard.load_plugin("cpu"), true);
    (void)loaded;
  }
  static Tensor to(const Tensor& tensor, Device device, bool non_blocking = false) {
    return ops::_to_copy(tensor, {}, {}, device, {}, non_blocking);
  }
  static Tensor floats(const Values& values) {
    Tensor tensor = make_tensor({static_cast<int64_t>(values.size())}, ScalarType::kFloat32);
    std::copy(values.begin(), values.end(), tensor.data<float>());
    return tensor;
  }
  static Values values(const Tensor& tensor) {
    const Tensor host = ops::_to_copy(tensor, ScalarType::kFloat32, {}, Device(Backend::kCPU), {},
                                      false, MemoryFormat::kContiguous);
    return {host.data<float>(), host.data<float>() + host.numel()};
  }
};

TEST_F(ToyDevice, ComputesItselfWhatItCanAndTheRestOnTheCpu) {
  Toy toy("toy");
  const Tensor a = to(floats({1, -2, 3, -4}), toy.device());
  const Tensor b = ops::view(a, {2, 2});
  EXPECT_EQ(values(ops::add(a, a, 3)), (Values{4, -8, 12, -16}));
  EXPECT_EQ(values(ops::mul(ops::t(b), b)), (Values{1, -6, -6, 16}));
  EXPECT_EQ(values(ops::mul(a, 2)), (Values{2, -4, 6, -8}));
  EXPECT_EQ(values(ops::add(b, ops::slice(a, 0, 2, 4))), (Values{4, -6, 6, -8}));
  EXPECT_EQ(values(ops::relu(a)), (Values{1, 0, 3, 0}));
  EXPECT_EQ(values(ops::mm(b, b)), (Values{-5, 6, -9, 10}));
  EXPECT_EQ(values(ops::clone(ops::t(b))), (Values{1, 3, -2, -4}));
  EXPECT_EQ(values(ops::_to_copy(a, ScalarType::kInt32)), (Values{1, -2, 3, -4}));
  EXPECT_EQ(values(ops::add(ops::_to_copy(a, ScalarType::kInt64), a)), (Values{2, -4, 6, -8}));
  EXPECT_TRUE(toy.runtime().fallback_counts().empty());
  EXPECT_EQ(values(ops::sum(a)), Values{-2});
  EXPECT_EQ(values(ops::sub(a, a)), (Values{0, 0, 0, 0}));
  EXPECT_EQ(toy.runtime().fallback_counts().size(), 2u);
  Tensor changed = to(floats({1, 1, 1, 1}), toy.device(1));
  ops::add_(changed, ops::full({}, 2.5, TensorOptions{}));
  EXPECT_EQ(values(changed), (Values{3.5f, 3.5f, 3.5f, 3.5f}));
}

TEST_F(ToyDevice, TwoOfThemStandSideBySide) {
  Toy one("toy");
  Toy two("toy2");
  const Tensor a = to(floats({1, 2}), one.device());
  const Tensor b = to(a, two.device());
  EXPECT_EQ(to_string(b.device()), "toy2");
  EXPECT_EQ(values(ops::add(b, b)), (Values{2, 4}));
  EXPECT_EQ(one.leases().count(LeaseKind::kStorage), 1u);
  EXPECT_EQ(two.leases().count(LeaseKind::kStorage), 1u);
  EXPECT_THROW(ops::add(a, b), Error);
  EXPECT_EQ(values(ops::copy_(const_cast<Tensor&>(a), ops::add(b, b))), (Values{2, 4}));
}

TEST_F(ToyDevice, ItsAddressesAreNoPointers) {
  Toy toy("toy");
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Tensor a = to(floats({1, 2}), toy.device());
  EXPECT_THROW(a.data<float>(), Error);
  EXPECT_DEATH(std::fprintf(stderr, "%f", *static_cast<volatile float*>(a.raw_data())), "");
}

TEST_F(ToyDevice, WorkIsDoneLaterInOrder) {
  setenv("OPYARD_TOY_LATENCY_US", "2000", 1);
  Toy toy("toy");
  unsetenv("OPYARD_TOY_LATENCY_US");
  Tensor sum = ops::zeros({1 << 10}, TensorOptions{.device = toy.device()});
  const Tensor one = floats(Values(1 << 10, 1));
  for (int i = 0; i < 8; ++i) ops::add_(sum, to(one, toy.device(), true));
  EXPECT_GT(toy.leases().count(LeaseKind::kEvent), 0u);  // nobody has waited
  EXPECT_EQ(values(sum), Values(1 << 10, 8));
  for (int i = 0; i < 8; ++i) ops::add_(sum, to(one, toy.device(), true));
  toy.runtime().settle();
  EXPECT_EQ(toy.leases().count(LeaseKind::kEvent), 0u);
  EXPECT_EQ(values(sum), Values(1 << 10, 16));
}

TEST_F(ToyDevice, ItsThreadsEndAndTheMemoryLivesOn) {
  const size_t before = count_threads();
  Toy toy("toy");
  EXPECT_GE(count_threads(), before + 2);
  Tensor a = to(floats({1, 2, 3}), toy.device(), true);
  toy.quiesce();
  EXPECT_EQ(count_threads(), before);
  EXPECT_EQ(toy.leases().total(), 1u);
  Values read(3);
  toy.runtime().calls().copy_out(0, read.data(), a.raw_data(), 12);
  EXPECT_EQ(read, (Values{1, 2, 3}));
  a = Tensor();
  EXPECT_EQ(toy.leases().total(), 0u);
}

TEST_F(ToyDevice, TheDeviceRunsOutOfMemory) {
  Toy toy("toy");
  const std::vector<DeviceFacts> facts = toy.runtime().facts();
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].free_bytes, facts[0].total_bytes);
  const auto half = static_cast<int64_t>(facts[0].total_bytes / 2);
  const Tensor first = make_tensor({half}, ScalarType::kInt8, toy.device());
  try {
    make_tensor({half + 1}, ScalarType::kInt8, toy.device());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.message();
  }
  make_tensor({half}, ScalarType::kInt8, toy.device());
  make_tensor({half}, ScalarType::kInt8, toy.device());  // waits for the end of the one before
  make_tensor({half + 1}, ScalarType::kInt8, toy.device(1));
  toy.runtime().settle();
  EXPECT_EQ(toy.runtime().facts()[0].free_bytes, static_cast<uint64_t>(half));
}

TEST_F(ToyDevice, AnEventHoldsAnotherStreamUp) {
  Toy toy("toy");
  const opyard_device_ext& table = toy.table();
  const Tensor cell = make_tensor({1}, ScalarType::kInt64, toy.device());
  const auto address = reinterpret_cast<opyard_address>(cell.raw_data());
  opyard_stream first = 0;
  opyard_stream second = 0;
  opyard_event event = 0;
  uint32_t done = 0;
  EXPECT_EQ(table.stream_create(nullptr, 0, &first, toy.status()), 0);
  EXPECT_EQ(table.stream_create(nullptr, 0, &second, toy.status()), 0);
  EXPECT_EQ(table.event_create(nullptr, 0, &event, toy.status()), 0);
  EXPECT_EQ(table.event_query(nullptr, 0, event, &done, toy.status()), 0);
  EXPECT_EQ(done, 1u);
  std::vector<int64_t> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 1);
  for (const int64_t& number : numbers) {
    EXPECT_EQ(table.copy_h2d(nullptr, 0, address, &number, 8, first, toy.status()), 0);
  }
  EXPECT_EQ(table.event_record(nullptr, 0, event, first, toy.status()), 0);
  EXPECT_EQ(table.event_wait(nullptr, 0, event, second, toy.status()), 0);
  int64_t read = 0;
  EXPECT_EQ(table.copy_d2h(nullptr, 0, &read, address, 8, second, toy.status()), 0);
  EXPECT_EQ(table.event_destroy(nullptr, 0, event, toy.status()), 0);  // it is still queued
  EXPECT_EQ(table.stream_synchronise(nullptr, 0, second, toy.status()), 0);
  EXPECT_EQ(read, 1000);
  // The event is reached within the first stream's last piece of work, which may not be over yet.
  EXPECT_EQ(table.stream_synchronise(nullptr, 0, first, toy.status()), 0);
  EXPECT_EQ(table.stream_query(nullptr, 0, first, &done, toy.status()), 0);
  EXPECT_EQ(done, 1u);
  EXPECT_EQ(table.stream_destroy(nullptr, 0, first, toy.status()), 0);
  EXPECT_EQ(table.stream_destroy(nullptr, 0, second, toy.status()), 0);
  EXPECT_EQ(table.stream_destroy(nullptr, 0, second, toy.status()), 3);
  EXPECT_EQ(table.stream_destroy(nullptr, 0, 0, toy.status()), 3);
  EXPECT_EQ(table.event_destroy(nullptr, 0, event, toy.status()), 3);
}

TEST_F(ToyDevice, ThreadsShareIt) {
  Toy toy("toy");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto number = static_cast<float>(t * 1000 + i);
        const Tensor a = to(floats({number, 1}), toy.device(static_cast<int16_t>(t % 2)), i % 2);
        wrong += values(ops::add(a, a)) != Values{2 * number, 2};
        wrong += values(ops::sub(a, a)) != Values{0, 0};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  toy.runtime().settle();
  EXPECT_EQ(toy.leases().total(), 0u);
}

}  // namespace
}  // namespace opyard::plugin
