#include "device/world/world_core.hpp"

#include "core/dispatch/deferred_continuations.hpp"
#include "device/world/device_links.hpp"
#include "device/world/world_words.hpp"
#include "request/description/table.hpp"
#include "request/description/text.hpp"
#include "wire/world_bells.hpp"

#include <troupe/collective/connect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

error invalid(std::string message) {
  return {.code = errc::invalid_argument, .message = std::move(message)};
}

std::vector<reactor*> reactors_of(const std::vector<std::shared_ptr<local_device>>& devices) {
  std::vector<reactor*> all;
  all.reserve(devices.size());
  for (const auto& one : devices)
    all.push_back(&one->completions());
  return all;
}

std::chrono::nanoseconds longest_limit(const std::vector<std::shared_ptr<local_device>>& devices) {
  std::chrono::nanoseconds longest{};
  for (const auto& one : devices)
    longest = std::max(longest, one->config().run_limit);
  return longest;
}

result<void> can_join(local_device& one) {
  if (one.config().isolation == isolation::thread) {
    return error{.code = errc::unsupported,
                 .message = fmt::format(
                     "device {} runs in threads of the program, which cannot be ended while they "
                     "wait for other devices (device_config::isolation)",
                     one.ordinal()),
                 .device = one.ordinal()};
  }
  return {};
}

bool some_cannot_read(const std::vector<std::shared_ptr<local_device>>& devices) {
  for (const auto& reader : devices) {
    for (const auto& owner : devices)
      if (owner != reader && !link_between(*reader, *owner).is_direct()) return true;
  }
  return false;
}

}  // namespace

result<std::shared_ptr<world_core>> world_core::create(
    std::vector<std::shared_ptr<local_device>> devices, const world_config& config,
    std::shared_ptr<std::mutex> order) {
  if (devices.empty()) return invalid("a world needs a device");
  if (devices.size() > wire::max_peers) {
    return error{.code = errc::unsupported,
                 .message = fmt::format("a world has at most {} devices; there are {}",
                                        wire::max_peers, devices.size())};
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (auto can = can_join(*devices[i]); !can) return std::move(can).error();
    const auto again = std::find(devices.begin(), devices.begin() + std::ptrdiff_t(i), devices[i]);
    if (again != devices.begin() + std::ptrdiff_t(i)) {
      return invalid(fmt::format("a device is in a world once; device {} is rank {} and rank {}",
                                 devices[i]->ordinal(), again - devices.begin(), i));
    }
  }
  if (config.staging_bytes < world_config::least_staging) {
    return invalid(fmt::format("world_config::staging_bytes must be at least {}; it is {}",
                               world_config::least_staging, config.staging_bytes));
  }
  if (config.run_limit && *config.run_limit <= std::chrono::nanoseconds::zero()) {
    return invalid(fmt::format("world_config::run_limit must be positive; it is {} ns",
                               config.run_limit->count()));
  }
  std::shared_ptr<world_core> made(new world_core(std::move(devices), config, std::move(order)));
  if (auto allocated = made->allocate_words(); !allocated) return std::move(allocated).error();
  if (auto mapped = made->map_all(); !mapped) return std::move(mapped).error();
  for (const auto& one : made->devices_)
    one->watch_with(made);
  if (config.transport == transport::nccl && made->devices_.size() > 1) {
    if (auto connected = made->connect_at_once(); !connected) return std::move(connected).error();
  }
  return made;
}

world_core::world_core(std::vector<std::shared_ptr<local_device>> devices,
                       const world_config& config, std::shared_ptr<std::mutex> order)
    : devices_(std::move(devices)),
      config_(config),
      limit_(config.run_limit.value_or(longest_limit(devices_))),
      look_interval_(worker_watch::look_interval(limit_)),
      order_(std::move(order)),
      through_host_(some_cannot_read(devices_)),
      transport_(devices_, config_, through_host_),
      driver_(new world_driver(reactors_of(devices_))) {}

world_core::~world_core() {
  if (page_.null() || !transport_.has_connected() || devices_.front()->completions().is_copy()) {
    return;
  }
  // Threads of workers look at the page until they see that the world has ended.
  wire::break_connection(page(), std::numeric_limits<std::uint64_t>::max());
  if (const auto siblings = devices_.front()->siblings()) siblings->keep(page_);
}

result<void> world_core::allocate_words() {
  auto made = world_words::allocate(devices_, config_.staging_bytes, through_host_);
  if (!made) return std::move(made).error();
  page_ = std::move(made->page);
  words_ = std::move(made->ranks);
  return {};
}

result<void> world_core::map_all() {
  for (const auto& one : devices_) {
    for (const auto& peer : devices_) {
      if (peer == one) continue;
      const bool is_direct = link_between(*one, *peer).is_direct();
      if (auto mapped = one->map_peer(peer->shared_memory(), is_direct); !mapped) return mapped;
    }
    for (const any_tensor& words : words_)
      one->reach_words(words);
  }
  return {};
}

// The checks that no part can make.
result<void> world_core::check(const request_type& type, const void* request,
                               const request_options& options) const {
  if (options.run_limit || options.stop.stop_possible()) {
    return invalid(
        "a request for several devices has no run limit (world_config::run_limit) and no stop "
        "token: a part that ended alone would keep the others waiting");
  }
  // Before any lock is taken, which no thread may hold any more.
  if (devices_.front()->completions().is_copy()) return reactor::copy_error();
  for (const auto& one : devices_) {
    if (!one->gone()) continue;
    error why = one->supervision().stop_reason();
    why.device = one->ordinal();
    return why;
  }
  if (world_transport::is_connect(type) && !transport_.excluded().empty()) {
    return error{.code = errc::unsupported,
                 .message = "NCCL may not be used: " + transport_.excluded()};
  }
  const description_table& t = *type.fields;
  const std::size_t ranks = devices_.size();
  for (std::size_t i = 0; i < t.fields.size(); ++i) {
    if (!t.is_per_rank(i)) continue;
    const std::string& name = t.details[i].name;
    const auto& all = value_at<std::vector<any_tensor>>(request, t.fields[i].offset);
    if (all.size() % ranks != 0) {
      return invalid(
          fmt::format("{} must hold a tensor per rank for each item; it holds {}, and "
                      "the world has {} ranks",
                      name, all.size(), ranks));
    }
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (all[k].null() || all[k].empty()) continue;
      const local_device& home = *devices_[k % ranks];
      const memory_pool& wanted = *home.shared_memory();
      const detail::buffer_ref& buffer = all[k].buffer();
      if (buffer && buffer->owner == &wanted) continue;
      std::string is = "is not in memory that Troupe handed out";
      if (buffer && buffer->space == memory_space::host)
        is = "is in host memory";
      else if (buffer)
        is = static_cast<memory_pool*>(buffer->owner)->belongs_to_another_than(wanted);
      return error{.code = errc::foreign_buffer,
                   .message = fmt::format("{}[{}] must be on device {}, which is rank {}; it {}",
                                          name, k, home.ordinal(), k % ranks, is),
                   .device = home.ordinal()};
    }
  }
  return {};
}

result<void> world_core::send(const request_type& type, void* request, world_part& part,
                              const request_options& options, detail::completion done) {
  const auto refuse = [&](error why) -> result<void> {
    if (why.request.empty()) why.request = print(type, request);
    if (done) {
      error copy = why;
      done(nullptr, &copy);
    }
    return why;
  };
  part.words = words_;
  part.page = page_;
  part.rank = 0;
  part.connection = 0;
  part.through_host = through_host_;
  if (auto good = check(type, request, options); !good) return refuse(std::move(good).error());
  // Once for all parts: their ranks alone differ.
  if (auto valid = type.validate(request); !valid) return refuse(std::move(valid).error());
  if (!world_transport::is_connect(type)) {
    connect_again();
    auto by = transport_.connection_for(type, request, page());
    if (!by) return refuse(std::move(by).error());
    part.connection = static_cast<std::int64_t>(*by);
  }
  std::optional<clock::time_point> deadline;
  if (options.deadline) deadline = detail::deadline_after(clock::now(), *options.deadline);
  for (;;) {
    std::unique_lock lock(*order_);
    auto parts = prepare(type, request, part);
    if (parts) {
      const bool awaited = static_cast<bool>(done);
      begin(type, part, std::move(done), deadline);
      publish(*std::move(parts), awaited);
      return {};
    }
    lock.unlock();
    if (!may_wait(parts.error())) return refuse(std::move(parts).error());
    if (deadline && clock::now() >= *deadline) {
      return refuse({.code = errc::deadline_exceeded,
                     .message = "the deadline passed while a mailbox was full",
                     .device = parts.error().device});
    }
    detail::deferred_continuations::mine().pause_until(std::chrono::steady_clock::now() +
                                                       std::chrono::microseconds(50));
  }
}

// On all devices or on none: prepared parts are dropped if a device refuses.
result<std::vector<prepared_request>> world_core::prepare(const request_type& type,
                                                          const void* request, world_part& part) {
  std::vector<prepared_request> parts;
  parts.reserve(devices_.size());
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    part.rank = static_cast<std::int64_t>(rank);
    auto made = devices_[rank]->prepare_part(type, request, next_);
    if (!made) return std::move(made).error();
    parts.push_back(*std::move(made));
  }
  return parts;
}

bool world_core::may_wait(const error& refusal) const {
  return refusal.code == errc::mailbox_full && std::ranges::all_of(devices_, [&](const auto& one) {
           if (one->ordinal() != refusal.device) return true;
           one->completions().try_poll();
           return one->config().full == when_full::wait;
         });
}

// With the order.
void world_core::begin(const request_type& type, const world_part& part, detail::completion&& done,
                       std::optional<clock::time_point> deadline) {
  const std::lock_guard lock(mutex_);
  operation& made = under_way_.emplace_back();
  made.number = next_++;
  made.type = &type;
  made.connection = static_cast<std::uint64_t>(part.connection);
  if (world_transport::is_connect(type)) transport_.connects(made.number);
  made.left = devices_.size();
  made.has_ended.assign(devices_.size(), false);
  made.done = std::move(done);
  made.deadline = deadline;
  schedule_look(deadline);
}

// With the order.
void world_core::publish(std::vector<prepared_request>&& parts, bool awaited) {
  const std::uint64_t number = next_ - 1;
  std::vector<device_endpoint::sent_request> sent;
  sent.reserve(parts.size());
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    sent.push_back(devices_[rank]->publish(
        std::move(parts[rank]),
        [self = shared_from_this(), number, rank](const std::byte*, const error* failure) {
          self->part_has_ended(number, rank, failure);
        },
        awaited));
  }
  const std::lock_guard lock(mutex_);
  if (operation* const made = find(number)) made->parts = std::move(sent);
}

// With the mutex. Numbers are consecutive.
world_core::operation* world_core::find(std::uint64_t number) noexcept {
  if (under_way_.empty() || number < under_way_.front().number) return nullptr;
  const std::uint64_t at = number - under_way_.front().number;
  return at < under_way_.size() ? &under_way_[at] : nullptr;
}

// With the role of that rank's device.
void world_core::part_has_ended(std::uint64_t number, std::size_t rank, const error* failure) {
  detail::completion done;
  std::optional<error> why;
  {
    const std::lock_guard lock(mutex_);
    operation* const ended = find(number);
    ended->has_ended[rank] = true;
    if (failure != nullptr && !ended->failure) {
      ended->failure = *failure;
      ended->failed_on = rank;
    }
    if (--ended->left == 0) {
      done = std::move(ended->done);
      if (ended->failure) why = failure_of(*ended);
      if (why) {
        ++failed_;
        last_failure_ = why;
      }
    }
    // Ranks on which an operation has failed wait until it is dropped, whether others do or not.
    while (!under_way_.empty()) {
      const operation& first = under_way_.front();
      if (first.failure) drop(first.number);
      if (first.left > 0) break;
      under_way_.pop_front();
    }
  }
  if (done) done(nullptr, why ? &*why : nullptr);
}

// With the mutex. Every earlier operation has ended on all ranks.
void world_core::drop(std::uint64_t number) noexcept {
  wire::world_page& words = page();
  if (words.dropped[0].operation.load(std::memory_order_relaxed) >= number) return;
  // Ranks that wait in NCCL leave it when the connection is broken.
  if (const operation* const dropped = find(number); dropped && dropped->connection != 0) {
    wire::break_connection(words, dropped->connection);
  }
  for (wire::world_page::drop_word& word : words.dropped)
    word.operation.store(number, std::memory_order_release);
  for (std::size_t rank = 0; rank < devices_.size(); ++rank)
    wire::ring(words.bells[rank]);
}

error world_core::failure_of(const operation& failed) const {
  const error& why = *failed.failure;
  if (failed.is_hang) {
    error hang = why;
    for (const std::size_t rank : failed.stuck)
      hang.message += fmt::format("; rank {} did not leave, so its worker was ended", rank);
    return hang;
  }
  if (devices_.size() == 1) return why;
  return {.code = errc::aborted,
          .message = fmt::format("{} #{} failed on rank {}: {}", failed.type->name, failed.number,
                                 failed.failed_on, why.message),
          .request = why.request,
          .device = why.device,
          .generation = why.generation,
          .cause = std::make_shared<const error>(why)};
}

world_health world_core::health() const {
  world_health now;
  if (devices_.front()->completions().is_copy()) return now;
  std::vector<in_short> all;
  {
    const std::lock_guard lock(mutex_);
    for (const operation& one : under_way_)
      all.push_back(one);
    now.failed = failed_;
    now.last_failure = last_failure_;
    now.operations = next_ - 1;
    now.nccl = transport_.health(page());
  }
  for (const in_short& one : all) {
    now.under_way.push_back(
        {.number = one.number, .request = std::string(one.type->name), .ranks = progress_of(one)});
  }
  return now;
}

}  // namespace troupe
