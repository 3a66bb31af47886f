#include "libraries/tensors/requests/rules.hpp"

namespace troupe::tensors {

void reduce::describe(description<reduce>& d) {
  const extent out = d.sizes("out", 0);
  d.about("Reduces named dimensions: d = alpha · op(a) + beta · c.",
          "cuTENSOR documentation, cutensorCreateReduction");
  d.value("modes", &reduce::modes, "names of dimensions, \"ijk->ik\"");
  d.reads("a", &reduce::a, {}, "operand");
  d.reads("c", &reduce::c, {out}, "addend; not read where beta is 0").optional();
  d.updates("d", &reduce::d, {out}, "result")
      .updated_where(d.same_view(&reduce::d, &reduce::c))
      .may_be(&reduce::c);
  d.value("alpha", &reduce::alpha, "factor of the reduced values");
  d.value("beta", &reduce::beta, "factor of c");
  d.value("op", &reduce::op, "how one value is made of many");
  d.same_type({&reduce::a, &reduce::c, &reduce::d},
              {dtype::f32, dtype::f64, dtype::f16, dtype::bf16, dtype::c64, dtype::c128});
  d.factors({&reduce::alpha, &reduce::beta}, &reduce::d);
  d.derived(out, derive_result<reduce>);
  d.rule(
      "the modes name the dimensions of a and d; those of d are in a, each once; complex numbers "
      "are "
      "only added; c is given where beta is not zero",
      [](argument_checks& check, const reduce& r) {
        check.rule(!r.c.null() || r.beta.is_zero(), errc::invalid_argument,
                   [] { return "beta is not zero, and c is not given"; });
        check.rule(r.op == reduction::sum || !is_complex(r.a.type()), errc::type_mismatch,
                   [] { return "a is complex; of complex numbers there are only sums"; });
        if (check.good()) (void)check_named(check, r);
      });
}

}  // namespace troupe::tensors
