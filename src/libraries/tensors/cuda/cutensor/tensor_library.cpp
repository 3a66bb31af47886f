#include "libraries/tensors/cuda/cutensor/tensor_library.hpp"

#if __has_include(<cutensor.h>)

#include "backend/cuda/context/failure.hpp"
#include "libraries/tensors/cuda/cutensor/cutensor.hpp"
#include "libraries/tensors/cuda/cutensor/status.hpp"
#include "libraries/tensors/cuda/limits.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <deque>
#include <string_view>
#include <utility>

namespace troupe::cuda {
namespace {

cudaDataType_t as_cutensor(dtype type) noexcept {
  switch (type) {
    case dtype::f16:
      return CUDA_R_16F;
    case dtype::bf16:
      return CUDA_R_16BF;
    case dtype::f64:
      return CUDA_R_64F;
    case dtype::c64:
      return CUDA_C_32F;
    case dtype::c128:
      return CUDA_C_64F;
    default:
      return CUDA_R_32F;  // every other type is refused
  }
}

cutensorComputeDescriptor_t computed_in(const cutensor_functions& all, dtype type,
                                        blas::math_mode math) noexcept {
  if (type == dtype::f64 || type == dtype::c128) return *all.in_f64;
  const bool rounds = math == blas::math_mode::tf32 && (type == dtype::f32 || type == dtype::c64);
  return rounds ? *all.in_tf32 : *all.in_f32;
}

/// A factor in the type in which sums of `type` are scaled.
class factor {
 public:
  factor(const scalar& s, dtype type) noexcept {
    switch (type) {
      case dtype::f64:
        set(s.as<double>());
        break;
      case dtype::c64:
        set(s.as<std::complex<float>>());
        break;
      case dtype::c128:
        set(s.as<std::complex<double>>());
        break;
      default:
        set(s.as<float>());
        break;
    }
  }
  [[nodiscard]] const void* address() const noexcept { return bytes_.data(); }

 private:
  template <class T>
  void set(T value) noexcept {
    std::memcpy(bytes_.data(), &value, sizeof value);
  }
  alignas(16) std::array<std::byte, 16> bytes_{};
};

/// The largest power of two, in bytes, that divides the address of every row of a tensor.
std::uint32_t row_alignment(const any_tensor& t) noexcept {
  std::uint64_t bits = alignment_of(t.address());
  for (int d = 0; d < t.rank(); ++d) {
    if (t.extent(d) > 1 && t.stride(d) != 1)
      bits |= static_cast<std::uint64_t>(t.stride(d) * size_of(t.type()));
  }
  return static_cast<std::uint32_t>(bits & ~(bits - 1));
}

bool is_accepted(const any_tensor& t) noexcept {
  return limits::cutensor::accepts_rows(row_alignment(t));
}

/// Owns an object of the library; `end` destroys it.
template <class Object>
class held {
 public:
  explicit held(cutensorStatus_t (*end)(Object)) noexcept : end_(end) {}
  held(const held&) = delete;
  held& operator=(const held&) = delete;
  ~held() {
    if (object_ != nullptr) (void)end_(object_);
  }
  [[nodiscard]] Object get() const noexcept { return object_; }
  [[nodiscard]] Object* place() noexcept { return &object_; }

 private:
  cutensorStatus_t (*end_)(Object);
  Object object_ = nullptr;
};

class lane_plan final : public tensor_plan {
 public:
  lane_plan(const cutensor_functions& all, cutensorHandle_t handle) noexcept
      : all_(all), handle_(handle), plan_(all.destroy_plan) {}

  /// Returns false if the library does not support the sum.
  [[nodiscard]] bool make(const named_sum& s) {
    if (!std::ranges::all_of(s.tensors, is_accepted)) return false;
    std::deque<held<cutensorTensorDescriptor_t>> tensors;
    for (const any_tensor& t : s.tensors) {
      auto& made = tensors.emplace_back(all_.destroy_tensor);
      if (!good(all_.describe(handle_, made.place(), static_cast<std::uint32_t>(t.rank()),
                              t.extents().data(), t.strides().data(), as_cutensor(t.type()),
                              row_alignment(t)))) {
        return false;
      }
    }
    type_ = s.tensors.front().type();
    const auto in = computed_in(all_, type_, s.math);
    const auto a = tensors.front().get();
    const auto d = tensors.back().get();
    const auto* const names_of_a = s.names.front().data();
    const auto* const names_of_d = s.names.back().data();
    constexpr auto as_it_is = CUTENSOR_OP_IDENTITY;
    held what(all_.destroy_operation);
    held preference(all_.destroy_preference);
    kind_ = s.tensors.size() == 3                        ? kind::contraction
            : s.names[0].size() == s.names.back().size() ? kind::permutation
                                                         : kind::reduction;
    const auto describe = [&] {
      switch (kind_) {
        case kind::contraction:
          return all_.contraction(handle_, what.place(), a, names_of_a, as_it_is, tensors[1].get(),
                                  s.names[1].data(), as_it_is, d, names_of_d, as_it_is, d,
                                  names_of_d, in);
        case kind::reduction:
          return all_.reduction(handle_, what.place(), a, names_of_a, as_it_is, d, names_of_d,
                                as_it_is, d, names_of_d, CUTENSOR_OP_ADD, in);
        case kind::permutation:
          return all_.permutation(handle_, what.place(), a, names_of_a, as_it_is, d, names_of_d,
                                  in);
      }
      return CUTENSOR_STATUS_NOT_SUPPORTED;
    };
    std::uint64_t most = 0;
    return good(describe()) &&
           good(all_.prefer(handle_, preference.place(), CUTENSOR_ALGO_DEFAULT,
                            CUTENSOR_JIT_MODE_NONE)) &&
           good(all_.estimate(handle_, what.get(), preference.get(), CUTENSOR_WORKSPACE_DEFAULT,
                              &most)) &&
           good(all_.plan(handle_, plan_.place(), what.get(), preference.get(), most)) &&
           good(all_.of_plan(handle_, plan_.get(), CUTENSOR_PLAN_REQUIRED_WORKSPACE,
                             &workspace_bytes_, sizeof workspace_bytes_));
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return workspace_bytes_; }
  [[nodiscard]] result<void> run(std::span<const any_tensor> inputs, const any_tensor& d,
                                 const scalar& alpha, const scalar& beta,
                                 std::span<std::byte> workspace, cudaStream_t stream) override {
    const factor by(alpha, type_);
    const factor and_by(beta, type_);
    const std::byte* const a = inputs[0].address();
    std::byte* const to = d.address();
    const auto outcome = [&](cutensorStatus_t status, std::string_view call) -> result<void> {
      if (good(status)) return {};
      return failure_of(cutensor_statuses, status, "cutensor", call, stream);
    };
    switch (kind_) {
      case kind::contraction:
        return outcome(
            all_.contract(handle_, plan_.get(), by.address(), a, inputs[1].address(),
                          and_by.address(), to, to, workspace.data(), workspace.size(), stream),
            "cutensorContract");
      case kind::reduction:
        return outcome(all_.reduce(handle_, plan_.get(), by.address(), a, and_by.address(), to, to,
                                   workspace.data(), workspace.size(), stream),
                       "cutensorReduce");
      case kind::permutation:
        return outcome(all_.permute(handle_, plan_.get(), by.address(), a, to, stream),
                       "cutensorPermute");
    }
    return {};
  }

 private:
  enum class kind : std::uint8_t { contraction, reduction, permutation };

  [[nodiscard]] static bool good(cutensorStatus_t status) noexcept {
    return status == CUTENSOR_STATUS_SUCCESS;
  }

  const cutensor_functions& all_;
  cutensorHandle_t handle_;
  kind kind_{};
  dtype type_{};
  held<cutensorPlan_t> plan_;
  std::uint64_t workspace_bytes_ = 0;
};

class lane_library final : public tensor_library {
 public:
  explicit lane_library(const cutensor_functions& all) noexcept : all_(all), handle_(all.destroy) {}

  [[nodiscard]] bool open() { return all_.create(handle_.place()) == CUTENSOR_STATUS_SUCCESS; }
  [[nodiscard]] std::unique_ptr<tensor_plan> plan(const named_sum& s) override {
    auto made = std::make_unique<lane_plan>(all_, handle_.get());
    if (!made->make(s)) return nullptr;
    return made;
  }

 private:
  const cutensor_functions& all_;
  held<cutensorHandle_t> handle_;
};

}  // namespace

std::unique_ptr<tensor_library> open_tensor_library() {
  const cutensor_functions* const all = cutensor();
  if (all == nullptr) return nullptr;
  auto made = std::make_unique<lane_library>(*all);
  if (!made->open()) return nullptr;
  return made;
}

}  // namespace troupe::cuda

#else

namespace troupe::cuda {

std::unique_ptr<tensor_library> open_tensor_library() { return nullptr; }

}  // namespace troupe::cuda

#endif
