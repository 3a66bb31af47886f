#pragma once

#include "builtin/graph/requests/definition.hpp"
#include "device/graph/roles.hpp"
#include "device/graph/sorted_views.hpp"

#include <troupe/device/device.hpp>
#include <troupe/device/request_graph.hpp>
#include <troupe/graph/run.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::detail {

/// The state that copies of a `request_graph` share. Constant, but for the memory of results.
class recorded_graph {
 public:
  struct parameter {
    std::string name;
    any_tensor tensor;
    any_tensor within{};                ///< if it is a part; else null
    std::vector<std::size_t> roots{};   ///< its views
    std::vector<std::size_t> wholes{};  ///< the parameters around it, the smallest last
    bool has_parts = false;             ///< or is one
  };

  /// A field that a run may choose the value of: that of `definition::values` at the same place.
  struct value_parameter {
    std::string name;
    field_view field;
  };

  std::string name;
  graph::definition what;
  std::vector<const request_type*> types;  ///< by `definition::types`
  std::vector<access> roles;               ///< of each of `definition::uses`
  std::vector<graph::narrowed_use> narrowed;
  std::vector<any_tensor> roots;
  std::vector<parameter> parameters;
  std::vector<value_parameter> value_parameters;
  std::vector<std::byte> bytes;                                  ///< the encoded definition
  const request_type* sent_as = &request_type_of<graph::run>();  ///< of `request`
  /// With the recorded roots and without results. `definition` holds the bytes.
  graph::run request;

  [[nodiscard]] const request_type* type_of(const graph::node& n) const noexcept {
    return n.kind == graph::node_kind::request ? types[n.type] : nullptr;
  }
  /// A request of the graph with the recorded tensors, for readers. Precondition: it is one.
  [[nodiscard]] any_request request_at(std::uint64_t number) const;
  /// As errors show it.
  [[nodiscard]] std::string text_at(std::uint64_t number) const;
  /// The first request that uses a root, and the name of its field: `request 4, blas.gemm: b`.
  [[nodiscard]] std::string user_of(std::size_t root) const;
  [[nodiscard]] bool has_parameter(std::string_view parameter_name) const noexcept;
  /// The use of a field of a request, such as `rows[1]`; none if it has no such tensor.
  [[nodiscard]] std::optional<std::uint64_t> use_of(std::uint64_t number,
                                                    std::string_view field) const;
  /// While it is recorded. \errors those of `graph_recorder::writes_only`
  [[nodiscard]] result<std::uint64_t> use_to_narrow(std::uint64_t number,
                                                    std::string_view field) const;
  /// While it is recorded. \errors those of `graph_recorder::parameter`
  [[nodiscard]] result<void> add_parameter(std::string_view parameter_name, const any_tensor& t,
                                           const any_tensor& within);
  /// Once all requests are recorded. \errors those of `graph_recorder::parameter`
  [[nodiscard]] result<void> find_parameters();
  /// While it is recorded. \errors those of `graph_recorder::parameter`
  [[nodiscard]] result<void> add_value_parameter(std::string_view parameter_name,
                                                 std::uint64_t number, std::string_view field);
  /// The values of the recorded requests, or of a run. \errors those of `device::run`
  [[nodiscard]] result<std::vector<scalar>> values_with(
      const std::vector<graph_argument>& arguments) const;
  /// Sets those of a request.
  void set_values(std::uint64_t number, any_request& request_of_it,
                  const std::vector<scalar>& values) const noexcept;
  /// The roots, with other tensors for some parameters. \errors those of `device::run`
  [[nodiscard]] result<std::vector<any_tensor>> with(
      const std::vector<graph_argument>& arguments) const;
  /// Puts views into the lists of their roles.
  void list_roots(const std::vector<any_tensor>& all, graph::run& in) const;

  /// Memory for the results of a run. The last that was given back comes first, so that a graph
  /// that is sent again is the same request, which workers recognise. \errors those of
  /// `allocate_host`
  [[nodiscard]] result<any_tensor> take_results(const device& of) const;
  void give_back(any_tensor results) const;

  /// Set once a run has ended its worker: later ones tell which request it was. Relaxed: it changes
  /// no result.
  mutable std::atomic<bool> has_faulted{false};

 private:
  [[nodiscard]] result<void> lies_within(const parameter& p,
                                         const std::vector<const any_tensor*>& given) const;
  [[nodiscard]] result<bool> keeps_apart(const std::vector<any_tensor>& all,
                                         const std::vector<const parameter*>& moved_by) const;
  [[nodiscard]] result<void> may_be_in_one_request(std::size_t i, std::size_t j,
                                                   const std::vector<any_tensor>& all) const;
  void note_places();
  [[nodiscard]] result<void> keeps_roles(const std::vector<any_tensor>& all,
                                         const parameter& part) const;

  std::map<std::string, std::size_t, std::less<>> parameter_numbers_;
  sorted_views recorded_places_;  // the places of roots
  std::vector<std::optional<std::vector<std::size_t>>> recorded_around_;
  std::vector<const parameter*> owners_;           // by root: the smallest parameter around it
  std::vector<std::vector<std::uint64_t>> users_;  // by root: its requests
  mutable std::mutex mutex_;                       // guards the next
  mutable std::vector<any_tensor> free_;
};

}  // namespace troupe::detail
