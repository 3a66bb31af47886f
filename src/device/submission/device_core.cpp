#include "device/submission/device_core.hpp"

#include "base/spin_wait.hpp"
#include "os/event.hpp"
#include "os/limits.hpp"
#include "request/description/table.hpp"
#include "request/description/text.hpp"
#include "wire/blob_memory.hpp"
#include "wire/codec.hpp"
#include "wire/control.hpp"

#include <troupe/device/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <limits>

namespace troupe {
namespace {

// A page: the smallest unit whose access rights can change, so that any buffer can be frozen alone.
constexpr std::uint64_t device_granule_bytes = 4096;
constexpr std::uint32_t largest_capacity = 16 * 1024;
// A request's size is a 32-bit number.
constexpr std::uint64_t largest_mailbox_bytes = std::numeric_limits<std::uint32_t>::max();

// One processor moves a fifth of what a GPU's link carries. A GPU gets three quarters of the
// processors; the program and the worker need the rest. The CPU backend computes on all but one.
unsigned copy_threads(bool on_device) noexcept {
  constexpr unsigned enough = 12;
  return on_device ? std::clamp(std::thread::hardware_concurrency() * 3 / 4, 1U, enough) : 1U;
}

// Workers may run in another folder, and the program may change its own before the next one starts.
result<std::string> absolute_path(std::string_view setting, const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed).lexically_normal();
  if (path.empty() || failed || path.find('\0') != std::string::npos) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("device_config::{} must be a valid path; it is \"{}\"",
                                        setting, path)};
  }
  return whole.string();
}

result<std::vector<std::string>> absolute_paths(const std::vector<std::string>& plugins) {
  std::vector<std::string> paths;
  for (const std::string& plugin : plugins) {
    auto path = absolute_path("plugins", plugin);
    if (!path) return std::move(path).error();
    paths.push_back(*std::move(path));
  }
  wire::configure_message message;
  if (wire::list_paths(paths, message.plugins)) return paths;
  return error{.code = errc::invalid_argument,
               .message = fmt::format(
                   "device_config::plugins: all paths together must take at most {} bytes; "
                   "the {} paths take more",
                   sizeof(message.plugins), paths.size())};
}

}  // namespace

device_core::device_core(std::int32_t ordinal, device_config config,
                         std::shared_ptr<memory_pool> host_memory) noexcept
    : ordinal_(ordinal), config_(std::move(config)), host_memory_(std::move(host_memory)) {}

device_core::~device_core() = default;

void device_core::let_go(device_core* unused) noexcept {
  // In a forked process no part of the device can be ended.
  if (unused->completions_ && unused->completions_->is_copy()) return;
  const auto free_it = [unused, ends = unused->ends_] {
    delete unused;
    if (ends) ends->add(-1);
  };
  supervisor* const watch = unused->supervisor_.get();
  if (unused->ends_) unused->ends_->add(1);
  const bool waits = watch == nullptr || !watch->has_thread() || !watch->must_not_wait();
  if (waits || !watch->end_unawaited(free_it)) free_it();
}

result<std::shared_ptr<device_core>> device_core::create(std::int32_t ordinal,
                                                         const device_config& asked,
                                                         std::shared_ptr<memory_pool> host_memory,
                                                         std::span<const std::string> in_use) {
  device_config config = asked;
  if (config.mailbox_capacity < 1 || config.mailbox_capacity > largest_capacity) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("device_config::mailbox_capacity must be 1 to {}; it is {}",
                                        largest_capacity, config.mailbox_capacity),
                 .device = ordinal};
  }
  if (config.mailbox_bytes > largest_mailbox_bytes) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("device_config::mailbox_bytes must be at most {}; it is {}",
                                        largest_mailbox_bytes, config.mailbox_bytes),
                 .device = ordinal};
  }
  if (config.lane_threads < 0 || config.lane_threads > static_cast<int>(wire::most_lane_threads)) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("device_config::lane_threads must be 0 to {}; it is {}",
                                        wire::most_lane_threads, config.lane_threads),
                 .device = ordinal};
  }
  if (config.run_limit <= std::chrono::nanoseconds::zero()) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("device_config::run_limit must be positive; it is {} ns",
                                        config.run_limit.count()),
                 .device = ordinal};
  }
  const auto of_device = [ordinal](error why) {
    why.device = ordinal;
    return why;
  };
  auto plugins = absolute_paths(config.plugins);
  if (!plugins) return of_device(std::move(plugins).error());
  config.plugins = *std::move(plugins);
  for (auto& [setting, path] : {std::pair("worker_path", &config.worker_path),
                                std::pair("backend_path", &config.backend_path)}) {
    if (path->empty()) continue;
    auto whole = absolute_path(setting, *path);
    if (!whole) return of_device(std::move(whole).error());
    *path = *std::move(whole);
  }
  os::raise_descriptor_limit();
  auto backend = choose_backend(ordinal, config, in_use);
  if (!backend) return of_device(std::move(backend).error());
  return create_with(*std::move(backend), ordinal, config, std::move(host_memory),
                     supervisor_environment::real());
}

result<std::shared_ptr<device_core>> device_core::create_with(
    chosen_backend backend, std::int32_t ordinal, const device_config& asked,
    std::shared_ptr<memory_pool> host_memory, supervisor_environment& environment) {
  device_config config = asked;
  // The driver would refuse a context to a second process again and again.
  if (backend.description.one_process) config.standby = false;
  // A worker thread cannot be killed, and a user at a breakpoint must not lose his device to a
  // limit.
  if (config.isolation == isolation::thread) config.run_limit = std::chrono::nanoseconds::max();
  std::shared_ptr<device_core> core(new device_core(ordinal, config, std::move(host_memory)),
                                    &device_core::let_go);
  core->description_ = backend.description;
  const std::uint64_t whole = backend.source
                                  ? backend.source->description().memory_bytes
                                  : memory_pool::default_limit_bytes(os::usable_memory_bytes());
  auto memory = memory_pool::create(
      {.space = memory_space::device,
       .device = ordinal,
       .limit_bytes = config.memory_limit_bytes != 0 ? config.memory_limit_bytes : whole,
       .granule_bytes = device_granule_bytes,
       .source = backend.source,
       .worker_in_program = config.isolation == isolation::thread});
  if (!memory) return std::move(memory).error();
  core->device_memory_ = *std::move(memory);
  core->device_memory_->set_home(core);
  core->copiers_ =
      std::make_unique<copy_pool>(copy_threads(core->device_memory_->on_device()),
                                  [owner = core.get()](detail::continuation_queue continuations) {
                                    owner->supervisor_->run_soon(std::move(continuations));
                                  });
  core->device_memory_->on_frozen_unused(
      [home = std::weak_ptr(core)](const detail::buffer_ref& unused) {
        const auto clear = [](const detail::buffer_ref& b) {
          b->state.fetch_and(~frozen_flags, std::memory_order_acq_rel);
        };
        const auto alive = home.lock();
        if (!alive) return clear(unused);
        // Success or a device that is gone: either way no worker maps the buffer read-only any
        // more.
        (void)alive->watch().protect(unused, false).then([clear, unused](const result<void>&) {
          clear(unused);
        });
      });
  auto requests = mailbox::create(config.mailbox_capacity, config.mailbox_bytes);
  if (!requests) return std::move(requests).error();
  core->requests_ = *std::move(requests);
  auto blobs = os::create_shared_memory("troupe-blobs", wire::blob_memory_bytes);
  if (!blobs) return std::move(blobs).error();
  core->blobs_ = *std::move(blobs);
  if (core->config_.tracer) core->requests_->set_traced();
  auto event = os::create_event();
  if (!event) return std::move(event).error();
  auto wakes = std::make_shared<os::unique_fd>(*std::move(event));
  core->completions_ = reactor::create(core->requests_, wakes, core->device_memory_,
                                       core->host_memory_, core->config_.quarantine);
  core->completions_->on_failure([self = core.get()](std::uint16_t slot, error& failure) {
    self->complete_error(slot, failure);
  });
  core->completions_->on_outcome([self = core.get()](std::uint16_t slot, errc code) {
    return self->keeps_outputs(slot, code);
  });
  core->supervisor_ =
      std::make_unique<supervisor>(supervisor::parts{.ordinal = ordinal,
                                                     .config = core->config_,
                                                     .requests = *core->requests_,
                                                     .completions = *core->completions_,
                                                     .device_memory = *core->device_memory_,
                                                     .host_memory = *core->host_memory_,
                                                     .blobs = &core->blobs_,
                                                     .backend = std::move(backend),
                                                     .wakes = wakes->get(),
                                                     .environment = &environment});
  if (auto begun = core->supervisor_->begin(); !begun) return std::move(begun).error();
  return core;
}

void device_core::set_guards(std::shared_ptr<device_guards> guards) {
  guards_ = std::move(guards);
  supervisor_->report_life_to(
      {.has_stopped = [guards = guards_](
                          const error& why,
                          bool by_request) { guards->device_has_stopped(why, by_request); },
       .is_restarted = [guards = guards_] { guards->device_is_restarted(); }});
}

// With the role. Decodes the bytes that were sent; `use` gets null if they no longer decode.
template <class Use>
void device_core::with_request(std::uint16_t slot, Use&& use) const {
  const request_type& type = *completions_->at(slot).type;
  std::vector<std::byte> storage(type.bytes + type.alignment);
  void* at = storage.data();
  std::size_t left = storage.size();
  at = std::align(type.alignment, type.bytes, at, left);
  type.construct(type.context, at);
  const auto destroy = [&type](void* made) { type.destroy(type.context, made); };
  const std::unique_ptr<void, decltype(destroy)> request(at, destroy);
  const wire::address_ranges ranges{
      wire::address_range{device_memory_->base(), device_memory_->bytes()},
      wire::address_range{host_memory_->base(), host_memory_->bytes()}};
  std::vector<wire::operand> operands;
  const auto decoded = wire::decode(type, at, requests_->sent_bytes(slot), ranges, operands);
  use(decoded ? at : nullptr);
}

// With the role.
bool device_core::keeps_outputs(std::uint16_t slot, errc code) const {
  const description_table& fields = *completions_->at(slot).type->fields;
  if (!fields.keeps_on_failure && fields.kept_outcomes.empty()) return false;
  bool keeps = false;
  with_request(slot, [&](const void* request) {
    keeps = request != nullptr && troupe::keeps_outputs(fields, request, code);
  });
  return keeps;
}

// With the role.
void device_core::complete_error(std::uint16_t slot, error& failure) {
  const record& r = completions_->at(slot);
  failure.device = ordinal_;
  // The error of a request that a lost worker left behind names that worker's generation, although
  // the next worker serves.
  if (failure.generation == 0) failure.generation = supervisor_->generation();
  // A worker reports a single reason for not knowing a request; the supervisor knows the whole one.
  if (failure.code == errc::library_missing && failure.library.empty() && !supervisor_->gone()) {
    error why = supervisor_->why_unknown(*r.type);
    failure.code = why.code;
    failure.message = std::move(why.message);
    failure.library = std::move(why.library);
  }
  if (!failure.request.empty()) return;
  // Failures are rare and requests are many: the text is decoded from the sent bytes only now.
  with_request(slot, [&](const void* request) {
    failure.request = request != nullptr ? print(*r.type, request) : std::string(r.type->name);
  });
}

future<bool> device_core::cancel(sent_request one) {
  promise<bool> answer;
  future<bool> cancelled = answer.get_future();
  supervisor_->execute([this, one, answer = std::move(answer)]() mutable {
    completions_->take_role();
    completions_->poll();
    const record& r = completions_->at(one.slot);
    const bool can_be = r.in_flight && r.ticket == one.ticket && !r.answered &&
                        completions_->started(r.lane) < r.place;
    if (can_be) {
      completions_->answer_early(
          one.slot, {.code = errc::cancelled, .message = "cancelled before it was run"});
    }
    completions_->leave_role();
    answer.set_value(can_be);
  });
  return cancelled;
}

namespace {

// The holder of the lanes owns the name.
device_core::library_lanes with_name(std::string_view library,
                                     std::shared_ptr<detail::lane_group> lanes) {
  struct named_lanes {
    std::string library;
    std::shared_ptr<detail::lane_group> lanes;
  };
  auto both = std::make_shared<named_lanes>(std::string(library), std::move(lanes));
  return {.library = both->library, .lanes = {both, both->lanes.get()}};
}

}  // namespace

device_core::library_lanes device_core::lanes_of(std::string_view library) {
  // There may be any number of names. Beyond this many, lanes are derived from the name alone.
  constexpr auto most_kept = std::size_t{2} * wire::max_lanes;
  const int wanted = config_.lanes.what == lane_policy::kind::pool ? config_.lanes.lanes : 1;
  // A forked process sends nothing, and the thread that held the lock may not exist in it.
  if (completions_->is_copy()) return new_lanes_of(library, wanted);
  const std::lock_guard lock(lanes_mutex_);
  const auto found = lanes_.find(std::string(library));
  if (found != lanes_.end()) return found->second;
  const bool kept = lanes_.size() < most_kept;
  std::shared_ptr<detail::lane_group> lanes;
  if (config_.lanes.what == lane_policy::kind::one) {
    if (!common_lane_) common_lane_ = new_lanes(1);
    lanes = common_lane_;
  } else if (kept) {
    lanes = new_lanes(wanted);
  } else {
    lanes = lanes_from(static_cast<std::uint32_t>(detail::hash_of(library)), wanted);
  }
  library_lanes named = with_name(library, std::move(lanes));
  if (kept) lanes_.emplace(library, named);
  return named;
}

device_core::library_lanes device_core::new_lanes_of(std::string_view library, int n) {
  return with_name(library, new_lanes(n));
}

std::shared_ptr<detail::lane_group> device_core::new_lanes(int n) {
  n = std::clamp(n, 1, wire::max_lanes);
  return lanes_from(next_lane_.fetch_add(static_cast<std::uint32_t>(n), std::memory_order_relaxed),
                    n);
}

// Makes a group of `n` consecutive lanes, modulo the number of lanes.
std::shared_ptr<detail::lane_group> device_core::lanes_from(std::uint32_t first, int n) {
  std::vector<std::uint8_t> lanes(static_cast<std::size_t>(std::clamp(n, 1, wire::max_lanes)));
  for (std::uint8_t& lane : lanes)
    lane = static_cast<std::uint8_t>(first++ % (wire::max_lanes - mapping_lanes));
  return std::make_shared<detail::lane_group>(std::move(lanes));
}

std::optional<std::uint8_t> device_core::take_mapping_lane() noexcept {
  std::uint32_t taken = used_mapping_lanes_.load(std::memory_order_relaxed);
  for (;;) {
    const int free = std::countr_one(taken);
    if (free >= mapping_lanes) return std::nullopt;
    if (used_mapping_lanes_.compare_exchange_weak(taken, taken | 1u << free,
                                                  std::memory_order_relaxed)) {
      return static_cast<std::uint8_t>(wire::max_lanes - mapping_lanes + free);
    }
  }
}

void device_core::leave_mapping_lane(std::uint8_t lane) noexcept {
  used_mapping_lanes_.fetch_and(~(1u << (lane - (wire::max_lanes - mapping_lanes))),
                                std::memory_order_relaxed);
}

result<detail::buffer_ref> device_core::allocate(memory_space space, std::uint64_t bytes,
                                                 placement where) {
  if (completions_->is_copy()) return reactor::copy_error();
  memory_pool& pool = space == memory_space::device ? *device_memory_ : *host_memory_;
  return pool.allocate(bytes, supervisor_->generation(), where == placement::own);
}

void device_core::await_senders() const noexcept {
  for (std::uint32_t slot = 0; slot < requests_->capacity(); ++slot) {
    const record& r = completions_->at(static_cast<std::uint16_t>(slot));
    // A sender is in this state for a microsecond, and neither waits nor calls back meanwhile.
    detail::yielding_wait wait;
    while (r.on_its_way.load(std::memory_order_seq_cst))
      wait.step();
  }
}

future<void> device_core::thaw(detail::buffer_ref buffer) {
  auto writable = supervisor_->protect(buffer, false);
  return std::move(writable).then([held = std::move(buffer)] {
    held->state.fetch_and(~frozen_flags, std::memory_order_acq_rel);
  });
}

taint_cause device_core::tainted_by(const any_tensor& t) {
  const detail::buffer_ref& buffer = t.buffer();
  memory_pool& pool = buffer->owner == &memory() ? memory() : host_memory();
  const any_tensor::byte_range reach = t.reach();
  const std::int64_t first = t.address() - buffer->address;
  return pool.taints().undefined_for({.device = &memory()}, *buffer.get(),
                                     static_cast<std::uint64_t>(first + reach.begin),
                                     static_cast<std::uint64_t>(first + reach.end));
}

device_statistics device_core::statistics() const {
  const auto& totals = completions_->totals();
  device_statistics s;
  s.answered = totals.answered.load(std::memory_order_relaxed);
  s.failed =
      totals.failed.load(std::memory_order_relaxed) + refused_.load(std::memory_order_relaxed);
  s.replayed = supervisor_->replayed();
  s.sent = requests_->next_ticket() + refused_.load(std::memory_order_relaxed);
  s.in_flight = s.sent - std::min(s.sent, s.answered + s.failed);
  const pool_statistics memory = device_memory_->statistics();
  s.memory_used_bytes = memory.used_bytes;
  s.memory_peak_bytes = memory.peak_bytes;
  s.memory_limit_bytes = memory.limit_bytes;
  s.buffers = memory.buffers;
  return s;
}

}  // namespace troupe
