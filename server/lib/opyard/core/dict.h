#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

namespace opyard {

// A map that remembers the order in which its keys came: "Dict(K, V)" of a schema. K is int64_t,
// double, bool or std::string. A value type; one thread changes it at a time.
template <typename K, typename V>
class Dict {
 public:
  using Item = std::pair<K, V>;

  Dict() = default;
  Dict(std::initializer_list<Item> items) {
    for (const Item& item : items) insert_or_assign(item.first, item.second);
  }

  // True when the key is new.
  bool insert_or_assign(K key, V value) {
    const auto [place, is_new] = index_.emplace(key, items_.size());
    if (is_new) {
      items_.emplace_back(std::move(key), std::move(value));
    } else {
      items_[place->second].second = std::move(value);
    }
    return is_new;
  }
  // Null when there is no such key; valid until the next change.
  const V* find(const K& key) const {
    const auto place = index_.find(key);
    return place == index_.end() ? nullptr : &items_[place->second].second;
  }
  bool contains(const K& key) const { return find(key) != nullptr; }
  size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return items_.empty(); }
  auto begin() const noexcept { return items_.begin(); }
  auto end() const noexcept { return items_.end(); }

  // The same keys with the same values, in any order.
  friend bool operator==(const Dict& a, const Dict& b) {
    if (a.size() != b.size()) return false;
    for (const Item& item : a) {
      const V* other = b.find(item.first);
      if (!other || !(*other == item.second)) return false;
    }
    return true;
  }

 private:
  std::vector<Item> items_;
  std::unordered_map<K, size_t> index_;
};

}  // namespace opyard
