#pragma once

#include <troupe/plugin/kept_blobs.hpp>
#include <troupe/plugin/recorded_work.hpp>
#include <troupe/request/library_methods.hpp>
#include <troupe/request/request.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace troupe {

/// The resources of an executor while it runs: its lane and that lane's workspace.
class lane_context {
 public:
  [[nodiscard]] virtual int lane() const noexcept = 0;
  /// Scratch memory of the lane, aligned to 64 bytes, with undefined content. Valid until the
  /// executor returns or calls this again. \errors `out_of_memory` with the bytes requested.
  [[nodiscard]] virtual result<std::span<std::byte>> workspace(std::size_t bytes) = 0;
  /// The data that the program keeps for this device's workers; null if it keeps none.
  [[nodiscard]] virtual std::shared_ptr<kept_blobs> blobs() const { return nullptr; }
  /// How libraries compute for this device (`device_config::methods`).
  [[nodiscard]] virtual library_methods methods() const noexcept { return {}; }
  /// Scratch memory of the host, apart from `workspace`, which may be a device's. Aligned to 64
  /// bytes, with undefined content; not registered with a device. Valid until the executor returns
  /// or calls this again: enqueued work must not use it. \errors `out_of_memory`
  [[nodiscard]] virtual result<std::span<std::byte>> host_workspace(std::size_t bytes) = 0;
  /// True while calls are recorded instead of enqueued, see `recorded_work`.
  [[nodiscard]] virtual bool is_recording() const noexcept { return false; }
  /// While it records: the work that the executor enqueues needs this object, so it lives as long
  /// as the recording. For objects in caches, which may be dropped before: plans, modules.
  // Overrides move it. NOLINTNEXTLINE(performance-unnecessary-value-param)
  virtual void retain(std::shared_ptr<const void> object) { (void)object; }
  /// This call does its work in a way that later calls may not, such as one that is being measured:
  /// it should not be recorded.
  virtual void note_provisional() noexcept { is_provisional_ = true; }
  /// Whether that was noted since this was asked last.
  [[nodiscard]] bool take_provisional() noexcept { return std::exchange(is_provisional_, false); }

  /// The place of the request in an order that the program numbers, such as the steps of a
  /// collective operation; 0 if it has none.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_ & ~repeated; }
  /// True if an earlier worker may have run that request, or a part of it.
  [[nodiscard]] bool is_repeated() const noexcept { return (sequence_ & repeated) != 0; }
  /// Called by the worker before each request: its place, with `repeated` if it is.
  static constexpr std::uint64_t repeated = std::uint64_t{1} << 63;
  void set_sequence(std::uint64_t number) noexcept { sequence_ = number; }

 protected:
  ~lane_context() = default;

 private:
  std::uint64_t sequence_ = 0;
  bool is_provisional_ = false;
};

/// How long an operation runs.
enum class effort : std::uint8_t {
  unknown,  ///< any time; the worker starts other requests meanwhile
  by_size,  ///< microseconds for small operands, which then run without a hand-over to a thread
  /// On an accelerator: the call itself waits for work of its lane, or computes on the host. Such
  /// requests run on a thread of their lane, so that no other lane waits for the call.
  blocks_host,
};

/// One operation of a worker: how to decode its requests and how to run them.
struct operation {
  const request_type* type = nullptr;
  /// Runs the request and writes its reply to `reply`: the bytes of a plain one; of a described one
  /// the value, which is there with its defaults.
  result<void> (*run)(void* executor, const void* request, lane_context& lane,
                      std::byte* reply) = nullptr;
  void* executor = nullptr;
  troupe::effort effort = troupe::effort::unknown;
  /// True if work that an accelerator has enqueued may discover that the request fails, and write
  /// this into the reply.
  bool fails_late = false;
  /// Called once everything that the request waits for has ended, and again when the program wakes
  /// the worker. While it returns false the request waits and other requests run. Null for an
  /// operation that never waits.
  bool (*ready)(const void* request) = nullptr;
  /// Called when the request has been read, before its dependencies have ended, and again until it
  /// returns true: meanwhile the request waits, and those of other lanes run. For work that a
  /// thread of the library does before the request can run, such as compiling a plan. It starts
  /// that work and returns at once; that thread says for whom it works (`works_for`). `blobs` is
  /// that of the request's lane. Null for an operation that needs none.
  bool (*prepared)(const void* request,
                   const std::shared_ptr<kept_blobs>& blobs) noexcept = nullptr;
  /// For operations that take turns, such as those of an interpreter with one lock. The thread that
  /// will run the request takes a turn first, waits for it there, and gives it back afterwards. A
  /// request that waits for its turn has not begun, so it is not blamed for a fault meanwhile. Null
  /// for an operation without turns.
  void (*take_turn)(void* executor) = nullptr;
  void (*end_turn)(void* executor) = nullptr;
  /// Whether it can be recorded, see `recordable_operations`. Null: never.
  troupe::may_record* may_record = nullptr;
};

/// The operations of a backend, of a plugin, or of a program that is its own worker.
class TROUPE_EXPORT operation_table {
 public:
  operation_table();
  operation_table(operation_table&&) noexcept;
  operation_table& operator=(operation_table&&) noexcept;
  ~operation_table();

  /// Adds the executor of `R`: a function `result<reply_of<R>>(const R&, lane_context&)`.
  template <request R>
  void add(result<reply_of<R>> (*executor)(const R&, lane_context&),
           effort how_long = effort::unknown) {
    insert(operation{
        .type = &request_type_of<R>(),
        .run = [](void* held, const void* r, lane_context& lane, std::byte* reply) -> result<void> {
          const auto function =
              reinterpret_cast<result<reply_of<R>> (*)(const R&, lane_context&)>(held);
          auto answer = function(*static_cast<const R*>(r), lane);
          if (!answer) return std::move(answer).error();
          if constexpr (detail::described<reply_of<R>>) {
            *reinterpret_cast<reply_of<R>*>(reply) = *std::move(answer);
          } else if constexpr (!std::is_void_v<reply_of<R>>) {
            std::memcpy(reply, &*answer, sizeof(reply_of<R>));
          }
          return {};
        },
        .executor = reinterpret_cast<void*>(executor),
        .effort = how_long});
  }

  /// Adds an operation. It replaces an existing operation for the same request.
  void insert(operation added);

  /// The operation with this id, or null.
  [[nodiscard]] const operation* find(std::uint64_t id) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  /// Every operation, in the order added.
  [[nodiscard]] std::span<const operation> all() const noexcept;
  /// Operations that were replaced by a later one for the same request.
  [[nodiscard]] std::span<const operation> replaced() const noexcept;

 private:
  struct index;
  friend recordable_operations;

  std::unique_ptr<index> index_;
};

}  // namespace troupe
