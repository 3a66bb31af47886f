// The parts of an install that a user's program needs: headers, library, worker, backend plugin.

#include <troupe/blas/level3.hpp>
#include <troupe/device/device.hpp>

#include <iostream>
#include <span>
#include <vector>

int main() {
  troupe::system system;
  troupe::device device = system.device(0, {.backend = troupe::backend_kind::cpu});
  const std::vector<float> values{1, 2, 3, 4};
  std::vector<float> squared(4);
  auto a = device.tensor<float>({2, 2}).value();
  auto c = device.tensor<float>({2, 2}).value();
  device.copy(std::span(values), a).get();
  device.ask(troupe::blas::gemm{.a = a, .b = a, .c = c}).get();
  device.copy(c, std::span(squared)).get();
  const bool in_a_worker = device.worker_pid().has_value();
  std::cout << "consumer: " << squared[0] << ' ' << squared[1] << ' ' << squared[2] << ' '
            << squared[3] << (in_a_worker ? "" : ", but not in a worker") << '\n';
  return in_a_worker && squared == std::vector<float>{7, 10, 15, 22} ? 0 : 1;
}
