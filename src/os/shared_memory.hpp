#pragma once

#include "os/unique_fd.hpp"

#include <troupe/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace troupe::os {

enum class protection : std::uint8_t { none, read, read_write };

/// Owns a mapping of pages in this process.
class mapping {
 public:
  mapping() = default;
  mapping(std::byte* address, std::size_t bytes) noexcept : address_(address), bytes_(bytes) {}
  mapping(mapping&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  mapping& operator=(mapping&& other) noexcept;
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  ~mapping();

  [[nodiscard]] std::byte* address() const noexcept { return address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return address_ != nullptr; }
  /// Gives up ownership without unmapping.
  void release() noexcept { address_ = nullptr; }

 private:
  std::byte* address_ = nullptr;
  std::size_t bytes_ = 0;
};

[[nodiscard]] std::size_t page_bytes() noexcept;

/// Creates an unnamed piece of memory to share by descriptor (memfd), of fixed size: sealed against
/// growing and shrinking, so that no other process can make an access fail, and against more seals,
/// so that none can keep the next one from mapping it. Other users cannot open it.
[[nodiscard]] result<unique_fd> create_shared_memory(const char* name, std::size_t bytes);

/// The same for memory that only its creator writes: it cannot be mapped writable any more.
struct written_here {
  unique_fd memory;
  mapping pages;  ///< the only writable mapping
};
[[nodiscard]] result<written_here> create_memory_written_here(const char* name, std::size_t bytes);

/// Maps shared memory anywhere.
[[nodiscard]] result<mapping> map(const unique_fd& memory, std::size_t bytes, protection access);

/// Checks a descriptor from another process before it is mapped: memory of at least so many bytes,
/// which cannot be taken away.
/// \errors `protocol_violation`
[[nodiscard]] result<void> check_received(const unique_fd& memory, std::uint64_t bytes);

/// Maps shared memory over a part of a range that this process has reserved.
[[nodiscard]] result<void> map_over(const unique_fd& memory, std::size_t bytes, protection access,
                                    std::byte* reserved);

/// Keeps mapped pages out of processes that this one forks from here on.
[[nodiscard]] result<void> keep_from_children(std::byte* at, std::size_t bytes);

/// Reserves address space at `address` exactly, or anywhere if it is null; without memory behind
/// it.
/// \errors `system_error` with EEXIST if something is mapped there already.
[[nodiscard]] result<mapping> reserve(std::byte* address, std::size_t bytes);

/// Changes the access rights of mapped pages.
[[nodiscard]] result<void> protect(std::byte* address, std::size_t bytes, protection access);

}  // namespace troupe::os
