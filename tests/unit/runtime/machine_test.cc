#include "opyard/runtime/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace opyard::runtime {
namespace {

class CgroupTest : public ::testing::Test {
 protected:
  CgroupTest() {
    char name[] = "/tmp/opyard-cgroup-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~CgroupTest() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
  }
  std::string directory_;
};

TEST_F(CgroupTest, VersionTwo) {
  write("cpu.max", "150000 100000\n");
  write("memory.max", "1073741824\n");
  EXPECT_DOUBLE_EQ(cgroup_cores(directory_), 1.5);
  EXPECT_EQ(cgroup_memory(directory_), 1073741824u);
}

TEST_F(CgroupTest, VersionTwoWithoutLimits) {
  write("cpu.max", "max 100000\n");
  write("memory.max", "max\n");
  EXPECT_EQ(cgroup_cores(directory_), 0);
  EXPECT_EQ(cgroup_memory(directory_), 0u);
}

TEST_F(CgroupTest, VersionOne) {
  write("cpu.cfs_quota_us", "200000\n");
  write("cpu.cfs_period_us", "100000\n");
  write("memory.limit_in_bytes", "4096\n");
  EXPECT_DOUBLE_EQ(cgroup_cores(directory_), 2);
  EXPECT_EQ(cgroup_memory(directory_), 4096u);
  write("cpu.cfs_quota_us", "-1\n");
  write("memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(cgroup_cores(directory_), 0);
  EXPECT_EQ(cgroup_memory(directory_), 0u);
}

TEST_F(CgroupTest, NoFilesNoLimit) {
  EXPECT_EQ(cgroup_cores(directory_), 0);
  EXPECT_EQ(cgroup_memory(directory_), 0u);
}

TEST(MachineTest, HasCoresAndMemory) {
  const Machine machine = Machine::detect();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.memory_bytes, uint64_t{64} << 20);
}

}  // namespace
}  // namespace opyard::runtime
