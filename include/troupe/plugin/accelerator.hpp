#pragma once

#include <troupe/base/result.hpp>
#include <troupe/plugin/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

/// For backends whose calls return before the work is done, as those of a GPU do. A plugin that
/// exports `troupe_backend_accelerator` is driven through queues, any other plugin by threads.
namespace troupe {

/// One queue (a CUDA stream): enqueued work runs later, in order. Executors receive it as their
/// `lane_context`. Its workspace is accelerator memory that belongs to an executor until the work
/// that it enqueued has run.
///
/// `errc::device_fault` from any function means that the context is lost: no enqueued work may be
/// taken as done, and the worker must be replaced.
class accelerator_lane : public lane_context {
 public:
  virtual ~accelerator_lane() = default;

  /// Makes work that is enqueued from here on wait for all work now in `other`.
  [[nodiscard]] virtual result<void> wait_for(accelerator_lane& other) = 0;
  /// Stores `value` at `where`, in shared host memory, once all earlier work has run and its
  /// results are visible to the host. After a fault the value is never stored.
  [[nodiscard]] virtual result<void> mark(std::uint64_t* where, std::uint64_t value) = 0;
  /// Like `mark`, but if it costs a busy queue less, work enqueued later may begin before the value
  /// is stored. The value of a later `mark` is stored after it, and work enqueued after that `mark`
  /// runs after both.
  [[nodiscard]] virtual result<void> mark_aside(std::uint64_t* where, std::uint64_t value) {
    return mark(where, value);
  }
  /// Stores the device's own time, in nanoseconds, at `where`, in shared host memory, once all
  /// before it has run. A device without a clock stores nothing.
  [[nodiscard]] virtual result<void> stamp(std::uint64_t* where) {
    (void)where;
    return {};
  }
  /// Work enqueued up to `end_range` belongs to this request, for the vendor's profiler.
  virtual void begin_range(std::string_view request) noexcept { (void)request; }
  virtual void end_range() noexcept {}
  /// Queries the state of the queue without waiting. \errors `device_fault`
  [[nodiscard]] virtual result<void> check() = 0;
  /// Waits until all enqueued work has run. Used only before a worker is ready.
  [[nodiscard]] virtual result<void> finish() = 0;

  // Recording. A lane has a second queue for it, its twin, because the state of a queue that
  // records must not be asked for, and `check` comes at any time.

  /// The twin, on which calls can be recorded, with objects and a workspace of its own. Null if
  /// this backend records nothing, or no more. The first call makes it.
  [[nodiscard]] virtual accelerator_lane* twin() { return nullptr; }
  /// Replaces the twin, after a call that could not be recorded: its objects may be unusable. They
  /// live on, for what was recorded with them.
  virtual void replace_twin() noexcept {}
  /// Called of a twin: it records what this thread enqueues on it, until `end_recording`.
  [[nodiscard]] virtual result<void> begin_recording() { return no_recording(); }
  /// Called of a twin that records: the place that an executor gets for its reply if its work may
  /// find that the request fails (`operation::fails_late`). Null if there is none.
  [[nodiscard]] virtual std::byte* place_for_failure() { return nullptr; }
  /// Called of a twin that records, after each executor. \errors `unsupported` if something was
  /// enqueued that cannot be recorded
  [[nodiscard]] virtual result<void> check_recording() { return {}; }
  /// Called of a twin: it does not record any more, even if this fails. `like`: null, or a
  /// recording that is not needed any more and does not run: if it differs in little, it becomes
  /// this one, which is cheaper. \errors the backend's
  [[nodiscard]] virtual result<std::unique_ptr<recorded_work>> end_recording(
      std::unique_ptr<recorded_work> like) {
    (void)like;
    return no_recording();
  }
  /// Enqueues on this queue what its twin has recorded. A failure that its work finds is written to
  /// `reply`, as the executors would have done.
  [[nodiscard]] virtual result<void> launch(recorded_work& work, std::byte* reply) {
    (void)work, (void)reply;
    return no_recording();
  }

  // Conditions within recorded work, see `accelerator::records_conditions`. Called of a twin that
  // records: `begin_condition`, then for each body `begin_body`, what it enqueues, and `end_body`,
  // then `end_condition`. After a failure only `end_recording` is called.

  [[nodiscard]] virtual result<void> begin_condition(const recorded_condition& c) {
    (void)c;
    return no_recording();
  }
  [[nodiscard]] virtual result<void> begin_body(std::uint64_t number) {
    (void)number;
    return no_recording();
  }
  [[nodiscard]] virtual result<void> end_body() { return no_recording(); }
  [[nodiscard]] virtual result<void> end_condition() { return no_recording(); }
  /// Within a body: stores `value` at `where`, in shared host memory, when the body runs.
  [[nodiscard]] virtual result<void> record_store(std::uint64_t* where, std::uint64_t value) {
    (void)where, (void)value;
    return no_recording();
  }

 private:
  static error no_recording() {
    return {.code = errc::unsupported, .message = "this backend records nothing"};
  }
};

/// The accelerator as one worker sees it. One thread makes the control calls and another uses the
/// lanes; an implementation synchronises what both access.
class accelerator {
 public:
  virtual ~accelerator() = default;

  /// Called first by each thread that will use the accelerator.
  virtual void enter_thread() = 0;

  /// Maps the device memory behind `descriptor` at `at`, readable and writable.
  [[nodiscard]] virtual result<void> map(std::byte* at, std::uint64_t bytes, int descriptor) = 0;
  /// Unmaps memory that was mapped by `map`, as a whole.
  [[nodiscard]] virtual result<void> unmap(std::byte* at, std::uint64_t bytes) = 0;
  /// Changes the access rights of whole mapped pieces.
  [[nodiscard]] virtual result<void> protect(std::byte* at, std::uint64_t bytes,
                                             bool read_only) = 0;
  /// Takes the address range of another device of the same backend, before any of it is mapped.
  [[nodiscard]] virtual result<void> add_peer(std::byte* base, std::uint64_t bytes) {
    (void)base, (void)bytes;
    return {};
  }
  /// Maps memory of another device in its range. `unmap_peer` unmaps it, as a whole.
  /// \errors `unsupported`, and the vendor's
  [[nodiscard]] virtual result<void> map_peer(std::byte* at, std::uint64_t bytes, int descriptor,
                                              bool writable) {
    (void)at, (void)bytes, (void)descriptor, (void)writable;
    return error{.code = errc::unsupported,
                 .message = "this backend maps no memory of other devices"};
  }
  [[nodiscard]] virtual result<void> unmap_peer(std::byte* at, std::uint64_t bytes) {
    (void)at, (void)bytes;
    return {};
  }
  /// Makes mapped host memory accessible to the queues, at the same address.
  [[nodiscard]] virtual result<void> share(std::byte* at, std::uint64_t bytes) = 0;

  [[nodiscard]] virtual result<std::unique_ptr<accelerator_lane>> make_lane(int number) = 0;
  /// True if its lanes can record conditions (`accelerator_lane::begin_condition`).
  [[nodiscard]] virtual bool records_conditions() const noexcept { return false; }
};

/// The argument of `troupe_backend_accelerator`.
struct accelerator_config {
  std::string_view device;  ///< the device, as its provider names it (a UUID)
  std::byte* memory_base = nullptr;
  std::uint64_t memory_bytes = 0;  ///< size of the address range for mapped pieces
  /// True in the program itself, which has already reserved the address range
  /// (`device_source::reserve`).
  bool in_program = false;
  /// For the `blobs` of lanes.
  std::shared_ptr<kept_blobs> blobs{};
  library_methods methods{};  ///< likewise
};

/// Signature of `troupe_backend_accelerator`: sets `made`, or sets `outcome` to the error.
using make_accelerator = void(const accelerator_config& config, std::unique_ptr<accelerator>& made,
                              result<void>& outcome);

/// Signature of `troupe_backend_warm_up`, which any plugin may export. It runs or enqueues a small
/// request of each kind, so that libraries, handles and code are loaded before the first real
/// request. The lane belongs to the backend's accelerator, if it has one.
using warm_up_lane = void(lane_context& lane, result<void>& outcome);

}  // namespace troupe
