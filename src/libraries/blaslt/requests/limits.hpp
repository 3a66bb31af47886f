#pragma once

#include "libraries/blaslt/requests/combinations.hpp"
#include "libraries/blaslt/requests/geometry.hpp"
#include "request/vendor_limit.hpp"

#include <array>
#include <cstdint>

/// The cases that cuBLASLt is given. They are rules of requests: both backends refuse the rest.
namespace troupe::limits::cublaslt {

inline constexpr vendor_limit fp8_epilogues{
    .name = "blaslt.fp8_epilogues",
    .library = "cuBLASLt",
    .from = "13.0",
    .condition =
        "products of fp8 have no sums of an operand; into fp8 they read no aux, into f32 "
        "they have neither gelu_aux_bias, drelu_bgrad nor dgelu_bgrad",
    .evidence = "it finds no algorithm for those: 13.0, H100, 2026-11-24",
    .test = "BlasltRefusals.EpiloguesThatTheTypesDoNotHave",
    .can_be_lifted = false};
/// True if a product of fp8 into d has the epilogue.
[[nodiscard]] inline bool accepts_fp8_epilogue(dtype d, blaslt::epilogue e) noexcept {
  using blaslt::epilogue;
  if (blaslt::sums_operand(e)) return false;
  if (blaslt::is_fp8(d)) return !blaslt::reads_aux(e);
  if (d != dtype::f32) return true;
  return e != epilogue::gelu_aux_bias && e != epilogue::drelu_bgrad && e != epilogue::dgelu_bgrad;
}

inline constexpr vendor_limit fp8_gelu_input{
    .name = "blaslt.fp8_gelu_input",
    .library = "cuBLASLt",
    .from = "13.0",
    .condition = "gelu's input is kept for d of fp8 where a, b and d are e4m3, in c's type",
    .evidence =
        "cuBLAS documentation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, and what it "
        "finds algorithms for: 13.0, H100, 2026-11-24",
    .test = "BlasltRefusals.EpiloguesThatTheTypesDoNotHave",
    .can_be_lifted = false};

inline constexpr vendor_limit vector_alignment{
    .name = "blaslt.vector_alignment",
    .library = "cuBLASLt",
    .from = "13.0",
    .condition =
        "a bias, or the gradient of one, of products of i8 and fp8 begins at multiples of "
        "16 bytes, for each product of a batch",
    .evidence =
        "kernels read it in vectors of 16 bytes: its heuristic has none for fp8 elsewhere, "
        "and proposes some that fault for i8: 13.0, H100, 2026-11-24",
    .test = "BlasltRefusals.VectorsOfNarrowTypesThatAreNotAligned",
    .can_be_lifted = false};
inline constexpr std::int64_t vector_unit = 16;

inline constexpr vendor_limit scale_alignment{
    .name = "blaslt.scale_alignment",
    .library = "cuBLASLt",
    .from = "13.0",
    .condition = "scales begin at multiples of 16 bytes",
    .evidence =
        "it refuses others when it is to run, not when it is asked for a kernel: 13.0, "
        "H100, 2026-11-24",
    .test = "BlasltRefusals.ScalesThatDoNotFit",
    .can_be_lifted = false};
inline constexpr std::int64_t scale_unit = 16;

inline constexpr std::array all{fp8_epilogues, fp8_gelu_input, vector_alignment, scale_alignment};

}  // namespace troupe::limits::cublaslt
