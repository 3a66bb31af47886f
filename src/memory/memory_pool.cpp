#include "memory/memory_pool.hpp"

#include "os/address_space.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <thread>

namespace troupe {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool notes_threads = true;
#elif defined(__has_feature)
constexpr bool notes_threads = __has_feature(thread_sanitizer);
#else
constexpr bool notes_threads = false;
#endif

// A region of addresses in which ranges are searched.
struct region {
  std::uintptr_t first = 0;
  std::uintptr_t last = 0;
  [[nodiscard]] constexpr std::uint64_t bytes() const noexcept { return last - first; }
};
constexpr std::uint64_t address_step = std::uint64_t{1} << 30;

// The first choice for memory of the program: free in a plain program, under AddressSanitizer
// (whose heap is at 0x600000000000 and whose shadow ends at 0x10007fff8000) and under
// ThreadSanitizer of every compiler (which gives the program 0x7e8000000000 and up), and well below
// the addresses that the kernel chooses (the uppermost TiB or so of 0x7fffffffffff).
constexpr region near_region{0x7e90'0000'0000, 0x7f00'0000'0000};

// Addresses for devices with their own memory, which needs far more of them, and for memory of the
// program that does not fit the other region. A plain program puts nothing else there, nor does
// AddressSanitizer; ThreadSanitizer keeps its shadow there.
constexpr region far_region = notes_threads ? region{0x7a00'0000'0000, 0x7e80'0000'0000}
                                            : region{0x2000'0000'0000, 0x5000'0000'0000};

constexpr region for_program[] = {near_region, far_region};
constexpr region for_devices[] = {far_region};

// A default limit takes no more of the far region than this: 2 TiB in a plain program.
constexpr std::uint64_t default_shares = 24;

// The longest range that `find_place` would find.
std::uint64_t longest_free(std::span<const region> where) {
  std::uint64_t longest = 0;
  for (const region& one : where) {
    for (const os::address_stretch& free : os::free_stretches(one.first, one.last)) {
      const std::uintptr_t begin =
          one.first + (free.begin - one.first + address_step - 1) / address_step * address_step;
      if (begin < free.end) {
        longest =
            std::max<std::uint64_t>(longest, (free.end - begin) / address_step * address_step);
      }
    }
  }
  return longest;
}

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

}  // namespace

error memory_pool::no_addresses(const pool_config& config) {
  std::uint64_t most = longest_free(config.source ? std::span<const region>(for_devices)
                                                  : std::span<const region>(for_program));
  if (config.source) {
    most -= std::min(most, slab_store::shared_zone_bytes);
    most /= 2;
  }
  return {.code = errc::out_of_memory,
          .message =
              fmt::format("{} is {}, but the address space has room for at most {} bytes",
                          config.space == memory_space::device ? "device_config::memory_limit_bytes"
                                                               : "the limit of host memory",
                          config.limit_bytes, most),
          .device = config.device};
}

std::uint64_t memory_pool::default_limit_bytes(std::uint64_t usable_bytes) noexcept {
  return std::min(usable_bytes / 2, far_region.bytes() / default_shares);
}

result<memory_pool::place> memory_pool::find_place(std::uint64_t bytes, const pool_config& config) {
  const std::span<const region> regions =
      config.source ? std::span<const region>(for_devices) : std::span<const region>(for_program);
  for (const region& one : regions) {
    for (std::uintptr_t at = one.first; at + bytes <= one.last; at += address_step) {
      auto range = os::reserve(reinterpret_cast<std::byte*>(at), bytes);
      if (range)
        return place{
            .base = range->address(), .bytes = bytes, .range = *std::move(range), .of_source = {}};
      if (range.error().vendor_code != EEXIST) return std::move(range).error();
    }
  }
  return no_addresses(config);
}

result<memory_pool::place> memory_pool::find_device_place(const pool_config& config) {
  const std::uint64_t bytes =
      round_up(slab_store::shared_zone_bytes + 2 * config.limit_bytes, address_step);
  if (config.worker_in_program) {
    auto taken = config.source->reserve(bytes);
    if (!taken) return std::move(taken).error();
    if (*taken) {
      std::byte* const base = (*taken)->base();
      return place{.base = base, .bytes = bytes, .range = {}, .of_source = *std::move(taken)};
    }
  }
  auto where = find_place(bytes, config);
  if (where && config.worker_in_program) where->range = {};
  return where;
}

result<std::shared_ptr<memory_pool>> memory_pool::create(const pool_config& asked) {
  if (asked.limit_bytes > far_region.last) {
    error beyond = no_addresses(asked);
    beyond.code = errc::invalid_argument;
    return beyond;
  }
  pool_config config = asked;
  if (config.source) {
    auto where = find_device_place(config);
    if (!where) return std::move(where).error();
    return std::shared_ptr<memory_pool>(new memory_pool(config, *std::move(where), {}));
  }
  config.limit_bytes =
      round_up(std::max(config.limit_bytes, config.granule_bytes), os::page_bytes());
  auto where = find_place(round_up(config.limit_bytes, address_step), config);
  if (!where) return std::move(where).error();
  auto memory = os::create_shared_memory("troupe-memory", config.limit_bytes);
  if (!memory) return std::move(memory).error();
  where->bytes = config.limit_bytes;
  if (auto mapped =
          os::map_over(*memory, config.limit_bytes, os::protection::read_write, where->base);
      !mapped) {
    return std::move(mapped).error();
  }
  return std::shared_ptr<memory_pool>(
      new memory_pool(config, *std::move(where), *std::move(memory)));
}

memory_pool::memory_pool(const pool_config& config, place where, os::unique_fd memory)
    : config_(config),
      base_(where.base),
      range_bytes_(where.bytes),
      range_(std::move(where.range)),
      range_of_source_(std::move(where.of_source)),
      memory_(std::move(memory)),
      arena_(std::max<std::uint64_t>(config.granule_bytes, 8)) {
  if (config_.source) {
    slabs_.emplace(config_.source, range_bytes_, config_.limit_bytes);
    slabs_->listen([this](const slab_place& slab, bool added) {
      if (slab_listener_) slab_listener_(slab, added);
      for (const auto& [who, watcher] : slab_watchers_)
        if (!added) watcher(slab);
    });
  } else {
    arena_.grow(config_.limit_bytes / config_.granule_bytes * config_.granule_bytes);
  }
}

memory_pool::~memory_pool() = default;

error memory_pool::no_memory(std::uint64_t bytes, std::optional<error> why) {
  const std::uint64_t used = slabs_ ? slabs_->used_bytes() : arena_.used_bytes();
  const std::uint64_t free = config_.limit_bytes - std::min(used, config_.limit_bytes);
  const bool on_the_device = config_.space == memory_space::device;
  std::string message = fmt::format("out of {} memory: {} bytes requested, {} bytes free",
                                    on_the_device ? "device" : "host", bytes, free);
  if (!slabs_) {
    arena_.coalesce();  // the size may be beyond the limit, so nothing was tried
    message += fmt::format(
        ", largest free piece {} bytes",
        std::max(arena_.largest_free_bytes(), config_.limit_bytes - arena_.extent_bytes()));
  }
  message += on_the_device ? fmt::format(", memory_limit_bytes {}", config_.limit_bytes)
                           : fmt::format(", limit {} bytes", config_.limit_bytes);
  error made{.code = errc::out_of_memory, .message = std::move(message), .device = config_.device};
  if (why) made.cause = std::make_shared<error>(*std::move(why));
  return made;
}

void memory_pool::close(const error& why) {
  auto cause = std::make_shared<const error>(why);
  {
    const std::lock_guard lock(mutex_);
    why_closed_ = std::move(cause);
  }
  closed_.store(true, std::memory_order_release);
}

error memory_pool::closed_error() const {
  const std::lock_guard lock(mutex_);
  return error{.code = errc::device_stopped,
               .message = "the device has stopped, and hands out no more memory",
               .device = config_.device,
               .cause = why_closed_};
}

std::optional<arena::piece> memory_pool::take_piece(std::uint64_t bytes) {
  std::optional<arena::piece> piece = arena_.take(bytes);
  if (!piece) {
    arena_.coalesce();
    piece = arena_.take(bytes);
    if (!piece) piece = arena_.take_tight(bytes);
  }
  return piece;
}

result<detail::buffer_ref> memory_pool::allocate(std::uint64_t bytes, std::uint64_t generation,
                                                 bool separable) {
  if (closed()) [[unlikely]]
    return closed_error();
  std::unique_lock lock(mutex_);
  std::optional<arena::piece> piece;
  // Bounding the size keeps every sum of the arena from overflowing.
  if (bytes > config_.limit_bytes) return no_memory(bytes);
  if (!slabs_) {
    piece = take_piece(bytes);
    if (!piece) return no_memory(bytes);
    extend_reach(piece->offset + piece->bytes);
  } else {
    // Released memory is available once every worker has unmapped it, which takes a moment; wait
    // without the lock, because a worker's completions may need it meanwhile.
    constexpr int timeout = 100;
    bool released = false;
    for (int tries = 0; !piece; ++tries) {
      auto taken = slabs_->take(bytes, separable);
      if (taken) {
        piece = *taken;
        break;
      }
      released = slabs_->release_unused() || released;
      if (!released || tries == timeout) return no_memory(bytes, std::move(taken).error());
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      lock.lock();
    }
  }
  peak_ = std::max(peak_, slabs_ ? slabs_->used_bytes() : arena_.used_bytes());
  detail::buffer& b = free_block();
  b.references.store(1, std::memory_order_relaxed);
  b.state.store(0, std::memory_order_relaxed);
  b.space = config_.space;
  b.offset = piece->offset;
  b.bytes = bytes;
  b.capacity_bytes = piece->bytes;
  b.generation = generation;
  b.address = base_ + piece->offset;
  b.owner = this;
  if (!self_) self_ = shared_from_this();
  return detail::buffer_ref(&b);
}

result<slab_place> memory_pool::slab_of(const detail::buffer& b) const {
  const std::lock_guard lock(mutex_);
  if (const slab_place* found = slabs_->find(b.offset)) return *found;
  return error{.code = errc::invalid_argument, .message = "the tensor has no memory"};
}

void memory_pool::extend_reach(std::uint64_t end) {
  if (end <= reach_) return;
  reach_ = std::min(round_up(end, reach_step_bytes), config_.limit_bytes);
  for (const auto& [who, watcher] : reach_watchers_)
    watcher(reach_);
}

std::uint64_t memory_pool::watch_reach(const void* who, reach_watcher watcher) {
  const std::lock_guard lock(mutex_);
  reach_watchers_.emplace_back(who, std::move(watcher));
  return reach_;
}

void memory_pool::unwatch_reach(const void* who) {
  const std::lock_guard lock(mutex_);
  std::erase_if(reach_watchers_, [who](const auto& entry) { return entry.first == who; });
}

detail::buffer& memory_pool::free_block() {
  if (!free_ids_.empty()) {
    const std::uint32_t id = free_ids_.back();
    free_ids_.pop_back();
    return buffers_[id];
  }
  detail::buffer& fresh = buffers_.emplace_back();
  fresh.id = static_cast<std::uint32_t>(buffers_.size() - 1);
  // So that giving a block back never allocates.
  if (free_ids_.capacity() < buffers_.size()) free_ids_.reserve(2 * buffers_.size());
  return fresh;
}

std::string memory_pool::belongs_to_another_than(const memory_pool& wanted) const {
  if (space() == memory_space::host) return "is host memory of another system";
  if (device() == wanted.device()) {
    return fmt::format("belongs to device {} of another system", device());
  }
  return fmt::format("belongs to device {}, not to device {}", device(), wanted.device());
}

pool_statistics memory_pool::statistics() const {
  // The thread that held the lock at the fork does not exist here.
  if (is_copy()) return {.limit_bytes = config_.limit_bytes};
  const std::lock_guard lock(mutex_);
  return {.limit_bytes = config_.limit_bytes,
          .used_bytes = slabs_ ? slabs_->used_bytes() : arena_.used_bytes(),
          .kept_bytes = slabs_ ? slabs_->kept_bytes() : 0,
          .peak_bytes = peak_,
          .buffers = buffers_.size() - free_ids_.size()};
}

auto memory_pool::restricted() const -> restricted_bytes {
  restricted_bytes found;
  if (is_copy()) return found;
  const std::lock_guard lock(mutex_);
  for (const detail::buffer& b : buffers_) {
    const std::uint32_t state = b.state.load(std::memory_order_relaxed);
    if (state == 0 || b.references.load(std::memory_order_relaxed) == 0) continue;
    if ((state & buffer_frozen) != 0) found.frozen += b.capacity_bytes;
    if ((state & buffer_watched) != 0 && taints_.has_undefined(b))
      found.tainted += b.capacity_bytes;
  }
  return found;
}

std::vector<detail::buffer_ref> memory_pool::live() {
  std::vector<detail::buffer_ref> found;  // ends without the lock
  if (is_copy()) return found;
  const std::lock_guard lock(mutex_);
  found.reserve(buffers_.size());
  for (detail::buffer& b : buffers_) {
    std::uint32_t references = b.references.load(std::memory_order_relaxed);
    // One without references is being given back.
    while (references != 0 && !b.references.compare_exchange_weak(references, references + 1,
                                                                  std::memory_order_relaxed)) {
    }
    if (references != 0) found.emplace_back(&b);
  }
  return found;
}

void memory_pool::trim() {
  if (is_copy()) return;
  const std::lock_guard lock(mutex_);
  if (slabs_) {
    slabs_->release_unused();
    return;
  }
  arena_.coalesce();
  for (const auto& [offset, bytes] : arena_.free_stretches()) {
    ::fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(offset), static_cast<off_t>(bytes));
  }
}

void memory_pool::give_back(detail::buffer& unused) noexcept {
  if (is_copy()) return;
  if ((unused.state.load(std::memory_order_acquire) & buffer_frozen) != 0 && thaw_) {
    unused.references.store(1, std::memory_order_relaxed);
    return thaw_(detail::buffer_ref(&unused));
  }
  std::shared_ptr<memory_pool> last;  // destroyed after the lock is released
  std::shared_ptr<const bound_set> set;
  const std::lock_guard lock(mutex_);
  if (unused.state.load(std::memory_order_relaxed) != 0) {
    taints_.forget(unused);
    set = sets_.forget(unused);
  }
  if (slabs_) {
    slabs_->give_back({unused.offset, unused.capacity_bytes});
  } else {
    arena_.give_back({unused.offset, unused.capacity_bytes});
  }
  free_ids_.push_back(unused.id);
  if (free_ids_.size() == buffers_.size()) last = std::move(self_);
}

}  // namespace troupe
