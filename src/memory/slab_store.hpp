#pragma once

#include "memory/arena.hpp"
#include "memory/device_source.hpp"

#include <functional>
#include <map>
#include <memory>

namespace troupe {

/// A slab within a pool's address range.
struct slab_place {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::shared_ptr<const memory_slab> slab;
};

/// Hands out pieces of an address range, and adds memory behind it slab by slab, as needed.
///
/// Small pieces share slabs of `shared_slab_bytes` at the start of the range. A large piece has a
/// slab of its own, because access rights apply to whole slabs; when given back, it keeps its slab
/// for the next piece of that size, until memory runs out or `release_unused` is called.
/// Not thread-safe: its pool locks.
class slab_store {
 public:
  /// The smallest piece that gets a slab of its own without asking. Below it, an own slab would
  /// cost eight times the requested memory, or more.
  static constexpr std::uint64_t own_slab_bytes = std::uint64_t{256} << 10;
  static constexpr std::uint64_t shared_slab_bytes = std::uint64_t{32} << 20;
  /// The alignment that a kernel may expect, as cudaMalloc gives it.
  static constexpr std::uint64_t alignment_bytes = 256;
  /// The part of the range for small pieces.
  static constexpr std::uint64_t shared_zone_bytes = std::uint64_t{16} << 30;

  /// Called for each slab that is added or removed, before a piece of it is handed out.
  using listener = std::function<void(const slab_place& slab, bool added)>;

  /// `limit_bytes`: the most that all slabs together may take.
  slab_store(std::shared_ptr<device_source> source, std::uint64_t range_bytes,
             std::uint64_t limit_bytes);

  void listen(listener to) { listener_ = std::move(to); }

  /// `own_slab`: not in a shared one, however small.
  /// \errors `out_of_memory`, with `released()` grown if a retry may soon succeed
  [[nodiscard]] result<arena::piece> take(std::uint64_t bytes, bool own_slab = false);
  void give_back(arena::piece unused);
  /// Returns every unused slab to the device. True if there was one.
  bool release_unused();

  [[nodiscard]] bool owns_slab(std::uint64_t offset) const noexcept {
    return offset >= shared_zone_bytes;
  }
  /// The slab that contains the byte at `offset`, or null.
  [[nodiscard]] const slab_place* find(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t used_bytes() const noexcept {
    return small_.used_bytes() + large_.used_bytes();
  }
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept { return committed_ - used_bytes(); }
  [[nodiscard]] std::uint64_t limit_bytes() const noexcept { return limit_; }

 private:
  struct held_slab {
    slab_place place;
    bool used = false;
  };

  using slabs = std::map<std::uint64_t, held_slab>;  // by offset

  [[nodiscard]] result<arena::piece> take_slab(std::optional<arena::piece> piece,
                                               std::uint64_t bytes);
  [[nodiscard]] result<void> add_slab(std::uint64_t offset, std::uint64_t bytes);
  slabs::iterator drop(slabs::iterator unused);

  std::shared_ptr<device_source> source_;
  std::uint64_t limit_;
  std::uint64_t committed_ = 0;  // bytes behind all slabs, used or not
  arena small_;
  arena large_;  // offsets from the end of the shared zone
  slabs slabs_;
  listener listener_;
};

}  // namespace troupe
