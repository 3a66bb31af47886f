#include "libraries/fft/requests/geometry.hpp"
#include "libraries/fft/requests/rules.hpp"

#include <troupe/fft/complex_transforms.hpp>

namespace troupe::fft {

void c2c::describe(description<c2c>& d) {
  const extent dims = d.sizes("dims", 1);
  d.about(
      "Transforms complex numbers along the last `rank` dimensions, once for each index of the "
      "others.",
      "cuFFT cufftXtExec, FFTW plan_guru64_dft");
  d.reads("in", &c2c::in, {dims}, "numbers; in halves as pairs, along one more dimension");
  d.updates("out", &c2c::out, {dims}, "coefficients, as in")
      .updated_where(d.in_place(&c2c::in, &c2c::out))
      .may_be(&c2c::in);
  d.value("rank", &c2c::rank, "how many dimensions are transformed").range(1, 3);
  d.value("direction", &c2c::direction, "the sign of the exponent");
  d.value("scale", &c2c::scale, "what the sums are multiplied by");
  describe_functions(d);
  d.same_type({&c2c::in, &c2c::out}, {dtype::c64, dtype::c128, dtype::f16, dtype::bf16})
      .types_unless({d.given(&c2c::load), d.given(&c2c::store)});
  d.rule(functions_rule,
         [](argument_checks& check, const c2c& r) { functions_fit(check, r, true, true); });
  d.rule(pairs_rule, [](argument_checks& check, const c2c& r) {
    pairs_fit(check, {{"in", r.in}, true, r.load});
    pairs_fit(check, {{"out", r.out}, true, r.store});
  });
  d.rule(lengths_rule, [](argument_checks& check, const c2c& r) {
    lengths_fit(check, {{"in", r.in}, true, r.load}, r.rank);
  });
}

}  // namespace troupe::fft
