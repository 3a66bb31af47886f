#pragma once

#include <troupe/base/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Results that cost a library much and that the next worker of the device can use as they are,
/// such as compiled plans: bytes under a key, which the device's program keeps until the device
/// ends, and a folder of this user's beside it. A library sees everything that any worker of the
/// device has published, standbys included; so it may load ahead of need. From any thread.
///
/// Only published bytes are returned: any worker may have scribbled over this memory, so everything
/// read is checked by its SHA-256, and damaged blobs count as missing.
class kept_blobs {
 public:
  /// Bytes and their key.
  struct blob {
    std::vector<std::byte> key;
    std::vector<std::byte> content;
  };
  static constexpr std::size_t most_key_bytes = 4096;

  virtual ~kept_blobs() = default;

  /// The content that was published last under a key; from the folder, where the program has none.
  [[nodiscard]] virtual std::optional<std::vector<std::byte>> find(
      std::span<const std::byte> key) = 0;
  /// Keeps a copy of the content. One of the same key is not given out any more.
  /// \errors `out_of_memory` where the program keeps as much as it may, or as many: nothing that is
  /// kept is dropped for it; `invalid_argument` for a key without bytes, or longer than
  /// `most_key_bytes`. The content is in the folder all the same, if there is one.
  virtual result<void> publish(std::span<const std::byte> key,
                               std::span<const std::byte> content) = 0;

  /// How many places the program's blobs can have; most are empty.
  [[nodiscard]] virtual std::size_t places() const noexcept = 0;
  /// The blob in a place, if there is an undamaged one. A filled place is not filled again.
  [[nodiscard]] virtual std::optional<blob> at(std::size_t place) = 0;
  /// Another number each time that something was published; read it before looking at the places.
  [[nodiscard]] virtual std::uint32_t news() const noexcept = 0;
  /// Waits for another number than `seen`, but no longer than that.
  virtual void await_news(std::uint32_t seen, std::chrono::nanoseconds at_most) = 0;

  /// Begins a use of a blob from `find` or `at` that may end the process, such as loading code into
  /// a driver. False if another process has begun that and not ended it: it may have died of it.
  /// Then the blob is not found until it is published again, which the caller does.
  [[nodiscard]] virtual bool begin_loading(std::span<const std::byte> key,
                                           std::span<const std::byte> content) = 0;
  /// Ends that. A good blob is available to the next workers, also if it came from the folder; a
  /// bad one is dropped, there too.
  virtual void end_loading(std::span<const std::byte> key, bool good) = 0;
};

}  // namespace troupe
