#include "ops/fft/geometry.hpp"
#include "ops/fft/rules.hpp"

#include <troupe/ops/fft/complex_transforms.hpp>

namespace troupe::fft {

void c2c::describe(field_visitor& f) {
  f.reads("in", in);
  f.updates("out", out, in_place(in, out));
  f.value("rank", rank);
  f.option("direction", direction, direction::inverse);
  f.option("scale", scale, normalization::ortho);
}

result<void> c2c::validate() const {
  argument_checks check;
  check.tensor({"in", in}).tensor({"out", out});
  check.type({"in", in}, {dtype::c64, dtype::c128, dtype::f16, dtype::bf16});
  check.same_type({"out", out}, {"in", in});
  return transform_fits(check, {{"in", in}}, {{"out", out}}, rank).verdict();
}

}  // namespace troupe::fft
