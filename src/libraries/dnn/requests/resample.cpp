#include "libraries/dnn/requests/rules.hpp"

#include <troupe/dnn/resample.hpp>
#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace troupe::dnn {
namespace {

using enum dtype;

constexpr std::int64_t most_places = std::int64_t{1} << 30;

void resample_extents_fit(argument_checks& check, const operand& image, const operand& result) {
  extents_fit(check, image, result);
  for (const operand* t : {&image, &result}) {
    for (int d = 2; d < t->view.rank(); ++d) {
      check.rule(t->view.extent(d) <= most_places, errc::unsupported, [&] {
        return fmt::format("dimension {} of {} must have an extent of at most {} places: {}", d,
                           t->name, most_places, extents_text(*t));
      });
    }
  }
}

constexpr std::string_view resample_extents_rule =
    "both have as many dimensions of space, of at most 2^30 places, and only n may be 0";

bool is_scale(const scalar& s) noexcept {
  const auto factor = s.as<double>();
  return !s.has_imaginary() && factor > 0 && std::isfinite(factor);
}

void scale_fits(argument_checks& check, const std::vector<scalar>& scale, int space) {
  check.rule(scale.size() <= 1 || scale.size() == static_cast<std::size_t>(space),
             errc::invalid_argument, [&] {
               return fmt::format(
                   "scale must have one number for each of {} dimensions of space, one for all, or "
                   "none; it has {}",
                   space, scale.size());
             });
  for (const scalar& one : scale) {
    check.rule(is_scale(one), errc::invalid_argument, [&] {
      return fmt::format("scale must have positive and finite numbers; one is {}",
                         one.as<double>());
    });
  }
}

template <class R>
void describe_interpolation(description<R>& d) {
  d.value("interpolation", &R::interpolation, "where an element of y lies among those of x");
  d.value("scale", &R::scale, "how many times as long y is, for positions; out / in where empty")
      .only_where(d.is(&R::interpolation, {interpolation::nearest, interpolation::linear,
                                           interpolation::nearest_floor, interpolation::cubic}));
  d.value("antialias", &R::antialias, "a shorter y is made of all elements that it stands for")
      .only_where(d.is(&R::interpolation, {interpolation::linear, interpolation::cubic}));
  d.rule("scale has no number, one, or one for each dimension of space, positive and finite",
         [](argument_checks& check, const R& r) {
           const any_tensor& image = [&]() -> const any_tensor& {
             if constexpr (requires { r.dx; }) {
               return r.dx;
             } else {
               return r.x;
             }
           }();
           scale_fits(check, r.scale, image.rank() - 2);
         });
}

void derive_scaled(const resample_forward& r, std::vector<std::int64_t>& out) {
  const int space = r.x.rank() - 2;
  const std::size_t given = r.scale.size();
  if (space < 1 || given == 0 || (given > 1 && given != static_cast<std::size_t>(space))) return;
  for (int d = 0; d < space; ++d) {
    const scalar& one = r.scale[given == 1 ? 0 : static_cast<std::size_t>(d)];
    const double extent = std::floor(static_cast<double>(r.x.extent(d + 2)) * one.as<double>());
    if (!is_scale(one) || !(extent >= 1) || extent > static_cast<double>(most_places))
      return out.clear();
    out.push_back(static_cast<std::int64_t>(extent));
  }
}

}  // namespace

void resample_forward::describe(description<resample_forward>& d) {
  using R = resample_forward;
  const extent n = d.size("n"), c = d.size("c");
  const extent in = d.sizes("in", 1, most_space), out = d.sizes("out", 1, most_space);
  d.about("Interpolates images at other extents.", "PyTorch documentation, interpolate");
  d.reads("x", &R::x, {n, c, in}, "images");
  d.writes("y", &R::y, {n, c, out}, "result").ordered_as(&R::x);
  d.derived(out, derive_scaled);
  describe_interpolation(d);
  d.same_type({&R::x, &R::y}, {f64, f32, f16, bf16});
  d.rule(resample_extents_rule, [](argument_checks& check, const R& r) {
    resample_extents_fit(check, {"x", r.x}, {"y", r.y});
  });
}

void resample_backward::describe(description<resample_backward>& d) {
  using R = resample_backward;
  const extent n = d.size("n"), c = d.size("c");
  const extent in = d.sizes("in", 1, most_space), out = d.sizes("out", 1, most_space);
  d.about("The gradient of resample_forward by its images.");
  d.reads("dy", &R::dy, {n, c, out}, "gradient of y");
  d.writes("dx", &R::dx, {n, c, in}, "gradient of x").ordered_as(&R::dy);
  describe_interpolation(d);
  d.same_type({&R::dy, &R::dx}, {f64, f32, f16, bf16});
  d.rule(resample_extents_rule, [](argument_checks& check, const R& r) {
    resample_extents_fit(check, {"dx", r.dx}, {"dy", r.dy});
  });
}

}  // namespace troupe::dnn
