#include "device/graph/roles.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace troupe::graph {
namespace {

/// Bytes of one buffer: ranges apart from each other, by their beginnings.
using ranges = std::map<std::uint64_t, std::uint64_t>;

void add_to(ranges& all, std::uint64_t begin, std::uint64_t end) {
  auto one = all.upper_bound(begin);
  if (one != all.begin() && std::prev(one)->second >= begin) --one;
  while (one != all.end() && one->first <= end) {
    begin = std::min(begin, one->first);
    end = std::max(end, one->second);
    one = all.erase(one);
  }
  all.emplace(begin, end);
}

/// The first range that ends after a place.
ranges::const_iterator first_beyond(const ranges& all, std::uint64_t place) {
  const auto after = all.upper_bound(place);
  return after != all.begin() && std::prev(after)->second > place ? std::prev(after) : after;
}

/// The memory that certainly is overwritten at one point of a graph: bytes, and views with gaps.
class overwritten {
 public:
  explicit overwritten(std::size_t roots) : whole_(roots) {}

  void add(std::size_t root, const view_bytes& v) {
    whole_[root] = true;
    if (v.dense && v.begin < v.end) add_to(bytes_[v.buffer], v.begin, v.end);
  }
  [[nodiscard]] bool has(std::size_t root, const view_bytes& v) const {
    if (whole_[root] || v.begin >= v.end) return true;
    const auto of = bytes_.find(v.buffer);
    if (of == bytes_.end()) return false;
    const auto first = first_beyond(of->second, v.begin);
    return first != of->second.end() && first->first <= v.begin && first->second >= v.end;
  }
  /// Adds the bytes of a view that are not among them.
  void add_rest(const view_bytes& v, ranges& to) const {
    std::uint64_t from = v.begin;
    if (const auto of = bytes_.find(v.buffer); of != bytes_.end()) {
      for (auto one = first_beyond(of->second, from); one != of->second.end() && one->first < v.end;
           ++one) {
        if (from < one->first) add_to(to, from, one->first);
        from = one->second;
      }
    }
    if (from < v.end) add_to(to, from, v.end);
  }
  /// Keeps what is in both.
  void keep_common(const overwritten& other) {
    for (std::size_t i = 0; i < whole_.size(); ++i)
      whole_[i] = whole_[i] && other.whole_[i];
    for (auto& [buffer, mine] : bytes_) {
      const auto of_other = other.bytes_.find(buffer);
      ranges common;
      if (of_other != other.bytes_.end()) {
        const ranges& others = of_other->second;
        auto one = mine.cbegin();
        auto other_one = others.cbegin();
        while (one != mine.cend() && other_one != others.cend()) {
          const std::uint64_t first = std::max(one->first, other_one->first);
          const std::uint64_t last = std::min(one->second, other_one->second);
          if (first < last) common.emplace_hint(common.end(), first, last);
          // The one that ends first has nothing in common with the next.
          ++(one->second < other_one->second ? one : other_one);
        }
      }
      mine = std::move(common);
    }
  }

 private:
  std::vector<bool> whole_;
  std::map<std::uint64_t, ranges> bytes_;
};

class walk {
 public:
  walk(const definition& d, roles_of_uses uses, std::span<const view_bytes> roots,
       narrowed_uses narrowed)
      : d_(d), uses_(uses), roots_(roots), narrowed_(d.uses.size()), found_(roots.size()) {
    for (const narrowed_use& one : narrowed)
      narrowed_[one.use] = &one;
  }

  [[nodiscard]] std::vector<access> roles() && {
    overwritten at_end(roots_.size());
    body(0, at_end);
    std::vector<access> all;
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      const bool overwrites = !has_old(roots_[i]) && at_end.has(i, roots_[i]);
      const bool only_reads = (found_[i].reads_old || found_[i].named) && !found_[i].written;
      all.push_back(overwrites ? access::write : only_reads ? access::read : access::update);
    }
    return all;
  }

 private:
  struct finding {
    bool reads_old = false;
    bool written = false;
    bool named = false;  ///< by a narrowed use
  };

  void body(std::uint64_t number, overwritten& now) {
    for (const std::uint64_t member : d_.bodies[number])
      visit(d_.nodes[member], now);
  }
  void visit(const node& n, overwritten& now) {
    if (n.kind == node_kind::request) return request(n, now);
    read(d_.uses[n.first_use], now);
    if (n.kind == node_kind::when && n.bodies == 2) {
      overwritten otherwise = now;
      body(n.first_body, now);
      body(n.first_body + 1, otherwise);
      return now.keep_common(otherwise);
    }
    // None of these bodies may run.
    for (std::uint64_t b = n.first_body; b < n.first_body + n.bodies; ++b) {
      overwritten inside = now;
      body(b, inside);
    }
  }
  // A request reads before it writes.
  void request(const node& n, overwritten& now) {
    for (std::uint64_t i = n.first_use; i < n.first_use + n.uses; ++i) {
      if (uses_[i] != access::write && narrowed_[i] == nullptr) read(d_.uses[i], now);
    }
    for (std::uint64_t i = n.first_use; i < n.first_use + n.uses; ++i) {
      if (uses_[i] == access::read) continue;
      const std::uint64_t root = d_.uses[i];
      if (narrowed_[i] != nullptr) {
        found_[root].named = true;
        for (const std::uint64_t part : narrowed_[i]->parts)
          overwrite(part, now);
      } else if (uses_[i] == access::write) {
        overwrite(root, now);
      } else {
        found_[root].written = true;
      }
    }
  }
  void overwrite(std::uint64_t root, overwritten& now) {
    found_[root].written = true;
    now.add(root, roots_[root]);
  }
  void read(std::uint64_t root, const overwritten& now) {
    if (now.has(root, roots_[root])) return;
    found_[root].reads_old = true;
    now.add_rest(roots_[root], old_[roots_[root].buffer]);
  }
  /// True if any of it is read before it is overwritten, through whatever root.
  [[nodiscard]] bool has_old(const view_bytes& v) const {
    const auto of = old_.find(v.buffer);
    if (of == old_.end() || v.begin >= v.end) return false;
    const auto first = first_beyond(of->second, v.begin);
    return first != of->second.end() && first->first < v.end;
  }

  const definition& d_;
  roles_of_uses uses_;
  std::span<const view_bytes> roots_;
  std::vector<const narrowed_use*> narrowed_;  // by use
  std::vector<finding> found_;
  std::map<std::uint64_t, ranges> old_;  // bytes that are read before they are overwritten
};

}  // namespace

view_bytes bytes_of(const any_tensor& t) noexcept {
  const auto [begin, end] = t.reach();
  const std::int64_t first = t.address() - t.buffer()->address;
  const bool dense = t.packed() || (t.injective() && t.count() * size_of(t.type()) == end - begin);
  return {.buffer = reinterpret_cast<std::uintptr_t>(t.buffer().get()),
          .begin = static_cast<std::uint64_t>(first + begin),
          .end = static_cast<std::uint64_t>(first + end),
          .dense = dense};
}

std::vector<access> roles_of(const definition& d, roles_of_uses uses,
                             std::span<const view_bytes> roots, narrowed_uses narrowed) {
  return walk(d, uses, roots, narrowed).roles();
}

std::optional<std::size_t> first_too_weak(const definition& d, roles_of_uses uses,
                                          std::span<const access> recorded,
                                          std::span<const access> found, narrowed_uses narrowed) {
  std::vector<bool> written(recorded.size());
  for (const narrowed_use& one : narrowed)
    for (const std::uint64_t part : one.parts)
      written[part] = true;
  for (const node& n : d.nodes) {
    for (std::uint64_t i = n.first_use; i < n.first_use + n.uses; ++i) {
      if (uses[i] != access::read) written[d.uses[i]] = true;
    }
  }
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (recorded[i] == found[i] || recorded[i] == access::update) continue;
    // It is read after others have overwritten it, which their roles tell.
    if (recorded[i] == access::read && found[i] == access::write && !written[i]) continue;
    return i;
  }
  return std::nullopt;
}

}  // namespace troupe::graph
