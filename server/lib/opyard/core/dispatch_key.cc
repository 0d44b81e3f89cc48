#include "opyard/core/dispatch_key.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <unordered_map>

#include "opyard/base/check.h"
#include "opyard/base/no_destructor.h"

namespace opyard {
namespace {

constexpr int kFirstRuntime = static_cast<int>(DispatchKey::EndOfFunctionalityKeys) + 1;
constexpr int kFirstAlias = static_cast<int>(DispatchKey::EndOfRuntimeKeys) + 1;
constexpr int kEndAlias = static_cast<int>(DispatchKey::EndOfAliasKeys);

struct FunctionalityFacts {
  std::string_view name;
  std::string_view prefix;
  bool per_backend;
  uint8_t groups;
};

constexpr std::array<FunctionalityFacts, kNumFunctionalities> kFunctionalities = {
    {{"Undefined", "", false, kGroupNone},
#define OPYARD_F(name, groups) {#name, "", false, static_cast<uint8_t>(groups)},
#define OPYARD_PB(name, prefix, groups) {#name, #prefix, true, static_cast<uint8_t>(groups)},
     OPYARD_FUNCTIONALITIES(OPYARD_F, OPYARD_PB)
#undef OPYARD_F
#undef OPYARD_PB
    }};

constexpr std::array<std::string_view, kNumBackends + 1> kBackendNames = {
    "invalid",
#define OPYARD_X(P, name) #name,
    OPYARD_BACKENDS(OPYARD_X, )
#undef OPYARD_X
};

constexpr std::array<std::string_view, kEndAlias - kFirstAlias> kAliasNames = {
#define OPYARD_A(name, groups, without, skip_lazy) #name,
    OPYARD_ALIASES(OPYARD_A)
#undef OPYARD_A
};

// Functionality values of the per-backend ones, in the order of their runtime keys.
constexpr auto kPerBackend = [] {
  std::array<uint8_t, kNumFunctionalities> values{};
  int count = 0;
  for (int f = 0; f < kNumFunctionalities; ++f) {
    if (kFunctionalities[f].per_backend) values[count++] = static_cast<uint8_t>(f);
  }
  return values;
}();

constexpr int kFirstPrivate = static_cast<int>(Backend::kPrivateUse1);
constexpr int kNumPrivate = static_cast<int>(Backend::kPrivateUse3) - kFirstPrivate + 1;
constexpr size_t kMaxPrivateName = 64;

struct PrivateNames {
  std::shared_mutex mutex;
  std::array<std::string, kNumPrivate> names;
};

PrivateNames& private_names() {
  static NoDestructor<PrivateNames> names;
  return *names;
}

bool is_private(Backend backend) {
  const int value = static_cast<int>(backend);
  return value >= kFirstPrivate && value < kFirstPrivate + kNumPrivate;
}

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Names of devices and keys are written in lists and before a colon.
void check_word(std::string_view name) {
  const bool is_word = name.size() <= kMaxPrivateName &&
                       std::isalpha(static_cast<unsigned char>(name.front())) &&
                       std::all_of(name.begin(), name.end(), is_word_char);
  OPYARD_CHECK(is_word, kInvalidArgument, "'", name.substr(0, kMaxPrivateName),
               "' cannot name a private backend; wanted a letter, then letters, digits and "
               "underscores, at most ",
               kMaxPrivateName);
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// "my_device" → "MyDevice", as it is written behind a prefix.
std::string camel_case(std::string_view name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    result.push_back(static_cast<char>(upper ? std::toupper(byte) : byte));
    upper = false;
  }
  return result;
}

// What the keys of a private backend are called.
std::set<std::string> spellings(std::string_view name) {
  std::set<std::string> all = {std::string(name)};
  for (const FunctionalityFacts& facts : kFunctionalities) {
    if (facts.per_backend) all.insert(str_cat(facts.prefix, camel_case(name)));
  }
  return all;
}

const std::unordered_map<std::string_view, DispatchKey>& names_to_keys() {
  static NoDestructor<std::unordered_map<std::string_view, DispatchKey>> map([] {
    std::unordered_map<std::string_view, DispatchKey> keys = {
#define OPYARD_F(name, groups) {#name, DispatchKey::name},
#define OPYARD_X(prefix, backend) {#prefix #backend, DispatchKey::prefix##backend},
#define OPYARD_PB(name, prefix, groups) \
  {#name, DispatchKey::name}, OPYARD_BACKENDS(OPYARD_X, prefix)
#define OPYARD_A(name, groups, without, skip_lazy) {#name, DispatchKey::name},
#define OPYARD_S(name, key) {#name, DispatchKey::key},
        OPYARD_FUNCTIONALITIES(OPYARD_F, OPYARD_PB) OPYARD_ALIASES(OPYARD_A)
            OPYARD_SYNONYMS(OPYARD_S)
#undef OPYARD_F
#undef OPYARD_X
#undef OPYARD_PB
#undef OPYARD_A
#undef OPYARD_S
                {"Undefined", DispatchKey::Undefined},
    };
    return keys;
  }());
  return *map;
}

// Autocast<backend> where there is such a key; private backends share that of the first.
constexpr auto kAutocastKeyOf = [] {
  constexpr std::string_view prefix = "Autocast";
  std::array<DispatchKey, kNumBackends + 1> keys{};
  for (int b = 1; b <= kNumBackends; ++b) {
    const bool shared = b > kFirstPrivate && b < kFirstPrivate + kNumPrivate;
    const std::string_view backend = kBackendNames[shared ? kFirstPrivate : b];
    for (int f = 1; f < kNumFunctionalities; ++f) {
      const std::string_view name = kFunctionalities[f].name;
      if (name.substr(0, prefix.size()) == prefix && name.substr(prefix.size()) == backend) {
        keys[b] = static_cast<DispatchKey>(f);
      }
    }
  }
  return keys;
}();

}  // namespace

bool is_alias_key(DispatchKey key) noexcept {
  return static_cast<int>(key) >= kFirstAlias && static_cast<int>(key) < kEndAlias;
}

bool is_building_block(DispatchKey key) noexcept {
  const int value = static_cast<int>(key);
  return value < kNumFunctionalities && kFunctionalities[value].per_backend;
}

bool is_per_backend_runtime_key(DispatchKey key) noexcept {
  const int value = static_cast<int>(key);
  return value >= kFirstRuntime && value < static_cast<int>(DispatchKey::EndOfRuntimeKeys);
}

bool is_runtime_key(DispatchKey key) noexcept {
  const int value = static_cast<int>(key);
  if (value < kNumFunctionalities) return !kFunctionalities[value].per_backend;
  return is_per_backend_runtime_key(key);
}

DispatchKey functionality_of(DispatchKey key) noexcept {
  if (!is_per_backend_runtime_key(key)) {
    return static_cast<int>(key) < kNumFunctionalities ? key : DispatchKey::Undefined;
  }
  return static_cast<DispatchKey>(
      kPerBackend[(static_cast<int>(key) - kFirstRuntime) / kNumBackends]);
}

Backend backend_of(DispatchKey key) noexcept {
  if (!is_per_backend_runtime_key(key)) return Backend::kNone;
  return static_cast<Backend>((static_cast<int>(key) - kFirstRuntime) % kNumBackends + 1);
}

DispatchKey runtime_key(DispatchKey functionality, Backend backend) noexcept {
  if (!is_building_block(functionality)) return functionality;
  if (backend == Backend::kNone) return DispatchKey::Undefined;
  int index = 0;
  while (kPerBackend[index] != static_cast<int>(functionality)) ++index;
  return static_cast<DispatchKey>(kFirstRuntime + index * kNumBackends + static_cast<int>(backend) -
                                  1);
}

KeyGroup groups_of(DispatchKey key) noexcept {
  const int value = static_cast<int>(functionality_of(key));
  return static_cast<KeyGroup>(kFunctionalities[value].groups);
}

DispatchKey autograd_key(Backend backend) noexcept {
  return backend == Backend::kNone ? DispatchKey::AutogradOther
                                   : runtime_key(DispatchKey::AutogradFunctionality, backend);
}

DispatchKey autocast_key(Backend backend) noexcept {
  return kAutocastKeyOf[static_cast<int>(backend)];
}

std::string to_string(DispatchKey key) {
  const int value = static_cast<int>(key);
  if (is_alias_key(key)) return std::string(kAliasNames[value - kFirstAlias]);
  if (value < kNumFunctionalities) return std::string(kFunctionalities[value].name);
  if (!is_per_backend_runtime_key(key)) return str_cat("unknown key ", value);
  const auto prefix = kFunctionalities[static_cast<int>(functionality_of(key))].prefix;
  const Backend backend = backend_of(key);
  std::string name = private_backend_name(backend);
  if (!name.empty()) return prefix.empty() ? name : str_cat(prefix, camel_case(name));
  return str_cat(prefix, to_string(backend));
}

std::string_view to_string(Backend backend) noexcept {
  return backend < Backend::kEnd ? kBackendNames[static_cast<int>(backend)] : kBackendNames[0];
}

std::optional<DispatchKey> try_parse_dispatch_key(std::string_view name) {
  const auto& keys = names_to_keys();
  if (const auto found = keys.find(name); found != keys.end()) return found->second;
  for (int i = 0; i < kNumPrivate; ++i) {
    const auto backend = static_cast<Backend>(kFirstPrivate + i);
    const std::string claimed = private_backend_name(backend);
    if (claimed.empty()) continue;
    if (name == claimed) return runtime_key(DispatchKey::Dense, backend);
    const std::string suffix = camel_case(claimed);
    for (int f = 0; f < kNumFunctionalities; ++f) {
      const FunctionalityFacts& facts = kFunctionalities[f];
      if (facts.per_backend && name == str_cat(facts.prefix, suffix)) {
        return runtime_key(static_cast<DispatchKey>(f), backend);
      }
    }
  }
  return std::nullopt;
}

DispatchKey parse_dispatch_key(std::string_view name) {
  const auto key = try_parse_dispatch_key(name);
  OPYARD_CHECK(key.has_value(), kInvalidArgument, "could not parse dispatch key '",
               name.substr(0, 64),
               "'; a key looks like CPU, SparseCUDA, AutogradCPU or CompositeImplicitAutograd");
  return *key;
}

std::optional<Backend> try_parse_backend(std::string_view name) {
  for (int i = 1; i <= kNumBackends; ++i) {
    const auto backend = static_cast<Backend>(i);
    if (kBackendNames[i] == name) return backend;
    if (is_private(backend) && !name.empty() && private_backend_name(backend) == name) {
      return backend;
    }
  }
  return std::nullopt;
}

void set_private_backend_name(Backend backend, std::string_view name) {
  OPYARD_CHECK(is_private(backend), kInvalidArgument, "'", to_string(backend),
               "' is no private backend; PrivateUse1, PrivateUse2 and PrivateUse3 are");
  PrivateNames& all = private_names();
  std::unique_lock lock(all.mutex);
  std::string& mine = all.names[static_cast<int>(backend) - kFirstPrivate];
  if (name.empty() || name == mine) {
    mine = name;
    return;
  }
  check_word(name);
  OPYARD_CHECK(mine.empty(), kAlreadyExists, to_string(backend), " is already named '", mine, "'");
  const bool is_backend =
      std::any_of(kBackendNames.begin(), kBackendNames.end(),
                  [&](std::string_view taken) { return same_letters(taken, name); });
  OPYARD_CHECK(!is_backend, kAlreadyExists, "'", name,
               "' is the name of a backend and cannot name a private one");
  std::set<std::string> taken;
  for (const std::string& other : all.names) {
    if (!other.empty()) taken.merge(spellings(other));
  }
  for (const std::string& spelling : spellings(name)) {
    OPYARD_CHECK(!names_to_keys().contains(spelling) && !taken.contains(spelling), kAlreadyExists,
                 "the private backend name '", name, "' cannot be taken: its key '", spelling,
                 "' would look like another one; choose another name");
  }
  mine = name;
}

std::string private_backend_name(Backend backend) {
  if (!is_private(backend)) return {};
  PrivateNames& all = private_names();
  std::shared_lock lock(all.mutex);
  return all.names[static_cast<int>(backend) - kFirstPrivate];
}

}  // namespace opyard
