#include "opyard/dispatch/name_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "opyard/dispatch/operator_entry.h"

namespace opyard {
namespace {

size_t hash_of(std::string_view name) noexcept { return XXH3_64bits(name.data(), name.size()); }

}  // namespace

const NameIndex::Item* NameIndex::find(std::string_view name) const noexcept {
  const size_t hash = hash_of(name);
  const Shard* shard = shards_[hash % kShards].get();
  if (!shard) return nullptr;
  for (const Place& place : *shard) {
    if (place.hash == hash && place.item.entry->name() == name) return &place.item;
  }
  return nullptr;
}

void NameIndex::each(const std::function<void(const Item&)>& visit) const {
  for (const auto& shard : shards_) {
    if (!shard) continue;
    for (const Place& place : *shard) visit(place.item);
  }
}

NameIndex::Shard NameIndex::changed(const Shard* shard, const std::vector<const Change*>& changes) {
  Shard next;
  next.reserve((shard ? shard->size() : 0) + changes.size());
  if (shard) {
    std::copy_if(shard->begin(), shard->end(), std::back_inserter(next), [&](const Place& place) {
      return std::none_of(changes.begin(), changes.end(), [&](const Change* change) {
        return change->name == place.item.entry->name();
      });
    });
  }
  for (const Change* change : changes) {
    if (change->item.entry) next.push_back({hash_of(change->name), change->item});
  }
  return next;
}

std::shared_ptr<const NameIndex> NameIndex::with(const std::vector<Change>& changes) const {
  std::array<std::vector<const Change*>, kShards> by_shard;
  for (const Change& change : changes) by_shard[hash_of(change.name) % kShards].push_back(&change);
  auto next = std::make_shared<NameIndex>(*this);
  for (size_t i = 0; i < kShards; ++i) {
    if (by_shard[i].empty()) continue;
    next->shards_[i] = std::make_shared<const Shard>(changed(shards_[i].get(), by_shard[i]));
  }
  return next;
}

}  // namespace opyard
