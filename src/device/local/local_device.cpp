#include "device/local/local_device.hpp"

#include "base/spin_wait.hpp"
#include "builtin/graph/requests/definition.hpp"
#include "core/dispatch/deferred_continuations.hpp"
#include "device/local/fault_keeper.hpp"
#include "os/event.hpp"
#include "os/limits.hpp"
#include "os/private_folder.hpp"
#include "request/description/table.hpp"
#include "request/description/text.hpp"
#include "wire/blob_memory.hpp"
#include "wire/codec.hpp"
#include "wire/control.hpp"

#include <troupe/device/device.hpp>

#include <fmt/format.h>

#include <algorithm>
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

// Before there is a worker.
result<void> keep_blobs(
    const os::unique_fd& memory,
    const std::vector<std::pair<std::vector<std::byte>, std::vector<std::byte>>>& all) {
  if (all.empty()) return {};
  auto pages = os::map(memory, wire::blob_memory_bytes, os::protection::read_write);
  if (!pages) return std::move(pages).error();
  wire::blob_memory blobs(pages->address(), pages->bytes());
  for (const auto& [key, content] : all) {
    if (auto kept = blobs.publish(key, content); !kept) return kept;
  }
  return {};
}

// Later ones are drawn at random, when a request of the slot is sampled.
void draw_first_samples(reactor& completions, std::uint32_t capacity, std::uint32_t sample) {
  for (std::uint32_t slot = 0; sample > 0 && slot < capacity; ++slot)
    completions.at(static_cast<std::uint16_t>(slot)).until_sample = 1 + slot % sample;
}

}  // namespace

local_device::local_device(std::int32_t ordinal, device_config config,
                           std::shared_ptr<memory_pool> host_memory,
                           const metrics_config& metrics) noexcept
    : ordinal_(ordinal),
      config_(std::move(config)),
      metrics_(metrics),
      host_memory_(std::move(host_memory)),
      lanes_(config_.lanes) {}

local_device::~local_device() {
  // Peers may keep the pool, but not its unused memory.
  if (!peers_.empty()) device_memory_->trim();
  for (const known_peer& one : peers_)
    one.pool->unwatch_slabs(this);
}

void local_device::let_go(local_device* unused) noexcept {
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

result<std::shared_ptr<local_device>> local_device::create(std::int32_t ordinal,
                                                           const device_config& asked,
                                                           std::shared_ptr<memory_pool> host_memory,
                                                           std::span<const std::string> in_use,
                                                           const metrics_config& metrics) {
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
  if (!config.fault_journal.folder.empty()) {
    auto folder = os::private_folder::open(config.fault_journal.folder);
    if (!folder) return of_device(std::move(folder).error());
  }
  os::raise_descriptor_limit();
  auto backend = choose_backend(ordinal, config, in_use);
  if (!backend) return of_device(std::move(backend).error());
  return create_with(*std::move(backend), ordinal, config, std::move(host_memory),
                     supervisor_environment::real(), metrics);
}

result<std::shared_ptr<local_device>> local_device::create_with(
    chosen_backend backend, std::int32_t ordinal, const device_config& asked,
    std::shared_ptr<memory_pool> host_memory, supervisor_environment& environment,
    const metrics_config& metrics) {
  device_config config = asked;
  // The driver would refuse a context to a second process again and again.
  if (backend.description.one_process) config.standby = false;
  // A worker thread cannot be killed, and a user at a breakpoint must not lose his device to a
  // limit.
  if (config.isolation == isolation::thread) config.run_limit = std::chrono::nanoseconds::max();
  std::shared_ptr<local_device> made(
      new local_device(ordinal, config, std::move(host_memory), metrics), &local_device::let_go);
  if (auto built = made->build(std::move(backend), environment); !built) {
    return std::move(built).error();
  }
  made->device_memory_->set_home(made);
  made->device_memory_->on_frozen_unused(
      [home = std::weak_ptr(made)](const detail::buffer_ref& unused) {
        const auto clear = [](const detail::buffer_ref& b) {
          b->state.fetch_and(~frozen_flags, std::memory_order_acq_rel);
        };
        const auto alive = home.lock();
        if (!alive) return clear(unused);
        // Success or a device that is gone: either way no worker maps the buffer read-only any
        // more.
        (void)alive->protect(unused, false).then([clear, unused](const result<void>&) {
          clear(unused);
        });
      });
  return made;
}

// Builds the parts and joins them.
result<void> local_device::build(chosen_backend backend, supervisor_environment& environment) {
  description_ = backend.description;
  const std::uint64_t whole = backend.source
                                  ? backend.source->description().memory_bytes
                                  : memory_pool::default_limit_bytes(os::usable_memory_bytes());
  auto memory = memory_pool::create(
      {.space = memory_space::device,
       .device = ordinal_,
       .limit_bytes = config_.memory_limit_bytes != 0 ? config_.memory_limit_bytes : whole,
       .granule_bytes = device_granule_bytes,
       .source = backend.source,
       .worker_in_program = config_.isolation == isolation::thread});
  if (!memory) return std::move(memory).error();
  device_memory_ = *std::move(memory);
  copiers_ = std::make_unique<copy_pool>(copy_threads(device_memory_->on_device()),
                                         [this](detail::continuation_queue continuations) {
                                           supervisor_->run_soon(std::move(continuations));
                                         });
  auto requests = mailbox::create(config_.mailbox_capacity, config_.mailbox_bytes);
  if (!requests) return std::move(requests).error();
  requests_ = *std::move(requests);
  auto blobs = os::create_shared_memory("troupe-blobs", wire::blob_memory_bytes);
  if (!blobs) return std::move(blobs).error();
  blobs_ = *std::move(blobs);
  if (auto kept = keep_blobs(blobs_, config_.blobs); !kept) return kept;
  if (metrics_.flight_recorder > 0) {
    recorder_ = std::make_shared<flight_recorder>(metrics_.flight_recorder);
  }
  auto event = os::create_event();
  if (!event) return std::move(event).error();
  auto wakes = std::make_shared<os::unique_fd>(*std::move(event));
  completions_ =
      reactor::create(requests_, wakes, device_memory_, host_memory_, config_.quarantine);
  completions_->outcomes().record_to(recorder_);
  begin_journals();
  draw_first_samples(*completions_, requests_->capacity(), metrics_.sample);
  set_driver(*completions_);
  completions_->on_failure(
      [this](std::uint16_t slot, error& failure) { complete_error(slot, failure); });
  completions_->on_outcome(
      [this](std::uint16_t slot, errc code) { return keeps_outputs(slot, code); });
  completions_->quarantine().report_forgiven_to([this](const quarantined_request& one) {
    journal_.record({.what = device_event::kind::forgiven,
                     .generation = supervisor_->generation(),
                     .why = error{.code = errc::poisonous, .request = one.request}});
  });
  supervisor_ = std::make_unique<supervisor>(supervisor::parts{.ordinal = ordinal_,
                                                               .config = config_,
                                                               .requests = *requests_,
                                                               .completions = *completions_,
                                                               .device_memory = *device_memory_,
                                                               .host_memory = *host_memory_,
                                                               .journal = journal_,
                                                               .blobs = &blobs_,
                                                               .backend = std::move(backend),
                                                               .wakes = wakes->get(),
                                                               .environment = &environment});
  return supervisor_->begin();
}

void local_device::set_guards(std::shared_ptr<device_guards> guards) {
  guards_ = std::move(guards);
  supervisor_->report_life_to(
      {.has_stopped = [guards = guards_](
                          const error& why,
                          bool by_request) { guards->device_has_stopped(why, by_request); },
       .is_restarted = [guards = guards_] { guards->device_is_restarted(); }});
}

future<bool> local_device::cancel(sent_request one) {
  promise<bool> answer;
  future<bool> cancelled = answer.get_future();
  supervisor_->execute(
      [this, one, answer = std::move(answer)]() mutable { answer.set_value(cancel_at_once(one)); });
  return cancelled;
}

bool local_device::cancel_at_once(sent_request one) {
  const role held(*completions_);
  completions_->poll(held);
  const record& r = completions_->at(one.slot);
  const bool can_be = r.now == record::stage::in_flight && r.ticket == one.ticket &&
                      completions_->started(held, r.lane) < r.place;
  if (can_be) {
    completions_->answer_early(held, one.slot,
                               {.code = errc::cancelled, .message = "cancelled before it was run"});
  }
  return can_be;
}

device_endpoint::library_lanes local_device::lanes_of(std::string_view library) {
  // A forked process sends nothing, and the thread that held the lock may not exist in it.
  return completions_->is_copy() ? lanes_.make(library) : lanes_.of(library);
}

device_endpoint::library_lanes local_device::new_lanes_of(std::string_view library, int n) {
  return lanes_.make(library, n);
}

future<void> local_device::renew(const renew_options& how) {
  return supervisor_->renew(how, [this] { return send_rest(); });
}

std::uint8_t local_device::lane_for(const request_type& type) {
  if (const auto lane = lanes_.known(type)) return *lane;
  return completions_->is_copy() ? std::uint8_t{0} : lanes_.remember(type);
}

bool local_device::forgive(std::optional<std::uint64_t> request) {
  quarantine_book& book = completions_->quarantine();
  return request ? book.forgive(*request) : book.forgive_all();
}

std::vector<device_event> local_device::events(std::uint64_t after) const {
  // In a forked process, the thread that held the lock at the fork does not exist.
  return completions_->is_copy() ? std::vector<device_event>() : journal_.since(after);
}

bool local_device::drain(std::chrono::nanoseconds timeout) {
  if (completions_->is_copy()) return false;  // requests in flight end in the parent process
  constexpr std::chrono::microseconds longest_pause = std::chrono::milliseconds(5);
  const auto until = detail::deadline_after(std::chrono::steady_clock::now(), timeout);
  std::chrono::microseconds pause(50);
  while (statistics().in_flight > 0) {
    if (std::chrono::steady_clock::now() >= until) return false;
    detail::deferred_continuations::mine().pause_until(std::chrono::steady_clock::now() + pause);
    pause = std::min(2 * pause, longest_pause);
  }
  return completions_->settle_answers(until);
}

result<detail::buffer_ref> local_device::allocate(memory_space space, std::uint64_t bytes,
                                                  placement where) {
  if (completions_->is_copy()) return reactor::copy_error();
  memory_pool& pool = space == memory_space::device ? *device_memory_ : *host_memory_;
  return pool.allocate(bytes, supervisor_->generation(), where == placement::own);
}

void local_device::await_senders() const noexcept {
  for (std::uint32_t slot = 0; slot < requests_->capacity(); ++slot) {
    const record& r = completions_->at(static_cast<std::uint16_t>(slot));
    // A sender is in this state for a microsecond, and neither waits nor calls back meanwhile. Only
    // one that has prepared a request for several devices may be in it for longer.
    detail::yielding_wait wait;
    while (r.on_its_way.load(std::memory_order_seq_cst))
      wait.step();
  }
}

taint_cause local_device::tainted_by(const any_tensor& t) {
  const detail::buffer_ref& buffer = t.buffer();
  memory_pool& pool = buffer->owner == &memory() ? memory() : host_memory();
  const any_tensor::byte_range reach = t.reach();
  const std::int64_t first = t.address() - buffer->address;
  return pool.taints().undefined_for({.device = &memory()}, *buffer.get(),
                                     static_cast<std::uint64_t>(first + reach.begin),
                                     static_cast<std::uint64_t>(first + reach.end));
}

std::uint64_t local_device::free_bytes() const {
  const pool_statistics memory = device_memory_->statistics();
  const std::uint64_t left = memory.limit_bytes - std::min(memory.limit_bytes, memory.used_bytes);
  if (!device_memory_->source()) return left;
  const auto card = device_memory_->source()->level();
  return card ? std::min(left, card->free + memory.kept_bytes) : left;
}

}  // namespace troupe
