#include "libraries/tensors/requests/path.hpp"
#include "libraries/tensors/requests/rules.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

namespace troupe::tensors {
namespace {

constexpr std::initializer_list<dtype> factor_types = {dtype::f32,  dtype::f64, dtype::f16,
                                                       dtype::bf16, dtype::c64, dtype::c128,
                                                       dtype::i32,  dtype::i64};

void check_path(argument_checks& check, const named_tensors& tensors, std::string_view modes,
                dtype type) {
  check.rule(contraction_path::of(tensors.modes, tensors.extents, type).has_value(),
             errc::unsupported, [&] {
               return fmt::format(
                   "modes \"{}\": every order makes a tensor of more than {} dimensions or {:.0f} "
                   "elements{}",
                   modes, max_rank, contraction_path::most_elements,
                   is_integer(type) ? ", or multiplies integers over more than 8 modes" : "");
             });
}

}  // namespace

void contract::describe(description<contract>& d) {
  const extent out = d.sizes("out", 0);
  d.about("Contracts two tensors with named dimensions: d = alpha · Σ a · b + beta · c.",
          "cuTENSOR documentation, cutensorCreateContraction");
  d.value("modes", &contract::modes, "names of dimensions, \"ik,kj->ij\"");
  d.reads("a", &contract::a, {}, "left factor");
  d.reads("b", &contract::b, {}, "right factor");
  d.reads("c", &contract::c, {out}, "addend; not read where beta is 0").optional();
  d.updates("d", &contract::d, {out}, "result")
      .updated_where(d.same_view(&contract::d, &contract::c))
      .may_be(&contract::c);
  d.value("alpha", &contract::alpha, "factor of the sums");
  d.value("beta", &contract::beta, "factor of c");
  d.value("math", &contract::math, "arithmetic of products")
      .only_where(d.is(&contract::a, {dtype::f32, dtype::c64}));
  d.same_type({&contract::a, &contract::b, &contract::c, &contract::d}, factor_types);
  d.factors({&contract::alpha, &contract::beta}, &contract::d);
  d.derived(out, derive_result<contract>);
  d.rule(
      "the modes name the dimensions of a, b and d; those of d are in a or b, each once; a mode "
      "has "
      "one extent, or 1 in an operand; c is given where beta is not zero",
      [](argument_checks& check, const contract& r) {
        check.rule(!r.c.null() || r.beta.is_zero(), errc::invalid_argument,
                   [] { return "beta is not zero, and c is not given"; });
        if (!check.good()) return;
        const auto found = check_named(check, r);
        if (check.good() && is_integer(r.d.type())) check_path(check, *found, r.modes, r.d.type());
      });
}

void einsum::describe(description<einsum>& d) {
  const extent out = d.sizes("out", 0);
  d.about("Contracts tensors with named dimensions, in the best order: d = alpha · Σ Π operands.");
  d.value("modes", &einsum::modes, "names of dimensions, \"ab,bc,cd->ad\"");
  d.reads("operands", &einsum::operands, {}, "factors");
  d.writes("d", &einsum::d, {out}, "result");
  d.value("alpha", &einsum::alpha, "factor of the sums");
  d.value("math", &einsum::math, "arithmetic of products")
      .only_where(d.is(&einsum::d, {dtype::f32, dtype::c64}));
  d.same_type({&einsum::d}, factor_types);
  d.factors({&einsum::alpha}, &einsum::d);
  d.derived(out, derive_result<einsum>);
  d.rule(
      "there are from 1 to 32 operands, of d's type and apart from it; the modes name the "
      "dimensions of each and of d; those of d are in an operand, each once; a mode has one "
      "extent, "
      "or 1 in an operand",
      [](argument_checks& check, const einsum& r) {
        check.rule(!r.operands.empty() && r.operands.size() <= einsum::most_operands,
                   errc::invalid_argument, [&] {
                     return fmt::format("{} operands; there must be from 1 to {}",
                                        r.operands.size(), einsum::most_operands);
                   });
        for (std::size_t i = 0; check.good() && i < r.operands.size(); ++i) {
          const std::string name = fmt::format("operands[{}]", i);
          check.rule(!r.operands[i].null() || r.operands[i].empty(), errc::invalid_argument,
                     [&] { return name + " is not given"; });
          check.same_type({name, r.operands[i]}, {"d", r.d});
          check.apart({"d", r.d}, {name, r.operands[i]});
        }
        if (!check.good()) return;
        const auto found = check_named(check, r);
        if (!check.good()) return;
        check_path(check, *found, r.modes, r.d.type());
      });
}

}  // namespace troupe::tensors
