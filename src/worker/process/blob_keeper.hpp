#pragma once

#include "os/cache/content_folder.hpp"
#include "os/shared_memory.hpp"
#include "wire/blob_memory.hpp"

#include <troupe/plugin/kept_blobs.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace troupe::worker {

/// One worker's view of a device's blobs: those that the program keeps, and a folder for later
/// programs.
class blob_keeper final : public kept_blobs {
 public:
  enum class kept_in : std::uint8_t {
    memory,             ///< only in the program's memory
    memory_and_folder,  ///< and in this user's folder, opened when first needed, if possible
  };
  /// `pages` are the program's blob memory.
  blob_keeper(os::mapping pages, kept_in where) noexcept
      : pages_(std::move(pages)), memory_(pages_.address(), pages_.bytes()), where_(where) {}

  [[nodiscard]] std::optional<std::vector<std::byte>> find(std::span<const std::byte> key) override;
  [[nodiscard]] bool begin_loading(std::span<const std::byte> key,
                                   std::span<const std::byte> content) override;
  void end_loading(std::span<const std::byte> key, bool good) override;
  result<void> publish(std::span<const std::byte> key, std::span<const std::byte> content) override;
  [[nodiscard]] std::size_t places() const noexcept override { return wire::most_blobs; }
  [[nodiscard]] std::optional<blob> at(std::size_t place) override;
  [[nodiscard]] std::uint32_t news() const noexcept override;
  void await_news(std::uint32_t seen, std::chrono::nanoseconds at_most) override;

 private:
  /// Null if there is none.
  [[nodiscard]] const os::content_folder* folder();
  /// True if another process is loading the blob. If that process has ended since, the blob is
  /// dropped.
  [[nodiscard]] bool is_anothers(const wire::blob_memory::blob& found,
                                 std::span<const std::byte> key);
  void drop(std::span<const std::byte> key);

  os::mapping pages_;
  wire::blob_memory memory_;
  kept_in where_;
  std::once_flag opened_;
  std::optional<os::content_folder> folder_;
};

}  // namespace troupe::worker
