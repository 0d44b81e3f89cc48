#include "plugins/sdk/opyard_sdk.h"

#include <gtest/gtest.h>

#include <string>

#include "opyard/core/tensor.h"
#include "tests/unit/plugins/sdk/own_note.h"

// This program is a plugin too: its entry is called as the host would call it.
namespace {

opyard::Tensor same(const opyard::Tensor& x) { return x; }
OPYARD_LIBRARY(sdk_test, m) { m.def("same(Tensor x) -> Tensor"); }
OPYARD_LIBRARY_IMPL(sdk_test, CPU, m) { m.impl("same", OPYARD_FN(same)); }

// Which hooks ran, in order.
std::string trace;
bool refuse_to_start = false;
bool still_working = false;
void start(const opyard_host&) {
  if (refuse_to_start) opyard::raise(opyard::Code::kUnavailable, "the device is asleep");
  trace += 's';
}
void quiesce(uint64_t deadline_ns) { trace += deadline_ns == 7 ? 'q' : '?'; }
void drain(uint64_t) {
  if (still_working) opyard::raise(opyard::Code::kDeadlineExceeded, "a queue is not empty");
  trace += 'd';
}
void stop() noexcept { trace += 'f'; }

const int device = 1;
const void* extension(std::string_view id, uint32_t min_version) noexcept {
  return id == "opyard.device" && min_version <= 1 ? &device : nullptr;
}

}  // namespace

OPYARD_PLUGIN("sdk_test", "1.2.3", .start = &start, .quiesce = &quiesce, .drain = &drain,
              .stop = &stop, .extension = &extension,
              .kind = OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS,
              .unload_class = OPYARD_NEVER_UNLOADABLE, .claims = "CPU,device:toy",
              .needs = "opyard.tensors/1");

namespace opyard::sdk {
namespace {

int32_t last_code = 0;
std::string last_message;
void set_status(opyard_status*, int32_t code, opyard_str message) {
  last_code = code;
  last_message.assign(message.data, message.size);
}

opyard_plugin_handshake shake(uint32_t abi_min, uint32_t abi_max, int32_t* code,
                              std::string_view fingerprint = OPYARD_BUILD_FINGERPRINT) {
  const opyard_host_handshake host{sizeof(host), 0, abi_min, abi_max, as_str(fingerprint)};
  opyard_plugin_handshake answer{};
  answer.struct_size = sizeof(answer);
  *code = opyard_plugin_entry(&host, &answer);
  return answer;
}

opyard_host test_host() {
  opyard_host host{};
  host.struct_size = sizeof(host);
  host.set_status = &set_status;
  return host;
}

std::string text(opyard_str s) { return std::string(s.data, s.size); }

TEST(Sdk, ShakesHands) {
  int32_t code = -1;
  const auto answer = shake(OPYARD_ABI_VERSION, OPYARD_ABI_VERSION + 5, &code);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(answer.abi, OPYARD_ABI_VERSION);
  EXPECT_EQ(text(answer.name), "sdk_test");
  EXPECT_EQ(text(answer.version), "1.2.3");
  EXPECT_EQ(text(answer.fingerprint), OPYARD_BUILD_FINGERPRINT);
  ASSERT_NE(answer.table, nullptr);
  EXPECT_EQ(answer.table->struct_size, sizeof(opyard_plugin_table));
}

TEST(Sdk, TheNoteSaysWhatTheHandshakeSays) {
  const std::optional<opyard_note> note = testing::own_note();
  ASSERT_TRUE(note);
  EXPECT_EQ(note->struct_size, sizeof(opyard_note));
  EXPECT_EQ(note->magic, OPYARD_NOTE_MAGIC);
  EXPECT_EQ(note->kind, uint32_t{OPYARD_KIND_KERNELS | OPYARD_KIND_SCHEMAS});
  EXPECT_EQ(note->abi_min, OPYARD_ABI_OLDEST);
  EXPECT_EQ(note->abi_max, OPYARD_ABI_VERSION);
  EXPECT_EQ(note->unload_class, uint32_t{OPYARD_NEVER_UNLOADABLE});
  EXPECT_EQ(note->isa_level, OPYARD_ISA_LEVEL_HERE);
  EXPECT_STREQ(note->claims, "CPU,device:toy");
  EXPECT_STREQ(note->needs, "opyard.tensors/1");
  int32_t code = -1;
  const auto answer = shake(OPYARD_ABI_VERSION, OPYARD_ABI_VERSION, &code);
  EXPECT_EQ(note->name, text(answer.name));
  EXPECT_EQ(note->version, text(answer.version));
  EXPECT_EQ(note->fingerprint, text(answer.fingerprint));
}

TEST(Sdk, RefusesHostsOfAnotherVersion) {
  int32_t code = -1;
  const auto answer = shake(OPYARD_ABI_VERSION + 1, OPYARD_ABI_VERSION + 2, &code);
  EXPECT_EQ(code, static_cast<int32_t>(Code::kFailedPrecondition));
  EXPECT_NE(text(answer.message).find("1.0 to 1."), std::string::npos) << text(answer.message);
  shake(0, OPYARD_ABI_OLDEST - 1, &code);
  EXPECT_EQ(code, static_cast<int32_t>(Code::kFailedPrecondition));
}

TEST(Sdk, RefusesHostsOfAnotherBuildBeforeAnyOfItsTypesCross) {
  int32_t code = -1;
  const auto answer = shake(OPYARD_ABI_VERSION, OPYARD_ABI_VERSION, &code, "another build");
  EXPECT_EQ(code, static_cast<int32_t>(Code::kFailedPrecondition));
  EXPECT_NE(text(answer.message).find("other headers"), std::string::npos);
  EXPECT_EQ(answer.table, nullptr);
}

TEST(Sdk, RefusesRecordsThatAreTooSmall) {
  const auto refused = static_cast<int32_t>(Code::kInvalidArgument);
  opyard_host_handshake host{8, 0, OPYARD_ABI_OLDEST, OPYARD_ABI_VERSION, as_str("test")};
  opyard_plugin_handshake answer{};
  answer.struct_size = sizeof(answer);
  EXPECT_EQ(opyard_plugin_entry(&host, &answer), refused);
  host.struct_size = sizeof(host);
  answer.struct_size = 16;
  EXPECT_EQ(opyard_plugin_entry(&host, &answer), refused);
  int32_t code = -1;
  const opyard_plugin_table& table = *shake(0, OPYARD_ABI_VERSION, &code).table;
  opyard_host small{};
  small.struct_size = 8;
  void* instance = nullptr;
  EXPECT_EQ(table.init(&small, &instance, nullptr), refused);
  EXPECT_EQ(table.init(nullptr, &instance, nullptr), refused);
  EXPECT_EQ(instance, nullptr);
}

TEST(Sdk, HandsOverItsBlocks) {
  int32_t code = -1;
  const opyard_plugin_table& table = *shake(0, OPYARD_ABI_VERSION, &code).table;
  const opyard_host host = test_host();
  void* instance = nullptr;
  ASSERT_EQ(table.init(&host, &instance, nullptr), 0);
  EXPECT_EQ(table.get_extension(instance, as_str("opyard.device"), 1), &device);
  EXPECT_EQ(table.get_extension(instance, as_str("opyard.device"), 2), nullptr);
  EXPECT_EQ(table.get_extension(instance, as_str("com.example.other"), 1), nullptr);
  EXPECT_EQ(table.get_extension(instance, as_str("opyard.kernels"), 2), nullptr);
  const auto* kernels = static_cast<const opyard_kernels_ext*>(
      table.get_extension(instance, as_str("opyard.kernels"), 1));
  ASSERT_NE(kernels, nullptr);
  const opyard_block* blocks = nullptr;
  uint64_t count = 0;
  ASSERT_EQ(kernels->blocks(instance, &blocks, &count, nullptr), 0);
  ASSERT_EQ(count, 2u);
  // The compiler may have put them in any order.
  const opyard_block& impl = blocks[blocks[0].kind == OPYARD_BLOCK_IMPL ? 0 : 1];
  EXPECT_EQ(text(impl.name_space), "sdk_test");
  EXPECT_EQ(text(impl.key), "CPU");
  ASSERT_EQ(impl.count, 1u);
  EXPECT_EQ(text(impl.registrations[0].text), "same");
  table.fini(instance);
}

TEST(Sdk, ErrorsOfTheStartBecomeTheStatus) {
  int32_t code = -1;
  const opyard_plugin_table& table = *shake(0, OPYARD_ABI_VERSION, &code).table;
  const opyard_host host = test_host();
  int status = 0;
  void* instance = nullptr;
  refuse_to_start = true;
  EXPECT_EQ(table.init(&host, &instance, reinterpret_cast<opyard_status*>(&status)),
            static_cast<int32_t>(Code::kUnavailable));
  refuse_to_start = false;
  EXPECT_EQ(instance, nullptr);
  EXPECT_EQ(last_code, static_cast<int32_t>(Code::kUnavailable));
  EXPECT_EQ(last_message, "the device is asleep");
}

TEST(Sdk, HooksRunInTheirOrderAndAFailedDrainSaysWhy) {
  int32_t code = -1;
  const opyard_plugin_table& table = *shake(0, OPYARD_ABI_VERSION, &code).table;
  const opyard_host host = test_host();
  int status = 0;
  auto* place = reinterpret_cast<opyard_status*>(&status);
  void* instance = nullptr;
  trace.clear();
  ASSERT_EQ(table.init(&host, &instance, place), 0);
  EXPECT_EQ(table.quiesce(instance, 7, place), 0);
  still_working = true;
  EXPECT_EQ(table.drain(instance, 7, place), static_cast<int32_t>(Code::kDeadlineExceeded));
  EXPECT_EQ(last_message, "a queue is not empty");
  still_working = false;
  EXPECT_EQ(table.drain(instance, 7, place), 0);
  table.fini(instance);
  EXPECT_EQ(trace, "sqdf");
}

}  // namespace
}  // namespace opyard::sdk
