#pragma once

#include "libraries/dnn/cuda/plan/graph_description.hpp"
#include "libraries/dnn/cuda/plan/plan_service.hpp"
#include "libraries/dnn/requests/geometry.hpp"
#include "libraries/dnn/shared/epilogue.hpp"

#include <troupe/dnn/convolution.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace troupe::cuda {

using dnn::epilogue;

/// A way to execute a request.
struct convolution_form {
  bool fused = false;    ///< cuDNN applies the epilogue
  bool wide = false;     ///< sums are stored in f32 before the epilogue
  bool staged = false;   ///< operands are copied to a layout that cuDNN takes, padded if needed
  bool exact = false;    ///< integers are summed in f64, where every sum is exact
  bool widened = false;  ///< staged in f32, which holds narrow numbers and their products
};

/// A convolution request as plans see it.
class convolution_case {
 public:
  using kind = graphs::convolution::kind;

  explicit convolution_case(const dnn::convolution_forward& r);
  explicit convolution_case(const dnn::convolution_backward_data& r);
  explicit convolution_case(const dnn::convolution_backward_filter& r);
  explicit convolution_case(const dnn::convolution_transposed& r);

  [[nodiscard]] const dnn::convolution& geometry() const noexcept { return geometry_; }
  [[nodiscard]] const epilogue& follows() const noexcept { return follows_; }
  [[nodiscard]] kind direction() const noexcept { return kind_; }
  [[nodiscard]] const any_tensor& first() const noexcept;
  [[nodiscard]] const any_tensor& second() const noexcept;
  [[nodiscard]] const any_tensor& result() const noexcept;
  /// True if there is nothing to convolve.
  [[nodiscard]] bool empty() const noexcept { return geometry_.empty(); }

  /// Appends everything that selects the plan.
  void write(plan_words& key) const;
  /// The forms in the order in which they are tried; at least one.
  [[nodiscard]] std::vector<convolution_form> forms() const;
  [[nodiscard]] std::vector<graphs::description> graphs() const;

  /// The type of the sums in a form that is not fused.
  [[nodiscard]] dtype sums_type(const convolution_form& form) const noexcept;
  /// The type of the operands in the plan.
  [[nodiscard]] dtype operand_type(const convolution_form& form) const noexcept {
    if (form.exact) return dtype::f64;
    return form.widened ? dtype::f32 : first().type();
  }
  /// The extents of a tensor in its form. A staged image includes its padding.
  [[nodiscard]] shape extents_of(const any_tensor& t, const convolution_form& form) const;
  [[nodiscard]] bool pads(const convolution_form& form) const noexcept;
  /// The strides of a staged tensor.
  [[nodiscard]] std::vector<std::int64_t> staged_strides(std::span<const std::int64_t> extents,
                                                         const convolution_form& form) const;

  /// The index of each operand. Graphs number operands from 1: index + 1.
  enum operand_number : std::size_t {
    first_at,
    second_at,
    result_at,
    z_at,
    bias_at,
    alpha_at,
    beta_at,
    operand_count
  };

 private:
  [[nodiscard]] graphs::description graph(const convolution_form& form) const;
  [[nodiscard]] graphs::tensor tensor_of(const any_tensor& t, std::int64_t operand,
                                         const convolution_form& form) const;
  [[nodiscard]] bool can_fuse() const noexcept;

  dnn::convolution geometry_;
  kind kind_;
  epilogue follows_;
  bool full_precision_ = false;
  bool deterministic_ = false;
  bool timed_ = false;
};

}  // namespace troupe::cuda
