#include "core/dispatch/deferred_continuations.hpp"
#include "device/copy/copy_between.hpp"
#include "device/copy/copy_without_worker.hpp"
#include "device/copy/staged_copy.hpp"
#include "device/endpoint.hpp"

#include <troupe/core/future_combine.hpp>
#include <troupe/device/device.hpp>
#include <troupe/device/unretrieved.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <limits>

namespace troupe {
namespace detail {

result<void> send(device_endpoint& to, const request_type& type, const void* request,
                  const request_options& options, std::uint8_t lane, completion done) {
  auto sent = to.send(type, request, options, std::move(done), {.lane = lane});
  if (!sent) [[unlikely]]
    return std::move(sent).error();
  return {};
}

completion_driver* driver_of(device_endpoint& of) noexcept { return &of.driver(); }

std::uint8_t lane_for(device_endpoint& to, const request_type& type) { return to.lane_for(type); }

}  // namespace detail

void request_handle::cancel() const {
  if (const auto core = core_.lock()) (void)core->cancel({.slot = slot_, .ticket = ticket_});
}
bool request_handle::cancel_and_wait() const {
  const auto core = core_.lock();
  if (!core) return false;
  const auto cancelled = core->cancel({.slot = slot_, .ticket = ticket_}).get_result();
  return cancelled && *cancelled;
}

namespace {

std::atomic<void (*)(const error&) noexcept> hears_unretrieved{nullptr};

struct sent_and_asked {
  future<any_reply> answer;
  result<device_endpoint::sent_request> placed;
};

sent_and_asked send_any(device_endpoint& to, const any_request& r, const request_options& options,
                        std::uint8_t lane) {
  promise<any_reply> source(&to.driver());
  future<any_reply> answer = source.get_future();
  auto placed = to.send(
      r.type(), r.data(), options,
      [source = std::move(source), type = &r.type()](std::byte* reply, error* failure) mutable {
        if (failure == nullptr) return source.set_value(any_reply(*type, reply));
        auto* const hear = hears_unretrieved.load(std::memory_order_acquire);
        if (hear != nullptr && source.abandoned()) hear(*failure);
        source.set_error(std::move(*failure));
      },
      {.lane = lane});
  return {std::move(answer), std::move(placed)};
}

}  // namespace

void on_unretrieved_failure(void (*hear)(const error&) noexcept) noexcept {
  hears_unretrieved.store(hear, std::memory_order_release);
}

library_actor::library_actor(std::shared_ptr<device_endpoint> core, std::string_view library,
                             std::shared_ptr<detail::lane_group> lanes)
    : core_(std::move(core)), library_(library), lanes_(std::move(lanes)) {}
library_actor::~library_actor() = default;
library_actor::library_actor(const library_actor&) = default;
library_actor& library_actor::operator=(const library_actor&) = default;

future<any_reply> library_actor::ask(const any_request& r, const request_options& options) const {
  request_handle unused;
  return ask(r, options, unused);
}
future<any_reply> library_actor::ask(const any_request& r, const request_options& options,
                                     request_handle& sent) const {
  sent = {};
  auto [answer, placed] = send_any(*core_, r, options, lanes_->pick());
  if (placed) {
    sent.core_ = core_;
    sent.slot_ = placed->slot;
    sent.ticket_ = placed->ticket;
  }
  return std::move(answer);
}
result<void> library_actor::tell(const any_request& r, const request_options& options) const {
  return detail::send(*core_, r.type(), r.data(), options, lanes_->pick(), {});
}

bool library_actor::would_wait() const noexcept { return core_->would_wait(); }

library_actor library_actor::on_new_lanes(int n) const {
  auto own = core_->new_lanes_of(library_, n);
  return library_actor(core_, own.library, std::move(own.lanes));
}

namespace {

// The bytes of a packed tensor, or the reason why it cannot exist.
result<std::uint64_t> bytes_of(dtype type, const shape& extents) {
  if (!extents.valid()) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("extents: rank must be at most {}", max_rank)};
  }
  unsigned __int128 bytes = static_cast<std::uint64_t>(size_of(type));
  bool empty = false;
  for (std::size_t i = 0; i < extents.extents().size(); ++i) {
    const std::int64_t extent = extents.extents()[i];
    if (extent < 0) {
      return error{.code = errc::invalid_argument,
                   .message = fmt::format("extents must not be negative; extent {} of [{}] is {}",
                                          i, fmt::join(extents.extents(), ", "), extent)};
    }
    empty = empty || extent == 0;
    bytes *= static_cast<std::uint64_t>(extent == 0 ? 1 : extent);
    if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return error{.code = errc::size_overflow,
                   .message = fmt::format("[{}] of {} takes more than 2^63 bytes",
                                          fmt::join(extents.extents(), ", "), to_string(type))};
    }
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

// A pool does not know its device's generation.
error no_memory(const device_endpoint& core, error why) {
  why.device = core.ordinal();
  why.generation = core.generation();
  return why;
}

result<any_tensor> allocate_in(device_endpoint& core, memory_space space, dtype type,
                               const shape& extents, placement where = placement::shared) {
  auto bytes = bytes_of(type, extents);
  if (!bytes) return std::move(bytes).error();
  auto buffer = core.allocate(space, *bytes, where);
  if (!buffer) return no_memory(core, std::move(buffer).error());
  return any_tensor::owned(*std::move(buffer), type, extents);
}

error lengths_differ(const any_tensor& t, std::size_t bytes) {
  const auto element = static_cast<std::size_t>(size_of(t.type()));
  return error{
      .code = errc::shape_mismatch,
      .message = fmt::format(
          "copy: the element counts must be equal; the tensor {} has {} elements, the span {}",
          t.to_string(), t.count(), bytes / element)};
}

error types_differ(const any_tensor& t, dtype type) {
  return error{.code = errc::type_mismatch,
               .message = fmt::format(
                   "copy: the element types must be equal; the tensor holds {}, the span {}",
                   to_string(t.type()), to_string(type))};
}

error not_given() {
  return error{.code = errc::invalid_argument, .message = "copy: the tensor must not be null"};
}

// Returns the reason if a device cannot change the access rights of a tensor's memory.
std::optional<error> not_freezable(std::string_view function, const any_tensor& t,
                                   const memory_pool& own) {
  if (!t.buffer()) {
    return error{
        .code = errc::foreign_buffer,
        .message = fmt::format("{}: the tensor must be allocated by Troupe; it {}", function,
                               t.null() ? "is null" : "refers to memory of the program")};
  }
  if (t.space() != memory_space::device) {
    return error{.code = errc::unsupported,
                 .message = "host memory cannot be frozen: the program itself writes it"};
  }
  const auto& owner = *static_cast<memory_pool*>(t.buffer()->owner);
  if (&owner != &own && owner.closed()) {
    return error{.code = errc::stale_buffer,
                 .message = "the tensor is stale: its device has stopped"};
  }
  if (&owner != &own) {
    return error{.code = errc::foreign_buffer,
                 .message = "the tensor " + owner.belongs_to_another_than(own)};
  }
  if (!own.separable(*t.buffer().get())) {
    return error{.code = errc::unsupported,
                 .message = fmt::format("a tensor of {} bytes shares its memory with others; "
                                        "allocate it with placement::own (or {} bytes or more) "
                                        "to freeze it",
                                        t.buffer()->bytes, slab_store::own_slab_bytes)};
  }
  return std::nullopt;
}

}  // namespace

device::device(std::shared_ptr<device_endpoint> core) noexcept : core_(std::move(core)) {}
device::~device() = default;
device::device(const device&) = default;
device& device::operator=(const device&) = default;

result<any_tensor> device::allocate(dtype type, const shape& extents, initial content,
                                    placement where) {
  auto view = allocate_in(*core_, memory_space::device, type, extents, where);
  if (view && content == initial::zero && !view->empty()) {
    if (auto sent = tell(memory::fill{.to = *view, .value = 0}); !sent) {
      return std::move(sent).error();
    }
  }
  return view;
}

result<any_tensor> device::allocate_host(dtype type, const shape& extents) {
  return allocate_in(*core_, memory_space::host, type, extents);
}

future<void> device::copy_in(dtype type, std::span<const std::byte> from, const any_tensor& to) {
  if (to.null()) return make_failed_future<void>(not_given());
  if (to.type() != type) return make_failed_future<void>(types_differ(to, type));
  if (static_cast<std::size_t>(to.count() * size_of(type)) != from.size()) {
    return make_failed_future<void>(lengths_differ(to, from.size()));
  }
  return staged_copy::in(core_, from, to);
}

future<void> device::copy_out(const any_tensor& from, dtype type, std::span<std::byte> to) {
  if (from.null()) return make_failed_future<void>(not_given());
  if (from.type() != type) return make_failed_future<void>(types_differ(from, type));
  if (static_cast<std::size_t>(from.count() * size_of(type)) != to.size()) {
    return make_failed_future<void>(lengths_differ(from, to.size()));
  }
  const auto by_worker = [core = core_, from, to] { return staged_copy::out(core, from, to); };
  if (!can_read_without_worker(*core_)) return by_worker();
  return copy_without_worker(core_, from,
                             any_tensor::unowned(to.data(), type, shape(from.extents())))
      .then([by_worker](bool copied) { return copied ? make_ready_future() : by_worker(); });
}

future<void> device::copy(const any_tensor& from, const any_tensor& to) {
  const auto resume_target_of = [&](const any_tensor& t) -> std::shared_ptr<device_endpoint> {
    if (!t.buffer() || t.space() != memory_space::device) return core_;
    auto home = static_cast<memory_pool*>(t.buffer()->owner)->home();
    return home ? home : core_;
  };
  const auto source = resume_target_of(from);
  const auto target = resume_target_of(to);
  const auto send = [](const std::shared_ptr<device_endpoint>& on, const any_tensor& a,
                       const any_tensor& b) {
    const auto by_worker = [on, a, b] { return device(on).ask(memory::copy{.from = a, .to = b}); };
    const bool to_host = b.buffer() && b.buffer()->owner == &on->host_memory();
    if (!to_host || !can_read_without_worker(*on)) return by_worker();
    return copy_without_worker(on, a, b).then(
        [by_worker](bool copied) { return copied ? make_ready_future() : by_worker(); });
  };
  if (source == target) return send(source, from, to);
  const auto is_on = [](const any_tensor& t, device_endpoint& home) {
    return t.buffer() && t.buffer()->owner == &home.memory();
  };
  if (is_on(from, *source) && is_on(to, *target)) {
    if (auto copied = copy_between(source, target, from, to)) return *std::move(copied);
  }
  auto between = allocate_host(from.type(), shape(from.extents()));
  if (!between) return make_failed_future<void>(std::move(between).error());
  return send(source, from, *between).then([send, target, to, between = *between] {
    return send(target, between, to);
  });
}

future<void> device::freeze(const any_tensor& t) {
  if (auto refused = not_freezable("freeze", t, core_->memory())) {
    return make_failed_future<void>(*std::move(refused));
  }
  // First the program refuses new writes; then everything sent before, or about to be sent, must
  // complete; then workers lose the right to write.
  const auto before = t.buffer()->state.fetch_or(buffer_frozen, std::memory_order_seq_cst);
  const bool frozen_here = (before & buffer_frozen) == 0;
  core_->await_senders();
  return ask(lane::marker{.after = t}).then([core = core_, t, frozen_here](result<void> outcome) {
    std::atomic<std::uint32_t>& state = t.buffer()->state;
    if (!outcome) {
      if (frozen_here) state.fetch_and(~std::uint32_t{buffer_frozen}, std::memory_order_acq_rel);
      return make_failed_future<void>(std::move(outcome).error());
    }
    // The call that began it may have failed, and writes are allowed again.
    if ((state.load(std::memory_order_acquire) & buffer_frozen) == 0) {
      return device(core).freeze(t);
    }
    return core->protect(t.buffer(), true).then([t] {
      t.buffer()->state.fetch_or(buffer_settled, std::memory_order_acq_rel);
    });
  });
}

future<void> device::thaw(const any_tensor& t) {
  if (auto refused = not_freezable("thaw", t, core_->memory())) {
    return make_failed_future<void>(*std::move(refused));
  }
  // First the program refuses bound sets with this tensor; then every request that uses such a set,
  // or is about to be sent with one, must complete. Such a request does not name the tensor, so
  // requests that write the tensor do not wait for it.
  bound_sets& sets = core_->host_memory().sets();
  const auto before = t.buffer()->state.fetch_and(~std::uint32_t{buffer_settled});
  sets.note_change();
  core_->await_senders();
  std::vector<future<void>> over = sets.end_uses(*t.buffer().get(), &core_->driver());
  over.push_back(ask(lane::marker{.after = t}));
  return when_all(std::move(over))
      .then([core = core_, buffer = t.buffer(), before](result<void> outcome) {
        if (outcome) {
          return core->protect(buffer, false).then([buffer] {
            buffer->state.fetch_and(~frozen_flags, std::memory_order_acq_rel);
          });
        }
        buffer->state.fetch_or(before & buffer_settled, std::memory_order_acq_rel);
        return make_failed_future<void>(std::move(outcome).error());
      });
}

void device::release(const any_tensor& t) {
  if (!t.buffer()) return;
  t.buffer()->state.fetch_or(buffer_released, std::memory_order_seq_cst);
  core_->host_memory().sets().note_change();
}

std::string device::tainted_by(const any_tensor& t) const {
  const detail::buffer_ref& buffer = t.buffer();
  const bool ours =
      buffer && (buffer->owner == &core_->memory() || buffer->owner == &core_->host_memory());
  const taint_cause culprit = ours ? core_->tainted_by(t) : nullptr;
  return culprit ? culprit->name : std::string();
}

void device::trim() { core_->memory().trim(); }

library_actor device::library(std::string_view name) const {
  auto own = core_->lanes_of(name);
  return library_actor(core_, own.library, std::move(own.lanes));
}

future<any_reply> device::ask(const any_request& r, const request_options& options) const {
  return send_any(*core_, r, options, core_->lane_for(r.type())).answer;
}
result<void> device::tell(const any_request& r, const request_options& options) const {
  return detail::send(*core_, r.type(), r.data(), options, core_->lane_for(r.type()), {});
}

any_actor_ref device::actor() const { return core_->guard(); }
std::int32_t device::ordinal() const noexcept { return core_->ordinal(); }
const device_description& device::description() const noexcept { return core_->description(); }
device_health device::health() const { return core_->health(); }
std::uint64_t device::generation() const noexcept { return core_->generation(); }
device_statistics device::statistics() const { return core_->statistics(); }
device_telemetry device::snapshot() const { return core_->telemetry(); }
std::vector<quarantined_request> device::quarantine() const { return core_->quarantine(); }
bool device::forgive(const quarantined_request& one) { return core_->forgive(one.id); }
void device::forgive_all() { (void)core_->forgive(std::nullopt); }
std::vector<device_event> device::events(std::uint64_t after) const { return core_->events(after); }
std::optional<pid_t> device::worker_pid() const noexcept { return core_->worker_pid(); }

void device::watch_generation(unique_function<void(std::optional<std::uint64_t>)> watcher) {
  if (!watcher) {
    throw failure({.code = errc::invalid_argument,
                   .message = "watch_generation: the watcher is an empty function"});
  }
  core_->watch_generation(std::move(watcher));
}

result<void> device::wait_until_ready() const {
  auto outcome = ask(lane::marker{}).get_result();
  if (outcome) return outcome;
  error why = std::move(outcome).error();
  why.request.clear();  // the caller did not send that request
  return why;
}

bool device::drain(std::chrono::nanoseconds timeout) { return core_->drain(timeout); }

result<void> device::restart() { return core_->restart(); }
future<void> device::renew(const renew_options& how) { return core_->renew(how); }

void device::stop() {
  core_->stop({.code = errc::device_stopped, .message = "stopped by the program"});
}

}  // namespace troupe
