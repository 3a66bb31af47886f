// A kernel from source: compiled beside the program, launched like any request.

#include <troupe/jit.hpp>
#include <troupe/troupe.hpp>

#include <iostream>
#include <span>
#include <vector>

namespace {

constexpr std::int32_t n = 1000;

constexpr const char* text = R"(
#include "combine.cuh"
template <class T> __global__ void axpy(T a, const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = combine(a, x[i], y[i]);
})";
constexpr const char* combine =
    "template <class T> __device__ T combine(T a, T x, T y) { return a * x + y; }";

}  // namespace

int main() try {
  troupe::system system;
  troupe::device gpu = system.device(0);
  const auto exact = troupe::jit::architecture_of(gpu);

  // region: compile
  namespace jit = troupe::jit;
  jit::compiler compiler;  // keeps its kernels in memory and in ~/.cache
  auto compiled = compiler.compile({.text = text,
                                    .headers = {{"combine.cuh", combine}},
                                    .names = {"axpy<float>"},
                                    .architecture = exact ? *exact : "sm_90a"});
  // endregion: compile
  auto binary = compiled.get_result();
  if (!binary && binary.error().code == troupe::errc::library_missing) {
    std::cout << binary.error().message << '\n';  // no NVRTC here
    return 0;
  }
  if (!binary) throw troupe::failure(binary.error());
  std::cout << "compiled " << binary->names[0].expression << " to " << binary->image.size()
            << " bytes for " << binary->architecture << '\n';
  if (!exact) {
    std::cout << exact.error().message << '\n';
    return 0;
  }

  std::vector<float> values(n, 1.F);
  auto x = gpu.tensor<float>({n}).value();
  auto y = gpu.tensor<float>({n}).value();
  gpu.copy(std::span(values), x).get();
  gpu.copy(std::span(values), y).get();
  // region: launch
  const auto axpy = jit::load(gpu, *binary).value().kernel("axpy<float>").value();
  auto done = gpu.ask(jit::launch{.kernel = axpy,
                                  .grid = {.x = (n + 255) / 256},
                                  .block = {.x = 256},
                                  .arguments = {3.F, jit::reads(x), jit::updates(y), n}});
  // endregion: launch
  done.get();
  gpu.copy(y, std::span(values)).get();
  std::cout << "3 * 1 + 1 = " << values.back() << '\n';
  return values == std::vector<float>(n, 4.F) ? 0 : 1;
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
