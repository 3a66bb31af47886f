#include "memory/memory_pool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include <algorithm>
#include <cerrno>

namespace troupe {
namespace {

// Where ranges are looked for. All of these are free in a plain program, under AddressSanitizer
// (whose heap is at 0x600000000000 and whose shadow ends at 0x10007fff8000) and under
// ThreadSanitizer (which gives the program 0x7e8000000000 and up), and well below what the kernel
// places by itself (the uppermost TiB or so of 0x7fffffffffff).
constexpr std::uintptr_t first_address = 0x7e90'0000'0000;
constexpr std::uintptr_t last_address = 0x7f00'0000'0000;
constexpr std::uint64_t address_step = std::uint64_t{1} << 30;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

}  // namespace

result<std::shared_ptr<memory_pool>> memory_pool::create(const pool_config& asked) {
  pool_config config = asked;
  config.limit_bytes =
      round_up(std::max(config.limit_bytes, config.granule_bytes), os::page_bytes());
  auto memory = os::create_shared_memory("troupe-memory", config.limit_bytes);
  if (!memory) return std::move(memory).error();

  const std::uint64_t bytes = round_up(config.limit_bytes, address_step);
  for (std::uintptr_t at = first_address; at + bytes <= last_address; at += address_step) {
    auto range = os::reserve(reinterpret_cast<std::byte*>(at), bytes);
    if (!range) {
      if (range.error().vendor_code == EEXIST) continue;
      return std::move(range).error();
    }
    if (auto mapped =
            os::map_over(*memory, config.limit_bytes, os::protection::read_write, range->address());
        !mapped) {
      return std::move(mapped).error();
    }
    return std::shared_ptr<memory_pool>(
        new memory_pool(config, *std::move(range), *std::move(memory)));
  }
  return error{.code = errc::out_of_memory,
               .message = fmt::format("no address range of {} bytes is free", bytes)};
}

memory_pool::memory_pool(const pool_config& config, os::mapping range, os::unique_fd memory)
    : config_(config),
      range_(std::move(range)),
      memory_(std::move(memory)),
      arena_(config.granule_bytes) {
  arena_.grow(config_.limit_bytes / config_.granule_bytes * config_.granule_bytes);
}

memory_pool::~memory_pool() = default;

result<detail::buffer_ref> memory_pool::allocate(std::uint64_t bytes, std::uint64_t generation) {
  if (closed()) {
    return error{.code = errc::device_stopped, .message = "its memory is closed"};
  }
  const std::lock_guard lock(mutex_);
  // The bound on what is asked keeps every sum of the arena from overflowing.
  const bool possible = bytes <= config_.limit_bytes;
  std::optional<arena::piece> piece = possible ? arena_.take(bytes) : std::nullopt;
  if (possible && !piece) {
    arena_.coalesce();
    piece = arena_.take(bytes);
    if (!piece) piece = arena_.take_tight(bytes);
  }
  if (!piece) {
    return error{.code = errc::out_of_memory,
                 .message = fmt::format("{} bytes asked, {} free, largest piece {}, limit {}",
                                        bytes, config_.limit_bytes - arena_.used_bytes(),
                                        std::max(arena_.largest_free_bytes(),
                                                 config_.limit_bytes - arena_.extent_bytes()),
                                        config_.limit_bytes),
                 .device = config_.device};
  }
  peak_ = std::max(peak_, arena_.used_bytes());
  detail::buffer& b = free_block();
  b.references.store(1, std::memory_order_relaxed);
  b.state.store(0, std::memory_order_relaxed);
  b.space = config_.space;
  b.offset = piece->offset;
  b.bytes = bytes;
  b.capacity_bytes = piece->bytes;
  b.generation = generation;
  b.address = range_.address() + piece->offset;
  b.owner = this;
  if (!self_) self_ = shared_from_this();
  return detail::buffer_ref(&b);
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

pool_statistics memory_pool::statistics() const {
  const std::lock_guard lock(mutex_);
  return {.limit_bytes = config_.limit_bytes,
          .used_bytes = arena_.used_bytes(),
          .peak_bytes = peak_,
          .buffers = buffers_.size() - free_ids_.size()};
}

void memory_pool::trim() {
  const std::lock_guard lock(mutex_);
  arena_.coalesce();
  for (const auto& [offset, bytes] : arena_.free_stretches()) {
    ::fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(offset), static_cast<off_t>(bytes));
  }
}

void memory_pool::taint(detail::buffer& b, std::uint64_t begin, std::uint64_t end,
                        const std::string& culprit) {
  const std::lock_guard lock(mutex_);
  std::vector<taint_mark>& marks = taints_[b.id];
  // What lies within an older range adds nothing, so marks do not pile up.
  const bool known = std::ranges::any_of(
      marks, [&](const taint_mark& m) { return m.begin <= begin && end <= m.end; });
  if (!known) marks.push_back({begin, end, culprit});
  b.state.fetch_or(buffer_tainted, std::memory_order_release);
}

std::string memory_pool::tainted_by(const detail::buffer& b, std::uint64_t begin,
                                    std::uint64_t end) const {
  const std::lock_guard lock(mutex_);
  const auto found = taints_.find(b.id);
  if (found == taints_.end()) return {};
  for (const taint_mark& m : found->second) {
    if (begin < m.end && m.begin < end) return m.culprit;
  }
  return {};
}

void memory_pool::clear_taint(detail::buffer& b, std::uint64_t begin, std::uint64_t end) {
  const std::lock_guard lock(mutex_);
  const auto found = taints_.find(b.id);
  if (found == taints_.end()) return;
  std::erase_if(found->second,
                [&](const taint_mark& m) { return begin <= m.begin && m.end <= end; });
  if (!found->second.empty()) return;
  taints_.erase(found);
  b.state.fetch_and(~static_cast<std::uint32_t>(buffer_tainted), std::memory_order_release);
}

void memory_pool::give_back(detail::buffer& unused) noexcept {
  if ((unused.state.load(std::memory_order_acquire) & buffer_frozen) != 0 && thaw_ && !closed()) {
    unused.references.store(1, std::memory_order_relaxed);
    return thaw_(detail::buffer_ref(&unused));
  }
  std::shared_ptr<memory_pool> last;  // dies after the lock is gone
  const std::lock_guard lock(mutex_);
  if (unused.state.load(std::memory_order_relaxed) != 0) taints_.erase(unused.id);
  arena_.give_back({unused.offset, unused.capacity_bytes});
  free_ids_.push_back(unused.id);
  if (free_ids_.size() == buffers_.size()) last = std::move(self_);
}

}  // namespace troupe
