#include "load.hpp"

#include <troupe/blas/level1.hpp>
#include <troupe/blas/level1_reductions.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>

#include <algorithm>
#include <limits>

namespace troupe::gpu_test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// Longer than any recovery takes: a request without an answer by then is lost.
constexpr auto answer_timeout = 20s;
constexpr std::size_t entries_at_once = 4096;

constexpr std::int64_t lengths[] = {1, 33, 256, 4096};
constexpr std::int64_t longest_read = 4096;
// First counters of each length, then others, then slices of one buffer (taints go by ranges), then
// the long one.
constexpr std::size_t counters = std::size(lengths);
constexpr std::size_t slices = 2 * std::size(lengths);
constexpr std::size_t long_cell = 3 * std::size(lengths);
constexpr std::size_t cell_count = long_cell + 1;

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now().time_since_epoch())
      .count();
}

void end(entry& e, errc code) noexcept {
  e.code = code;
  e.ended_ns = now_ns();
  e.ends.fetch_add(1, std::memory_order_release);
}

future<void> noted(entry& e, future<void> answer) {
  return std::move(answer).then(
      [&e](result<void> outcome) { end(e, outcome ? errc{} : outcome.error().code); });
}

// The value of all elements, or NaN.
double value_of(std::span<const double> elements) {
  const bool equal = std::ranges::all_of(elements, [&](double x) { return x == elements[0]; });
  return equal ? elements[0] : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

client::client(device& gpu, const any_tensor& ones, const load_config& config, std::uint64_t seed)
    : gpu_(gpu),
      config_(config),
      random_(seed),
      heal_in_(cell_count, 0),
      ledger_(cell_count, counters, config.hostile_workers),
      entries_(std::make_unique<entry[]>(entries_at_once)) {
  std::int64_t all = 0;
  for (const std::int64_t length : lengths)
    all += length;
  const any_tensor shared = gpu.tensor<double>({all}, initial::zero).value();
  std::int64_t at = 0;
  for (std::size_t i = 0; i < cell_count; ++i) {
    const std::int64_t length = i == long_cell ? longest_cell : lengths[i % std::size(lengths)];
    if (i >= slices && i < long_cell) {
      cells_.push_back(shared.slice(0, at, at + length).value());
      at += length;
    } else {
      cells_.push_back(gpu.tensor<double>({length}, initial::zero).value());
    }
    ones_.push_back(ones.slice(0, 0, length).value());
  }
  for (std::size_t i = 0; i < config.window; ++i)
    read_back_.push_back(gpu.host_tensor<double>({longest_read}).value());
}

client::~client() {
  // A lost request may still end at some time.
  if (lost_) (void)entries_.release();
}

void client::run(const routes& where, const std::stop_token& stop) {
  const auto begin = clock::now();
  for (std::int64_t sent = 0; !stop.stop_requested() && !lost_; ++sent) {
    step(where);
    if (config_.per_second <= 0) continue;
    const auto due =
        begin + std::chrono::duration_cast<clock::duration>(
                    std::chrono::duration<double>(static_cast<double>(sent) / config_.per_second));
    // Nothing is more than a moment early; who waits for a moment only waits far longer.
    if (due - clock::now() > 1ms) std::this_thread::sleep_until(due);
  }
}

// A random request; for counters only such as they allow.
void client::step(const routes& where) {
  const std::size_t cell = below(cell_count);
  if (heal_in_[cell] > 0) {
    --heal_in_[cell];
    if (heal_in_[cell] == 0) {
      return send(where, action::fill, cell, 0, static_cast<double>(below(100)));
    }
  }
  const std::size_t die = below(100);
  if (die < 20) return send(where, action::sum, cell, 0, 0);
  if (cell == long_cell) return send(where, action::add, cell, 0, 1);
  if (die < 30) return send(where, action::read, cell, 0, 0);
  if (cell < counters) return send(where, action::add, cell, 0, 1);
  if (die < 65) return send(where, action::add, cell, 0, 1 + static_cast<double>(die % 4));
  if (die < 80) return send(where, action::fill, cell, 0, static_cast<double>(below(100)));
  // From another cell of the same length.
  const std::size_t step = std::size(lengths) * (1 + below(long_cell / std::size(lengths) - 1));
  send(where, action::copy, cell, (cell + step) % long_cell, 0);
}

void client::send(const routes& where, action what, std::size_t cell, std::size_t source,
                  double operand) {
  while (window_.size() >= config_.window && !lost_)
    await_oldest();
  if (used_ == entries_at_once) judge();
  if (lost_) return;
  entry& e = entries_[used_++];
  e.what = what;
  e.cell = static_cast<std::uint16_t>(cell);
  e.source = static_cast<std::uint16_t>(source);
  e.operand = operand;
  e.got = 0;
  e.ends.store(0, std::memory_order_relaxed);
  e.sent_ns = now_ns();
  const any_tensor& t = cells_[cell];
  future<void> answer;
  switch (what) {
    case action::fill:
      answer = noted(e, where.move.ask(memory::fill{.to = t, .value = operand}));
      break;
    case action::add:
      answer = noted(e, where.compute.ask(blas::axpy{.x = ones_[cell], .y = t, .alpha = operand}));
      break;
    case action::copy:
      answer = noted(e, where.move.ask(memory::copy{.from = cells_[source], .to = t}));
      break;
    case action::sum:
      answer = where.compute.ask(blas::dot{.x = ones_[cell], .y = t})
                   .then([&e, n = static_cast<double>(t.count())](result<scalar> sum) {
                     if (sum) e.got = sum->as<double>() / n;
                     end(e, sum ? errc{} : sum.error().code);
                   });
      break;
    case action::read: {
      // Looked at when it is the oldest, so a window has one for each.
      const auto& to = read_back_[static_cast<std::size_t>(&e - entries_.get()) % config_.window];
      answer = noted(
          e, where.move.ask(memory::copy{.from = t, .to = to.slice(0, 0, t.count()).value()}));
      break;
    }
  }
  window_.push_back({&e, std::move(answer)});
}

void client::await_oldest() {
  pending oldest = std::move(window_.front());
  window_.pop_front();
  if (!oldest.answer.wait_for(answer_timeout)) {
    lost_ = true;
    return;
  }
  entry& e = *oldest.of;
  ended_.fetch_add(1, std::memory_order_relaxed);
  longest_ns_.store(std::max(longest_ns_.load(std::memory_order_relaxed), e.ended_ns - e.sent_ns),
                    std::memory_order_relaxed);
  if (e.code == errc{}) {
    if (e.what == action::read) {
      const auto index = static_cast<std::size_t>(&e - entries_.get());
      e.got = value_of(read_back_[index % config_.window].elements().first(
          static_cast<std::size_t>(cells_[e.cell].count())));
    }
    return;
  }
  failed_.fetch_add(1, std::memory_order_relaxed);
  // After a while, so that there is time to see it refused.
  if (heal_in_[e.cell] == 0) heal_in_[e.cell] = 4;
}

void client::drain() {
  while (!window_.empty() && !lost_)
    await_oldest();
}

void client::judge() {
  drain();
  ledger_.judge(std::span(entries_.get(), used_), findings_);
  if (!findings_.clean()) broken_.store(true, std::memory_order_relaxed);
  if (!lost_) used_ = 0;
}

findings client::finish(const routes& where) {
  // Twice: the second time everything is defined again.
  for (int round = 0; round < 2 && !lost_; ++round) {
    for (std::size_t cell = 0; cell < cell_count; ++cell) {
      send(where, action::sum, cell, 0, 0);
      if (cell != long_cell) send(where, action::read, cell, 0, 0);
    }
    judge();
    for (std::size_t cell = 0; cell < cell_count && !lost_; ++cell) {
      heal_in_[cell] = 0;
      if (ledger_.may_be_tainted(cell)) send(where, action::fill, cell, 0, 0);
    }
  }
  judge();
  return std::exchange(findings_, {});
}

mixed_load::mixed_load(const device& gpu, const load_config& config)
    : gpu_(gpu), one_lane_(gpu_.library("load").on_new_lane()) {
  const std::vector<double> ones(static_cast<std::size_t>(longest_cell), 1.0);
  const auto all = gpu_.tensor<double>({longest_cell}).value();
  gpu_.copy(std::span(ones), all).get();
  gpu_.freeze(all).get();
  for (int i = 0; i < config.clients; ++i) {
    own_lanes_.push_back(
        {gpu_.library("blas").on_new_lane(), gpu_.library("memory").on_new_lane()});
    clients_.push_back(
        std::make_unique<client>(gpu_, all, config, config.seed * 1000 + static_cast<unsigned>(i)));
  }
}

mixed_load::~mixed_load() = default;

routes mixed_load::route(std::size_t client) const {
  return in_one_lane_ ? routes{one_lane_, one_lane_} : own_lanes_[client];
}

void mixed_load::start(bool one_lane) {
  in_one_lane_ = one_lane;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    threads_.emplace_back([one = clients_[i].get(), where = route(i)](const std::stop_token& stop) {
      one->run(where, stop);
    });
  }
}

bool mixed_load::wait_for(std::uint64_t more, std::chrono::nanoseconds limit) const {
  const std::uint64_t wanted = ended() + more;
  const auto deadline = clock::now() + limit;
  while (ended() < wanted) {
    if (clock::now() >= deadline) return false;
    std::this_thread::sleep_for(100us);
  }
  return true;
}

findings mixed_load::finish() {
  for (std::jthread& one : threads_)
    one.request_stop();
  threads_.clear();
  findings all;
  for (std::size_t i = 0; i < clients_.size(); ++i)
    all += clients_[i]->finish(route(i));
  return all;
}

std::uint64_t mixed_load::ended() const noexcept {
  std::uint64_t all = 0;
  for (const auto& one : clients_)
    all += one->ended();
  return all;
}

std::uint64_t mixed_load::failed() const noexcept {
  std::uint64_t all = 0;
  for (const auto& one : clients_)
    all += one->failed();
  return all;
}

bool mixed_load::broken() const noexcept {
  return std::ranges::any_of(clients_, [](const auto& one) { return one->broken(); });
}

std::chrono::nanoseconds mixed_load::take_longest() noexcept {
  std::chrono::nanoseconds longest{};
  for (const auto& one : clients_)
    longest = std::max(longest, one->take_longest());
  return longest;
}

}  // namespace troupe::gpu_test
