#pragma once

#include <troupe/base/export.hpp>

#include <cstdint>

namespace troupe {

/// How *dnn* computes convolutions and recurrent networks on the CPU.
enum class dnn_method : std::uint8_t {
  automatic,  ///< by oneDNN where it has them
  loops,      ///< by Troupe's own loops alone
};

/// How *tensors* computes contractions, reductions and permutations on CUDA.
enum class tensors_method : std::uint8_t {
  automatic,  ///< by cuTENSOR, if it is installed, where memory would be transposed
  products,   ///< by matrix products, copies and elementwise functions alone
  cutensor,   ///< by cuTENSOR in all cases that it takes
};

/// How *elementwise* runs functions on CUDA, and how *fft* runs those of its transforms.
enum class elementwise_method : std::uint8_t {
  automatic,    ///< by an interpreter until the kernel is compiled
  interpreted,  ///< by the interpreter where it can, without a compiler
  compiled,     ///< by compiled kernels, for which requests wait
  callbacks,    ///< likewise, and functions of transforms as callbacks of cuFFT
};

/// The method of each library that has several. `automatic` takes the fastest; the others are for
/// comparisons, and keep a vendor's library out. The last bits of results may differ.
struct library_methods {
  dnn_method dnn = dnn_method::automatic;
  tensors_method tensors = tensors_method::automatic;
  elementwise_method elementwise = elementwise_method::automatic;
};

/// `given`, except where the environment variables TROUPE_DNN, TROUPE_TENSORS and
/// TROUPE_ELEMENTWISE name another method. For workers: tests set the variables for whole programs.
[[nodiscard]] TROUPE_EXPORT library_methods methods_by_environment(library_methods given) noexcept;

}  // namespace troupe
