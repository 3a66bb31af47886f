#include "stage.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe::conformance {

jit_stage::jit_stage() : runner_(make_runner()) {
  if (device* const its = runner_->its_device()) {
    gpu_ = *its;
  } else {
    system_.emplace();
    gpu_ = system_->device(0, {.isolation = isolation::thread, .backend = backend_kind::cpu});
  }
}

jit_stage::~jit_stage() {
  for (const auto& expect_untouched : guards_)
    expect_untouched();
}

std::string jit_stage::why_not() {
  if (gpu_->description().architecture.empty()) return "there is no GPU to run kernels";
  auto probe = compile("", {});
  return probe ? "" : probe.error().to_string();
}

result<jit::binary> jit_stage::compile(std::string_view text, std::vector<std::string> names,
                                       jit::image_kind output) {
  auto architecture = jit::architecture_of(*gpu_);
  return compiler_
      .compile({.text = std::string(text),
                .options = {"--std=c++17"},
                .names = std::move(names),
                .architecture = architecture ? *architecture : "sm_90a",
                .output = output,
                .toolkit_headers = text.find("#include") != std::string_view::npos})
      .get_result();
}

jit::kernel jit_stage::kernel(std::string_view text, const std::string& name) {
  // An `extern "C"` function needs no expression.
  const bool plain = text.find("\"C\" __global__ void " + name + "(") != std::string_view::npos;
  auto made = compile(text, plain ? std::vector<std::string>() : std::vector{name}).value();
  return jit::load(gpu(), made).value().kernel(name).value();
}

jit::kernel jit_stage::unread_kernel() {
  constexpr std::string_view beginning =
      "\x7f"
      "ELF";
  std::vector<std::byte> image(100);
  std::ranges::transform(beginning, image.begin(),
                         [](char c) { return static_cast<std::byte>(c); });
  return jit::load(gpu(), image).value().kernel("k").value();
}

namespace jit_kernels {

const std::string_view arithmetic = R"(
template <class T> __global__ void add(const T* a, const T* b, T* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
template <class T> __global__ void shift(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += by;
})";

const std::string_view structs = R"(
struct rule { double factor; float offset; int step; const float* table; };
extern "C" __global__ void apply(rule r, const float* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = r.factor * x[i / r.step * r.step] + r.offset + r.table[i % 3];
})";

const std::string_view shared = R"(
extern __shared__ float room[];
extern "C" __global__ void reversed(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) room[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = room[n - 1 - i];
})";

const std::string_view clusters = R"(
extern "C" __global__ void ranks(unsigned* rank, unsigned* blocks) {
  unsigned its_rank, its_blocks;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(its_rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(its_blocks));
  rank[blockIdx.x] = its_rank;
  blocks[blockIdx.x] = its_blocks;
})";

const std::string_view cooperative = R"(
#include <cooperative_groups.h>
extern "C" __global__ void total(const int* x, int* part, int* sum, int n) {
  const auto grid = cooperative_groups::this_grid();
  int own = 0;
  for (int i = blockIdx.x; i < n; i += gridDim.x) own += x[i];
  part[blockIdx.x] = own;
  grid.sync();
  if (blockIdx.x != 0) return;
  int all = 0;
  for (int b = 0; b < gridDim.x; ++b) all += part[b];
  *sum = all;
})";

const std::string_view programmatic = R"(
__device__ void wait(long long cycles) {
  const long long begun = clock64();
  while (clock64() - begun < cycles) {}
}
extern "C" __global__ void slow_first(volatile unsigned* x, unsigned value, long long cycles) {
  asm volatile("griddepcontrol.launch_dependents;");
  wait(cycles);
  *x = value;
  __threadfence_system();
}
extern "C" __global__ void second(const unsigned* x, unsigned* y) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  *y = *x + 1;
}
extern "C" __global__ void second_without_a_word(unsigned* y) { *y = 1; })";

const std::string_view tiles = R"(
struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };
extern "C" __global__ void copy_tile(const __grid_constant__ CUtensorMap map, float* out, int x,
                                     int y) {
  __shared__ alignas(128) float tile[8 * 16];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned b = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  const unsigned t = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(b), "r"(static_cast<unsigned>(sizeof(tile))) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];"
        ::"r"(t), "l"(&map), "r"(x), "r"(y), "r"(b) : "memory");
  }
  __syncthreads();
  asm volatile(
      "{\n.reg .pred done;\nagain_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      "@!done bra again_%=;\n}\n" ::"r"(b) : "memory");
  for (int i = threadIdx.x; i < 8 * 16; i += blockDim.x) out[i] = tile[i];
})";

const std::string_view faults = R"(
extern "C" __global__ void wild_write(float* x) {
  x[threadIdx.x] = 1;
  *reinterpret_cast<float*>(0x10) = 2;
})";

}  // namespace jit_kernels
}  // namespace troupe::conformance
