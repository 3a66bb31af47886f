#include "libraries/dnn/requests/geometry.hpp"

#include <troupe/dnn/lrn.hpp>

#include <limits>

namespace troupe::dnn {
namespace {

using enum dtype;

constexpr std::string_view lrn_source =
    "Krizhevsky, Sutskever, Hinton, \"ImageNet Classification with Deep Convolutional Neural "
    "Networks\", 2012";

template <class R>
void describe_numbers(description<R>& d) {
  d.value("size", &R::size, "channels of a sum").range(1, std::numeric_limits<std::int32_t>::max());
  d.value("alpha", &R::alpha, "factor of the mean square").at_least(0);
  d.value("beta", &R::beta, "exponent").finite();
  d.value("k", &R::k, "added to the mean square").above(0);
}

}  // namespace

void lrn_forward::describe(description<lrn_forward>& d) {
  using R = lrn_forward;
  const extent n = d.size("n"), c = d.size("c"), space = d.sizes("space", 0, most_space);
  d.about("Local response normalisation across channels.", lrn_source);
  d.reads("x", &R::x, {n, c, space}, "images");
  d.writes("y", &R::y, {n, c, space}, "result").ordered_as(&R::x);
  describe_numbers(d);
  d.same_type({&R::x, &R::y}, {f64, f32, f16, bf16});
}

void lrn_backward::describe(description<lrn_backward>& d) {
  using R = lrn_backward;
  const extent n = d.size("n"), c = d.size("c"), space = d.sizes("space", 0, most_space);
  d.about("The gradient of lrn_forward.", lrn_source);
  d.reads("x", &R::x, {n, c, space}, "images");
  d.reads("dy", &R::dy, {n, c, space}, "gradient of y");
  d.writes("dx", &R::dx, {n, c, space}, "gradient of x").ordered_as(&R::x);
  describe_numbers(d);
  d.same_type({&R::x, &R::dy, &R::dx}, {f64, f32, f16, bf16});
}

}  // namespace troupe::dnn
