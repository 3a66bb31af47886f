#include "subject.hpp"

#include "under_sanitizers.hpp"

#include <troupe/blas/level1_reductions.hpp>
#include <troupe/blas/level3.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace troupe::gpu_test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t guarded_elements = 64 << 10;  // half a MiB: it can be frozen
constexpr std::int64_t asked_elements = 64;
constexpr std::int64_t output_elements = 16;
constexpr std::int64_t outputs = 4096;

// For a worker without any messages; every other one is ready in a tenth of it. An unready one is
// started again and again, so this must not be too short on slow machines.
constexpr auto hostile_start_timeout = test::under_sanitizers ? 10s : 3s;

device_config config_of(backend_kind backend, void (*own_operations)(operation_table&)) {
  return {.backend = backend,
          .full = when_full::wait,
          .memory_limit_bytes = std::uint64_t{512} << 20,
          .restarts = {.restarts = 1'000'000},
          .backoff = {.initial = 0ns},
          .start_timeout = own_operations != nullptr ? hostile_start_timeout : 20s,
          .silence_timeout = 500ms,
          .fault_injection = true,
          .backend_path = plugin_under_test(),
          .own_operations = own_operations};
}

std::vector<double> small_integers(std::int64_t count, std::uint64_t seed, int below) {
  std::mt19937_64 random(seed);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& v : values)
    v = static_cast<double>(random() % static_cast<std::uint64_t>(below));
  return values;
}

bool same_bytes(std::span<const double> a, std::span<const double> b) {
  return a.size_bytes() == b.size_bytes() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

subject::subject(backend_kind backend, const load_config& load,
                 void (*own_operations)(operation_table&))
    : hostile_workers_(load.hostile_workers),
      gpu_(system_.device(0, config_of(backend, own_operations))),
      load_(gpu_, load),
      values_(small_integers(guarded_elements, load.seed, 1000)),
      frozen_(gpu_.tensor<double>({guarded_elements}).value()),
      untouched_(gpu_.tensor<double>({guarded_elements}).value()),
      outputs_(gpu_.tensor<float>({outputs, output_elements}, initial::zero).value()),
      answer_(std::accumulate(values_.begin(), values_.begin() + asked_elements, 0.0)) {
  gpu_.copy(std::span<const double>(values_), frozen_).get();
  gpu_.copy(std::span<const double>(values_), untouched_).get();
  gpu_.freeze(frozen_).get();
  watcher_ = std::jthread([this](const std::stop_token& end) { watch_counts(end); });
}

void subject::watch_counts(const std::stop_token& end) {
  for (; !end.stop_requested(); std::this_thread::sleep_for(5ms)) {
    const device_telemetry now = gpu_.snapshot();
    const device_statistics& all = now.statistics;
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    for (const operation_telemetry& one : now.operations) {
      done += one.done;
      failed += one.failures();
    }
    if (all.sent == all.answered + all.failed + all.in_flight && all.answered == done &&
        all.failed == failed) {
      continue;
    }
    const std::lock_guard lock(mutex_);
    counts_amiss_ = fmt::format(
        "a snapshot has {} sent, {} answered, {} failed, {} in flight; by operation {} done and {} "
        "failed",
        all.sent, all.answered, all.failed, all.in_flight, done, failed);
  }
}

std::optional<std::string> subject::counts_amiss() const {
  const std::lock_guard lock(mutex_);
  return counts_amiss_;
}

bool subject::settle() const {
  return eventually([this] {
    const device_health now = gpu_.health();
    return now.state == device_state::ready && now.standby_ready;
  });
}

std::optional<std::string> subject::changed() {
  std::vector<double> now(values_.size());
  for (const any_tensor* t : {&frozen_, &untouched_}) {
    const char* const which = t == &frozen_ ? "the frozen tensor" : "the untouched tensor";
    std::ranges::fill(now, -1.0);
    if (auto copied = gpu_.copy(*t, std::span(now)).get_result(); !copied) {
      return fmt::format("{} cannot be read: {}", which, copied.error().to_string());
    }
    if (!same_bytes(now, values_)) return fmt::format("{} has changed", which);
  }
  return std::nullopt;
}

any_tensor subject::fresh_output() {
  const std::int64_t at = next_output_++ % outputs;
  return outputs_.slice(0, at, at + 1).value();
}

any_tensor subject::own_memory(dtype type) {
  constexpr std::int64_t bytes = std::int64_t{2} << 20;
  auto made =
      gpu_.allocate(type, {bytes / size_of(type)}, initial::undefined, placement::own).value();
  gpu_.ask(memory::set_bytes{.to = made}).get();
  return made.slice(0, 0, made.count() - next_output_++).value();
}

std::optional<std::string> subject::taint_amiss(const any_tensor& output,
                                                std::string_view culprit) {
  auto content = gpu_.allocate_host(output.type(), shape(output.extents())).value();
  auto refused = gpu_.copy(output, content).get_result();
  if (refused) return "what the fault left undefined could be read";
  if (refused.error().code != errc::tainted_buffer) return refused.error().to_string();
  if (refused.error().message.find(culprit) == std::string::npos) {
    return "the taint names another request: " + refused.error().message;
  }
  constexpr std::uint8_t seven = 7;
  if (auto set = gpu_.ask(memory::set_bytes{.to = output, .byte = seven}).get_result(); !set) {
    return "a tainted tensor cannot be overwritten: " + set.error().to_string();
  }
  if (auto read = gpu_.copy(output, content).get_result(); !read) {
    return "overwritten, it is still refused: " + read.error().to_string();
  }
  const std::span bytes(content.address(),
                        static_cast<std::size_t>(content.count() * size_of(content.type())));
  const bool right = std::ranges::all_of(bytes, [](std::byte x) { return x == std::byte{seven}; });
  return right ? std::nullopt : std::optional<std::string>("overwritten, it holds something else");
}

future<double> subject::ask_question(const library_actor& where) const {
  // With itself: the values' squares would be as good, but plain sums are easier to look at.
  return where.ask(blas::asum{.x = frozen_.slice(0, 0, asked_elements).value()})
      .then([](scalar sum) { return sum.as<double>(); });
}

std::optional<std::string> subject::checksum_amiss() {
  constexpr std::int64_t n = 192;
  const std::vector<double> a = small_integers(n * n, 11, 100);
  const std::vector<double> b = small_integers(n * n, 12, 100);
  std::vector<double> expected(a.size(), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j)
        expected[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
  auto at = gpu_.tensor<double>({n, n}).value();
  auto bt = gpu_.tensor<double>({n, n}).value();
  auto ct = gpu_.tensor<double>({n, n}).value();
  auto moved = gpu_.tensor<double>({n, n}).value();
  std::vector<double> got(a.size(), -1.0);
  try {
    gpu_.copy(std::span(a), at).get();
    gpu_.copy(std::span(b), bt).get();
    gpu_.ask(blas::gemm{.a = at, .b = bt, .c = ct}).get();
    gpu_.ask(memory::copy{.from = ct.transpose(), .to = moved}).get();
    gpu_.copy(moved.transpose(), std::span(got)).get();
  } catch (const failure& f) {
    return fmt::format("the checksum product: {}", f.what());
  }
  if (!same_bytes(got, expected)) return "the checksum product has a wrong element";
  return std::nullopt;
}

}  // namespace troupe::gpu_test
