#include "opyard/plugin/image.h"

#include <dlfcn.h>
#include <unistd.h>

#include <thread>

#include "files.h"
#include "module.h"
#include "opyard/plugin/hooks.h"
#include "opyard/plugin/loaded.h"

namespace opyard::plugin {
namespace {

// Under a sanitizer every thread starts in the sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kThreadsAreWrapped = true;
#else
constexpr bool kThreadsAreWrapped = false;
#endif

class ImageTest : public ::testing::Test {
 protected:
  std::unique_ptr<Image> map(const std::string& name, const std::string& folder = "a") {
    const StoredFile stored = store_.store(module_path(name, folder), ++generation_);
    return Image::map(stored, lint(stored.path));
  }

  int call(const Image& image) {
    opyard_host_handshake host{};
    host.fingerprint.data = reinterpret_cast<const char*>(&control_);
    return image.entry()(&host, nullptr);
  }

  void await_inside() {
    while (!control_.inside.load()) std::this_thread::yield();
  }

  Folder base_;
  FileStore store_{base_.path()};
  uint64_t generation_ = 0;
  Control control_;
};

TEST_F(ImageTest, AGoodOneIsProvedUnmapped) {
  auto image = map("good");
  EXPECT_EQ(call(*image), 1);
  EXPECT_TRUE(image->contains(reinterpret_cast<const void*>(image->entry())));
  EXPECT_FALSE(image->contains(&control_));
  EXPECT_FALSE(mappings_of(image->file().path).empty());
  EXPECT_TRUE(image->pinned_dependencies().empty());
  EXPECT_EQ(image->unmap(), std::nullopt);
  EXPECT_TRUE(mappings_of(image->file().path).empty());
  EXPECT_EQ(image->unmap(), std::nullopt);  // and stays so
}

TEST_F(ImageTest, CanBeCycledForEver) {
  for (int i = 0; i < 200; ++i) {
    auto image = map("good");
    ASSERT_EQ(call(*image), 1);
    ASSERT_EQ(image->unmap(), std::nullopt);
    store_.remove(image->file());
  }
}

TEST_F(ImageTest, ANewFileAtTheSamePathIsNewCode) {
  const std::string path = base_ / "plugin.so";
  std::filesystem::copy(module_path("good"), path);
  const StoredFile first = store_.store(path, 101);
  const auto one = Image::map(first, lint(first.path));
  std::filesystem::copy(module_path("good", "b"), path + ".new");
  std::filesystem::rename(path + ".new", path);
  const StoredFile second = store_.store(path, 102);
  const auto two = Image::map(second, lint(second.path));
  EXPECT_EQ(call(*one), 1);
  EXPECT_EQ(call(*two), 2);
  // Written over in place, while it is in use: the copy does not notice.
  write_file(path, "nothing any more");
  EXPECT_EQ(call(*two), 2);
  EXPECT_EQ(one->unmap(), std::nullopt);
  EXPECT_EQ(call(*two), 2);
  EXPECT_EQ(two->unmap(), std::nullopt);
}

TEST_F(ImageTest, AMissingSymbolIsTheLoadersToSay) {
  EXPECT_REFUSED(map("missing"), kFailedPrecondition, "opyard_test_that_is_nowhere");
}

TEST_F(ImageTest, OneMarkedAsNotToBeUnloadedStays) {
  const auto image = map("nodelete");
  const auto cause = image->unmap();
  ASSERT_TRUE(cause.has_value());
  EXPECT_NE(cause->find("DF_1_NODELETE"), std::string::npos) << *cause;
  EXPECT_TRUE(image->unmap().has_value());
}

#if !defined(__clang__)
TEST_F(ImageTest, UniqueSymbolsKeepItAndAreNamed) {
  const auto image = map("unique");
  EXPECT_EQ(call(*image), 1);
  const auto cause = image->unmap();
  ASSERT_TRUE(cause.has_value());
  EXPECT_NE(cause->find("_ZZ7countedvE5count"), std::string::npos) << *cause;
}
#endif

TEST_F(ImageTest, ThreadDestructorsKeepItUntilTheThreadEnds) {
  const auto image = map("thread_destructor");
  std::atomic<bool> touched{false};
  std::atomic<bool> go{false};
  std::thread other([&] {
    call(*image);
    touched = true;
    while (!go) std::this_thread::yield();
  });
  while (!touched) std::this_thread::yield();
  const auto cause = image->unmap();
  ASSERT_TRUE(cause.has_value());
  EXPECT_NE(cause->find("thread_local"), std::string::npos) << *cause;
  go = true;
  other.join();
  EXPECT_EQ(image->unmap(), std::nullopt);
}

TEST_F(ImageTest, AnotherHandleKeepsIt) {
  const auto image = map("good");
  void* handle = dlopen(image->file().path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(handle, nullptr);
  const auto cause = image->unmap();
  ASSERT_TRUE(cause.has_value());
  EXPECT_NE(cause->find("cause unknown"), std::string::npos) << *cause;
  dlclose(handle);
  EXPECT_EQ(image->unmap(), std::nullopt);
}

TEST_F(ImageTest, ItsThreadsAreFoundAndKeepItMapped) {
  if (kThreadsAreWrapped) GTEST_SKIP() << "a sanitizer starts every thread";
  ASSERT_TRUE(can_see_thread_starts());
  for (const char* name : {"c_thread", "cpp_thread"}) {
    control_.inside = control_.go = false;
    const auto image = map(name);
    EXPECT_TRUE(image->threads_inside().empty());
    ASSERT_EQ(call(*image), 1) << name;
    await_inside();
    // A thread of ours, to be told from theirs.
    std::thread ours([&] {
      while (!control_.go) std::this_thread::yield();
    });
    const std::vector<ThreadInside> threads = image->threads_inside();
    ASSERT_EQ(threads.size(), 1u) << name;
    EXPECT_NE(threads.front().id, getpid());
    const auto cause = image->unmap();
    ASSERT_TRUE(cause.has_value()) << name;
    EXPECT_NE(cause->find(std::to_string(threads.front().id)), std::string::npos) << *cause;
    if (std::string(name) == "c_thread") {
      EXPECT_EQ(threads.front().name, "lingers");
      EXPECT_NE(cause->find("'lingers'"), std::string::npos) << *cause;
    }
    EXPECT_FALSE(mappings_of(image->file().path).empty()) << name;
    control_.go = true;
    ours.join();
    while (!image->threads_inside().empty()) std::this_thread::yield();
    EXPECT_EQ(image->unmap(), std::nullopt) << name;
  }
}

// What a thread was started with may be free when a plugin comes, and then hold what is the
// plugin's.
TEST_F(ImageTest, AnOlderThreadIsNotIts) {
  struct Argument {
    uintptr_t first_word = 0;
    std::atomic<bool> over{false};
  } argument;
  const auto wait = [](void* given) -> void* {
    while (!static_cast<Argument*>(given)->over) std::this_thread::yield();
    return nullptr;
  };
  pthread_t older{};
  ASSERT_EQ(pthread_create(&older, nullptr, wait, &argument), 0);
  const auto image = map("good");
  argument.first_word = reinterpret_cast<uintptr_t>(image->entry());
  EXPECT_TRUE(image->threads_inside().empty());
  EXPECT_EQ(image->unmap(), std::nullopt);
  argument.over = true;
  pthread_join(older, nullptr);
}

// The descriptor of a thread that just ends is memory of nobody: an error, no fault.
TEST_F(ImageTest, ThreadsMayComeAndGoMeanwhile) {
  const auto image = map("good");
  std::atomic<bool> over{false};
  std::thread maker([&] {
    while (!over) std::thread([] {}).join();
  });
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(image->threads_inside().empty());
  over = true;
  maker.join();
  EXPECT_EQ(image->unmap(), std::nullopt);
}

TEST_F(ImageTest, ItsOwnLibraryIsUsedAndGoesWithIt) {
  const auto image = map("private");
  EXPECT_EQ(call(*image), 11);
  EXPECT_FALSE(mappings_of(image->file().folder + "/libopyard_test_private.so.1").empty());
  EXPECT_EQ(image->unmap(), std::nullopt);
  EXPECT_TRUE(mappings_of(image->file().folder + "/").empty());
}

// Closing it would leave the process with an address that nothing lies behind.
TEST_F(ImageTest, WhatWouldCallItLaterKeepsItMapped) {
  ASSERT_TRUE(can_see_pthread_keys());
  const std::pair<const char*, const char*> cases[] = {
      {"signal_handler", "handler of the signal 12 (USR2) is still in place"},
      {"pthread_key", "still has a destructor"},
      {"terminate_handler", "its terminate handler"}};
  for (const auto& [name, text] : cases) {
    control_.go = false;
    const auto image = map(name);
    EXPECT_TRUE(image->hooks_inside().empty()) << name;
    ASSERT_EQ(call(*image), 0) << name;
    EXPECT_EQ(image->hooks_inside().size(), 1u) << name;
    const auto cause = image->unmap();
    ASSERT_TRUE(cause.has_value()) << name;
    EXPECT_NE(cause->find(text), std::string::npos) << *cause;
    control_.go = true;
    ASSERT_EQ(call(*image), 0) << name;  // it is still there, and undoes it
    EXPECT_EQ(image->unmap(), std::nullopt) << name;
  }
}

#if !defined(__clang__)
TEST_F(ImageTest, ALibraryOfItsOwnMayKeepItAndIsNamed) {
  const StoredFile stored = store_.store(module_path("private_unique"), 500);
  const auto image = Image::map(stored, lint(stored));
  EXPECT_EQ(call(*image), 21);
  const auto cause = image->unmap();
  ASSERT_TRUE(cause.has_value());
  EXPECT_NE(cause->find("Its library libopyard_test_unique.so.1 defines 1 unique symbol"),
            std::string::npos)
      << *cause;
}
#endif

TEST_F(ImageTest, LibrariesThatStayAreReported) {
  const auto image = map("sticky");
  EXPECT_EQ(call(*image), 31);
  const std::vector<std::string> wanted = {"libopyard_test_sticky.so.1"};
  EXPECT_EQ(image->pinned_dependencies(), wanted);
  EXPECT_EQ(image->unmap(), std::nullopt);
  EXPECT_EQ(image->pinned_dependencies(), wanted);
}

#if !defined(__clang__)
// Nothing says before that this one stays.
TEST_F(ImageTest, LibrariesThatStayedAreReportedAfterwards) {
  const auto image = map("stays");
  EXPECT_EQ(call(*image), 32);
  EXPECT_TRUE(image->pinned_dependencies().empty());
  EXPECT_EQ(image->unmap(), std::nullopt);
  EXPECT_EQ(image->pinned_dependencies(), std::vector<std::string>{"libopyard_test_stays.so.1"});
}
#endif

TEST_F(ImageTest, ALibraryOfAnOlderGenerationIsNotTakenForItsOwn) {
  const auto first = map("private");
  EXPECT_REFUSED(
      map("private", "b"), kFailedPrecondition,
      "brings its own libopyard_test_private.so.1, but the process has '" + first->file().folder);
  EXPECT_EQ(call(*first), 11);
  // The refused one is gone: the first has its library for itself.
  EXPECT_EQ(first->unmap(), std::nullopt);
  const auto second = map("private", "b");
  EXPECT_EQ(call(*second), 12);
  EXPECT_EQ(second->unmap(), std::nullopt);
}

// Somebody else in the process got our library by its name.
TEST_F(ImageTest, WhoeverDependsOnItIsNamed) {
  const auto image = map("private");
  void* other = dlopen(module_path("private", "b").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(other, nullptr);
  const auto cause = image->unmap();
  ASSERT_TRUE(cause.has_value());
  EXPECT_NE(cause->find("b/private.so depends on it"), std::string::npos) << *cause;
  dlclose(other);
  EXPECT_EQ(image->unmap(), std::nullopt);
}

TEST_F(ImageTest, AnImageIsMappedOnce) {
  const auto image = map("good");
  EXPECT_REFUSED(Image::map(image->file(), LintReport()), kFailedPrecondition, "mapped already");
  EXPECT_EQ(image->unmap(), std::nullopt);
}

#if !defined(__clang__)
// Its workers wait within libgomp, which would go with the plugin otherwise.
TEST_F(ImageTest, ThreadPoolsAreKept) {
  for (int i = 0; i < 3; ++i) {
    const auto image = map("openmp");
    EXPECT_EQ(image->pinned_dependencies(), std::vector<std::string>{"libgomp.so.1"});
    EXPECT_EQ(call(*image), 4950);
    EXPECT_TRUE(image->threads_inside().empty());
    EXPECT_EQ(image->unmap(), std::nullopt);
  }
  EXPECT_FALSE(mappings_of("/").empty());
}
#endif

}  // namespace
}  // namespace opyard::plugin
