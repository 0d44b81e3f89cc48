#include "opyard/plugin/file_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "files.h"

namespace opyard::plugin {
namespace {

namespace fs = std::filesystem;

size_t entries(const std::string& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

std::string hash_of(const std::string& bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

TEST(FileStore, CopiesUnderTheHashAndTheGeneration) {
  const Folder base;
  FileStore store(base.path());
  const std::string source = base / "plugin.so";
  // More than one read of it.
  std::string bytes(1'000'003, 'x');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 3);
  write_file(source, bytes);
  const StoredFile stored = store.store(source, 7);
  EXPECT_EQ(stored.hash, hash_of(bytes));
  EXPECT_EQ(stored.folder, store.folder() + "/" + stored.hash + "-g7");
  EXPECT_EQ(stored.path, stored.folder + "/plugin.so");
  EXPECT_EQ(stored.bytes, bytes.size());
  EXPECT_EQ(read_file(stored.path), bytes);
  struct stat facts {};
  ASSERT_EQ(stat(stored.path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0444u);
  ASSERT_EQ(stat(store.folder().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700u);
  EXPECT_EQ(entries(stored.folder), 1u);

  EXPECT_REFUSED(store.store(source, 7), kAlreadyExists, "stored already");
  const StoredFile again = store.store(source, 8);
  EXPECT_EQ(again.hash, stored.hash);
  EXPECT_NE(again.path, stored.path);
  EXPECT_EQ(entries(store.folder()), 2u);
  store.remove(stored);
  EXPECT_FALSE(fs::exists(stored.folder));
  EXPECT_TRUE(fs::exists(again.path));
}

TEST(FileStore, RemovesOnlyItsOwn) {
  const Folder base;
  FileStore store(base.path());
  fs::create_directory(base / "mine");
  StoredFile wrong;
  for (const std::string& folder :
       {base / "mine", store.folder(), store.folder() + "/", store.folder() + "/../mine"}) {
    wrong.folder = folder;
    store.remove(wrong);
  }
  EXPECT_TRUE(fs::exists(base / "mine"));
  EXPECT_TRUE(fs::exists(store.folder()));
}

TEST(FileStore, AFailedCopyLeavesNothing) {
  const Folder base;
  FileStore store(base.path());
  EXPECT_REFUSED(store.store(base / "absent.so", 1), kNotFound, "absent.so");
  EXPECT_REFUSED(store.store(base.path(), 1), kFailedPrecondition, "no regular file");
  EXPECT_EQ(entries(store.folder()), 0u);
}

TEST(FileStore, WhatAPluginNeedsFromItsFolderComesAlong) {
  const Folder base;
  FileStore store(base.path());
  const StoredFile stored = store.store(module_path("private"), 1);
  EXPECT_EQ(stored.private_libraries, std::vector<std::string>{"libopyard_test_private.so.1"});
  EXPECT_EQ(read_file(stored.folder + "/libopyard_test_private.so.1"),
            read_file(MODULE_DIR "/a/libopyard_test_private.so.1"));
  EXPECT_EQ(stored.hash, hash_of(read_file(module_path("private"))));
  EXPECT_TRUE(store.store(module_path("good"), 2).private_libraries.empty());
}

// A library's name is often a link to the file with its whole version.
TEST(FileStore, ALibraryMayBeALink) {
  const Folder base;
  fs::create_directory(base / "from");
  fs::copy(module_path("private"), base / "from/private.so");
  fs::copy(MODULE_DIR "/a/libopyard_test_private.so.1", base / "from/real.so.1.2");
  fs::create_symlink("real.so.1.2", base / "from/libopyard_test_private.so.1");
  FileStore store(base.path());
  const StoredFile stored = store.store(base / "from/private.so", 1);
  EXPECT_TRUE(
      fs::is_regular_file(fs::symlink_status(stored.folder + "/libopyard_test_private.so.1")));
  // Who asked for the plugin's owner asked for its libraries', too.
  SourceFile source(base / "from/private.so");
  source.check_owner();
  ASSERT_EQ(chmod((base / "from/real.so.1.2").c_str(), 0666), 0);
  EXPECT_REFUSED(store.store(source, 2), kPermissionDenied, "real.so.1.2");
}

TEST(FileStore, SweepsWhatDeadProcessesLeft) {
  const Folder base;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const std::string start = "opyard-plugins-" + std::to_string(geteuid()) + "-";
  const std::string dead = base / (start + std::to_string(child) + "-1-aaaaaa");
  const std::string reused = base / (start + std::to_string(getpid()) + "-1-aaaaaa");
  const std::string locked = base / (start + std::to_string(child) + "-2-aaaaaa");
  const std::string other = base / (start + "notes");
  for (const std::string& path : {dead, reused, locked, other}) {
    fs::create_directories(path + "/below");
    write_file(path + "/below/plugin.so", "x");
  }
  const int lock = open(locked.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  std::string living;
  {
    const FileStore first(base.path());
    living = first.folder();
    const FileStore second(base.path());
    EXPECT_NE(second.folder(), living);
    EXPECT_TRUE(fs::exists(living));
    EXPECT_FALSE(fs::exists(dead));
    EXPECT_FALSE(fs::exists(reused));  // another process had that number before
    EXPECT_TRUE(fs::exists(locked));   // somebody lives that this process cannot see
    EXPECT_TRUE(fs::exists(other));
  }
  EXPECT_FALSE(fs::exists(living));
  close(lock);
}

TEST(FileStore, TheFolderGoesWithTheProcess) {
  const Folder base;
  const pid_t child = fork();
  if (child == 0) {
    static FileStore* kept = new FileStore(base.path());
    kept->store(module_path("good"), 1);
    const pid_t grandchild = fork();  // whose end is not the process's
    if (grandchild == 0) std::exit(0);
    waitpid(grandchild, nullptr, 0);
    const bool there = fs::exists(kept->folder());
    std::exit(there ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(entries(base.path()), 0u);
}

TEST(FileStore, RefusesFoldersThatOthersCanChange) {
  const Folder base;
  ASSERT_EQ(chmod(base.path().c_str(), 0777), 0);
  EXPECT_REFUSED(FileStore(base.path()), kPermissionDenied, "others could exchange");
  ASSERT_EQ(chmod(base.path().c_str(), 01777), 0);
  EXPECT_EQ(error_of([&] { FileStore store(base.path()); }).code(), Code::kOk);
  write_file(base / "file", "x");
  EXPECT_REFUSED(FileStore(base / "file"), kFailedPrecondition, "no folder");
  EXPECT_REFUSED(FileStore(base / "absent/folder"), kFailedPrecondition, "cannot make the folder");
  EXPECT_EQ(error_of([&] { FileStore store(base / "made"); }).code(), Code::kOk);
}

}  // namespace
}  // namespace opyard::plugin
