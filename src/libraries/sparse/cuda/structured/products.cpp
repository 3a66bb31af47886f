#include "libraries/sparse/cuda/structured/products.hpp"

#if __has_include(<cusparseLt.h>)

#include "backend/lru_cache.hpp"
#include "libraries/blaslt/requests/geometry.hpp"
#include "libraries/sparse/cuda/structured/cusparselt.hpp"
#include "libraries/sparse/requests/structured_rules.hpp"

#include <memory>
#include <utility>

namespace troupe::cuda {
namespace {

constexpr char attachment_key = 0;
constexpr std::size_t most_plans = 128;

cudaDataType as_cuda(dtype type) noexcept {
  switch (type) {
    case dtype::f16:
      return CUDA_R_16F;
    case dtype::bf16:
      return CUDA_R_16BF;
    case dtype::i8:
      return CUDA_R_8I;
    case dtype::e4m3:
      return CUDA_R_8F_E4M3;
    case dtype::f32:
      return CUDA_R_32F;
    default:
      return CUDA_R_32I;  // every other type is refused
  }
}

/// A matrix as cuSPARSELt takes it.
struct lt_matrix {
  dtype type{};
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  blas::order order{};
  std::int64_t ld = 0;
  const std::byte* first = nullptr;

  lt_matrix() = default;
  lt_matrix(const any_tensor& t, blas::order preferred) noexcept
      : type(t.type()), rows(t.extent(0)), columns(t.extent(1)), first(t.address()) {
    const auto as = blas::layout_of(t, preferred);
    order = as.order;
    ld = as.ld;
  }

  [[nodiscard]] cusparseOrder_t cusparse_order() const noexcept {
    return order == blas::order::row_major ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
  }
  /// Extents, leading dimension and address are multiples of what the library takes, which says so
  /// on standard output where they are not. Source: cuSPARSELt documentation,
  /// cusparseLtDenseDescriptorInit and cusparseLtStructuredDescriptorInit.
  [[nodiscard]] bool suits(bool structured) const noexcept {
    const std::int64_t bytes = structured ? 32 : 16;
    const std::int64_t unit = bytes / size_of(type);
    return rows > 0 && columns > 0 && rows % unit == 0 && columns % unit == 0 &&
           ld * size_of(type) % 16 == 0 &&
           reinterpret_cast<std::uintptr_t>(first) % sparse::structured_alignment == 0;
  }
};

// The library's sparse factor is its left one: dᵀ = bᵀ · aᵀ. Only orders differ.
constexpr blas::order k_contiguous_weights = blas::order::row_major;

struct lt_product {
  lt_matrix weights, right, c, d;
  const void* bias = nullptr;
  blaslt::epilogue epilogue{};

  explicit lt_product(const sparse::structured_matmul& r) noexcept
      : weights(r.b.transpose(), k_contiguous_weights),
        right(r.a.transpose(), blas::order::column_major),
        bias(r.bias.null() ? nullptr : r.bias.address()),
        epilogue(r.epilogue) {
    const auto of_d = *blaslt::order_of_d(sparse::as_dense(r));
    d = lt_matrix(r.d.transpose(), blas::other(of_d));
    c = r.c.null() ? d : lt_matrix(r.c.transpose(), blas::other(of_d));
  }
  [[nodiscard]] bool suits() const noexcept {
    return weights.suits(true) && right.suits(false) && c.suits(false) && d.suits(false) &&
           reinterpret_cast<std::uintptr_t>(bias) % sparse::structured_alignment == 0;
  }
};

using plan_key = number_key<32>;

plan_key key_of(const lt_product& p) noexcept {
  plan_key key;
  for (const lt_matrix* one : {&p.weights, &p.right, &p.c, &p.d}) {
    key.add(static_cast<std::int64_t>(one->type));
    key.add(one->rows);
    key.add(one->columns);
    key.add(static_cast<std::int64_t>(one->order));
    key.add(one->ld);
  }
  key.add(static_cast<std::int64_t>(p.epilogue));
  key.add(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p.bias)));
  return key;
}

/// Makes calls one after another; the first failure stays, and what comes after it is not called.
class lt_calls {
 public:
  template <class Call>
  void make(std::string_view name, Call call) {
    if (status_ != CUSPARSE_STATUS_SUCCESS) return;
    status_ = call();
    name_ = name;
  }
  [[nodiscard]] bool good() const noexcept { return status_ == CUSPARSE_STATUS_SUCCESS; }
  /// The library has looked at what it is told and does not take it.
  [[nodiscard]] bool refused() const noexcept {
    return status_ == CUSPARSE_STATUS_INVALID_VALUE || status_ == CUSPARSE_STATUS_NOT_SUPPORTED ||
           status_ == CUSPARSE_STATUS_ARCH_MISMATCH ||
           status_ == CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
  }
  [[nodiscard]] result<void> outcome(cudaStream_t stream) const {
    return check_lt(status_, name_, stream);
  }

 private:
  cusparseStatus_t status_ = CUSPARSE_STATUS_SUCCESS;
  std::string_view name_;
};

cusparseStatus_t describe(const cusparselt_functions& lt, const cusparseLtHandle_t& handle,
                          const lt_matrix& m, bool structured, cusparseLtMatDescriptor_t& to) {
  if (structured) {
    return lt.structured(&handle, &to, m.rows, m.columns, m.ld, sparse::structured_alignment,
                         as_cuda(m.type), m.cusparse_order(), CUSPARSELT_SPARSITY_50_PERCENT);
  }
  return lt.dense(&handle, &to, m.rows, m.columns, m.ld, sparse::structured_alignment,
                  as_cuda(m.type), m.cusparse_order());
}

/// The library's descriptions of a product. They refer to each other, so they stay where they are.
class lt_plan final : public structured_products::plan {
 public:
  lt_plan(const cusparselt_functions& lt, const cusparseLtHandle_t& handle, const lt_product& p)
      : lt_(lt) {
    const auto matrix = [&](const lt_matrix& m, bool structured, cusparseLtMatDescriptor_t& to) {
      calls_.make(
          structured ? "cusparseLtStructuredDescriptorInit" : "cusparseLtDenseDescriptorInit",
          [&] { return describe(lt, handle, m, structured, to); });
      if (calls_.good()) ++matrices_;
    };
    matrix(p.weights, true, all_[0]);
    matrix(p.right, false, all_[1]);
    matrix(p.c, false, all_[2]);
    matrix(p.d, false, all_[3]);
    const auto computed =
        p.weights.type == dtype::i8 ? CUSPARSE_COMPUTE_32I : CUSPARSE_COMPUTE_32F;
    calls_.make("cusparseLtMatmulDescriptorInit", [&] {
      return lt.matmul(&handle, &what_, CUSPARSE_OPERATION_NON_TRANSPOSE,
                       CUSPARSE_OPERATION_NON_TRANSPOSE, all_.data(), &all_[1], &all_[2], &all_[3],
                       computed);
    });
    const auto set = [&](cusparseLtMatmulDescAttribute_t which, const auto& value) {
      calls_.make("cusparseLtMatmulDescSetAttribute",
                  [&] { return lt.set(&handle, &what_, which, &value, sizeof value); });
    };
    constexpr int on = 1;
    const bool relu = blaslt::is_relu(p.epilogue);
    const bool gelu =
        p.epilogue == blaslt::epilogue::gelu || p.epilogue == blaslt::epilogue::gelu_bias;
    if (relu) set(CUSPARSELT_MATMUL_ACTIVATION_RELU, on);
    if (gelu) set(CUSPARSELT_MATMUL_ACTIVATION_GELU, on);
    if (p.bias != nullptr) set(CUSPARSELT_MATMUL_BIAS_POINTER, p.bias);
    calls_.make("cusparseLtMatmulAlgSelectionInit", [&] {
      return lt.select(&handle, &selection_, &what_, CUSPARSELT_MATMUL_ALG_DEFAULT);
    });
    selected_ = calls_.good();
    calls_.make("cusparseLtMatmulPlanInit",
                [&] { return lt.plan(&handle, &plan_, &what_, &selection_); });
    planned_ = calls_.good();
    std::size_t bytes = 0;
    calls_.make("cusparseLtMatmulGetWorkspace",
                [&] { return lt.workspace(&handle, &plan_, &bytes); });
    workspace_bytes = static_cast<std::int64_t>(bytes);
  }
  lt_plan(const lt_plan&) = delete;
  lt_plan& operator=(const lt_plan&) = delete;
  ~lt_plan() {
    if (planned_) (void)lt_.destroy_plan(&plan_);
    if (selected_) (void)lt_.destroy_selection(&selection_);
    for (std::size_t i = 0; i < matrices_; ++i)
      (void)lt_.destroy_matrix(&all_[i]);
  }

  [[nodiscard]] const lt_calls& making() const noexcept { return calls_; }
  [[nodiscard]] const cusparseLtMatmulPlan_t& native() const noexcept { return plan_; }

 private:
  const cusparselt_functions& lt_;
  lt_calls calls_;
  std::size_t matrices_ = 0;
  bool selected_ = false;
  bool planned_ = false;
  std::array<cusparseLtMatDescriptor_t, 4> all_{};
  cusparseLtMatmulDescriptor_t what_{};
  cusparseLtMatmulAlgSelection_t selection_{};
  cusparseLtMatmulPlan_t plan_{};
};

class lt_handle {
 public:
  explicit lt_handle(const cusparselt_functions& lt) noexcept
      : lt_(lt), opened_(lt.init(&handle_)) {}
  lt_handle(const lt_handle&) = delete;
  lt_handle& operator=(const lt_handle&) = delete;
  ~lt_handle() {
    if (opened_ == CUSPARSE_STATUS_SUCCESS) (void)lt_.destroy(&handle_);
  }
  [[nodiscard]] cusparseStatus_t opened() const noexcept { return opened_; }
  [[nodiscard]] const cusparseLtHandle_t& native() const noexcept { return handle_; }

 private:
  const cusparselt_functions& lt_;
  cusparseLtHandle_t handle_{};
  cusparseStatus_t opened_;
};

class lane_products final : public structured_products {
 public:
  explicit lane_products(const cusparselt_functions& lt) noexcept : lt_(lt), library_(lt) {}

  [[nodiscard]] cusparseStatus_t opened() const noexcept { return library_.opened(); }

  [[nodiscard]] std::int64_t version() const noexcept override { return CUSPARSELT_VERSION; }

  [[nodiscard]] std::optional<room> room_for(const any_tensor& x) override {
    return room_for(lt_matrix(x, k_contiguous_weights));
  }
  [[nodiscard]] std::optional<room> room_for(const lt_matrix& weights) {
    if (!weights.suits(true)) return std::nullopt;
    cusparseLtMatDescriptor_t described;
    if (describe(lt_, handle_, weights, true, described) != CUSPARSE_STATUS_SUCCESS) {
      return std::nullopt;
    }
    std::size_t compressed = 0;
    std::size_t scratch = 0;
    const auto asked = lt_.compressed_size(&handle_, &described, &compressed, &scratch);
    (void)lt_.destroy_matrix(&described);
    const std::int64_t most =
        sparse::structured_bytes(weights.rows, weights.columns, size_of(weights.type)) -
        sparse::structured_stamp_bytes;
    if (asked != CUSPARSE_STATUS_SUCCESS || std::cmp_greater(compressed, most)) return std::nullopt;
    return room{static_cast<std::int64_t>(compressed), static_cast<std::int64_t>(scratch)};
  }

  [[nodiscard]] result<void> compress(const any_tensor& x, std::byte* to, std::byte* scratch,
                                      cudaStream_t stream) override {
    cusparseLtMatDescriptor_t described;
    lt_calls calls;
    calls.make("cusparseLtStructuredDescriptorInit", [&] {
      return describe(lt_, handle_, lt_matrix(x, k_contiguous_weights), true, described);
    });
    if (!calls.good()) return calls.outcome(stream);
    calls.make("cusparseLtSpMMACompress2", [&] {
      constexpr int is_left = 1;
      return lt_.compress(&handle_, &described, is_left, CUSPARSE_OPERATION_NON_TRANSPOSE,
                          x.address(), to, scratch, stream);
    });
    (void)lt_.destroy_matrix(&described);
    return calls.outcome(stream);
  }

  [[nodiscard]] result<const plan*> plan_for(const sparse::structured_matmul& r,
                                             cudaStream_t stream) override {
    const lt_product product(r);
    if (!product.suits()) return nullptr;
    const plan_key key = key_of(product);
    std::unique_ptr<lt_plan>* found = plans_.find(key);
    if (found == nullptr) {
      auto made = make_plan(product, stream);
      if (!made) return std::move(made).error();
      found = &plans_.add(key, *std::move(made));
    }
    return found->get();
  }

  [[nodiscard]] result<void> run(const plan& how, const sparse::structured_matmul& r,
                                 const std::byte* compressed, std::byte* workspace,
                                 cudaStream_t stream) override {
    const auto alpha = r.alpha.as<float>();
    const auto beta = r.beta.as<float>();
    const std::byte* const c = r.c.null() ? r.d.address() : r.c.address();
    return check_lt(lt_.run(&handle_, &static_cast<const lt_plan&>(how).native(), &alpha,
                            compressed, r.a.address(), &beta, c, r.d.address(), workspace, &stream,
                            1),
                    "cusparseLtMatmul", stream);
  }

 private:
  /// Null where the library does not take it.
  [[nodiscard]] result<std::unique_ptr<lt_plan>> make_plan(const lt_product& product,
                                                           cudaStream_t stream) {
    const auto weights = room_for(product.weights);
    if (!weights) return std::unique_ptr<lt_plan>();
    auto made = std::make_unique<lt_plan>(lt_, handle_, product);
    if (made->making().refused()) return std::unique_ptr<lt_plan>();
    if (auto good = made->making().outcome(stream); !good) return std::move(good).error();
    made->weights = *weights;
    return made;
  }

  const cusparselt_functions& lt_;
  lt_handle library_;
  const cusparseLtHandle_t& handle_ = library_.native();
  /// Null where the library does not take the product.
  lru_cache<plan_key, std::unique_ptr<lt_plan>, plan_key::hash> plans_{most_plans};
};

}  // namespace

result<structured_products*> structured_products_of(lane& where) {
  const cusparselt_functions* const library = cusparselt();
  if (library == nullptr) return nullptr;
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    auto made = std::make_shared<lane_products>(*library);
    const auto opened = made->opened();
    // It does not know this GPU: as if it were not there.
    if (opened == CUSPARSE_STATUS_ARCH_MISMATCH || opened == CUSPARSE_STATUS_NOT_SUPPORTED) {
      return nullptr;
    }
    if (auto good = check_lt(opened, "cusparseLtInit", where.stream()); !good) {
      return std::move(good).error();
    }
    place = std::move(made);
  }
  return static_cast<lane_products*>(place.get());
}

}  // namespace troupe::cuda

#else

namespace troupe::cuda {

result<structured_products*> structured_products_of(lane&) { return nullptr; }

}  // namespace troupe::cuda

#endif
