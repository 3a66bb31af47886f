#pragma once

#include <troupe/base/result.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// The memory in which a program keeps what one worker's libraries leave to the next
/// (`kept_blobs`). The program makes it, and never reads it; all workers of the device read and
/// write it, and any of them may die, or go mad, at any moment.
///
/// An entry says where its blob lies. Its writer reserves the bytes (`used`), writes them, claims a
/// free entry, fills it in and publishes it (release); nobody changes it afterwards. A writer that
/// dies in between leaves bytes, and perhaps an entry, that nobody uses. A reader that has seen
/// `published` (acquire) copies what the entry names, within the bounds of the memory, and compares
/// the copy's digest with the entry's: what is damaged, or is written again by whoever reserved the
/// same bytes after `used` was overwritten, is not there.
namespace troupe::wire {

inline constexpr std::uint64_t blob_memory_bytes = std::uint64_t{64} << 20;
inline constexpr std::size_t most_blobs = 1024;

struct alignas(64) blob_entry {
  enum state : std::uint32_t { unused, claimed, published };

  // Relaxed, but for `what`, which publishes the others.
  std::atomic<std::uint32_t> what{unused};
  std::atomic<std::uint32_t> key_bytes{0};
  std::atomic<std::uint64_t> offset{
      0};  ///< from the start of the memory; the content follows the key
  std::atomic<std::uint64_t> content_bytes{0};
  std::atomic<std::uint64_t> key_hash{0};              ///< the first bytes of the key's SHA-256
  std::array<std::atomic<std::uint64_t>, 4> digest{};  ///< of both sizes, key and content
};

struct blob_header {
  std::atomic<std::uint64_t> used{0};  ///< bytes, from the end of the header
  alignas(64) std::atomic<std::uint32_t> news{
      0};  ///< raised with each blob; who waits sleeps on it
  blob_entry entries[most_blobs];
};

/// One process's view of that memory, which fresh is zero.
class blob_memory {
 public:
  struct blob {
    std::vector<std::byte> key;
    std::vector<std::byte> content;
  };

  /// `at` is mapped for as long as this is used, `bytes` of it, at least `sizeof(blob_header)`.
  blob_memory(std::byte* at, std::uint64_t bytes) noexcept
      : header_(reinterpret_cast<blob_header*>(at)), bytes_(bytes) {}

  /// \errors `out_of_memory` with what there is room for
  [[nodiscard]] result<void> publish(std::span<const std::byte> key,
                                     std::span<const std::byte> content);
  /// The last one that is undamaged.
  [[nodiscard]] std::optional<std::vector<std::byte>> find(std::span<const std::byte> key) const;
  [[nodiscard]] std::optional<blob> at(std::size_t place) const;
  [[nodiscard]] std::atomic<std::uint32_t>& news() const noexcept { return header_->news; }

 private:
  [[nodiscard]] std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(header_); }

  blob_header* header_;
  std::uint64_t bytes_;
};

}  // namespace troupe::wire
