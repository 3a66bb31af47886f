#include "libraries/elementwise/requests/rules.hpp"

#include <troupe/elementwise/optimizers.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace troupe::elementwise {
namespace {

/// A list of a request, and whether its tensors are written.
struct tensor_list {
  std::string_view name;
  std::span<const any_tensor> tensors;
  bool written;
};

// The first list is that of the parameters.
void check_entries(argument_checks& check, std::span<const tensor_list> lists) {
  const std::span<const any_tensor> parameters = lists[0].tensors;
  for (const tensor_list& list : lists) {
    check.rule(list.tensors.size() == parameters.size(), errc::invalid_argument, [&] {
      return fmt::format("{} has {} tensors, and there are {} parameters", list.name,
                         list.tensors.size(), parameters.size());
    });
    if (!check.good()) return;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const any_tensor& one = list.tensors[i];
      const bool is_known = std::ranges::find(norm_types, one.type()) != norm_types.end();
      check.rule(is_known, errc::type_mismatch, [&] {
        return fmt::format("{}[{}] must be f64, f32, f16 or bf16; it is {}", list.name, i,
                           to_string(one.type()));
      });
      check.rule(std::ranges::equal(one.extents(), parameters[i].extents()), errc::shape_mismatch,
                 [&] {
                   return fmt::format("{}[{}] is [{}] and parameters[{}] is [{}]", list.name, i,
                                      fmt::join(one.extents(), ", "), i,
                                      fmt::join(parameters[i].extents(), ", "));
                 });
    }
  }
}

// By the order of their addresses, so that long lists take no longer than they must.
void check_apart(argument_checks& check, std::span<const tensor_list> lists) {
  struct reach {
    const std::byte* begin;
    const std::byte* end;
    const tensor_list* list;
    std::size_t place;
  };
  std::vector<reach> all;
  for (const tensor_list& list : lists) {
    for (std::size_t i = 0; i < list.tensors.size(); ++i) {
      const any_tensor& one = list.tensors[i];
      if (one.empty()) continue;
      const auto [begin, end] = one.reach();
      all.push_back({one.address() + begin, one.address() + end, &list, i});
    }
  }
  std::ranges::sort(all, {}, &reach::begin);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const reach& one = all[i];
    for (std::size_t k = i + 1; k < all.size() && all[k].begin < one.end; ++k) {
      const reach& other = all[k];
      if (!one.list->written && !other.list->written) continue;
      const reach& written = one.list->written ? one : other;
      const reach& second = one.list->written ? other : one;
      const std::string name = fmt::format("{}[{}]", written.list->name, written.place);
      const std::string second_name = fmt::format("{}[{}]", second.list->name, second.place);
      check.apart({name, written.list->tensors[written.place]},
                  {second_name, second.list->tensors[second.place]});
    }
  }
}

void check_lists(argument_checks& check, std::span<const tensor_list> lists) {
  check_entries(check, lists);
  if (check.good()) check_apart(check, lists);
}

template <class R>
void describe_lists(description<R>& d) {
  d.updates("parameters", &R::parameters, {}, "parameters that are optimised");
  d.reads("gradients", &R::gradients, {}, "gradient of each parameter");
}

}  // namespace

void sgd::describe(description<sgd>& d) {
  d.about("One step of stochastic gradient descent for each parameter of a list.");
  describe_lists(d);
  d.updates("velocities", &sgd::velocities, {}, "sums of gradients; only with momentum");
  d.value("learning_rate", &sgd::learning_rate, "step size").finite();
  d.value("momentum", &sgd::momentum, "factor of the velocity").at_least(0);
  d.value("dampening", &sgd::dampening, "part of each gradient that is left out").finite();
  d.value("weight_decay", &sgd::weight_decay, "factor of the parameter in its gradient").finite();
  d.value("nesterov", &sgd::nesterov, "looks ahead by the velocity");
  d.rule("lists have one length, entries the parameters' shapes, and written tensors are apart",
         [](argument_checks& check, const sgd& r) {
           const tensor_list lists[] = {{"parameters", r.parameters, true},
                                        {"gradients", r.gradients, false},
                                        {"velocities", r.velocities, true}};
           check.rule(r.momentum != 0 || r.velocities.empty(), errc::invalid_argument, [] {
             return std::string("velocities must not be given because momentum is 0");
           });
           check.rule(r.momentum != 0 || !r.nesterov, errc::invalid_argument,
                      [] { return std::string("nesterov takes a momentum, and it is 0"); });
           check_lists(check, std::span(lists).first(r.momentum != 0 ? 3 : 2));
         });
}

void adamw::describe(description<adamw>& d) {
  d.about("One step of AdamW for each parameter of a list.",
          "Loshchilov, Hutter, \"Decoupled Weight Decay Regularization\", 2019");
  describe_lists(d);
  d.updates("first_moments", &adamw::first_moments, {}, "running means of gradients");
  d.updates("second_moments", &adamw::second_moments, {}, "running means of their squares");
  d.value("learning_rate", &adamw::learning_rate, "step size").finite();
  d.value("beta1", &adamw::beta1, "decay of first moments").range(0, 1);
  d.value("beta2", &adamw::beta2, "decay of second moments").range(0, 1);
  d.value("eps", &adamw::eps, "added to the divisor").at_least(0);
  d.value("weight_decay", &adamw::weight_decay, "how much parameters shrink").finite();
  d.value("step", &adamw::step, "number of this step, from 1").at_least(1);
  d.rule("lists have one length, entries the parameters' shapes, and written tensors are apart",
         [](argument_checks& check, const adamw& r) {
           const tensor_list lists[] = {{"parameters", r.parameters, true},
                                        {"gradients", r.gradients, false},
                                        {"first_moments", r.first_moments, true},
                                        {"second_moments", r.second_moments, true}};
           check.rule(r.beta1 < 1 && r.beta2 < 1, errc::invalid_argument,
                      [] { return std::string("beta1 and beta2 must be less than 1"); });
           check_lists(check, lists);
         });
}

}  // namespace troupe::elementwise
