#pragma once

#include "device/device_core.hpp"

#include <troupe/core/future.hpp>
#include <troupe/memory/tensor.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// A copy between a program's own memory and a device, through pieces of shared memory: while the
/// worker copies one piece, the program's side of others is done, by the device's crew if it has
/// one. A packed tensor goes in pieces of a few MiB; any other layout in one piece, because its
/// elements do not lie in order.
///
/// Pieces after the first do not find the mailbox full, whatever else the device has to do: they
/// come again when there is room, so that a copy that was begun is not left half done.
///
/// Whoever starts a copy waits until its last piece has been sent: what it sends after that comes
/// after the whole copy. A continuation of the device's must not wait, since completions, or even a
/// new worker, may depend on its thread; there a copy goes in one piece.
///
/// Lives until its last piece has ended: each piece in flight holds a reference. `mutex_` guards
/// what the completions of different pieces share; the bytes themselves are copied outside of it.
class staged_copy : public std::enable_shared_from_this<staged_copy> {
 public:
  [[nodiscard]] static future<void> in(std::shared_ptr<device_core> core,
                                       std::span<const std::byte> from, const any_tensor& to);
  [[nodiscard]] static future<void> out(std::shared_ptr<device_core> core, const any_tensor& from,
                                        std::span<std::byte> to);

  staged_copy(std::shared_ptr<device_core> core, const any_tensor& device_side);

 private:
  struct piece {
    std::size_t begin = 0;  // in bytes of the program's memory
    std::size_t end = 0;
    any_tensor staging;
    any_tensor device_side;
  };

  [[nodiscard]] future<void> start();
  [[nodiscard]] std::size_t next_piece_bytes() const noexcept;
  [[nodiscard]] std::optional<piece> next_piece();
  void note_sent(std::size_t bytes);
  [[nodiscard]] bool launch(piece p);
  void come_again();
  void on_done(piece p, error* failure);
  void bring_home(piece p);
  void end_one(std::optional<error> failure);

  std::shared_ptr<device_core> core_;
  any_tensor tensor_;
  std::size_t bytes_ = 0;
  bool in_pieces_ = false;
  const std::byte* source_ = nullptr;  // of a copy in
  std::byte* target_ = nullptr;        // of a copy out
  std::uint8_t lane_ = 0;

  std::mutex mutex_;
  std::size_t next_ = 0;
  std::size_t unsent_ = 0;  // bytes
  std::size_t in_flight_ = 0;
  std::vector<piece> turned_away_;  // found no room
  std::optional<error> failure_;
  promise<void> done_;
  promise<void> sent_;  // all of it, or it has failed
};

}  // namespace troupe
