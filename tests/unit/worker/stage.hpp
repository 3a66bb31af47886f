#pragma once

#include "device/mailbox/mailbox.hpp"
#include "os/shared_memory.hpp"
#include "step.hpp"
#include "wire/codec.hpp"
#include "wire/reply.hpp"
#include "worker/intake/inbox.hpp"
#include "worker/intake/outbox.hpp"
#include "worker/queues/stream_lanes.hpp"
#include "worker/threads/lanes.hpp"

#include <sys/eventfd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

/// A mailbox, a worker segment and two pools of memory, all in this process, for tests of the
/// worker's pieces without a device.
namespace troupe::testing_worker {

class stage {
 public:
  static constexpr std::uint64_t space_bytes = std::uint64_t{8} << 20;
  static constexpr std::uint32_t capacity = 64;

  explicit stage(std::uint32_t slots = capacity) {
    current = &steps;
    requests = mailbox::create(slots, 1 << 16).value();
    const std::size_t bytes = wire::worker_segment_bytes(slots);
    segment_memory_ = os::create_shared_memory("segment", bytes).value();
    segment_pages_ = os::map(segment_memory_, bytes, os::protection::read_write).value();
    segment = reinterpret_cast<wire::worker_header*>(segment_pages_.address());
    space_ = os::reserve(nullptr, space_bytes).value();
    wakes_ = os::unique_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    operations.add(&run_step, effort::by_size);
    // As the program does before it starts a worker.
    requests->bells(1).worker_sleeps.store(1, std::memory_order_relaxed);
  }
  ~stage() {
    for (auto& flag : steps.may_end)
      flag.store(true, std::memory_order_release);
    lanes.reset();
  }

  [[nodiscard]] wire::address_ranges ranges() const {
    return {wire::address_range{space_.address(), space_bytes},
            wire::address_range{space_.address(), space_bytes}};
  }

  /// The operations run until the stage goes; `threads` run them.
  void start(int threads, const std::vector<std::uint64_t>& replay = {}, std::uint64_t first = 0) {
    open();
    lanes = std::make_unique<worker::threaded_lanes>(
        worker::threaded_lanes::parts{.requests = *inbox,
                                      .answers = *outbox,
                                      .operations = operations,
                                      .ranges = ranges(),
                                      .bells = requests->bells(1),
                                      .worker = 1,
                                      .threads = threads,
                                      .in_process = false});
    requests->activate(1, replay, first);
  }

  /// The same on the queues of an accelerator, which outlives the stage; `lost` is called when it
  /// is lost. Without `released`, held requests wait for `requests->release_held()`.
  void start_on(accelerator& device, std::function<void(error)> lost, bool released = true) {
    open();
    ranges_ = ranges();
    lanes = std::make_unique<worker::stream_lanes>(
        worker::stream_lanes::parts{.requests = *inbox,
                                    .answers = *outbox,
                                    .operations = operations,
                                    .ranges = ranges_,
                                    .memory_version = memory_version,
                                    .device = device,
                                    .bells = requests->bells(1),
                                    .worker = 1,
                                    .in_process = false,
                                    .submitters = submitters,
                                    .cold = cold,
                                    .warm_lanes = warm_lanes,
                                    .lost = std::move(lost),
                                    .warm = [this] { warm.fetch_add(1); }});
    if (activates) requests->activate(1, {}, 0, released);
  }

  /// The bytes behind `kib`, made readable and writable.
  [[nodiscard]] std::span<std::byte> memory() {
    (void)os::protect(space_.address(), space_bytes, os::protection::read_write);
    return {space_.address(), space_bytes};
  }

  /// A view of so many KiB of device memory from a place in KiB. Above 64 KiB the worker has
  /// another thread read the mailbox while it runs.
  [[nodiscard]] any_tensor kib(std::int64_t begin, std::int64_t count) const {
    return any_tensor::unowned(space_.address() + begin * 1024, dtype::u8, shape{count * 1024});
  }

  /// Puts a request into a slot as a device does, without publishing it.
  std::uint16_t prepare(step r) { return prepare_request(std::move(r)); }
  template <request R>
  std::uint16_t prepare_request(R r) {
    struct source final : wire::operand_source {
      std::byte* base = nullptr;
      result<place> locate(std::string_view, const any_tensor& t, access) override {
        return place{.buffer = 1,
                     .pool = wire::device_pool,
                     .offset = static_cast<std::uint64_t>(t.address() - base)};
      }
    } operands;
    operands.base = space_.address();
    const std::uint16_t slot = requests->take_slot().value();
    wire::slot_header& header = requests->header(slot);
    const auto& type = request_type_of<R>();
    const std::size_t used = wire::encode(type, &r, requests->payload(slot), operands).value();
    if (used > wire::slot_payload_bytes) {
      const arena::piece piece = requests->take_heap(used).value();
      (void)wire::encode(type, &r, requests->heap(piece), operands);
      header.spill_offset = piece.offset;
    }
    header.operation = type.id;
    header.payload_bytes = static_cast<std::uint32_t>(used);
    header.deadline_ns = 0;
    header.memory_version = 0;
    header.sequence = 0;
    header.held.store(wire::hold::none, std::memory_order_relaxed);
    header.alone.store(0, std::memory_order_relaxed);
    header.revoked.store(0, std::memory_order_relaxed);
    header.mark = wire::end_mark::own;
    return slot;
  }
  std::uint16_t send(step r, std::uint8_t lane) {
    const std::uint16_t slot = prepare(std::move(r));
    requests->publish(slot, lane);
    return slot;
  }
  /// The same for a request that is to run with nothing beside it.
  std::uint16_t send_alone(step r, std::uint8_t lane) {
    const std::uint16_t slot = prepare(std::move(r));
    requests->header(slot).alone.store(1, std::memory_order_relaxed);
    requests->publish(slot, lane);
    return slot;
  }

  /// The same for a request without a waiter.
  std::uint16_t tell(step r, std::uint8_t lane) {
    return send_marked(std::move(r), lane, wire::end_mark::shared);
  }
  std::uint16_t send_marked(step r, std::uint8_t lane, wire::end_mark mark) {
    const std::uint16_t slot = prepare(std::move(r));
    requests->header(slot).mark = mark;
    requests->publish(slot, lane);
    return slot;
  }

  /// Waits until that many requests of a lane have completed.
  void await(std::uint8_t lane, std::uint64_t count) const {
    while (segment->lanes[lane].completed.load(std::memory_order_acquire) < count)
      std::this_thread::yield();
  }
  /// Waits until the worker has nothing left to read.
  void await_reader_asleep() const {
    while (requests->bells(1).worker_sleeps.load(std::memory_order_acquire) == 0)
      std::this_thread::yield();
  }
  [[nodiscard]] wire::reply_slot& reply(std::uint16_t slot) const {
    return reinterpret_cast<wire::reply_slot*>(segment + 1)[slot];
  }

  /// The eventfd of a device thread.
  [[nodiscard]] int wakes() const noexcept { return wakes_.get(); }

  journal steps;
  std::unique_ptr<mailbox> requests;
  wire::worker_header* segment = nullptr;
  operation_table operations;
  std::optional<worker::inbox> inbox;
  std::optional<worker::outbox> outbox;
  std::atomic<std::uint64_t> memory_version{0};
  int submitters = 0;               ///< the accelerator's
  std::vector<warm_up_lane*> cold;  ///< the same
  std::size_t warm_lanes = 3;
  std::atomic<int> warm{0};  ///< how often the worker has said so
  bool activates = true;     ///< as soon as it has started
  std::unique_ptr<worker::lane_runner> lanes;

 private:
  void open() {
    inbox.emplace(worker::inbox::open(requests->shared(), requests->total_bytes()).value());
    outbox.emplace(segment, requests->shared(), &requests->bells(1), wakes_.get());
  }

  wire::address_ranges ranges_;
  os::unique_fd segment_memory_;
  os::mapping segment_pages_;
  os::mapping space_;
  os::unique_fd wakes_;
};

}  // namespace troupe::testing_worker
