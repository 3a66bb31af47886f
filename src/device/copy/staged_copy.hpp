#pragma once

#include "device/copy/copy_pool.hpp"
#include "device/endpoint.hpp"

#include <troupe/core/future.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/tensor/tensor.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// A copy between the program's own memory and a device, through staging memory that both share. It
/// sends a request for each *piece*; the device's `copy_pool` moves the bytes of a piece between
/// the program's memory and a *stage*, in parts, while the worker copies other pieces. A packed
/// tensor has pieces of up to a few MiB; any other layout is one piece, because its elements are
/// not in order.
///
/// All pieces are sent at once, so that a later request comes after the whole copy. A piece whose
/// stage is not ready is sent closed, and is opened (`device_endpoint::open`) when the stage is
/// full (in) or empty (out). The call that starts a copy then returns, unless the mailbox has no
/// slots for all pieces: it waits for them.
///
/// If the first piece is refused, nothing has been copied. Any other failure ends the copy with
/// that error once all pieces that were sent have ended.
///
/// Lives until its last piece has ended: each piece in flight holds a reference. `mutex_` guards
/// the state that pieces share. A stage has one owner at a time: the threads that move its bytes
/// (the last of them sees what the others wrote: `parts_left`, acq_rel), or the worker, between
/// `open` and the completion.
class staged_copy : public std::enable_shared_from_this<staged_copy> {
 public:
  [[nodiscard]] static future<void> in(std::shared_ptr<device_endpoint> core,
                                       std::span<const std::byte> from, const any_tensor& to);
  [[nodiscard]] static future<void> out(std::shared_ptr<device_endpoint> core,
                                        const any_tensor& from, std::span<std::byte> to);

  staged_copy(std::shared_ptr<device_endpoint> core, const any_tensor& device_side, bool inwards);

 private:
  struct piece final : copy_pool::job {
    void do_part(std::uint32_t part) noexcept override;

    staged_copy* copy = nullptr;
    std::size_t number = 0;
    std::size_t begin = 0;  // in bytes of the program's memory
    std::size_t end = 0;
    // Guarded by the mutex until both are true.
    bool sent = false;
    bool has_stage = false;
    std::uint16_t slot = 0;  // the slot to open; known once it is sent
    bool lost = false;       // with its device: there is no slot to open any more
    // On a cache line of its own: each part writes it.
    alignas(64) std::atomic<std::uint32_t> parts_left{0};
  };

  [[nodiscard]] future<void> start();
  [[nodiscard]] std::size_t piece_bytes_at(std::size_t begin) const noexcept;
  [[nodiscard]] result<void> send_all();
  [[nodiscard]] result<void> allocate_stages();
  [[nodiscard]] any_tensor stage_of(const piece& p) const;
  [[nodiscard]] any_tensor device_side_of(const piece& p) const;
  [[nodiscard]] result<void> send(piece& p);
  [[nodiscard]] result<device_endpoint::sent_request> send_piece(const piece& p,
                                                                 const memory::copy& request,
                                                                 detail::completion done,
                                                                 bool open);
  void give_stage(std::size_t number);
  void begin(piece& p);
  void open(piece& p);
  void move_bytes(piece& p);
  void copy_bytes(const piece& p, std::size_t begin, std::size_t end) const noexcept;
  void on_moved(piece& p);
  void on_done(piece& p, error* failure);
  void end_one(std::optional<error> failure);

  const std::shared_ptr<device_endpoint> core_;
  const any_tensor tensor_;
  const bool inwards_;
  const std::size_t bytes_;
  const std::uint8_t lane_;
  const std::byte* source_ = nullptr;
  std::byte* target_ = nullptr;
  std::size_t largest_piece_ = 0;
  std::vector<piece> pieces_;
  std::vector<any_tensor> stages_;  // piece n has stage n % size

  alignas(64) std::mutex mutex_;
  // Counts pieces, those whose bytes move into the device, and one for the starting call.
  std::size_t under_way_ = 1;
  std::optional<error> failure_;
  promise<void> done_;
};

}  // namespace troupe
