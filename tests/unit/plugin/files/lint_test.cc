#include "opyard/plugin/lint.h"

#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

namespace opyard::plugin {
namespace {

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  return all;
}

bool has(const std::vector<std::string>& texts, const std::string& part) {
  return joined(texts).find(part) != std::string::npos;
}

TEST(Lint, AGoodPluginHasNothingAgainstIt) {
  const LintReport report = lint(module_path("good"));
  EXPECT_EQ(report.note.name, "module");
  EXPECT_EQ(joined(report.warnings), "");
  EXPECT_EQ(joined(report.pins), "");
  EXPECT_EQ(joined(report.remarks), "");
  EXPECT_EQ(joined(report.pinned_dependencies), "");
}

TEST(Lint, WhatEndangersTheProcessIsRefused) {
  EXPECT_REFUSED(lint(module_path("no_entry")), kFailedPrecondition,
                 "does not export the function");
  EXPECT_REFUSED(lint(module_path("static_tls")), kFailedPrecondition, "of the static kind");
  EXPECT_REFUSED(lint(module_path("text_relocation")), kFailedPrecondition, "text relocations");
  EXPECT_REFUSED(lint(module_path("executable_stack")), kFailedPrecondition, "executable stack");
  EXPECT_REFUSED(lint(module_path("needs_cuda", "cuda")), kFailedPrecondition,
                 "needs libcuda.so.1: open it with dlopen");
  EXPECT_REFUSED(lint(module_path("absent")), kNotFound, "absent.so");
}

// As a plugin does that asks libopyard for its thread's state.
TEST(Lint, ReadingThreadLocalsOfOthersIsFine) {
  EXPECT_EQ(lint(module_path("static_tls_of_another")).note.name, "module");
}

TEST(Lint, ExportsAreNamed) {
  const LintReport report = lint(module_path("exports"));
  EXPECT_TRUE(has(report.warnings, "another_export")) << joined(report.warnings);
  EXPECT_TRUE(has(report.warnings, "a_second_export")) << joined(report.warnings);
}

TEST(Lint, WhatMayKeepItMappedIsNamed) {
  EXPECT_TRUE(has(lint(module_path("nodelete")).pins, "DF_1_NODELETE"));
  EXPECT_TRUE(has(lint(module_path("thread_destructor")).pins, "__cxa_thread_atexit"));
#if !defined(__clang__)
  const LintReport unique = lint(module_path("unique"));
  EXPECT_TRUE(has(unique.pins, "unique symbol")) << joined(unique.pins);
  EXPECT_TRUE(has(unique.pins, "_ZZ7countedvE5count")) << joined(unique.pins);
#endif
}

TEST(Lint, ThreadsAreRemarked) {
  EXPECT_TRUE(has(lint(module_path("c_thread")).remarks, "starts threads"));
  EXPECT_TRUE(has(lint(module_path("cpp_thread")).remarks, "starts threads"));
}

TEST(Lint, LibrariesAreKnownByTheirFamily) {
  for (const char* name : {"libgomp.so.1", "libiomp5.so", "libomp.so.5", "libtbb.so.12"}) {
    EXPECT_TRUE(is_thread_pool_runtime(name)) << name;
    EXPECT_TRUE(is_pinned_library(name)) << name;
  }
  for (const char* name : {"libdnnl.so.2", "libopenblas.so.0", "libLLVM-15.so.1", "libLLVM.so.19",
                           "libOpenCL.so.1", "/usr/lib/libpocl.so.2"}) {
    EXPECT_TRUE(is_pinned_library(name)) << name;
    EXPECT_FALSE(is_thread_pool_runtime(name)) << name;
  }
  for (const char* name :
       {"libc.so.6", "libstdc++.so.6", "libtbbx.so", "libgompertz.so", "", "/"}) {
    EXPECT_FALSE(is_pinned_library(name)) << name;
  }
}

TEST(Lint, OwnersAreChecked) {
  const Folder folder;
  const std::string path = folder / "plugin.so";
  write_file(path, "x");
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  check_owner(path);
  for (const mode_t mode : {0664, 0646}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_REFUSED(check_owner(path), kPermissionDenied, mode == 0664 ? "mode 0664" : "mode 0646");
  }
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  EXPECT_REFUSED(check_owner(path), kPermissionDenied, "the folder of");
  ASSERT_EQ(chmod(folder.path().c_str(), 0700), 0);
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  EXPECT_REFUSED(check_owner(path), kPermissionDenied, "belongs to the user 12345");
}

}  // namespace
}  // namespace opyard::plugin
