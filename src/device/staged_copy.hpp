#pragma once

#include "device/device_core.hpp"

#include <troupe/core/future.hpp>
#include <troupe/memory/tensor.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// A copy between a program's own memory and a device, through staging memory that both share: a
/// request for each *piece*, which the device's crew fills, or empties, in *parts*, all of it at
/// one piece at once, while the worker copies others. A packed tensor goes in pieces of up to a few
/// MiB; any other layout in one piece, because its elements do not lie in order.
///
/// The first piece is sent by whoever starts the copy, before any other: if it is refused nothing
/// has been copied. Pieces after it do not find the mailbox full, whatever else the device has to
/// do: they come again when there is room, so that a copy that was begun is not left half done.
///
/// Whoever starts a copy waits until its last piece has been sent: what it sends after that comes
/// after the whole copy.
///
/// Lives until its last piece has ended: each piece in flight holds a reference. `mutex_` guards
/// what the stages share. A stage has one owner at a time, who alone touches it: whoever begins a
/// piece there; those who copy its parts (handed over by the crew's order); the one of them who did
/// the last part (`parts_left`, acq_rel: it has what all others wrote); the worker, by the mailbox;
/// whoever hears of the end, who holds the reactor's role and only hands on.
class staged_copy : public std::enable_shared_from_this<staged_copy> {
 public:
  [[nodiscard]] static future<void> in(std::shared_ptr<device_core> core,
                                       std::span<const std::byte> from, const any_tensor& to);
  [[nodiscard]] static future<void> out(std::shared_ptr<device_core> core, const any_tensor& from,
                                        std::span<std::byte> to);

  staged_copy(std::shared_ptr<device_core> core, const any_tensor& device_side);

 private:
  /// Where one piece after the other is on its way.
  struct stage final : copy_crew::work {
    void do_part(std::uint32_t part) override;

    staged_copy* copy = nullptr;
    std::size_t begin = 0;  // of the piece, in bytes of the program's memory
    std::size_t end = 0;
    detail::buffer_ref room;  // for one piece after the other
    any_tensor staging;
    any_tensor device_side;
    // Apart from what all look at: each part writes it.
    alignas(64) std::atomic<std::uint32_t> parts_left{0};
  };

  [[nodiscard]] future<void> start();
  void begin_together();
  void begin_alone();
  [[nodiscard]] std::size_t piece_bytes_at(std::size_t begin) const noexcept;
  [[nodiscard]] std::size_t pieces() const noexcept;
  [[nodiscard]] bool begin_piece(stage& s);
  void set_going(stage& s);
  void copy_piece(stage& s);
  void copy_bytes(const stage& s, std::size_t begin, std::size_t end) const noexcept;
  void on_copied(stage& s);
  bool send(stage& s, device_core::no_room full);
  void send_waiting();
  void give_back_staging() noexcept;
  void note_sent(std::size_t bytes);
  void on_done(stage& s, error* failure);
  void end_piece(stage& s);
  void end_one(std::optional<error> failure);

  std::shared_ptr<device_core> core_;
  any_tensor tensor_;
  std::size_t bytes_ = 0;
  bool in_pieces_ = false;
  bool has_crew_ = false;
  const std::byte* source_ = nullptr;  // of a copy in
  std::byte* target_ = nullptr;        // of a copy out
  std::uint8_t lane_ = 0;
  std::vector<stage> stages_;
  // By whoever did its last part, as the last thing it does with that piece.
  std::atomic<bool> first_is_full_{false};
  unsigned threads_ = 0;                    // of the crew, that may be at a piece at once
  std::shared_ptr<copy_crew::order> work_;  // until the last piece has ended

  alignas(64) std::mutex mutex_;
  std::size_t next_ = 0;
  std::size_t unsent_ = 0;       // bytes
  std::size_t under_way_ = 0;    // pieces, and one for whoever starts the copy
  bool begun_ = false;           // the first piece was sent
  std::vector<stage*> waiting_;  // to be sent: for the first piece, or for room
  std::optional<error> failure_;
  promise<void> done_;
  promise<void> sent_;  // all of it, or it has failed
};

}  // namespace troupe
