#include "opyard/core/dispatch_key.h"

#include <gtest/gtest.h>

#include <set>

#include "opyard/base/error.h"
#include "opyard/core/device.h"
#include "opyard/core/dispatch_key_set.h"
#include "tests/unit/core/spec_keys.h"

namespace opyard {
namespace {

using enum DispatchKey;

TEST(DispatchKey, FunctionalitiesHaveTheirNumbers) {
  EXPECT_EQ(kNumBackends, 16);
  EXPECT_EQ(kNumFunctionalities, 48);
  ASSERT_EQ(static_cast<int>(std::size(spec::kFunctionalities)), kNumFunctionalities);
  for (const spec::Functionality& row : spec::kFunctionalities) {
    SCOPED_TRACE(row.name);
    const DispatchKey key = parse_dispatch_key(row.name);
    EXPECT_EQ(static_cast<int>(key), row.value);
    EXPECT_EQ(to_string(key), row.name);
    EXPECT_EQ(KeySet(key).bits(), row.bit < 0 ? 0 : uint64_t{1} << row.bit);
    EXPECT_EQ(is_building_block(key), row.per_backend);
    EXPECT_EQ(is_runtime_key(key), !row.per_backend);
    EXPECT_FALSE(is_alias_key(key));
    EXPECT_EQ(functionality_of(key), key);
    EXPECT_EQ(backend_of(key), Backend::kNone);
    if (row.per_backend) {
      EXPECT_THROW(slot_of(key), Error);
      EXPECT_EQ(slot_of(runtime_key(key, Backend::kCPU)), row.slot);
      EXPECT_EQ(runtime_key(key, Backend::kNone), Undefined);
    } else {
      EXPECT_EQ(slot_of(key), row.slot);
      EXPECT_EQ(runtime_key(key, Backend::kCUDA), key);
    }
  }
}

TEST(DispatchKey, BackendsHaveTheirOrderAndNames) {
  ASSERT_EQ(static_cast<int>(std::size(spec::kBackends)), kNumBackends);
  for (int i = 0; i < kNumBackends; ++i) {
    const auto backend = static_cast<Backend>(i + 1);
    EXPECT_EQ(to_string(backend), spec::kBackends[i]);
    EXPECT_EQ(try_parse_backend(spec::kBackends[i]), backend);
    EXPECT_EQ(KeySet(backend).bits(), uint64_t{1} << i);
  }
  EXPECT_EQ(to_string(Backend::kNone), "invalid");
  EXPECT_FALSE(try_parse_backend("invalid"));
  EXPECT_FALSE(try_parse_backend(""));
}

TEST(DispatchKey, EverySlotHasItsKey) {
  const spec::Names names = spec::runtime_keys();
  ASSERT_EQ(names.size(), 138u);
  ASSERT_EQ(kNumSlots, 138);
  for (int slot = 0; slot < kNumSlots; ++slot) {
    const std::string& name = names[static_cast<size_t>(slot)];
    SCOPED_TRACE(name);
    const DispatchKey key = parse_dispatch_key(name);
    EXPECT_EQ(to_string(key), name);
    EXPECT_EQ(slot_of(key), slot);
    EXPECT_EQ(key_of_slot(slot), key);
    EXPECT_EQ(KeySet(key).slot(), slot);
    EXPECT_EQ(KeySet(key).entry(), entry_of_slot(slot));
    EXPECT_EQ(KeySet(key).highest_priority(), key);
    EXPECT_TRUE(is_runtime_key(key));
    EXPECT_EQ(runtime_key(functionality_of(key), backend_of(key)), key);
    EXPECT_EQ(is_per_backend_runtime_key(key), backend_of(key) != Backend::kNone);
  }
}

TEST(DispatchKey, PerBackendKeysStandInTheOrderOfTheBackends) {
  for (const spec::Functionality& row : spec::kFunctionalities) {
    if (!row.per_backend) continue;
    const auto functionality = static_cast<DispatchKey>(row.value);
    for (int i = 0; i < kNumBackends; ++i) {
      const DispatchKey key = runtime_key(functionality, static_cast<Backend>(i + 1));
      EXPECT_EQ(to_string(key), spec::prefix_of(row) + spec::kBackends[i]);
      EXPECT_EQ(slot_of(key), row.slot + i);
      EXPECT_EQ(functionality_of(key), functionality);
    }
  }
}

TEST(AliasKeys, HaveJustTheirMembers) {
  for (const std::string alias : spec::kAliases) {
    const DispatchKey key = parse_dispatch_key(alias);
    EXPECT_EQ(to_string(key), alias);
    EXPECT_TRUE(is_alias_key(key));
    EXPECT_FALSE(is_runtime_key(key));
    EXPECT_THROW(slot_of(key), Error);
    EXPECT_TRUE(KeySet(key).empty());
    const spec::Names wanted = spec::alias_members(alias);
    const std::set<std::string> members(wanted.begin(), wanted.end());
    ASSERT_FALSE(members.empty());
    std::set<std::string> expanded;
    for (const DispatchKey member : expand_alias(key)) expanded.insert(to_string(member));
    EXPECT_EQ(expanded, members) << alias;
    EXPECT_EQ(expand_alias(key).size(), members.size()) << alias;
    for (const std::string& name : spec::runtime_keys()) {
      EXPECT_EQ(alias_contains(key, parse_dispatch_key(name)), members.contains(name))
          << name << " in " << alias;
    }
  }
}

TEST(AliasKeys, AKeyThatIsNoneStandsForItself) {
  EXPECT_EQ(expand_alias(SparseCUDA), std::vector<DispatchKey>{SparseCUDA});
  EXPECT_TRUE(alias_contains(SparseCUDA, SparseCUDA));
  EXPECT_FALSE(alias_contains(SparseCUDA, SparseCPU));
}

TEST(AliasKeys, EveryBackendHasAnAutogradKeyAndSomeHaveAutocast) {
  const std::set<std::string> with_autocast = {"CPU", "MTIA", "MAIA", "XPU", "IPU",
                                               "HPU", "XLA",  "MPS",  "CUDA"};
  for (int i = 1; i <= kNumBackends; ++i) {
    const auto backend = static_cast<Backend>(i);
    const std::string name(to_string(backend));
    EXPECT_EQ(to_string(autograd_key(backend)), "Autograd" + name);
    std::string autocast = with_autocast.contains(name) ? "Autocast" + name : "Undefined";
    if (name.starts_with("PrivateUse")) autocast = "AutocastPrivateUse1";  // serves all three
    EXPECT_EQ(to_string(autocast_key(backend)), autocast) << name;
    EXPECT_EQ(dense_tensor_keys(backend), KeySet({parse_dispatch_key(name), ADInplaceOrView,
                                                  autograd_key(backend), autocast_key(backend)}));
  }
  EXPECT_EQ(autograd_key(Backend::kNone), AutogradOther);
  EXPECT_EQ(autocast_key(Backend::kNone), Undefined);
}

TEST(DispatchKey, Synonyms) {
  const std::pair<const char*, DispatchKey> synonyms[] = {
      // The name decides: CatchAll registers to the composite, Undefined is refused.
      {"CatchAll", CompositeImplicitAutograd},
      {"Undefined", Undefined},
      {"CPUTensorId", CPU},
      {"CUDATensorId", CUDA},
      {"DefaultBackend", CompositeExplicitAutograd},
      {"PrivateUse1_PreAutograd", AutogradPrivateUse1},
      {"PrivateUse2_PreAutograd", AutogradPrivateUse2},
      {"PrivateUse3_PreAutograd", AutogradPrivateUse3},
      {"Autocast", AutocastCUDA}};
  for (const auto& [name, key] : synonyms) EXPECT_EQ(parse_dispatch_key(name), key) << name;
}

TEST(DispatchKey, WhatIsNoNameIsRefusedBriefly) {
  const std::string names[] = {"",
                               "NoSuchKey",
                               "cpu",
                               " CPU",
                               "CPU ",
                               "invalid",
                               "EndOfRuntimeKeys",
                               "AutogradPrivateUse4",
                               std::string("CPU\0", 4),
                               std::string(1 << 20, 'A'),
                               "Autograd" + std::string(1 << 20, 'B')};
  for (const std::string& name : names) {
    EXPECT_FALSE(try_parse_dispatch_key(name));
    try {
      parse_dispatch_key(name);
      ADD_FAILURE() << name.substr(0, 40);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      EXPECT_NE(error.message().find("could not parse dispatch key"), std::string::npos);
      EXPECT_LT(error.message().size(), 300u);
    }
  }
}

// Gives private backends their names back.
struct PrivateNames : ::testing::Test {
  void TearDown() override {
    for (const Backend backend : kPrivate) set_private_backend_name(backend, "");
  }
  static constexpr Backend kPrivate[] = {Backend::kPrivateUse1, Backend::kPrivateUse2,
                                         Backend::kPrivateUse3};
};

TEST_F(PrivateNames, AreUsedByEveryKeyOfTheBackend) {
  const std::string names[] = {"my_device", "npu2", "Fast"};
  const std::string camel[] = {"MyDevice", "Npu2", "Fast"};
  for (int i = 0; i < 3; ++i) set_private_backend_name(kPrivate[i], names[i]);
  for (int i = 0; i < 3; ++i) {
    for (const spec::Functionality& row : spec::kFunctionalities) {
      if (!row.per_backend) continue;
      const DispatchKey key = runtime_key(static_cast<DispatchKey>(row.value), kPrivate[i]);
      const std::string prefix = spec::prefix_of(row);
      const std::string wanted = prefix.empty() ? names[i] : prefix + camel[i];
      EXPECT_EQ(to_string(key), wanted);
      EXPECT_EQ(parse_dispatch_key(wanted), key);
      EXPECT_EQ(parse_dispatch_key(prefix + camel[i]), key);
      EXPECT_EQ(parse_dispatch_key(prefix + std::string(to_string(kPrivate[i]))), key);
    }
    EXPECT_EQ(try_parse_backend(names[i]), kPrivate[i]);
    EXPECT_EQ(Device::parse(names[i] + ":1"), Device(kPrivate[i], 1));
  }
  EXPECT_EQ(to_string(KeySet({PrivateUse1, AutogradPrivateUse1})),
            "DispatchKeySet(my_device, AutogradMyDevice)");
  TearDown();
  EXPECT_EQ(to_string(AutogradPrivateUse2), "AutogradPrivateUse2");
  EXPECT_FALSE(try_parse_dispatch_key("AutogradMyDevice"));
}

TEST_F(PrivateNames, AreClaimedOnce) {
  const auto refused = [](Backend backend, std::string_view name, Code code) {
    try {
      set_private_backend_name(backend, name);
      ADD_FAILURE() << name.substr(0, 40) << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.message();
      EXPECT_LT(error.message().size(), 400u);
    }
  };
  set_private_backend_name(Backend::kPrivateUse2, "my_device");
  set_private_backend_name(Backend::kPrivateUse2, "my_device");
  refused(Backend::kPrivateUse2, "other_device", Code::kAlreadyExists);
  refused(Backend::kPrivateUse1, "my_device", Code::kAlreadyExists);
  refused(Backend::kPrivateUse1, "myDevice", Code::kAlreadyExists);
  for (const char* taken : {"CPU", "cuda", "Meta", "SparseCUDA", "Functionalize", "CatchAll"}) {
    refused(Backend::kPrivateUse1, taken, Code::kAlreadyExists);
  }
  refused(Backend::kCUDA, "x", Code::kInvalidArgument);
  refused(Backend::kNone, "x", Code::kInvalidArgument);
}

TEST_F(PrivateNames, NeverMakeTwoKeysLookAlike) {
  // With a prefix these spell AutogradOther, AutogradNestedTensor, SparseCsr and SparseCsrCPU.
  for (const char* name : {"other", "nested_tensor", "functionality", "csr", "csrCPU"}) {
    EXPECT_THROW(set_private_backend_name(Backend::kPrivateUse1, name), Error) << name;
  }
  set_private_backend_name(Backend::kPrivateUse1, "fast");
  EXPECT_THROW(set_private_backend_name(Backend::kPrivateUse2, "csr_fast"),
               Error);  // SparseCsrFast
  set_private_backend_name(Backend::kPrivateUse1, "");
  set_private_backend_name(Backend::kPrivateUse2, "csr_fast");
  EXPECT_THROW(set_private_backend_name(Backend::kPrivateUse1, "fast"), Error);
}

TEST_F(PrivateNames, AreWords) {
  for (const std::string& name :
       {std::string("a b"), std::string("x:1"), std::string("1x"), std::string("a,b"),
        std::string("_"), std::string("a\0b", 3), std::string("ü"), std::string(65, 'a')}) {
    EXPECT_THROW(set_private_backend_name(Backend::kPrivateUse1, name), Error) << name;
  }
  set_private_backend_name(Backend::kPrivateUse1, std::string(64, 'a'));
}

}  // namespace
}  // namespace opyard
