#pragma once

#include <troupe/dnn/modes.hpp>
#include <troupe/tensor/scalar.hpp>
#include <troupe/tensor/tensor.hpp>

namespace troupe::dnn {

/// The epilogue of a convolution: activation(alpha · sum + beta · z + bias). bias has an element
/// for each channel of the result.
struct epilogue {
  scalar alpha = 1;
  scalar beta = 0;
  any_tensor z{};     ///< null without beta
  any_tensor bias{};  ///< may be null
  dnn::activation activation = dnn::activation::none;
  double upper = 0;
  double slope = 0;
  double elu_alpha = 0;

  [[nodiscard]] bool scales() const noexcept { return alpha.as<double>() != 1; }
  [[nodiscard]] bool adds() const noexcept { return !beta.is_zero(); }
  [[nodiscard]] bool nothing() const noexcept {
    return !scales() && !adds() && bias.null() && activation == dnn::activation::none;
  }
};

template <class R>
[[nodiscard]] epilogue epilogue_of(const R& r) {
  return {.alpha = r.alpha,
          .beta = r.beta,
          .z = r.z,
          .bias = r.bias,
          .activation = r.activation,
          .upper = r.upper,
          .slope = r.slope,
          .elu_alpha = r.elu_alpha};
}
/// For a gradient, which may be added to the old content.
template <class R>
[[nodiscard]] epilogue epilogue_of(const R& r, const any_tensor& gradient) {
  epilogue made{.alpha = r.alpha, .beta = r.beta};
  if (made.adds()) made.z = gradient;
  return made;
}

}  // namespace troupe::dnn
