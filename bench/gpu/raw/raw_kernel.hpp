#pragma once

#include "raw.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace troupe::bench::raw {

/// A kernel of an image, loaded and launched by the driver's own functions, as a plain program that
/// compiles its kernels does it.
class kernel {
 public:
  kernel(std::span<const std::byte> image, const std::string& name);
  ~kernel();
  kernel(const kernel&) = delete;
  kernel& operator=(const kernel&) = delete;

  /// cuLaunchKernel. `parameters`: the address of each value.
  void launch(stream& on, unsigned blocks, unsigned threads, void** parameters);

 private:
  void* module_ = nullptr;
  void* function_ = nullptr;
};

}  // namespace troupe::bench::raw
