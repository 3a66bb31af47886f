#include "libraries/tensors/cuda/cutensor/contraction_library.hpp"

#if __has_include(<cutensor.h>)

#include "backend/cuda/context/failure.hpp"
#include "libraries/tensors/cuda/cutensor/cutensor.hpp"
#include "libraries/tensors/cuda/cutensor/status.hpp"

#include <complex>
#include <cstring>
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

/// A factor in the type that contractions of `type` are scaled in.
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

/// An object of the library's, which one of its functions ends.
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

class lane_plan final : public contraction_plan {
 public:
  lane_plan(const cutensor_functions& all, cutensorHandle_t handle) noexcept
      : all_(all), handle_(handle), plan_(all.destroy_plan) {}

  /// False where the library does not take it.
  [[nodiscard]] bool make(const named_contraction& c) {
    type_ = c.tensors[0].type();
    held a(all_.destroy_tensor);
    held b(all_.destroy_tensor);
    held d(all_.destroy_tensor);
    held what(all_.destroy_operation);
    held preference(all_.destroy_preference);
    const std::array places{a.place(), b.place(), d.place()};
    for (std::size_t i = 0; i < places.size(); ++i) {
      const any_tensor& t = c.tensors[i];
      if (!good(all_.describe(handle_, places[i], static_cast<std::uint32_t>(t.rank()),
                              t.extents().data(), t.strides().data(), as_cutensor(type_),
                              alignment_of(t.address())))) {
        return false;
      }
    }
    const auto names = [&](std::size_t i) { return c.names[i].data(); };
    constexpr auto as_it_is = CUTENSOR_OP_IDENTITY;
    if (!good(all_.contraction(handle_, what.place(), a.get(), names(0), as_it_is, b.get(),
                               names(1), as_it_is, d.get(), names(2), as_it_is, d.get(), names(2),
                               computed_in(all_, type_, c.math))) ||
        !good(all_.prefer(handle_, preference.place(), CUTENSOR_ALGO_DEFAULT,
                          CUTENSOR_JIT_MODE_NONE))) {
      return false;
    }
    std::uint64_t most = 0;
    return good(all_.estimate(handle_, what.get(), preference.get(), CUTENSOR_WORKSPACE_DEFAULT,
                              &most)) &&
           good(all_.plan(handle_, plan_.place(), what.get(), preference.get(), most)) &&
           good(all_.of_plan(handle_, plan_.get(), CUTENSOR_PLAN_REQUIRED_WORKSPACE,
                             &workspace_bytes_, sizeof workspace_bytes_));
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return workspace_bytes_; }
  [[nodiscard]] result<void> run(const std::array<std::byte*, 3>& tensors, const scalar& alpha,
                                 const scalar& beta, std::span<std::byte> workspace,
                                 cudaStream_t stream) override {
    const cutensorStatus_t status =
        all_.contract(handle_, plan_.get(), factor(alpha, type_).address(), tensors[0], tensors[1],
                      factor(beta, type_).address(), tensors[2], tensors[2], workspace.data(),
                      workspace.size(), stream);
    if (good(status)) return {};
    return failure_of(cutensor_statuses, status, "cutensor", "cutensorContract", stream);
  }

 private:
  [[nodiscard]] static bool good(cutensorStatus_t status) noexcept {
    return status == CUTENSOR_STATUS_SUCCESS;
  }

  const cutensor_functions& all_;
  cutensorHandle_t handle_;
  dtype type_{};
  held<cutensorPlan_t> plan_;
  std::uint64_t workspace_bytes_ = 0;
};

class lane_library final : public contraction_library {
 public:
  explicit lane_library(const cutensor_functions& all) noexcept : all_(all), handle_(all.destroy) {}

  [[nodiscard]] bool open() { return all_.create(handle_.place()) == CUTENSOR_STATUS_SUCCESS; }
  [[nodiscard]] std::unique_ptr<contraction_plan> plan(const named_contraction& c) override {
    auto made = std::make_unique<lane_plan>(all_, handle_.get());
    if (!made->make(c)) return nullptr;
    return made;
  }

 private:
  const cutensor_functions& all_;
  held<cutensorHandle_t> handle_;
};

}  // namespace

std::unique_ptr<contraction_library> open_contraction_library() {
  const cutensor_functions* const all = cutensor();
  if (all == nullptr) return nullptr;
  auto made = std::make_unique<lane_library>(*all);
  if (!made->open()) return nullptr;
  return made;
}

}  // namespace troupe::cuda

#else

namespace troupe::cuda {

std::unique_ptr<contraction_library> open_contraction_library() { return nullptr; }

}  // namespace troupe::cuda

#endif
