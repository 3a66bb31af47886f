#include "ops/blaslt/geometry.hpp"
#include "ops/blaslt/rules.hpp"

namespace troupe::blaslt {

void matmul::describe(field_visitor& f) {
  f.reads("a", a);
  f.reads("b", b);
  f.value("alpha", alpha);
  f.value("beta", beta);
  f.option("epilogue", epilogue, epilogue::bgrad_b);
  f.reads("c", c);
  f.updates("d", d, !c.null() && c.same_view(d));  // no other overlap is valid
  f.option("op_a", op_a, blas::op::conjugate);
  f.option("op_b", op_b, blas::op::conjugate);
  f.reads("bias", bias);
  if (writes_aux(epilogue)) {
    f.writes("aux", aux);
  } else {
    f.reads("aux", aux);
  }
  f.writes("bgrad", bgrad);
  f.reads("scale_a", scale_a);
  f.reads("scale_b", scale_b);
  f.reads("scale_c", scale_c);
  f.reads("scale_d", scale_d);
  f.option("scaling_a", scaling_a, scaling::block_128x128);
  f.option("scaling_b", scaling_b, scaling::block_128x128);
  f.writes("amax_d", amax_d);
  f.option("math", math, blas::math_mode::bf16x9);
  f.value("fast_accumulation", fast_accumulation);
  f.option("tuning", tuning, tuning::timed);
  f.value("candidates", candidates);
}

result<void> matmul::validate() const {
  argument_checks check;
  shapes_fit(check, *this);
  types_fit(check, *this);
  layouts_fit(check, *this);
  epilogue_fits(check, *this);
  scales_fit(check, *this);
  library_takes(check, *this);
  return writes_are_apart(check, *this).verdict();
}

}  // namespace troupe::blaslt
