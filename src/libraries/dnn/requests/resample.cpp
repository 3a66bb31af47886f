#include "libraries/dnn/requests/rules.hpp"

#include <troupe/dnn/resample.hpp>
#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe::dnn {
namespace {

using enum dtype;

constexpr std::int64_t most_places = std::int64_t{1} << 30;

void resample_extents_fit(argument_checks& check, const operand& image, const operand& result) {
  extents_fit(check, image, result);
  for (const operand* t : {&image, &result}) {
    for (int d = 2; d < t->view.rank(); ++d) {
      check.rule(t->view.extent(d) <= most_places, errc::unsupported, [&] {
        return fmt::format("dimension {} of {} must have an extent of at most_places {}: {}", d,
                           t->name, most_places, extents_text(*t));
      });
    }
  }
}

constexpr std::string_view resample_extents_rule =
    "both have as many dimensions of space, of at most_places 2^30 places, and only n may be 0";

}  // namespace

void resample_forward::describe(description<resample_forward>& d) {
  using R = resample_forward;
  const extent n = d.size("n"), c = d.size("c");
  const extent in = d.sizes("in", 1, most_space), out = d.sizes("out", 1, most_space);
  d.about("Interpolates images at other extents.", "PyTorch documentation, interpolate");
  d.reads("x", &R::x, {n, c, in}, "images");
  d.writes("y", &R::y, {n, c, out}, "result").ordered_as(&R::x);
  d.value("interpolation", &R::interpolation, "where an element of y lies among those of x");
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
  d.value("interpolation", &R::interpolation, "where an element of y lies among those of x");
  d.same_type({&R::dy, &R::dx}, {f64, f32, f16, bf16});
  d.rule(resample_extents_rule, [](argument_checks& check, const R& r) {
    resample_extents_fit(check, {"dx", r.dx}, {"dy", r.dy});
  });
}

}  // namespace troupe::dnn
