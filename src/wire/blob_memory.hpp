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
/// free entry, fills it in and publishes it (release); afterwards it is at most dropped, and given
/// out no more. Beside it lies who loads it (its process), if that has not ended: a process that
/// finds another's there leaves it alone. A writer that dies in between leaves bytes, and perhaps
/// an entry, that nobody uses. A reader that has seen `published` (acquire) copies what the entry
/// names, within the bounds of the memory, and compares the copy's digest with the entry's: what is
/// damaged, or is written again by whoever reserved the same bytes after `used` was overwritten, is
/// not there.
namespace troupe::wire {

inline constexpr std::uint64_t blob_memory_bytes = std::uint64_t{64} << 20;
inline constexpr std::size_t most_blobs = 1024;

struct alignas(64) blob_entry {
  enum state : std::uint32_t { unused, claimed, published, dropped };

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
  std::atomic<std::uint32_t> loaders[most_blobs];  ///< relaxed; 0: nobody
};

/// One process's view of that memory, which fresh is zero.
class blob_memory {
 public:
  struct blob {
    std::vector<std::byte> key;
    std::vector<std::byte> content;
    std::uint32_t loader = 0;  ///< the process that has begun to load it
  };

  /// `at` is mapped for as long as this is used, `bytes` of it, at least `sizeof(blob_header)`.
  blob_memory(std::byte* at, std::uint64_t bytes) noexcept
      : header_(reinterpret_cast<blob_header*>(at)), bytes_(bytes) {}

  /// Drops what another process of those under the same key has begun to load.
  /// \errors `out_of_memory` with what there is room for
  result<void> publish(std::span<const std::byte> key, std::span<const std::byte> content,
                       std::uint32_t loader = 0);
  /// The last one that is undamaged.
  [[nodiscard]] std::optional<blob> find(std::span<const std::byte> key) const;
  [[nodiscard]] std::optional<blob> at(std::size_t place) const;
  /// Notes that a process loads what is found under a key, which is published if there is nothing.
  /// False where another does.
  [[nodiscard]] bool begin_loading(std::span<const std::byte> key,
                                   std::span<const std::byte> content, std::uint32_t loader);
  void end_loading(std::span<const std::byte> key, std::uint32_t loader);
  /// All that is published under a key.
  void drop(std::span<const std::byte> key);
  [[nodiscard]] std::atomic<std::uint32_t>& news() const noexcept { return header_->news; }

 private:
  /// Calls `use` with each place of a key, the last first, until it answers false.
  template <class Use>
  void each(std::span<const std::byte> key, Use use) const;
  void tell_news() noexcept;
  [[nodiscard]] std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(header_); }

  blob_header* header_;
  std::uint64_t bytes_;
};

}  // namespace troupe::wire
