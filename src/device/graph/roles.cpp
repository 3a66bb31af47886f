#include "device/graph/roles.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace troupe::graph {
namespace {

/// The memory that certainly is overwritten at one point of a graph: bytes, and views with gaps.
class overwritten {
 public:
  explicit overwritten(std::size_t roots) : whole_(roots) {}

  void add(std::size_t root, const view_bytes& v) {
    whole_[root] = true;
    if (!v.dense || v.begin >= v.end) return;
    auto& ranges = bytes_[v.buffer];
    std::uint64_t begin = v.begin;
    std::uint64_t end = v.end;
    auto one = ranges.upper_bound(begin);
    if (one != ranges.begin() && std::prev(one)->second >= begin) --one;
    while (one != ranges.end() && one->first <= end) {
      begin = std::min(begin, one->first);
      end = std::max(end, one->second);
      one = ranges.erase(one);
    }
    ranges.emplace(begin, end);
  }
  [[nodiscard]] bool has(std::size_t root, const view_bytes& v) const {
    if (whole_[root] || v.begin >= v.end) return true;
    const auto ranges = bytes_.find(v.buffer);
    if (ranges == bytes_.end()) return false;
    const auto after = ranges->second.upper_bound(v.begin);
    return after != ranges->second.begin() && std::prev(after)->second >= v.end;
  }
  /// Keeps what is in both.
  void keep_common(const overwritten& other) {
    for (std::size_t i = 0; i < whole_.size(); ++i)
      whole_[i] = whole_[i] && other.whole_[i];
    for (auto& [buffer, ranges] : bytes_) {
      const auto of_other = other.bytes_.find(buffer);
      ranges_of_buffer common;
      if (of_other != other.bytes_.end()) {
        for (const auto& [begin, end] : ranges) {
          for (const auto& [other_begin, other_end] : of_other->second) {
            const std::uint64_t first = std::max(begin, other_begin);
            const std::uint64_t last = std::min(end, other_end);
            if (first < last) common.emplace(first, last);
          }
        }
      }
      ranges = std::move(common);
    }
  }

 private:
  using ranges_of_buffer = std::map<std::uint64_t, std::uint64_t>;  // apart from each other

  std::vector<bool> whole_;
  std::map<std::uint64_t, ranges_of_buffer> bytes_;
};

class walk {
 public:
  walk(const definition& d, roles_of_uses uses, std::span<const view_bytes> roots)
      : d_(d), uses_(uses), roots_(roots), found_(roots.size()) {}

  [[nodiscard]] std::vector<access> roles() && {
    overwritten at_end(roots_.size());
    body(0, at_end);
    std::vector<access> all;
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      const bool overwrites = !found_[i].reads_old && at_end.has(i, roots_[i]);
      const bool only_reads = found_[i].reads_old && !found_[i].written;
      all.push_back(overwrites ? access::write : only_reads ? access::read : access::update);
    }
    return all;
  }

 private:
  struct finding {
    bool reads_old = false;
    bool written = false;
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
      if (uses_[i] != access::write) read(d_.uses[i], now);
    }
    for (std::uint64_t i = n.first_use; i < n.first_use + n.uses; ++i) {
      if (uses_[i] == access::read) continue;
      const std::uint64_t root = d_.uses[i];
      found_[root].written = true;
      if (uses_[i] == access::write) now.add(root, roots_[root]);
    }
  }
  void read(std::uint64_t root, const overwritten& now) {
    if (!now.has(root, roots_[root])) found_[root].reads_old = true;
  }

  const definition& d_;
  roles_of_uses uses_;
  std::span<const view_bytes> roots_;
  std::vector<finding> found_;
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
                             std::span<const view_bytes> roots) {
  return walk(d, uses, roots).roles();
}

}  // namespace troupe::graph
