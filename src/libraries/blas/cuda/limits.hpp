#pragma once

#include "request/vendor_limit.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

/// The cases that cuBLAS is given.
namespace troupe::limits::cublas {

inline constexpr vendor_limit list_alignment{
    .name = "blas.list_alignment",
    .library = "cuBLAS",
    .from = "13.0",
    .condition =
        "matrices in a list begin at multiples of 16 bytes where tensor cores multiply "
        "them",
    .evidence = "cuBLAS documentation, cublasGemmBatchedEx: it does not see the addresses",
    .test = "BlasBatched.ListsTakeMatricesAtAnyAddress:BlasBatched.GemmBatched*"};
[[nodiscard]] inline bool accepts_in_list(
    std::initializer_list<const std::byte*> matrices) noexcept {
  return std::ranges::all_of(
             matrices,
             [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; }) ||
         is_lifted<list_alignment>();
}

inline constexpr vendor_limit i8_alignment{
    .name = "blas.i8_alignment",
    .library = "cuBLAS",
    .from = "13.0",
    .condition =
        "factors of i8, their columns and their matrices in a batch begin at multiples of "
        "4 bytes",
    .evidence = "cuBLAS documentation, cublasGemmEx",
    .test = "BlasGemm.OfI8*"};
/// True if cuBLAS takes the factor. Its matrices are `distance` apart; 0 for one matrix.
[[nodiscard]] inline bool accepts_i8(const std::byte* first, std::int64_t ld,
                                     std::int64_t distance) noexcept {
  return (reinterpret_cast<std::uintptr_t>(first) % 4 == 0 && ld % 4 == 0 && distance % 4 == 0) ||
         is_lifted<i8_alignment>();
}

inline constexpr std::array all{list_alignment, i8_alignment};

}  // namespace troupe::limits::cublas
