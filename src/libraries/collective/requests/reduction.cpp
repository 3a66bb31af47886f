#include "libraries/collective/requests/rank_lists.hpp"

#include <troupe/collective/reduction.hpp>

namespace troupe::collective {
namespace {

using form = rank_lists::extent_of;

template <class R>
void describe_reduction(description<R>& d) {
  d.reads("x", &R::x, {}, "input of each rank");
  d.writes("y", &R::y, {}, "result on each rank");
}
template <class R>
void describe_operation(description<R>& d) {
  d.value("op", &R::op, "combines the elements of all ranks");
  d.value("factor", &R::factor, "factor of each input").finite();
  d.reads("factors", &R::factors, {}, "factor of the inputs of each rank, in place of `factor`")
      .optional();
}

}  // namespace

void all_reduce::describe(description<all_reduce>& d) {
  d.about("Combines the tensors of all ranks, for each of them: y[r] = x[0] ∘ … ∘ x[n − 1].");
  describe_reduction(d);
  d.derived(&all_reduce::y, +[](const all_reduce& r) { return forms_like(r.x, r.part); });
  describe_operation(d);
  d.group("part", &all_reduce::part);
  d.rule(
      "the tensors of an item have the same type, extents and strides, without gaps; y may be x",
      +[](argument_checks& check, const all_reduce& r) {
        rank_lists(check, r.part)
            .list("x", r.x, form::same)
            .list("y", r.y, form::same)
            .together(r.x, 1, r.y, 1)
            .as_x(r.x, r.y)
            .apart(r.x, r.y, true)
            .combines(r.x, r.op, r.factor)
            .scales(r.x, r.y, r.factor, r.factors);
      });
}

void reduce::describe(description<reduce>& d) {
  d.about("Combines the tensors of all ranks, for one of them: y[root] = x[0] ∘ … ∘ x[n − 1].");
  d.reads("x", &reduce::x, {}, "input of each rank");
  d.writes("y", &reduce::y, {}, "result on the root").optional();
  describe_operation(d);
  d.value("root", &reduce::root, "rank that gets the result").at_least(0);
  d.group("part", &reduce::part);
  d.rule(
      "the tensors of an item have the same type, extents and strides, without gaps; y may be x",
      +[](argument_checks& check, const reduce& r) {
        rank_lists(check, r.part)
            .root(r.root)
            .list("x", r.x, form::same)
            .list("y", r.y, form::same, r.root)
            .together(r.x, 1, r.y, 1)
            .as_x(r.x, r.y)
            .apart(r.x, r.y, true)
            .combines(r.x, r.op, r.factor)
            .scales(r.x, r.y, r.factor, r.factors);
      });
}

void reduce_scatter::describe(description<reduce_scatter>& d) {
  d.about("Combines the tensors of all ranks, and gives each rank its part of the result.");
  describe_reduction(d);
  d.derived(
      &reduce_scatter::y,
      +[](const reduce_scatter& r) { return forms_like(r.x, r.part, 1, r.part.ranks()); });
  describe_operation(d);
  d.group("part", &reduce_scatter::part);
  d.rule(
      "the tensors of an item are packed and of one type; x has n times as many elements as y",
      +[](argument_checks& check, const reduce_scatter& r) {
        rank_lists lists(check, r.part);
        lists.list("x", r.x, form::packed)
            .list("y", r.y, form::packed)
            .together(r.x, 1, r.y, lists.ranks())
            .apart(r.x, r.y, false)
            .combines(r.x, r.op, r.factor)
            .scales(r.x, r.y, r.factor, r.factors);
      });
}

}  // namespace troupe::collective
