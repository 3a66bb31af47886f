// cuBLASLt as its documentation describes it, on the processor and by definition: what the executor
// tells it is tested on any machine. Unkind where it may be: it uses all of its workspace, proposes
// a kernel that does not run, and takes nothing that the documentation does not list. And as much
// of CUDA's runtime as is called beside it, with a clock that each kernel advances by its own time.

#include "emulated_cublaslt.hpp"

#include "conformance/element.hpp"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <vector>

namespace {

using troupe::dtype;
using troupe::conformance::number;
using troupe::emulated_cublaslt::seen;

constexpr std::uint64_t signature = 0x6c74'656d'756c'6174;
constexpr std::size_t workspace_step = 1000;
double clock_ms = 0;

struct description {
  cublasComputeType_t compute;
  cudaDataType_t factors;
  std::map<cublasLtMatmulDescAttributes_t, std::uint64_t> attributes;

  [[nodiscard]] std::uint64_t get(cublasLtMatmulDescAttributes_t which) const {
    const auto found = attributes.find(which);
    return found == attributes.end() ? 0 : found->second;
  }
  template <class T>
  [[nodiscard]] T* address(cublasLtMatmulDescAttributes_t which) const {
    return reinterpret_cast<T*>(get(which));
  }
  [[nodiscard]] bool transposes(cublasLtMatmulDescAttributes_t which) const {
    return get(which) != CUBLAS_OP_N;
  }
};
struct layout {
  cudaDataType type;
  std::int64_t rows, columns, ld;
  std::int64_t batch = 1;
  std::int64_t distance = 0;
};
struct preference {
  std::map<cublasLtMatmulPreferenceAttributes_t, std::uint64_t> attributes;
};

description& of(cublasLtMatmulDesc_t d) { return *reinterpret_cast<description*>(d); }
layout& of(cublasLtMatrixLayout_t l) { return *reinterpret_cast<layout*>(l); }

dtype element_type(cudaDataType type) {
  switch (type) {
    case CUDA_R_64F:
      return dtype::f64;
    case CUDA_R_16F:
      return dtype::f16;
    case CUDA_R_16BF:
      return dtype::bf16;
    case CUDA_R_8F_E4M3:
      return dtype::e4m3;
    case CUDA_R_8F_E5M2:
      return dtype::e5m2;
    case CUDA_C_32F:
      return dtype::c64;
    case CUDA_C_64F:
      return dtype::c128;
    case CUDA_R_8I:
      return dtype::i8;
    case CUDA_R_32I:
      return dtype::i32;
    default:
      return dtype::f32;
  }
}
bool is_fp8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

number load(cudaDataType type, const void* first, std::int64_t index) {
  const dtype t = element_type(type);
  return troupe::conformance::load(
      t, static_cast<const std::byte*>(first) + index * troupe::size_of(t));
}
void store(cudaDataType type, void* first, std::int64_t index, number value) {
  const dtype t = element_type(type);
  double real = value.real();
  if (t == dtype::e4m3) real = std::clamp(real, -448.0, 448.0);
  if (t == dtype::e5m2) real = std::clamp(real, -57344.0, 57344.0);
  if (t == dtype::i8) real = std::clamp(std::nearbyint(real), -128.0, 127.0);
  if (t == dtype::i32) {
    real = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(real)));
  }
  troupe::conformance::store(t, static_cast<std::byte*>(first) + index * troupe::size_of(t),
                             {real, value.imag()});
}

double gelu_inner(double x) { return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }
double gelu(double x) { return 0.5 * x * (1 + std::tanh(gelu_inner(x))); }
double gelu_slope(double x) {
  const double t = std::tanh(gelu_inner(x));
  return 0.5 * (1 + t) +
         0.5 * x * (1 - t * t) * std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
}

bool has(std::uint64_t epilogue, int bits) {
  return (epilogue & static_cast<std::uint64_t>(bits)) != 0;
}
constexpr int relu_bit = CUBLASLT_EPILOGUE_RELU;
constexpr int bias_bit = CUBLASLT_EPILOGUE_BIAS;
constexpr int drelu_bit = 8;
constexpr int gradient_bit = 16;
constexpr int gelu_bit = CUBLASLT_EPILOGUE_GELU;
constexpr int dgelu_bit = 64;
constexpr int aux_bit = 128;

/// One call, or one question for it.
struct matmul_call {
  const description& what;
  const layout& a;
  const layout& b;
  const layout& c;
  const layout& d;

  [[nodiscard]] std::int64_t m() const { return d.rows; }
  [[nodiscard]] std::int64_t n() const { return d.columns; }
  [[nodiscard]] std::int64_t k() const {
    return what.transposes(CUBLASLT_MATMUL_DESC_TRANSA) ? a.rows : a.columns;
  }
  [[nodiscard]] std::uint64_t epilogue() const { return what.get(CUBLASLT_MATMUL_DESC_EPILOGUE); }
  [[nodiscard]] bool keeps_mask() const { return has(epilogue(), relu_bit | drelu_bit); }
  [[nodiscard]] cudaDataType bias_type() const {
    const auto given = what.attributes.find(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
    return given == what.attributes.end() ? d.type : static_cast<cudaDataType>(given->second);
  }
  [[nodiscard]] cudaDataType aux_type() const {
    const auto given = what.attributes.find(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
    return given == what.attributes.end() ? d.type : static_cast<cudaDataType>(given->second);
  }

  [[nodiscard]] bool fits() const {
    const bool turned_a = what.transposes(CUBLASLT_MATMUL_DESC_TRANSA);
    const bool turned_b = what.transposes(CUBLASLT_MATMUL_DESC_TRANSB);
    const bool shapes = (turned_a ? a.columns : a.rows) == m() &&
                        (turned_b ? b.columns : b.rows) == k() &&
                        (turned_b ? b.rows : b.columns) == n() && c.rows == m() &&
                        c.columns == n() && m() > 0 && n() > 0 && k() > 0;
    bool lds = true;
    for (const layout* one : {&a, &b, &c, &d})
      lds = lds && one->ld >= one->rows && one->batch == d.batch;
    return shapes && lds && epilogue_fits() && narrow_fits(turned_a, turned_b) && scales_fit();
  }

 private:
  [[nodiscard]] bool epilogue_fits() const {
    const std::uint64_t e = epilogue();
    const auto ld = static_cast<std::int64_t>(what.get(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD));
    const auto distance =
        static_cast<std::int64_t>(what.get(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE));
    if (has(e, aux_bit)) {
      const std::int64_t unit = keeps_mask() ? 128 : 8;
      if (ld < m() || ld % unit != 0 || distance % unit != 0) return false;
    }
    if (has(e, drelu_bit) && k() == 1) return false;
    const bool vector =
        has(e, bias_bit | gradient_bit | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB);
    // The heuristic wants to know how addresses are aligned.
    if (vector != (what.get(CUBLASLT_MATMUL_DESC_BIAS_POINTER) != 0)) return false;
    if (has(e, aux_bit) != (what.get(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER) != 0)) return false;
    if (has(e, CUBLASLT_EPILOGUE_BGRADA)) return !what.transposes(CUBLASLT_MATMUL_DESC_TRANSA);
    if (has(e, CUBLASLT_EPILOGUE_BGRADB)) return what.transposes(CUBLASLT_MATMUL_DESC_TRANSB);
    return true;
  }

  [[nodiscard]] bool narrow_fits(bool turned_a, bool turned_b) const {
    const bool imma = what.compute == CUBLAS_COMPUTE_32I;
    if (!is_fp8(a.type) && !imma) return true;
    if (!turned_a || turned_b) return false;
    const std::int64_t unit = imma ? 4 : 16;
    for (const layout* one : {&a, &b, &c, &d}) {
      const std::int64_t size = imma ? 1 : troupe::size_of(element_type(one->type));
      if (one->ld * size % unit != 0) return false;
    }
    return m() % unit == 0 && k() % unit == 0;
  }

  [[nodiscard]] bool scales_fit() const {
    const bool fp8 = is_fp8(a.type);
    const auto given = [&](cublasLtMatmulDescAttributes_t which) { return what.get(which) != 0; };
    if (!fp8 && (given(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) ||
                 given(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER) ||
                 given(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER))) {
      return false;
    }
    return is_fp8(d.type) || (!given(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER) &&
                              !given(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER));
  }
};

/// The factor of element (`outer`, `inner` along k) of A or B.
double scale_of(const matmul_call& call, bool is_a, std::int64_t outer, std::int64_t inner) {
  const auto* const first = call.what.address<const float>(
      is_a ? CUBLASLT_MATMUL_DESC_A_SCALE_POINTER : CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
  if (first == nullptr) return 1;
  const std::int64_t extent = is_a ? call.m() : call.n();
  const std::int64_t blocks = (call.k() + 127) / 128;
  switch (
      call.what.get(is_a ? CUBLASLT_MATMUL_DESC_A_SCALE_MODE : CUBLASLT_MATMUL_DESC_B_SCALE_MODE)) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F:
      return static_cast<double>(first[outer]);
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
      return static_cast<double>(first[outer + inner / 128 * extent]);
    case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
      return static_cast<double>(first[inner / 128 + outer / 128 * ((blocks + 3) / 4 * 4)]);
    default:
      return static_cast<double>(*first);
  }
}
double factor_at(const matmul_call& call, cublasLtMatmulDescAttributes_t which) {
  const auto* const at = call.what.address<const float>(which);
  return at == nullptr ? 1 : static_cast<double>(*at);
}

/// op(A) or op(B) of one product, by [outer, k], with its scale.
std::vector<number> factors(const matmul_call& call, bool is_a, const void* first,
                            std::int64_t product, bool scaled) {
  const layout& l = is_a ? call.a : call.b;
  const auto op = static_cast<cublasOperation_t>(
      call.what.get(is_a ? CUBLASLT_MATMUL_DESC_TRANSA : CUBLASLT_MATMUL_DESC_TRANSB));
  const std::int64_t outer = is_a ? call.m() : call.n();
  // Whether `outer` counts the stored columns.
  const bool by_column = (op != CUBLAS_OP_N) == is_a;
  std::vector<number> values;
  for (std::int64_t i = 0; i < outer; ++i) {
    for (std::int64_t inner = 0; inner < call.k(); ++inner) {
      const std::int64_t row = by_column ? inner : i;
      const std::int64_t column = by_column ? i : inner;
      const number one = load(l.type, first, product * l.distance + column * l.ld + row);
      values.push_back((op == CUBLAS_OP_C ? std::conj(one) : one) *
                       (scaled ? scale_of(call, is_a, i, inner) : 1.0));
    }
  }
  return values;
}

struct largest_magnitudes {
  double d = 0;
  double aux = 0;
};

void run_product(const matmul_call& call, number alpha, const void* a, const void* b, number beta,
                 const void* c, void* d, std::int64_t product, largest_magnitudes& largest) {
  const std::uint64_t e = call.epilogue();
  const std::vector<number> left = factors(call, true, a, product, true);
  const std::vector<number> right = factors(call, false, b, product, true);
  auto* const vector = call.what.address<std::byte>(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  const std::int64_t vector_at =
      product * static_cast<std::int64_t>(call.what.get(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE));
  auto* const aux = call.what.address<std::byte>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  const auto aux_ld =
      static_cast<std::int64_t>(call.what.get(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD));
  const std::int64_t aux_at =
      product *
      static_cast<std::int64_t>(call.what.get(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE));
  const double scale_c = factor_at(call, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER);
  const double scale_d = factor_at(call, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER);
  const double scale_aux = factor_at(call, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER);
  std::vector<double> row_sums(static_cast<std::size_t>(call.m()));
  for (std::int64_t j = 0; j < call.n(); ++j) {
    for (std::int64_t i = 0; i < call.m(); ++i) {
      number sum = 0;
      for (std::int64_t inner = 0; inner < call.k(); ++inner) {
        sum += left[static_cast<std::size_t>(i * call.k() + inner)] *
               right[static_cast<std::size_t>(j * call.k() + inner)];
      }
      number x = alpha * sum;
      if (beta != number(0)) {
        x += beta * scale_c * load(call.c.type, c, product * call.c.distance + j * call.c.ld + i);
      }
      if (has(e, bias_bit)) x += load(call.bias_type(), vector, vector_at + i);
      const std::int64_t kept_at = aux_at + j * aux_ld + i;
      const auto bit = std::byte{1} << static_cast<int>(kept_at % 8);
      if (has(e, aux_bit) && has(e, relu_bit)) {
        aux[kept_at / 8] = (aux[kept_at / 8] & ~bit) | (x.real() > 0 ? bit : std::byte{});
      } else if (has(e, aux_bit) && has(e, gelu_bit)) {
        largest.aux = std::max(largest.aux, std::abs(x.real()));
        store(call.aux_type(), aux, kept_at, scale_aux * x);
      }
      if (has(e, relu_bit)) x = std::max(x.real(), 0.0);
      if (has(e, gelu_bit)) x = gelu(x.real());
      if (has(e, drelu_bit)) x *= (aux[kept_at / 8] & bit) != std::byte{} ? 1 : 0;
      if (has(e, dgelu_bit)) x *= gelu_slope(load(call.aux_type(), aux, kept_at).real());
      row_sums[static_cast<std::size_t>(i)] += x.real();
      largest.d = std::max(largest.d, std::abs(x.real()));
      store(call.d.type, d, product * call.d.distance + j * call.d.ld + i, scale_d * x);
    }
  }
  if (has(e, gradient_bit)) {
    for (std::int64_t i = 0; i < call.m(); ++i)
      store(call.bias_type(), vector, vector_at + i, row_sums[static_cast<std::size_t>(i)]);
  }
  if (has(e, CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB)) {
    const bool of_a = has(e, CUBLASLT_EPILOGUE_BGRADA);
    const std::vector<number> summed = factors(call, of_a, of_a ? a : b, product, false);
    for (std::int64_t i = 0; i < (of_a ? call.m() : call.n()); ++i) {
      number sum = 0;
      for (std::int64_t inner = 0; inner < call.k(); ++inner)
        sum += summed[static_cast<std::size_t>(i * call.k() + inner)];
      store(call.bias_type(), vector, vector_at + i, sum);
    }
  }
}

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
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t proposed[],
                                              int* found) {
  ++seen().proposals;
  *found = 0;
  if (seen().heuristic_answers != 0) {
    return static_cast<cublasStatus_t>(seen().heuristic_answers);
  }
  if (!matmul_call{of(what), of(a), of(b), of(c), of(d)}.fits()) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto kernels = static_cast<int>(troupe::emulated_cublaslt::kernels);
  for (int i = 0; i < std::min(wanted, kernels); ++i) {
    const auto place = static_cast<std::uint64_t>(i);
    proposed[i] = {};
    proposed[i].algo.data[0] = signature;
    proposed[i].algo.data[1] = place;
    proposed[i].workspaceSize = place * workspace_step;
    proposed[i].state = place < troupe::emulated_cublaslt::first_that_runs
                            ? CUBLAS_STATUS_NOT_SUPPORTED
                            : CUBLAS_STATUS_SUCCESS;
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
  if (kernel->data[0] != signature || place < troupe::emulated_cublaslt::first_that_runs ||
      bytes < place * workspace_step || reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const matmul_call call{of(what), of(of_a), of(of_b), of(of_c), of(of_d)};
  if (!call.fits() || (c == d && call.c.ld != call.d.ld)) return CUBLAS_STATUS_NOT_SUPPORTED;
  std::memset(workspace, 0xAB, bytes);
  const number by_alpha = load(call.what.factors, alpha, 0);
  const number by_beta = load(call.what.factors, beta, 0);
  largest_magnitudes largest;
  for (std::int64_t p = 0; p < call.d.batch; ++p)
    run_product(call, by_alpha, a, b, by_beta, c, d, p, largest);
  const auto answer = [&](cublasLtMatmulDescAttributes_t which, double value) {
    if (auto* const at = call.what.address<float>(which)) *at = static_cast<float>(value);
  };
  answer(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, largest.d);
  answer(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, largest.aux);
  ++seen().products;
  seen().last_kernel = place;
  clock_ms += static_cast<double>(troupe::emulated_cublaslt::kernels - place);
  return CUBLAS_STATUS_SUCCESS;
}

cudaError_t cudaEventCreate(cudaEvent_t* made) {
  *made = reinterpret_cast<cudaEvent_t>(new double(0));
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t held) {
  delete reinterpret_cast<double*>(held);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t held, cudaStream_t) {
  *reinterpret_cast<double*>(held) = clock_ms;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* passed, cudaEvent_t from, cudaEvent_t to) {
  *passed = static_cast<float>(*reinterpret_cast<double*>(to) - *reinterpret_cast<double*>(from));
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 9;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "Emulated");
  properties->major = 9;
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t) { return "emulated"; }
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
}
