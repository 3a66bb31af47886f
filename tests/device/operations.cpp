#include "operations.hpp"

#include "operations_cuda.hpp"
#include "operations_queues.hpp"

#include <troupe/lane/marker.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

// Says that the request has begun, then waits for its flag.
result<void> begin_and_wait(const any_tensor& begun, const any_tensor& until) {
  if (!begun.null()) {
    std::atomic_ref(*begun.data<std::uint32_t>()).store(1, std::memory_order_release);
  }
  // Bounded, so that a broken test fails instead of hanging.
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  std::atomic_ref flag(*until.data<std::uint32_t>());
  while (flag.load(std::memory_order_acquire) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      return error{.code = errc::handler_failed, .message = "the flag was never set"};
    }
    std::this_thread::yield();
  }
  return {};
}

result<void> run_exit_when_told(const exit_when_told& r, lane_context&) {
  if (auto told = begin_and_wait(r.begun, r.flag); !told) return told;
  // When it is run again it waits to be told again.
  std::atomic_ref(*r.flag.data<std::uint32_t>()).store(0, std::memory_order_release);
  ::_exit(3);
}

result<void> run_hold(const hold& r, lane_context&) {
  if (auto told = begin_and_wait(r.begun, r.flag); !told) return told;
  write_result(r);
  return {};
}

result<double> run_sum(const sum& r, lane_context&) {
  double total = 0;
  for (std::int64_t i = 0; i < r.input.count(); ++i)
    total += static_cast<double>(r.input.data<float>()[i]);
  return total;
}

}  // namespace

void write_result(const hold& r) {
  if (r.output.null()) return;
  for (std::int64_t i = 0; i < r.output.count(); ++i) {
    float& element = r.output.data<float>()[i];
    // Relaxed: a test may watch a thread that nobody is told of any more.
    std::atomic_ref(element).store(static_cast<float>(r.value) + (r.add ? element : 0.0F),
                                   std::memory_order_relaxed);
  }
}

void hold::describe(description<hold>& d) {
  d.about("Waits until the flag is set and then sets every element of `output`, or adds to it.");
  d.reads("flag", &hold::flag, {1}, "flag in host memory that is waited for");
  d.updates("output", &hold::output, {}, "result").updated_where(d.is(&hold::add)).optional();
  d.value("value", &hold::value, "what each element of the output becomes");
  d.value("add", &hold::add, "the value is added instead");
  d.writes("begun", &hold::begun, {1}, "flag in host memory, set when the request begins")
      .optional();
  d.same_type({&hold::flag, &hold::begun}, {dtype::u32});
}

void exit_when_told::describe(description<exit_when_told>& d) {
  d.about("Waits until the flag is set and then ends its process.");
  d.reads("flag", &exit_when_told::flag, {1}, "flag in host memory that is waited for");
  d.writes("begun", &exit_when_told::begun, {1},
           "flag in host memory, set when the request begins");
  d.same_type({&exit_when_told::flag, &exit_when_told::begun}, {dtype::u32});
}

void sum::describe(description<sum>& d) {
  d.about("Answers the sum of `input`.");
  d.reads("input", &sum::input, {}, "what is added up");
  d.layouts(layout::packed, {&sum::input});
  d.same_type({&sum::input}, {dtype::f32});
}

void add_operations(operation_table& table) {
  if (!queues_plugin().empty()) return add_queue_operations(table);
#ifdef TROUPE_HAVE_CUDA
  if (on_gpu()) return add_cuda_operations(table);
#endif
  table.add(&run_hold);
  table.add(&run_exit_when_told);
  table.add(&run_sum);
}

bool on_gpu() {
  // Workers have the program's environment.
  const char* const backend = std::getenv("TROUPE_BACKEND");
  return !queues_plugin().empty() || (backend != nullptr && std::string_view(backend) == "cuda");
}

few_descriptors::few_descriptors() {
  ::getrlimit(RLIMIT_NOFILE, &before_);
  const rlimit none{5, before_.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
}
few_descriptors::~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

errc refused(troupe::system& system, std::int32_t ordinal, const device_config& config) {
  try {
    (void)system.device(ordinal, config);
  } catch (const failure& f) {
    return f.code();
  }
  return {};
}

void kill_worker(const device& gpu) { ::kill(gpu.worker_pid().value(), SIGKILL); }

void freeze_worker(const device& gpu) {
  const pid_t worker = gpu.worker_pid().value();
  ::kill(worker, SIGSTOP);
  siginfo_t stopped{};
  ::waitid(P_PID, static_cast<id_t>(worker), &stopped, WSTOPPED | WNOWAIT);
  gpu.tell(lane::marker{}).value();
}

std::optional<device> second_device(troupe::system& on, const device_config& config) {
  try {
    return on.device(1, config);
  } catch (const failure& why) {
    if (why.code() != errc::device_unavailable) throw;
    return std::nullopt;
  }
}

device_config permissive() {
  // Said here, so that workers and their operations are of one backend wherever the tests run.
  const std::string queues = queues_plugin();
  return {.backend = on_gpu() && queues.empty() ? backend_kind::cuda : backend_kind::cpu,
          .memory_limit_bytes = std::uint64_t{256} << 20,
          .restarts = {.restarts = 1'000'000},
          .backoff = {.initial = 0ns},
          .fault_injection = true,
          .backend_path = queues,
          .own_operations = &add_operations};
}

}  // namespace troupe::test
