#include "cuda/emulated/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace troupe::emulated_cublaslt {
namespace {

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
/// Absent, or where a kernel reads it as whole vectors.
bool is_aligned(std::uint64_t address) { return address % 16 == 0; }
bool is_fp8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

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

void run_product(const matmul_call& call, number alpha, const void* a, const void* b, number beta,
                 const void* c, void* d, std::int64_t product, double& largest) {
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
        store(call.aux_type(), aux, kept_at, x);
      }
      if (has(e, relu_bit)) x = std::max(x.real(), 0.0);
      if (has(e, gelu_bit)) x = gelu(x.real());
      if (has(e, drelu_bit)) x *= (aux[kept_at / 8] & bit) != std::byte{} ? 1 : 0;
      if (has(e, dgelu_bit)) x *= gelu_slope(load(call.aux_type(), aux, kept_at).real());
      row_sums[static_cast<std::size_t>(i)] += x.real();
      largest = std::max(largest, std::abs(x.real()));
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

}  // namespace

number load(cudaDataType type, const void* first, std::int64_t index) {
  const dtype t = element_type(type);
  return troupe::conformance::load(
      t, static_cast<const std::byte*>(first) + index * troupe::size_of(t));
}
bool matmul_call::keeps_mask() const { return has(epilogue(), relu_bit | drelu_bit); }

bool matmul_call::fits() const {
  const bool turned_a = what.transposes(CUBLASLT_MATMUL_DESC_TRANSA);
  const bool turned_b = what.transposes(CUBLASLT_MATMUL_DESC_TRANSB);
  const bool shapes = (turned_a ? a.columns : a.rows) == m() &&
                      (turned_b ? b.columns : b.rows) == k() &&
                      (turned_b ? b.rows : b.columns) == n() && c.rows == m() && c.columns == n() &&
                      m() > 0 && n() > 0 && k() > 0;
  bool lds = true;
  for (const layout* one : {&a, &b, &c, &d})
    lds = lds && one->ld >= one->rows && one->batch == d.batch;
  return shapes && lds && epilogue_fits() && narrow_fits(turned_a, turned_b) && scales_fit();
}

bool layout::begins_at_multiples(const void* first, std::uint64_t bytes) const {
  const auto size = static_cast<std::uint64_t>(size_of(element_type(type)));
  return reinterpret_cast<std::uintptr_t>(first) % bytes == 0 &&
         (columns == 1 || (rows == 1 && ld == 1) ||
          static_cast<std::uint64_t>(ld) * size % bytes == 0) &&
         (batch == 1 || static_cast<std::uint64_t>(distance) * size % bytes == 0);
}

bool matmul_call::epilogue_fits() const {
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

bool matmul_call::narrow_fits(bool turned_a, bool turned_b) const {
  const bool imma = what.compute == CUBLAS_COMPUTE_32I;
  if (!is_fp8(a.type) && !imma) return true;
  if (!turned_a || turned_b) return false;
  const std::int64_t vector_bytes =
      static_cast<std::int64_t>(what.get(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE)) *
      troupe::size_of(element_type(bias_type()));
  if (!is_aligned(what.get(CUBLASLT_MATMUL_DESC_BIAS_POINTER)) || vector_bytes % 16 != 0) {
    return false;
  }
  const std::int64_t unit = imma ? 4 : 16;
  for (const layout* one : {&a, &b, &c, &d}) {
    const std::int64_t size = imma ? 1 : troupe::size_of(element_type(one->type));
    if (one->ld * size % unit != 0) return false;
  }
  return m() % unit == 0 && k() % unit == 0;
}

bool matmul_call::scales_fit() const {
  const bool fp8 = is_fp8(a.type);
  const auto given = [&](cublasLtMatmulDescAttributes_t which) { return what.get(which) != 0; };
  if (!fp8 &&
      (given(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) || given(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER) ||
       given(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER))) {
    return false;
  }
  for (const auto which :
       {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_AMAX_D_POINTER}) {
    if (!is_aligned(what.get(which))) return false;
  }
  return is_fp8(d.type) || (!given(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER) &&
                            !given(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER));
}
void matmul_call::run(number alpha, const void* a_first, const void* b_first, number beta,
                      const void* c_first, void* d_first) const {
  double largest = 0;
  for (std::int64_t p = 0; p < d.batch; ++p)
    run_product(*this, alpha, a_first, b_first, beta, c_first, d_first, p, largest);
  if (auto* const at = what.address<float>(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER)) {
    *at = static_cast<float>(largest);
  }
}

}  // namespace troupe::emulated_cublaslt
