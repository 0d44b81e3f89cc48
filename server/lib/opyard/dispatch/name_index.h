#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace opyard {

class OperatorEntry;

// Name → entry, as of one root. Immutable; a changed copy shares all shards without a change.
class NameIndex {
 public:
  struct Item {
    const OperatorEntry* entry = nullptr;
    bool defined = false;
    friend bool operator==(const Item&, const Item&) = default;
  };
  // What a name means from now on: nothing where the item has no entry.
  struct Change {
    std::string_view name;
    Item item;
  };

  // Null when the name means nothing.
  const Item* find(std::string_view name) const noexcept;
  void each(const std::function<void(const Item&)>& visit) const;
  // Every name once.
  std::shared_ptr<const NameIndex> with(const std::vector<Change>& changes) const;

 private:
  struct Place {
    size_t hash;
    Item item;
  };
  using Shard = std::vector<Place>;  // short: a dozen among 3,000 names
  static constexpr size_t kShards = 256;

  static Shard changed(const Shard* shard, const std::vector<const Change*>& changes);

  std::array<std::shared_ptr<const Shard>, kShards> shards_{};
};

}  // namespace opyard
