// One matrix product on the first device: CUDA if there is one, else the CPU.

// region: program
#include <troupe/blas.hpp>
#include <troupe/troupe.hpp>

#include <iostream>
#include <span>
#include <vector>

int main() try {
  // region: hello
  troupe::system system;
  troupe::device gpu = system.device(0);

  // Device memory: owned by this program, so it outlives the worker that computes on it.
  auto a = gpu.tensor<float>({2, 3}).value();
  auto b = gpu.tensor<float>({3, 2}).value();
  const std::vector<float> ones(6, 1.0f);
  std::vector<float> numbers(4);

  // Each line only asks; the device orders the work by its reads and writes.
  auto sent_a = gpu.copy(std::span(ones), a);
  auto sent_b = gpu.copy(std::span(ones), b);
  auto product = gpu.compute(troupe::blas::gemm{.a = a, .b = b, .alpha = 2.f});  // allocates c
  auto back = gpu.copy(product->c, std::span(numbers));

  sent_a.get();  // waits, and throws troupe::failure if it went wrong;
  sent_b.get();
  product.get();
  back.get();  // get_result() gives the error as a value instead
  // endregion: hello
  for (const float x : numbers)
    std::cout << x << '\n';
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
// endregion: program
