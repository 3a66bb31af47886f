#pragma once

#include <troupe/base/result.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// The memory in which a program keeps data that one worker's libraries leave for the next
/// (`kept_blobs`). The program creates it, and never reads it; all workers of the device read and
/// write it, and any of them may die or misbehave at any moment.
///
/// An entry locates a blob. Its writer reserves the bytes (`used`), writes them, claims a free
/// entry, fills it in and publishes it (release); after that the entry can only be dropped. Beside
/// it is the process that is loading the blob, unless it has finished: another process that finds
/// it leaves the blob alone. A writer that dies in between leaves unused bytes, and perhaps an
/// unused entry. A reader that has seen `published` (acquire) copies the blob, within the bounds of
/// the memory, and compares the copy's digest with the entry's. A blob that is damaged, or
/// overwritten because a process reserved the same bytes after `used` was corrupted, counts as
/// missing.
namespace troupe::wire {

inline constexpr std::uint64_t blob_memory_bytes = std::uint64_t{64} << 20;
inline constexpr std::size_t most_blobs = 1024;

struct alignas(64) blob_entry {
  enum state : std::uint32_t { unused, claimed, published, dropped };

  // Relaxed, except `what`, which publishes the others.
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
      0};  ///< raised with each blob; waiting processes sleep on it
  blob_entry entries[most_blobs];
  std::atomic<std::uint32_t> loaders[most_blobs];  ///< relaxed; 0: none
};

/// One process's view of that memory, which is zero at first.
class blob_memory {
 public:
  struct blob {
    std::vector<std::byte> key;
    std::vector<std::byte> content;
    std::uint32_t loader = 0;  ///< the process that has begun to load it
  };

  /// `at` is mapped while this exists: `bytes` of it, at least `sizeof(blob_header)`.
  blob_memory(std::byte* at, std::uint64_t bytes) noexcept
      : header_(reinterpret_cast<blob_header*>(at)), bytes_(bytes) {}

  /// Publishes a blob. Drops a blob of the same key that another process has begun to load.
  /// \errors `out_of_memory` with the space that there is
  result<void> publish(std::span<const std::byte> key, std::span<const std::byte> content,
                       std::uint32_t loader = 0);
  /// The last undamaged one.
  [[nodiscard]] std::optional<blob> find(std::span<const std::byte> key) const;
  [[nodiscard]] std::optional<blob> at(std::size_t place) const;
  /// Records that a process loads the blob of a key, and publishes that blob if there is none.
  /// False if another process is loading it.
  [[nodiscard]] bool begin_loading(std::span<const std::byte> key,
                                   std::span<const std::byte> content, std::uint32_t loader);
  void end_loading(std::span<const std::byte> key, std::uint32_t loader);
  /// Drops all blobs of a key.
  void drop(std::span<const std::byte> key);
  [[nodiscard]] std::atomic<std::uint32_t>& news() const noexcept { return header_->news; }

 private:
  /// Calls `use` with each place of a key, the last one first, until it returns false.
  template <class Use>
  void each(std::span<const std::byte> key, Use use) const;
  void tell_news() noexcept;
  [[nodiscard]] std::byte* base() const noexcept { return reinterpret_cast<std::byte*>(header_); }

  blob_header* header_;
  std::uint64_t bytes_;
};

}  // namespace troupe::wire
