// Files that change their names or their bytes while they are loaded: what runs is always what was
// asked for. And changes of what a plugin defines.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "opyard/base/check.h"
#include "opyard/dispatch/dispatcher.h"
#include "under_traffic.h"
#include "visit.h"

namespace opyard::zoo {
namespace {

namespace fs = std::filesystem;
using plugin::Host;

struct ZooChanges : ::testing::Test {
  ZooChanges() : folder(::testing::TempDir() + "opyard-zoo-XXXXXX") {
    if (!mkdtemp(folder.data())) ADD_FAILURE() << "no folder for the test";
    change.probe = false;
  }
  ~ZooChanges() override { fs::remove_all(folder); }

  static int64_t which() {
    Dispatcher& dispatcher = Dispatcher::global();
    return dispatcher.call<int64_t, const Tensor&>(dispatcher.get("zoo::which"),
                                                   make_tensor({1}, ScalarType::kFloat32));
  }
  void copy(const char* animal, const std::string& to) const {
    fs::copy_file(path_of(animal), to, fs::copy_options::overwrite_existing);
  }

  std::string folder;
  plugin::ChangeOptions change;
  Host& host = Host::global();
};

TEST_F(ZooChanges, ANewFileUnderTheOldNameRuns) {
  const std::string path = folder + "/zoo.so";
  copy("good", path);
  host.load(path, change);
  EXPECT_EQ(which(), 1);
  copy("good_2", folder + "/next.so");
  fs::rename(folder + "/next.so", path);
  host.swap("zoo", path, change);
  EXPECT_EQ(which(), 2);
  copy("good", folder + "/next.so");
  fs::rename(folder + "/next.so", path);
  host.swap("zoo", path, change);
  EXPECT_EQ(which(), 1);
}

// In place, so that whoever has the file mapped would run into it.
TEST_F(ZooChanges, AFileThatIsWrittenOverHarmsNobody) {
  const std::string path = folder + "/zoo.so";
  copy("good", path);
  host.load(path, change);
  fs::resize_file(path, 0);
  EXPECT_EQ(which(), 1);
  copy("good_2", path);
  EXPECT_EQ(which(), 1);
  host.swap("zoo", path, change);
  EXPECT_EQ(which(), 2);
}

TEST_F(ZooChanges, ALinkThatIsTurnedIsFollowedAnew) {
  const std::string link = folder + "/zoo.so";
  copy("good", folder + "/one.so");
  copy("good_2", folder + "/two.so");
  fs::create_symlink("one.so", link);
  host.load(link, change);
  EXPECT_EQ(which(), 1);
  fs::create_symlink("two.so", folder + "/next");
  fs::rename(folder + "/next", link);
  host.swap("zoo", link, change);
  EXPECT_EQ(which(), 2);
}

// The loader takes both for one file; here they are two generations.
TEST_F(ZooChanges, HardLinksAndEqualBytesAreGenerationsOfTheirOwn) {
  copy("good", folder + "/one.so");
  fs::create_hard_link(folder + "/one.so", folder + "/same.so");
  copy("good", folder + "/equal.so");
  change.keep_warm = std::chrono::milliseconds(60'000);
  uint64_t last = host.load(folder + "/one.so", change).new_generation;
  for (const char* name : {"/same.so", "/equal.so", "/one.so"}) {
    const uint64_t next = host.swap("zoo", folder + name, change).new_generation;
    EXPECT_EQ(generation(last).state, State::kWarm);
    EXPECT_NE(generation(next).path, generation(last).path);
    EXPECT_FALSE(mappings(generation(next).path).empty());
    last = next;
  }
  host.unload("zoo");
  EXPECT_TRUE(host.settle(std::chrono::milliseconds(5000)));
  for (const plugin::GenerationInfo& one : slot_of("zoo").generations) {
    EXPECT_EQ(one.state, State::kClosed) << one.why_not_unloaded;
  }
}

// Two versions of a plugin, each with its own version of a library, under one SONAME.
TEST_F(ZooChanges, AVersionIsNeverBoundToAnOlderOnesLibrary) {
  const auto answer = [] { return call_number("zoo::g", 0); };
  change.keep_warm = std::chrono::milliseconds(0);
  host.load(ZOO_DIR "/a/private_a.so", change);
  EXPECT_EQ(answer(), 11);
  const Error error = error_of([&] { host.swap("zoo", ZOO_DIR "/b/private_b.so", change); });
  EXPECT_EQ(error.code(), Code::kFailedPrecondition);
  EXPECT_SAYS(error.message(), "brings its own libopyard_zoo_private.so.1, but the process has");
  EXPECT_EQ(answer(), 11);
  EXPECT_EQ(host.unload("zoo").old_state, State::kClosed);
  host.load(ZOO_DIR "/b/private_b.so", change);
  EXPECT_EQ(answer(), 12);
}

TEST_F(ZooChanges, AnotherSchemaTakesAPermission) {
  host.load(path_of("good_2"), change);
  EXPECT_EQ(error_of([&] { host.swap("zoo", path_of("schema_changed"), change); }).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(which(), 2);
  change.allow_schema_change = true;
  host.swap("zoo", path_of("schema_changed"), change);
  EXPECT_EQ(which(), 1);
  EXPECT_EQ(Dispatcher::global().get("zoo::g").schema().arguments.size(), 2u);
}

}  // namespace
}  // namespace opyard::zoo
