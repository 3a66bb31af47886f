// cuBLASLt as documented, on the processor and by definition: tests the executor's calls on any
// machine. Unkind if allowed: it uses all of its workspace, proposes a kernel that does not run,
// and takes nothing that the documentation does not list.

#include "cuda/emulated/cublaslt.hpp"

#include "cuda/emulated/clock.hpp"
#include "cuda/emulated/matmul.hpp"

#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace {

using troupe::emulated_cublaslt::description;
using troupe::emulated_cublaslt::layout;
using troupe::emulated_cublaslt::load;
using troupe::emulated_cublaslt::matmul_call;
using troupe::emulated_cublaslt::seen;

constexpr std::uint64_t signature = 0x6c74'656d'756c'6174;
constexpr std::size_t workspace_step = 1000;

struct preference {
  std::map<cublasLtMatmulPreferenceAttributes_t, std::uint64_t> attributes;
};

/// The alignments that A, B, C and D are said to have, 16 bits for each.
std::uint64_t alignments_in(const preference& wish) {
  constexpr cublasLtMatmulPreferenceAttributes_t all[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  std::uint64_t packed = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto told = wish.attributes.find(all[i]);
    const std::uint64_t bytes = told == wish.attributes.end() ? 256 : told->second;
    packed |= bytes << (16 * i);
  }
  return packed;
}

bool runs(std::uint64_t place) {
  return seen().first_runs || place >= troupe::emulated_cublaslt::first_that_runs;
}

description& of(cublasLtMatmulDesc_t d) { return *reinterpret_cast<description*>(d); }
layout& of(cublasLtMatrixLayout_t l) { return *reinterpret_cast<layout*>(l); }

std::size_t size_of_attribute(cublasLtMatmulDescAttributes_t which) {
  switch (which) {
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return 1;
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
    case CUBLASLT_MATMUL_DESC_TRANSA:
    case CUBLASLT_MATMUL_DESC_TRANSB:
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
      return 4;
    default:
      return 8;
  }
}

}  // namespace

namespace troupe::emulated_cublaslt {
history& seen() noexcept {
  static history all;
  return all;
}
}  // namespace troupe::emulated_cublaslt

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() { return 130100; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t factors) {
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(new description{compute, factors, {}});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t held) {
  delete &of(held);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t held,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t bytes) {
  if (bytes != size_of_attribute(which)) return CUBLAS_STATUS_INVALID_VALUE;
  std::uint64_t number = 0;
  std::memcpy(&number, value, bytes);
  of(held).attributes[which] = number;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(
      new layout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), ld});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t held) {
  delete &of(held);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t held,
                                                cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, size_t bytes) {
  if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof(std::int32_t)) {
    of(held).batch = *static_cast<const std::int32_t*>(value);
  } else if (which == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET &&
             bytes == sizeof(std::int64_t)) {
    of(held).distance = *static_cast<const std::int64_t*>(value);
  } else {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t held) {
  delete reinterpret_cast<preference*>(held);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t held,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void* value, size_t bytes) {
  const bool wide = which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
  if (bytes != (wide ? 8U : 4U)) return CUBLAS_STATUS_INVALID_VALUE;
  std::uint64_t number = 0;
  std::memcpy(&number, value, bytes);
  reinterpret_cast<preference*>(held)->attributes[which] = number;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t what,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t wish, int wanted,
                                              cublasLtMatmulHeuristicResult_t proposed[],
                                              int* found) {
  ++seen().proposals;
  *found = 0;
  if (seen().heuristic_answers != 0) {
    return static_cast<cublasStatus_t>(seen().heuristic_answers);
  }
  if (!matmul_call{of(what), of(a), of(b), of(c), of(d)}.fits()) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto kernels = static_cast<int>(troupe::emulated_cublaslt::kernels);
  const std::uint64_t needs = alignments_in(*reinterpret_cast<preference*>(wish));
  for (int i = 0; i < std::min(wanted, kernels); ++i) {
    const auto place = static_cast<std::uint64_t>(i);
    proposed[i] = {};
    proposed[i].algo.data[0] = signature;
    proposed[i].algo.data[1] = place;
    proposed[i].algo.data[2] = needs;
    proposed[i].workspaceSize = place * workspace_step;
    proposed[i].state = runs(place) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
    ++*found;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* kernel,
                                       cublasLtMatmulHeuristicResult_t* judged) {
  if (kernel->data[0] != signature) return CUBLAS_STATUS_INVALID_VALUE;
  judged->workspaceSize = kernel->data[1] * workspace_step;
  judged->state = CUBLAS_STATUS_SUCCESS;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t what, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t of_c, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t* kernel, void* workspace, size_t bytes,
                              cudaStream_t) {
  const std::uint64_t place = kernel->data[1];
  if (kernel->data[0] != signature || !runs(place) || bytes < place * workspace_step ||
      reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const matmul_call call{of(what), of(of_a), of(of_b), of(of_c), of(of_d)};
  if (!call.fits() || (c == d && call.c.ld != call.d.ld)) return CUBLAS_STATUS_NOT_SUPPORTED;
  // A device would report a misaligned address in a kernel that uses all alignment it was promised.
  const auto aligned = [&](std::size_t operand, const layout& as, const void* first) {
    return as.begins_at_multiples(first, kernel->data[2] >> (16 * operand) & 0xFFFF);
  };
  if (!aligned(0, call.a, a) || !aligned(1, call.b, b) || !aligned(2, call.c, c) ||
      !aligned(3, call.d, d)) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  std::memset(workspace, 0xAB, bytes);
  call.run(load(call.what.factors, alpha, 0), a, b, load(call.what.factors, beta, 0), c, d);
  ++seen().products;
  seen().last_kernel = place;
  const bool cold = troupe::take_emulated_sweep() && seen().slow_when_cold == place;
  troupe::advance_emulated_clock(
      static_cast<double>(troupe::emulated_cublaslt::kernels - place + (cold ? 10 : 0)));
  return CUBLAS_STATUS_SUCCESS;
}
}
