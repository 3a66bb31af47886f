#include "libraries/sparse/cuda/structured/products.hpp"

#if __has_include(<cusparseLt.h>)

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/sparse/cuda/structured/measure.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::cuda {
namespace {

constexpr char attachment_key = 0;
constexpr std::size_t most_plans = 128;
/// True if kernels for the product can be measured.
bool can_be_measured(const lt_product& p) noexcept {
  return limits::cusparse::accepts_measuring({p.weights.rows, p.weights.columns, p.right.columns},
                                             p.d.type, p.epilogue != blaslt::epilogue::none);
}

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

/// The key under which a measured kernel is kept for later workers and programs.
std::vector<std::byte> kept_key(const lt_product::key& key) {
  constexpr std::string_view what = "cusparselt kernel";
  cudaDeviceProp gpu{};
  int device = 0;
  if (cudaGetDevice(&device) == cudaSuccess) (void)cudaGetDeviceProperties(&gpu, device);
  const std::string_view name(gpu.name);
  const int numbers[] = {CUSPARSELT_VERSION, gpu.multiProcessorCount};
  std::vector<std::byte> all;
  const auto add = [&](const void* first, std::size_t bytes) {
    const auto* const from = static_cast<const std::byte*>(first);
    all.insert(all.end(), from, from + bytes);
  };
  add(what.data(), what.size());
  add(name.data(), name.size());
  add(numbers, sizeof numbers);
  add(key.numbers().data(), key.numbers().size_bytes());
  return all;
}

/// True if the stream is being captured. Then nothing can be measured.
bool is_recorded(cudaStream_t stream) noexcept {
  auto status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) != cudaSuccess ||
         status != cudaStreamCaptureStatusNone;
}

lt_plan::operands operands_of(const sparse::structured_matmul& r, const std::byte* compressed) {
  return {.alpha = r.alpha.as<float>(),
          .beta = r.beta.as<float>(),
          .compressed = compressed,
          .right = r.a.address(),
          .c = r.c.null() ? r.d.address() : r.c.address(),
          .d = r.d.address(),
          .bias = r.bias.null() ? nullptr : r.bias.address()};
}

class lane_products final : public structured_products {
 public:
  explicit lane_products(const cusparselt_functions& lt) noexcept : lt_(lt), library_(lt) {}

  [[nodiscard]] cusparseStatus_t opened() const noexcept { return library_.opened(); }
  [[nodiscard]] std::int64_t version() const noexcept override { return CUSPARSELT_VERSION; }

  [[nodiscard]] std::optional<std::int64_t> scratch_for(const any_tensor& x) override {
    const lt_matrix weights = lt_weights(x);
    cusparseLtMatDescriptor_t described;
    if (!weights.is_accepted(true) ||
        describe_weights(lt_, library_.native(), weights, described) != CUSPARSE_STATUS_SUCCESS) {
      return std::nullopt;
    }
    std::size_t compressed = 0;
    std::size_t scratch = 0;
    const auto asked = lt_.compressed_size(&library_.native(), &described, &compressed, &scratch);
    (void)lt_.destroy_matrix(&described);
    const std::int64_t most =
        sparse::structured_bytes(weights.rows, weights.columns, size_of(weights.type)) -
        sparse::structured_stamp_bytes;
    if (asked != CUSPARSE_STATUS_SUCCESS || std::cmp_greater(compressed, most)) return std::nullopt;
    return static_cast<std::int64_t>(scratch);
  }

  [[nodiscard]] result<void> compress(const any_tensor& x, std::byte* to, std::byte* scratch,
                                      cudaStream_t stream) override {
    cusparseLtMatDescriptor_t described;
    lt_calls calls;
    calls.make("cusparseLtStructuredDescriptorInit",
               [&] { return describe_weights(lt_, library_.native(), lt_weights(x), described); });
    if (!calls.good()) return calls.outcome(stream);
    calls.make("cusparseLtSpMMACompress2", [&] {
      constexpr int is_left = 1;
      return lt_.compress(&library_.native(), &described, is_left, CUSPARSE_OPERATION_NON_TRANSPOSE,
                          x.address(), to, scratch, stream);
    });
    (void)lt_.destroy_matrix(&described);
    return calls.outcome(stream);
  }

  [[nodiscard]] result<bool> multiply(const sparse::structured_matmul& r,
                                      const std::byte* compressed, lane& where) override {
    const lt_product product(r);
    if (!product.is_accepted()) return false;
    auto key = product.plan_key();
    key.add(static_cast<std::int64_t>(r.tuning));
    const lt_plan::operands of = operands_of(r, compressed);
    std::shared_ptr<lt_plan>* found = plans_.find(key);
    if (found == nullptr) {
      auto made = TRY(make_plan(product, r, of, where));
      found = &plans_.add(key, std::move(made));
    }
    lt_plan* const plan = found->get();
    if (plan == nullptr) return false;
    where.retain(*found);
    const auto room = TRY(where.workspace(std::max<std::size_t>(plan->workspace_bytes(), 1)));
    TRY(plan->run(of, room.data(), where.stream()));
    return true;
  }

 private:
  /// Null if the library does not support the product.
  [[nodiscard]] result<std::unique_ptr<lt_plan>> make_plan(const lt_product& product,
                                                           const sparse::structured_matmul& r,
                                                           const lt_plan::operands& of,
                                                           lane& where) {
    // If the library rejects the weights, they cannot have been compressed. Asked once per plan,
    // because the library is slow to answer.
    if (!scratch_for(r.b.transpose())) return std::unique_ptr<lt_plan>();
    const auto plan_of = [&](int kernel) {
      return std::make_unique<lt_plan>(lt_, library_.native(), product, kernel);
    };
    auto proposed = plan_of(-1);
    if (proposed->making().refused()) return std::unique_ptr<lt_plan>();
    TRY(proposed->making().outcome(where.stream()));
    if (r.tuning == blaslt::tuning::heuristic || !can_be_measured(product)) return proposed;
    const std::vector<std::byte> key = kept_key(product.plan_key());
    const std::shared_ptr<kept_blobs> blobs = where.blobs();
    const auto kept = blobs ? blobs->find(key) : std::nullopt;
    int kernel = -1;
    if (kept && kept->size() == sizeof kernel) {
      std::memcpy(&kernel, kept->data(), sizeof kernel);
      auto again = plan_of(kernel);
      if (again->making().good()) return again;
    }
    if (is_recorded(where.stream())) return proposed;
    std::vector<std::unique_ptr<lt_plan>> all;
    std::vector<int> numbers;
    for (int i = 0; i < proposed->kernels(); ++i) {
      auto one = plan_of(i);
      if (!one->making().good()) continue;
      all.push_back(std::move(one));
      numbers.push_back(i);
    }
    if (all.empty()) return proposed;
    auto fastest = fastest_of(all, r, of, where);
    if (!fastest) {
      // The proposed kernel needs less memory than measuring others.
      if (fastest.error().code == errc::out_of_memory) return proposed;
      return std::move(fastest).error();
    }
    if (blobs) {
      (void)blobs->publish(key, std::as_bytes(std::span(&numbers[*fastest], 1)));
    }
    return std::move(all[*fastest]);
  }

  const cusparselt_functions& lt_;
  lt_handle library_;
  lru_cache<lt_product::key, std::shared_ptr<lt_plan>, lt_product::key::hash> plans_{most_plans};
};

}  // namespace

result<structured_products*> structured_products_of(lane& where) {
  const cusparselt_functions* const library = cusparselt();
  if (library == nullptr) return nullptr;
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    auto made = std::make_shared<lane_products>(*library);
    const auto opened = made->opened();
    // The library does not support this GPU: treat it as not installed.
    if (opened == CUSPARSE_STATUS_ARCH_MISMATCH || opened == CUSPARSE_STATUS_NOT_SUPPORTED) {
      return nullptr;
    }
    TRY(check_lt(opened, "cusparseLtInit", where.stream()));
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
