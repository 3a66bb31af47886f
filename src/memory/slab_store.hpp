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

/// Hands out pieces of an address range behind which memory is put slab by slab, as it is needed.
///
/// Small pieces share slabs of `shared_slab_bytes` at the start of the range. A large piece has a
/// slab of its own, because rights are given for whole slabs; given back, it keeps its slab for the
/// next piece of that size, until memory runs out or `release_unused` is called.
/// Not thread-safe: its pool locks.
class slab_store {
 public:
  /// The smallest piece with a slab of its own, unless it is asked for. Below it, an own slab would
  /// cost eight times the memory that was asked for, or more.
  static constexpr std::uint64_t own_slab_bytes = std::uint64_t{256} << 10;
  static constexpr std::uint64_t shared_slab_bytes = std::uint64_t{32} << 20;
  /// What a kernel may expect of an allocation's address, as cudaMalloc gives it.
  static constexpr std::uint64_t alignment_bytes = 256;
  /// Of the range, the part for small pieces.
  static constexpr std::uint64_t shared_zone_bytes = std::uint64_t{16} << 30;

  /// Told of each slab that comes or goes, before a piece of it is handed out.
  using listener = std::function<void(const slab_place& slab, bool added)>;

  /// `limit_bytes`: what all slabs together may take.
  slab_store(std::shared_ptr<device_source> source, std::uint64_t range_bytes,
             std::uint64_t limit_bytes);

  void listen(listener told) { told_ = std::move(told); }

  /// `own_slab`: not in a shared one, however small.
  /// \errors `out_of_memory`, with `released()` grown when trying again soon may help
  [[nodiscard]] result<arena::piece> take(std::uint64_t bytes, bool own_slab = false);
  void give_back(arena::piece unused);
  /// Gives every slab that no piece uses back to the device. True if there was one.
  bool release_unused();

  [[nodiscard]] bool owns_slab(std::uint64_t offset) const noexcept {
    return offset >= shared_zone_bytes;
  }
  /// The slab that the byte at `offset` is in, or null.
  [[nodiscard]] const slab_place* find(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t used_bytes() const noexcept {
    return small_.used_bytes() + large_.used_bytes();
  }
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
  listener told_;
};

}  // namespace troupe
