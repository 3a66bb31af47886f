// The cost of a small request from its sending to its answer, in one process, so that both sides
// can be counted: `./dev budget` runs this under callgrind, once for each kind of request, and only
// the requests are counted. Run by itself it prints how long a request takes.

#include "report.hpp"
#include "samples.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/device/device.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/plugin/executor.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#ifdef TROUPE_HAVE_CALLGRIND
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr std::size_t batch = 512;  // half of a mailbox's capacity
constexpr std::size_t batches = 20;

std::atomic<bool> batch_has_run{false};

/// The last of a batch: tells the program that the worker has come to it. Were the program to wait
/// for an answer, it would look for one again and again, and count that.
struct end_of_batch {
  static constexpr std::string_view name = "budget.end_of_batch";
  using reply = void;

  static void describe(description<end_of_batch>& d) {
    d.about("Tells the program that the worker has come to it.");
  }
};

result<void> run(const end_of_batch& /*request*/, lane_context& /*lane*/) {
  batch_has_run.store(true, std::memory_order_release);
  batch_has_run.notify_one();
  return {};
}

void add_operations(operation_table& operations) { operations.add(&run, effort::by_size); }

/// Sends what `next` makes to a device or an actor, batch by batch, and takes every answer.
template <class Target, class Next>
void send_all(const Target& to, std::size_t times, Next& next) {
  std::vector<future<void>> answers;
  answers.reserve(batch + 1);
  for (std::size_t i = 0; i < times; ++i) {
    batch_has_run.store(false, std::memory_order_relaxed);
    for (std::size_t j = 0; j < batch; ++j)
      answers.push_back(to.ask(next()));
    answers.push_back(to.ask(end_of_batch{}));
    batch_has_run.wait(false, std::memory_order_acquire);
    for (future<void>& one : answers)
      one.get();
    answers.clear();
  }
}

/// Under callgrind, what happens in all threads during its life is counted.
class counting {
 public:
  // the macros are not ours
  counting() { CALLGRIND_START_INSTRUMENTATION; }
  ~counting() { CALLGRIND_STOP_INSTRUMENTATION; }
  // NOLINTEND
  counting(const counting&) = delete;
  counting& operator=(const counting&) = delete;
};

/// Measures one kind of request, unless another one is asked for.
class question {
 public:
  question(report& out, std::string_view asked) noexcept : out_(out), asked_(asked) {}

  template <class Target, class Next>
  void measure(std::string_view kind, const Target& to, Next&& next) {
    if (!asked_.empty() && asked_ != kind) return;
    // Uses every slot and its records once before counting.
    send_all(to, 4, next);
    const auto begin = clock::now();
    {
      const counting these;
      send_all(to, batches, next);
    }
    const std::chrono::duration<double, std::nano> spent = clock::now() - begin;
    out_.add({std::string(kind), spent.count() / static_cast<double>(batch * batches), "ns"});
  }

 private:
  report& out_;
  std::string_view asked_;
};

}  // namespace

int main(int argc, char** argv) {
  report out("request budget: one small request among many, worker in a thread of the program");
  troupe::system system;
  device cpu = system.device(0, {.isolation = isolation::thread,
                                 .backend = backend_kind::cpu,
                                 .lanes = lane_policy::one(),
                                 .own_operations = &add_operations});
  cpu.wait_until_ready().value();
  const auto a = cpu.tensor<float>({4, 4}).value();
  const auto b = cpu.tensor<float>({4, 4}).value();
  const auto c = cpu.tensor<float>({4, 4}).value();
  const blas::gemm product{.a = a, .b = b, .c = c};

  const library_actor lane = cpu.library("blas");
  question all(out, argc > 1 ? argv[1] : "");
  all.measure("marker", lane, [] { return lane::marker{}; });
  // Another factor each time, so the worker has never seen the bytes before.
  all.measure("gemm_decoded", lane, [&, sent = 0]() mutable {
    blas::gemm next = product;
    next.alpha = static_cast<float>(++sent);
    return next;
  });
  all.measure("gemm_recognised", lane, [&] { return blas::gemm(product); });
  // The device finds the lane itself.
  all.measure("marker_of_device", cpu, [] { return lane::marker{}; });
  return out.finish();
}
