// Maps a tensor for the program: a request keeps its place in the order until it is unmapped.

#include "device/endpoint.hpp"
#include "os/fork_count.hpp"

#include <troupe/device/device.hpp>
#include <troupe/device/mapped_tensor.hpp>
#include <troupe/lane/mapping.hpp>

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

namespace troupe {
namespace {

using clock = std::chrono::steady_clock;

/// The two flags that program and worker share, and the lane of the request. The lane is held until
/// the tensor is unmapped, or, if the caller never got it, until the request has ended, which other
/// requests may delay for long.
class held_place {
 public:
  held_place(std::weak_ptr<device_endpoint> core, any_tensor flags, std::uint8_t lane)
      : core_(std::move(core)), flags_(std::move(flags)), lane_(lane) {
    begun().store(0, std::memory_order_relaxed);
    ended().store(0, std::memory_order_relaxed);
  }
  held_place(const held_place&) = delete;
  held_place& operator=(const held_place&) = delete;
  ~held_place() {
    leave(lane::mapping::withdrawn);
    leave_lane();
  }

  [[nodiscard]] any_tensor begun_flag() const { return flags_.slice(0, 0, 1).value(); }
  [[nodiscard]] any_tensor ended_flag() const { return flags_.slice(0, 1, 2).value(); }
  [[nodiscard]] std::uint8_t lane() const noexcept { return lane_; }

  // Acquire: the CPU's writes of earlier requests are visible.
  [[nodiscard]] bool has_begun() const noexcept {
    return begun().load(std::memory_order_acquire) != 0;
  }

  [[nodiscard]] bool is_copy() const noexcept { return made_in_ != os::fork_count(); }

  /// Lets waiting requests continue; `how` is one of `lane::mapping`'s. From any thread. In a
  /// forked process it does nothing: the flags are shared with the process that has the mapping.
  void leave(std::uint32_t how) noexcept {
    if (left_.exchange(true) || is_copy()) return;
    // Release: the program's writes are visible to a thread that sees the flag.
    ended().store(how, std::memory_order_release);
    if (const auto core = core_.lock()) core->wake_worker();
    if (how == lane::mapping::given_back) leave_lane();
  }

 private:
  void leave_lane() noexcept {
    if (!has_lane_.exchange(false)) return;
    if (const auto core = core_.lock()) core->leave_mapping_lane(lane_);
  }

  [[nodiscard]] std::atomic_ref<std::uint32_t> begun() const noexcept {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(flags_.address()));
  }
  [[nodiscard]] std::atomic_ref<std::uint32_t> ended() const noexcept {
    return std::atomic_ref(reinterpret_cast<std::uint32_t*>(flags_.address())[1]);
  }

  const std::uint32_t made_in_ = os::fork_count();
  std::weak_ptr<device_endpoint> core_;
  any_tensor flags_;
  std::uint8_t lane_;
  // Each makes sure that only one thread acts.
  std::atomic<bool> left_{false};
  std::atomic<bool> has_lane_{true};
};

}  // namespace

struct mapped_tensor::parts {
  ~parts() { unmap(); }
  /// A forked process shares the mapping, and the driver's view of it, with its parent.
  void unmap() noexcept {
    if (place && place->is_copy()) {
      [[maybe_unused]] const slab_view* const left = view.release();
    }
    view.reset();
  }

  void begin(const std::shared_ptr<device_endpoint>& of, const any_tensor& t, access what) {
    device = of;
    tensor = t;
    role = what;
  }
  /// Before it is given back, for a journal.
  void note() const noexcept {
    if (place->is_copy()) return;
    if (const auto core = device.lock()) core->note_unmapped(ticket, tensor, address, role);
  }

  any_tensor tensor;                // keeps the memory
  std::unique_ptr<slab_view> view;  // null if the program can access it anyway
  std::byte* address = nullptr;
  std::shared_ptr<held_place> place;
  std::weak_ptr<device_endpoint> device;
  std::uint64_t ticket = 0;
  access role{};
};

mapped_tensor::mapped_tensor(std::unique_ptr<parts> made) noexcept : parts_(std::move(made)) {}
mapped_tensor::mapped_tensor(mapped_tensor&&) noexcept = default;
mapped_tensor& mapped_tensor::operator=(mapped_tensor&& other) noexcept {
  if (this != &other) {
    unmap();
    parts_ = std::move(other.parts_);
  }
  return *this;
}
mapped_tensor::~mapped_tensor() { unmap(); }

std::byte* mapped_tensor::address() const noexcept { return parts_ ? parts_->address : nullptr; }
const any_tensor& mapped_tensor::tensor() const noexcept { return parts_->tensor; }

void mapped_tensor::unmap() noexcept {
  if (!parts_) return;
  const std::unique_ptr<parts> ending = std::move(parts_);
  ending->note();
  ending->unmap();
  ending->place->leave(lane::mapping::given_back);
}

namespace {

// Makes the tensor's memory accessible to the program.
result<void> make_reachable(mapped_tensor::parts& to, memory_pool& pool, bool writable) {
  const any_tensor& t = to.tensor;
  to.address = t.address();
  if (!t.buffer() || t.buffer()->owner != &pool || !pool.on_device()) return {};
  auto place = pool.slab_of(*t.buffer().get());
  if (!place) return std::move(place).error();
  std::byte* const there = pool.base() + place->offset;
  auto view = pool.source()->view(*place->slab, place->bytes, there, writable);
  if (!view) return std::move(view).error();
  to.view = *std::move(view);
  to.address = to.view->address() + (t.address() - there);
  return {};
}

/// The answer of `mapped`, given by the device thread or by the request's end, whichever is first.
struct answer {
  explicit answer(completion_driver& helper) : source(&helper) {}

  promise<mapped_tensor> source;
  std::unique_ptr<mapped_tensor::parts> parts;
  std::mutex mutex;

  void fail(error why) {
    std::unique_ptr<mapped_tensor::parts> ending;  // unmapped without the lock
    promise<mapped_tensor> failing(detail::no_state);
    {
      const std::lock_guard lock(mutex);
      ending = std::move(parts);
      failing = std::exchange(source, promise<mapped_tensor>(detail::no_state));
    }
    if (ending) {
      ending->unmap();
      ending->place->leave(lane::mapping::withdrawn);
    }
    failing.set_error(std::move(why));
  }
  void set_ticket(std::uint64_t ticket) {
    const std::lock_guard lock(mutex);
    if (parts) parts->ticket = ticket;
  }
  void succeed() {
    std::unique_ptr<mapped_tensor::parts> ready;
    promise<mapped_tensor> answered(detail::no_state);
    {
      const std::lock_guard lock(mutex);
      ready = std::move(parts);
      answered = std::exchange(source, promise<mapped_tensor>(detail::no_state));
    }
    if (ready) answered.set_value(mapped_tensor(std::move(ready)));
  }
};

// The program may keep the mapping for any time.
constexpr std::chrono::nanoseconds unlimited = std::chrono::nanoseconds::max();

}  // namespace

future<mapped_tensor> device::mapped(const any_tensor& t, access role,
                                     std::optional<std::chrono::nanoseconds> timeout) {
  if (t.null() || role > access::update) {
    return make_failed_future<mapped_tensor>(
        {.code = errc::invalid_argument,
         .message = t.null() ? "mapped: t is not given"
                             : fmt::format("mapped: role must be read, write or update; it is {}",
                                           static_cast<int>(role)),
         .device = ordinal()});
  }
  auto asked = std::make_shared<answer>(core_->driver());
  future<mapped_tensor> granted = asked->source.get_future();
  asked->parts = std::make_unique<mapped_tensor::parts>();
  asked->parts->begin(core_, t, role);
  const auto flags = allocate_host(dtype::u32, {2});
  if (!flags) {
    return make_failed_future<mapped_tensor>(const_cast<result<any_tensor>&>(flags).error());
  }
  const std::optional<std::uint8_t> lane = core_->take_mapping_lane();
  if (!lane) {
    return make_failed_future<mapped_tensor>(
        {.code = errc::mailbox_full,
         .message =
             fmt::format("mapped: at most {} tensors may be mapped or waiting to be mapped at once",
                         device_endpoint::mapping_lanes),
         .device = ordinal()});
  }
  const auto place = std::make_shared<held_place>(core_, *flags, *lane);
  asked->parts->place = place;
  if (auto reached = make_reachable(*asked->parts, core_->memory(), role != access::read);
      !reached) {
    asked->fail(std::move(reached).error());
    return granted;
  }

  const std::optional<clock::time_point> until =
      timeout ? std::optional(detail::deadline_after(clock::now(), *timeout)) : std::nullopt;
  lane::mapping request{.begun = place->begun_flag(), .ended = place->ended_flag()};
  (role == access::read    ? request.read
   : role == access::write ? request.written
                           : request.updated) = t;
  const auto sent =
      core_->send(request_type_of<lane::mapping>(), &request, {.run_limit = unlimited},
                  [asked, place](const std::byte*, error* failure) {
                    if (failure != nullptr) return asked->fail(std::move(*failure));
                    if (place->has_begun()) return;
                    asked->fail({.code = errc::protocol_violation,
                                 .message = "a worker ended it before it began"});
                  },
                  {.lane = *lane});
  if (!sent) return granted;
  asked->set_ticket(sent->ticket);
  core_->look_until([asked, place, until] {
    if (place->has_begun()) {
      asked->succeed();
      return true;
    }
    if (until && clock::now() >= *until) {
      asked->fail(
          {.code = errc::deadline_exceeded,
           .message = "mapped: the timeout passed while earlier requests still used the tensor"});
      return true;
    }
    const std::lock_guard lock(asked->mutex);
    return !asked->parts;
  });
  return granted;
}

}  // namespace troupe
