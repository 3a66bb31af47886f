// A tensor mapped by a program on a GPU: kernels of its own, in a context of its own, beside the
// worker's. Exits with status 0 and says so when all is as promised.
//
//   gpu_mapping

#include "mapping_kernels.hpp"

#include <troupe/blas/level1.hpp>
#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/device/mapped_tensor.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/fault/spin_until.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using troupe::gpu_test::add;
using troupe::gpu_test::all_are;
using troupe::gpu_test::make_context;

constexpr std::int64_t count = 1 << 20;

int failures = 0;

void expect(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", what);
  if (!holds) ++failures;
}

bool here_are(troupe::device& gpu, const troupe::tensor<float>& t, float wanted) {
  std::vector<float> here(static_cast<std::size_t>(t.count()));
  gpu.copy(t, std::span(here)).get();
  for (const float value : here) {
    if (value != wanted) return false;
  }
  return true;
}

void run(troupe::device& gpu, std::int64_t n) {
  std::printf("%lld floats\n", static_cast<long long>(n));
  auto t = gpu.tensor<float>({n}).value();
  auto flag = gpu.host_tensor<std::uint32_t>({1}).value();
  flag[0] = 0;

  // Program after requests: the request that writes waits for the flag.
  auto written = gpu.ask(troupe::fault::spin_until{.flag = flag, .output = t, .value = 3});
  auto coming = gpu.mapped(t, troupe::access::update);
  expect(!coming.wait_for(50ms), "a mapping waits for the request that writes the tensor");
  std::atomic_ref(flag[0]).store(1, std::memory_order_release);
  auto mapped = coming.get();
  std::printf("  workers have it at %p, the program at %p\n",
              static_cast<void*>(mapped.tensor().address()), static_cast<void*>(mapped.address()));
  expect(written.get_result().has_value(), "which has ended well");
  expect(all_are(mapped.data<float>(), n, 3), "a kernel of the program reads what it wrote");

  // Requests after program.
  auto other = gpu.tensor<float>({n}).value();
  auto later = gpu.ask(troupe::memory::copy{.from = t, .to = other});
  expect(!later.wait_for(50ms), "a later request waits for the program");
  // In another library, so in another lane: in its own one it would come after the waiting copy.
  expect(
      gpu.ask(troupe::blas::scal{.x = gpu.tensor<float>({8}).value(), .alpha = 2.0f}).wait_for(5s),
      "one on another tensor does not");
  add(mapped.data<float>(), n, 4);
  mapped.unmap();
  expect(later.get_result().has_value(), "it goes on when the tensor is given back");
  expect(here_are(gpu, other, 7), "and sees what the program's kernel wrote");

  // A fault of the worker does not reach the program's context.
  auto kept = gpu.mapped(t, troupe::access::update).get();
  auto fault = gpu.ask(troupe::fault::inject{.what = troupe::fault::kind::trap}).get_result();
  expect(!fault && fault.error().code == troupe::errc::device_fault, "a worker is lost meanwhile");
  add(kept.data<float>(), n, 1);
  expect(all_are(kept.data<float>(), n, 8), "and the program's kernels go on");
  kept.unmap();
  expect(here_are(gpu, t, 8), "the next worker sees what they wrote");

  // Again and again, both ways.
  bool right = true;
  for (int i = 0; i < 100 && right; ++i) {
    (void)gpu.tell(troupe::memory::fill{.to = t, .value = i});
    auto each = gpu.mapped(t, troupe::access::update).get();
    add(each.data<float>(), n, 0.5f);
    each.unmap();
    right = here_are(gpu, t, static_cast<float>(i) + 0.5f);
  }
  expect(right, "100 times in turn");
}

// Undefined parts of a tensor stay so if it is mapped too late, and not after the program had it to
// write.
void map_the_undefined(troupe::device& gpu) {
  std::printf("a tensor of which half is undefined\n");
  auto t = gpu.tensor<float>({8}).value();
  auto other = gpu.tensor<float>({8}).value();
  auto fault = gpu.ask(troupe::fault::inject{.what = troupe::fault::kind::trap,
                                             .output = t.slice(0, 0, 4).value()})
                   .get_result();
  expect(!fault, "a request is lost while it writes");
  auto flag = gpu.host_tensor<std::uint32_t>({1}).value();
  flag[0] = 0;
  auto busy = gpu.ask(
      troupe::fault::spin_until{.flag = flag, .output = t.slice(0, 4, 8).value(), .value = 2});
  const auto late = gpu.mapped(t, troupe::access::write, 20ms).get_result();
  expect(!late && late.error().code == troupe::errc::deadline_exceeded,
         "the mapping comes too late");
  std::atomic_ref(flag[0]).store(1, std::memory_order_release);
  expect(busy.get_result().has_value(), "which ends nothing else");
  const troupe::memory::copy read{.from = t, .to = other};
  const auto refused = gpu.ask(read).get_result();
  expect(!refused && refused.error().code == troupe::errc::tainted_buffer, "nobody has written it");
  gpu.mapped(t, troupe::access::write).get().unmap();
  expect(gpu.ask(read).get_result().has_value(), "somebody had it");
}

}  // namespace

int main() {
  try {
    troupe::system system;
    troupe::device gpu = system.device(0, {.backend = troupe::backend_kind::cuda,
                                           .restarts = {.restarts = 100},
                                           .fault_injection = true});
    auto without = gpu.mapped(gpu.tensor<float>({8}).value(), troupe::access::read).get_result();
    expect(!without && without.error().code == troupe::errc::invalid_argument,
           "without a context the remedy is said");
    make_context(gpu.description().ordinal);
    run(gpu, count);  // a slab of its own
    run(gpu, 1000);   // one of many in a slab
    map_the_undefined(gpu);
    const auto start = std::chrono::steady_clock::now();
    auto t = gpu.tensor<float>({count}).value();
    constexpr int times = 200;
    for (int i = 0; i < times; ++i)
      gpu.mapped(t, troupe::access::update).get().unmap();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    std::printf("a mapping costs %.1f us\n", took.count() / times);
  } catch (const troupe::failure& failure) {
    std::printf("FAILED: %s\n", failure.what());
    return 1;
  }
  std::printf("gpu_mapping: %s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
