#pragma once

#include <troupe/base/export.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace troupe {

/// The memory that a buffer is in.
enum class memory_space : std::uint8_t {
  device,  ///< the device's own memory, mapped by its workers
  host,    ///< shared memory of the program, mapped by every worker
};

namespace detail {

class buffer_owner;

/// Bits of `buffer::state`. All zero: usable for everything.
enum buffer_flag : std::uint32_t {
  buffer_watched = 1,  ///< some of it is undefined, or may become so
  buffer_frozen = 2,
  buffer_released = 4,  ///< given up by `device::release`
  buffer_settled = 8,   ///< frozen, and nothing that wrote it is in flight, nor is it being thawed
  buffer_table = 16,    ///< who reads it reads the tensors of a bound set (`bind_tensors`)
};

/// Control block of one piece of memory. Every tensor and every request in flight that uses the
/// piece holds a reference; the last one returns the piece to its owner (keep-alive).
///
/// `references` is the only member that any thread may change. It is incremented relaxed, because
/// the incrementing thread already holds a reference, and decremented acq_rel, so that the thread
/// that frees the piece sees everything done to it. `state` holds `buffer_flag` bits, changed by
/// atomic or/and. Setting the freeze bit and reading the bits in senders are seq_cst, because each
/// side then checks what the other is doing (`record::on_its_way`).
struct buffer {
  std::atomic<std::uint32_t> references{0};
  std::atomic<std::uint32_t> state{0};
  std::uint32_t id = 0;  ///< index in its owner's table, reused
  memory_space space{};
  std::uint64_t offset = 0;          ///< from the start of the owner's address range, in bytes
  std::uint64_t bytes = 0;           ///< as requested
  std::uint64_t capacity_bytes = 0;  ///< as allocated
  std::uint64_t generation = 0;      ///< the device's generation when it was allocated
  std::byte* address = nullptr;      ///< the same in every process
  buffer_owner* owner = nullptr;
};

/// Returns a buffer to its owner; called when the last reference is dropped.
TROUPE_EXPORT void give_back(buffer& unused) noexcept;

/// A counted reference to a `buffer`, or nothing.
class buffer_ref {
 public:
  buffer_ref() = default;
  /// Adopts a reference that is already counted.
  explicit buffer_ref(buffer* counted) noexcept : buffer_(counted) {}
  buffer_ref(const buffer_ref& other) noexcept : buffer_(other.buffer_) {
    if (buffer_ != nullptr) buffer_->references.fetch_add(1, std::memory_order_relaxed);
  }
  buffer_ref(buffer_ref&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  buffer_ref& operator=(buffer_ref other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~buffer_ref() {
    if (buffer_ != nullptr && buffer_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      give_back(*buffer_);
    }
  }

  [[nodiscard]] buffer* get() const noexcept { return buffer_; }
  buffer* operator->() const noexcept { return buffer_; }
  explicit operator bool() const noexcept { return buffer_ != nullptr; }

 private:
  buffer* buffer_ = nullptr;
};

}  // namespace detail
}  // namespace troupe
