#include "ranks.hpp"

#include "os/shared_memory.hpp"
#include "stepping.hpp"

#include <troupe/collective.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace troupe::kills {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::seconds operation_bound{10};
// A slot has 4 KiB, so an operation in place with several pieces takes three steps.
constexpr std::int64_t staging_bytes = 16 << 10;
constexpr std::int64_t several_pieces = 1200;
constexpr std::int64_t one_piece = 60;
constexpr std::uint64_t first_generation = 2;
// A part takes some thousand, and each may be the last.
constexpr std::uint32_t most_steps = 3000;

/// In memory that workers share: when a rank's workers are to die, and in which parts they did.
struct rank_fate {
  static constexpr std::size_t workers = 2;  // the second dies in the repetition
  std::atomic<std::uint32_t> steps_to_death[workers]{};
  std::atomic<std::int64_t> died_ns{0};
  std::atomic<std::int64_t> begun{0};
  std::atomic<std::int64_t> ended{0};
};
std::span<rank_fate> fates;
os::mapping fates_pages;

void make_fates() {
  constexpr std::size_t bytes = ranks::count * sizeof(rank_fate);
  const auto memory = os::create_shared_memory("troupe-kills-ranks", bytes).value();
  fates_pages = os::map(memory, bytes, os::protection::read_write).value();
  fates = {reinterpret_cast<rank_fate*>(fates_pages.address()), ranks::count};
  for (rank_fate& one : fates)
    ::new (&one) rank_fate();
}

template <class Request>
const operation* real = nullptr;

template <class Request>
result<void> run_part_to_death(void* executor, const void* request, lane_context& lane,
                               std::byte* reply) {
  rank_fate& mine =
      fates[static_cast<std::size_t>(static_cast<const Request*>(request)->part.rank)];
  mine.begun.fetch_add(1, std::memory_order_relaxed);
  for (auto& steps : mine.steps_to_death) {
    const std::uint32_t left = steps.exchange(0, std::memory_order_relaxed);
    if (left == 0) continue;
    die_in_steps(left, mine.died_ns);
    break;
  }
  auto outcome = real<Request>->run(executor, request, lane, reply);
  mine.ended.fetch_add(1, std::memory_order_relaxed);
  return outcome;
}

template <class Request>
void hold(operation_table& table, const operation_table& executors) {
  static const operation original = *executors.find(request_type_of<Request>().id);
  real<Request> = &original;
  operation held = original;
  held.run = &run_part_to_death<Request>;
  table.insert(held);
}

operation_table parts_of_operations() {
  operation_table executors;
  plugin_operations::visit([&](auto& add) { add(executors); });
  operation_table made;
  hold<collective::all_reduce>(made, executors);
  hold<collective::all_gather>(made, executors);
  return made;
}

std::span<std::uint64_t> content(const any_tensor& t) {
  return {reinterpret_cast<std::uint64_t*>(t.address()), static_cast<std::size_t>(t.count())};
}

}  // namespace

ranks::ranks(std::uint64_t seed) : random_(seed), operations_(parts_of_operations()) {
  make_fates();
  host_memory_ = memory_pool::create(
                     {.space = memory_space::host, .limit_bytes = 1 << 20, .granule_bytes = 4096})
                     .value();
  const device_config config{
      .mailbox_capacity = 16,
      .mailbox_bytes = 1 << 16,
      .memory_limit_bytes = 1 << 20,
      .standby = false,
      .restarts = {.restarts = std::numeric_limits<std::int32_t>::max(), .window = 1ms},
      .backoff = {.initial = 0ms}};
  for (std::size_t rank = 0; rank < count; ++rank) {
    environments_[rank] = std::make_unique<forked_environment>(operations_);
    devices_.push_back(
        local_device::create_with({.plugin = "forks", .description = {.name = "forks"}},
                                  static_cast<std::int32_t>(rank), config, host_memory_,
                                  *environments_[rank])
            .value());
  }
  world_ =
      world_core::create(devices_, {.staging_bytes = staging_bytes}, std::make_shared<std::mutex>())
          .value();
  pieces_ = allocate(several_pieces);
  x_ = allocate(one_piece);
  sum_ = allocate(one_piece);
  both_ = allocate(one_piece * static_cast<std::int64_t>(count));
  // The first workers were forked before there was the other device's memory.
  for (const auto& one : devices_) {
    supervisor& turns = one->supervision();
    while (!turns.worker_pid())
      turns.take_turn();
    ::kill(*turns.worker_pid(), SIGKILL);
    while (turns.generation() < first_generation)
      turns.take_turn();
  }
}

ranks::~ranks() {
  pieces_ = x_ = sum_ = both_ = {};
  world_.reset();
  devices_.clear();
}

ranks::numbers ranks::allocate(std::int64_t elements) {
  numbers made;
  for (std::size_t rank = 0; rank < count; ++rank) {
    const auto bytes = static_cast<std::uint64_t>(elements) * sizeof(std::uint64_t);
    made[rank] = any_tensor::owned(devices_[rank]->allocate(memory_space::device, bytes).value(),
                                   dtype::u64, {elements});
    std::ranges::generate(content(made[rank]), [&] { return random_(); });
  }
  return made;
}

std::string ranks::outlive(std::int64_t kills) {
  if (!can_step()) return {};
  std::string wrong;
  while (seen_.kills < kills && wrong.empty()) {
    doom();
    wrong = run_one();
    seen_.kills = workers_lost();
    ++seen_.operations;
  }
  seen_.in_part = 0;
  for (const rank_fate& one : fates)
    seen_.in_part += one.begun.load() - one.ended.load();
  return wrong.empty() ? "" : fmt::format("kill {}: {}", seen_.kills, wrong);
}

void ranks::doom() {
  // Both ranks, or one.
  const std::uint64_t victims = 1 + random_() % 3;
  for (std::size_t rank = 0; rank < count; ++rank) {
    const bool dies = (victims >> rank & 1) != 0;
    for (auto& steps : fates[rank].steps_to_death) {
      const bool here = dies && (&steps == fates[rank].steps_to_death || random_() % 3 == 0);
      steps.store(here ? 1 + static_cast<std::uint32_t>(random_() % most_steps) : 0,
                  std::memory_order_relaxed);
    }
  }
}

std::string ranks::run_one() {
  switch (random_() % 4) {
    case 0:
      return run<collective::all_reduce>(pieces_, pieces_);
    case 1:
      return run<collective::all_reduce>(x_, x_);
    case 2:
      return run<collective::all_reduce>(x_, sum_);
    default:
      return run<collective::all_gather>(x_, both_);
  }
}

template <class Request>
std::string ranks::run(const numbers& x, const numbers& y) {
  std::vector<std::uint64_t> wanted;
  if constexpr (std::same_as<Request, collective::all_gather>) {
    for (const any_tensor& one : x)
      wanted.insert(wanted.end(), content(one).begin(), content(one).end());
  } else {
    wanted.assign(static_cast<std::size_t>(x[0].count()), 0);
    for (const any_tensor& one : x)
      std::ranges::transform(wanted, content(one), wanted.begin(), std::plus());
  }
  Request request{.x = {x.begin(), x.end()}, .y = {y.begin(), y.end()}};
  std::optional<std::string> outcome;
  (void)world_->send(request_type_of<Request>(), &request, request.part, {},
                     [&](const std::byte*, error* failure) {
                       outcome = failure != nullptr ? failure->to_string() : "";
                     });
  const auto give_up = clock::now() + operation_bound;
  while (!outcome) {
    for (const auto& one : devices_)
      one->supervision().take_turn();
    if (clock::now() > give_up) return fmt::format("{} has no end", Request::name);
    std::this_thread::yield();
  }
  if (!outcome->empty()) return *outcome;
  for (std::size_t rank = 0; rank < count; ++rank) {
    if (std::ranges::equal(content(y[rank]), wanted)) continue;
    return fmt::format("{} #{} is wrong on rank {}", Request::name, world_->health().operations,
                       rank);
  }
  return {};
}

std::int64_t ranks::workers_lost() const {
  std::uint64_t lost = 0;
  for (const auto& one : devices_)
    lost += one->supervision().generation() - first_generation;
  return static_cast<std::int64_t>(lost);
}

}  // namespace troupe::kills
