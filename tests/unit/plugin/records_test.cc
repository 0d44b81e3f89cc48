#include "opyard/plugin/records.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "fingerprints.h"
#include "opyard/base/error.h"
#include "opyard/base/fingerprint.h"

extern "C" unsigned opyard_abi_version_in_c(void);

namespace opyard::plugin {
namespace {

// What a host of a later version would have.
struct LaterBlock : opyard_block {
  const void* later;
};

TEST(Records, ALaterHostSeesZeroWhereAnOlderPluginHasNothing) {
  opyard_block memory[2]{};
  memory[0].struct_size = sizeof(opyard_block);
  memory[0].count = 7;
  memory[1].struct_size = 0xffff;  // what a careless reader would take for `later`
  const auto block = take<LaterBlock>(memory, OPYARD_BLOCK_SIZE_1_0, "the block");
  EXPECT_EQ(block.count, 7u);
  EXPECT_EQ(block.later, nullptr);
  EXPECT_EQ(block.struct_size, sizeof(LaterBlock));
}

// The record ends where the memory ends: whoever reads on is killed.
TEST(Records, NothingIsReadBehindARecordThatIsTooSmall) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  char* end = static_cast<char*>(memory) + page;
  ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
  const uint32_t sizes[2] = {8, 0};
  std::memcpy(end - sizeof(sizes), sizes, sizeof(sizes));
  const auto* block = reinterpret_cast<const opyard_block*>(end - sizeof(sizes));
  EXPECT_THROW(Records(block, 1), Error);
  EXPECT_THROW(take<opyard_block>(block, OPYARD_BLOCK_SIZE_1_0, "the block"), Error);
  munmap(memory, 2 * page);
}

TEST(Records, AreEmptyWithoutBlocks) { EXPECT_TRUE(Records(nullptr, 0).blocks().empty()); }

TEST(Abi, TheHeaderIsC) { EXPECT_EQ(opyard_abi_version_in_c(), OPYARD_ABI_VERSION); }

TEST(Fingerprint, TellsBuildsWithCheckedContainersAndSanitizersApart) {
  const std::string debug = fingerprint_with_checked_containers();
  EXPECT_NE(debug.find("-debug"), std::string::npos) << debug;
#if !defined(_GLIBCXX_DEBUG)
  EXPECT_EQ(std::string(OPYARD_BUILD_FINGERPRINT).find("-debug"), std::string::npos);
#endif
  const std::string sanitized = fingerprint_with_has_feature();
  EXPECT_NE(sanitized.find("-tsan"), std::string::npos) << sanitized;
}

}  // namespace
}  // namespace opyard::plugin
