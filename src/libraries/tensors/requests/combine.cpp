#include "libraries/tensors/requests/rules.hpp"

#include <fmt/format.h>

#include <initializer_list>

namespace troupe::tensors {
namespace {

/// An operand as the rules look at it.
struct one_operand {
  std::string_view name;
  const any_tensor& view;
  unary_operator op;
};

bool takes_complex(unary_operator op) noexcept {
  return op == unary_operator::identity || op == unary_operator::negate ||
         op == unary_operator::conjugate || op == unary_operator::square ||
         op == unary_operator::reciprocal;
}
bool takes_complex(binary_operator op) noexcept {
  return op == binary_operator::add || op == binary_operator::subtract ||
         op == binary_operator::multiply;
}

void operators_fit(argument_checks& check, const any_tensor& d,
                   std::initializer_list<one_operand> operands,
                   std::initializer_list<binary_operator> between) {
  if (!is_complex(d.type())) return;
  for (const one_operand& one : operands) {
    check.rule(takes_complex(one.op), errc::type_mismatch, [&] {
      return fmt::format(
          "{} is complex; of complex numbers there are identity, negate, conjugate, "
          "square and reciprocal",
          one.name);
    });
  }
  for (const binary_operator op : between) {
    check.rule(takes_complex(op), errc::type_mismatch,
               [] { return "d is complex; complex numbers are added, subtracted and multiplied"; });
  }
}

/// The modes fit; nothing is summed; an operand that overlaps d has the modes of d.
template <class R>
void modes_fit(argument_checks& check, const R& r, std::initializer_list<one_operand> operands) {
  if (!check.good()) return;
  const auto found = check_named(check, r);
  if (!check.good()) return;
  const mode_set kept = set_of(found->modes.result);
  std::size_t i = 0;
  for (const one_operand& one : operands) {
    const std::string& modes = found->modes.operands[i++];
    for (const char mode : modes) {
      check.rule((kept & set_of(mode)) != 0, errc::invalid_argument, [&] {
        return fmt::format("mode '{}' of {} is not in the result; tensors.reduce sums", mode,
                           one.name);
      });
    }
    check.rule(modes == found->modes.result || !r.d.overlaps(one.view), errc::aliasing, [&] {
      return fmt::format(R"(d is {} and has other modes, "{}" and "{}")", one.name,
                         found->modes.result, modes);
    });
  }
}

constexpr std::string_view rule_text =
    "the modes name the dimensions of the operands and of d; d has those of the operands, each "
    "once; a mode has one extent, or 1 in an operand; the operators take these types; d may be an "
    "operand that has the same modes";

}  // namespace

void permute::describe(description<permute>& d) {
  const extent out = d.sizes("out", 0);
  d.about("Permutes named dimensions, and converts: d = alpha · a.",
          "cuTENSOR documentation, cutensorCreatePermutation");
  d.value("modes", &permute::modes, "names of dimensions, \"ijk->kij\"");
  d.reads("a", &permute::a, {}, "operand");
  d.writes("d", &permute::d, {out}, "result");
  d.value("alpha", &permute::alpha, "factor");
  using enum dtype;
  d.types({&permute::a, &permute::d}, {{f32, f32},
                                       {f64, f64},
                                       {f16, f16},
                                       {bf16, bf16},
                                       {c64, c64},
                                       {c128, c128},
                                       {f16, f32},
                                       {bf16, f32},
                                       {f32, f16},
                                       {f32, bf16}});
  d.factors({&permute::alpha}, &permute::d);
  d.derived(out, derive_result<permute>);
  d.rule(rule_text, [](argument_checks& check, const permute& r) {
    modes_fit(check, r, {{"a", r.a, unary_operator::identity}});
  });
}

void unary::describe(description<unary>& d) {
  const extent out = d.sizes("out", 0);
  d.about("Applies an operator over named dimensions: d = alpha · op(a).");
  d.value("modes", &unary::modes, "names of dimensions, \"ij->ji\"");
  d.reads("a", &unary::a, {}, "operand");
  d.updates("d", &unary::d, {out}, "result")
      .updated_where(d.same_view(&unary::d, &unary::a))
      .may_be(&unary::a);
  d.value("alpha", &unary::alpha, "factor");
  d.value("op", &unary::op, "applied to a");
  d.same_type({&unary::a, &unary::d},
              {dtype::f32, dtype::f64, dtype::f16, dtype::bf16, dtype::c64, dtype::c128});
  d.factors({&unary::alpha}, &unary::d);
  d.derived(out, derive_result<unary>);
  d.rule(rule_text, [](argument_checks& check, const unary& r) {
    operators_fit(check, r.d, {{"a", r.a, r.op}}, {});
    modes_fit(check, r, {{"a", r.a, r.op}});
  });
}

void binary::describe(description<binary>& d) {
  const extent out = d.sizes("out", 0);
  d.about("Combines two tensors over named dimensions: d = op(alpha · op_a(a), gamma · op_c(c)).",
          "cuTENSOR documentation, cutensorCreateElementwiseBinary");
  d.value("modes", &binary::modes, "names of dimensions, \"ij,ji->ij\"");
  d.reads("a", &binary::a, {}, "first operand");
  d.reads("c", &binary::c, {}, "second operand");
  d.updates("d", &binary::d, {out}, "result")
      .updated_where({d.same_view(&binary::d, &binary::a), d.same_view(&binary::d, &binary::c)})
      .may_be(&binary::a)
      .may_be(&binary::c);
  d.value("alpha", &binary::alpha, "factor of the first");
  d.value("gamma", &binary::gamma, "factor of the second");
  d.value("op_a", &binary::op_a, "applied to a");
  d.value("op_c", &binary::op_c, "applied to c");
  d.value("op", &binary::op, "makes one of the two");
  d.same_type({&binary::a, &binary::c, &binary::d},
              {dtype::f32, dtype::f64, dtype::f16, dtype::bf16, dtype::c64, dtype::c128});
  d.factors({&binary::alpha, &binary::gamma}, &binary::d);
  d.derived(out, derive_result<binary>);
  d.rule(rule_text, [](argument_checks& check, const binary& r) {
    operators_fit(check, r.d, {{"a", r.a, r.op_a}, {"c", r.c, r.op_c}}, {r.op});
    modes_fit(check, r, {{"a", r.a, r.op_a}, {"c", r.c, r.op_c}});
  });
}

void trinary::describe(description<trinary>& d) {
  const extent out = d.sizes("out", 0);
  d.about(
      "Combines three tensors over named dimensions: d = op(op_ab(a, b), c), each of them "
      "alpha · op_a(a) and so on.",
      "cuTENSOR documentation, cutensorCreateElementwiseTrinary");
  d.value("modes", &trinary::modes, "names of dimensions, \"ij,jk,ik->ijk\"");
  d.reads("a", &trinary::a, {}, "first operand");
  d.reads("b", &trinary::b, {}, "second operand");
  d.reads("c", &trinary::c, {}, "third operand");
  d.updates("d", &trinary::d, {out}, "result")
      .updated_where({d.same_view(&trinary::d, &trinary::a), d.same_view(&trinary::d, &trinary::b),
                      d.same_view(&trinary::d, &trinary::c)})
      .may_be(&trinary::a)
      .may_be(&trinary::b)
      .may_be(&trinary::c);
  d.value("alpha", &trinary::alpha, "factor of the first");
  d.value("beta", &trinary::beta, "factor of the second");
  d.value("gamma", &trinary::gamma, "factor of the third");
  d.value("op_a", &trinary::op_a, "applied to a");
  d.value("op_b", &trinary::op_b, "applied to b");
  d.value("op_c", &trinary::op_c, "applied to c");
  d.value("op_ab", &trinary::op_ab, "makes one of the first two");
  d.value("op", &trinary::op, "makes one of that and the third");
  d.same_type({&trinary::a, &trinary::b, &trinary::c, &trinary::d},
              {dtype::f32, dtype::f64, dtype::f16, dtype::bf16, dtype::c64, dtype::c128});
  d.factors({&trinary::alpha, &trinary::beta, &trinary::gamma}, &trinary::d);
  d.derived(out, derive_result<trinary>);
  d.rule(rule_text, [](argument_checks& check, const trinary& r) {
    const std::initializer_list<one_operand> all = {
        {"a", r.a, r.op_a}, {"b", r.b, r.op_b}, {"c", r.c, r.op_c}};
    operators_fit(check, r.d, all, {r.op_ab, r.op});
    modes_fit(check, r, all);
  });
}

}  // namespace troupe::tensors
